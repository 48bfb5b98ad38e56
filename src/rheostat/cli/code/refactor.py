"""``rheostat code refactor``: a program that takes less energy, by a language model."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values, asks
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p
from rheostat.cli.options.declared import option


@asks("code.refactor", file="source")
def refactor(
    program: p.ProgramFile,
    model: m.ModelName = "",
    base_url: m.BaseUrl = "",
    gguf: m.Gguf = None,
    larger: m.Larger = "",
    larger_url: m.LargerUrl = "",
    larger_gguf: m.LargerGguf = None,
    transcript: m.TranscriptFile = None,
    samples: m.Samples = 1,
    corrections: m.Corrections = 2,
    temperature: m.Temperature = 0.2,
    max_tokens: m.MaxTokens = 4096,
    most_tokens: m.MostTokens = 0,
    search: Annotated[bool, option("Also search without the model.")] = True,
    judge: Annotated[
        bool, option("Ask the model for its opinion of what is accepted; advice only.")
    ] = False,
    self_prompting: m.SelfPrompting = True,
    no_output_check: m.NoOutputCheck = False,
    newlines_deleted: m.NewlinesDeleted = False,
    unlimited_corrections: m.UnlimitedCorrections = False,
    one_run: m.OneRun = False,
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
    """Rewrite PROGRAM with a language model so that it takes less energy (LASSI-EE).

    With several --samples energy-reduction@k is given for each k, in both conventions for
    candidates that take more.
    """
    asked = m.models(model, base_url, gguf, larger, larger_url, larger_gguf)
    how = m.asked_so(temperature, max_tokens, corrections, self_prompting=self_prompting,
                     no_output_check=no_output_check, newlines_deleted=newlines_deleted,
                     unlimited_corrections=unlimited_corrections)  # fmt: skip
    return {**asked, **how, **p.kept(output, patch, sarif, junit)}
