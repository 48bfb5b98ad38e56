"""``rheostat code translate``: a program in another programming model, by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values, asks
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p
from rheostat.cli.options.declared import option


@asks("code.translate", file="source")
def translate(
    program: p.ProgramFile,
    to: Annotated[str, option("openmp, target or serial.")],
    model: m.ModelName = "",
    base_url: m.BaseUrl = "",
    gguf: m.Gguf = None,
    larger: m.Larger = "",
    larger_url: m.LargerUrl = "",
    larger_gguf: m.LargerGguf = None,
    transcript: m.TranscriptFile = None,
    samples: m.Samples = 1,
    corrections: m.Corrections = 4,
    temperature: m.Temperature = 0.2,
    max_tokens: m.MaxTokens = 4096,
    most_tokens: m.MostTokens = 0,
    search: Annotated[
        bool, option("Also search without the model, where it can (serial to openmp).")
    ] = True,
    self_prompting: m.SelfPrompting = True,
    no_output_check: m.NoOutputCheck = False,
    newlines_deleted: m.NewlinesDeleted = False,
    unlimited_corrections: m.UnlimitedCorrections = False,
    one_run: m.OneRun = False,
    reference: Annotated[
        Path | None,
        option(
            "The original in the target language: built and run before the model is asked, "
            "then compared with (Sim-T, Sim-L, Ratio)."
        ),
    ] = None,
    budget: Annotated[int, option("Variants that are run.", min=1, max=100_000)] = 12,
    threads: Annotated[int, option("Threads of timed runs.", min=1, max=4096)] = 2,
    inputs: p.Inputs = None,
    file: p.Changed = "",
    rungs: p.Rungs = "",
    require: p.Required = "output",
    folder: p.Folder = None,
    output: p.Output = None,
    patch: p.Patch = None,
    sarif: p.Sarif = None,
    junit: p.Junit = None,
    unsafe_no_sandbox: m.Unsafe = False,
    seed: p.HiddenSeed = None,
    html: o.Html = None,
    json: o.Json = False,
) -> Values:
    """Translate PROGRAM with a language model that is told what goes wrong (LASSI).

    A translation counts only if every rung of rheostat code verify that can run here accepts it.
    """
    asked = m.models(model, base_url, gguf, larger, larger_url, larger_gguf)
    how = m.asked_so(temperature, max_tokens, corrections, self_prompting=self_prompting,
                     no_output_check=no_output_check, newlines_deleted=newlines_deleted,
                     unlimited_corrections=unlimited_corrections)  # fmt: skip
    return {**asked, **how, **p.kept(output, patch, sarif, junit)}
