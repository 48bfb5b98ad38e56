"""``rheostat code translate``: a program in another programming model, by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p


def translate(
    program: p.ProgramFile,
    to: Annotated[str, typer.Option(help="openmp, target or serial.")],
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
        bool, typer.Option(help="Also search without the model, where it can (serial to openmp).")
    ] = True,
    self_prompting: m.SelfPrompting = True,
    no_output_check: m.NoOutputCheck = False,
    newlines_deleted: m.NewlinesDeleted = False,
    unlimited_corrections: m.UnlimitedCorrections = False,
    one_run: m.OneRun = False,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="The original in the target language: built and run before the model is asked, "
            "then compared with (Sim-T, Sim-L, Ratio)."
        ),
    ] = None,
    budget: Annotated[int, typer.Option(min=1, max=100_000, help="Variants that are run.")] = 12,
    threads: Annotated[int, typer.Option(min=1, max=4096, help="Threads of timed runs.")] = 2,
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
) -> None:
    """Translate PROGRAM with a language model that is told what goes wrong (LASSI).

    A translation counts only if every rung of rheostat code verify that can run here accepts it.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.code import Wanted
    from rheostat.questions.code import translate as ask

    how = m.lassi_options(temperature, max_tokens, corrections, self_prompting=self_prompting,
                          no_output_check=no_output_check, newlines_deleted=newlines_deleted,
                          unlimited_corrections=unlimited_corrections)  # fmt: skip
    with printed(json=json, html=html) as put:
        put(ask(program, to, m.address(model, base_url, gguf),
                larger=m.address(larger, larger_url or base_url, larger_gguf), how=how,
                samples=samples, one_run=one_run, search=search, reference=reference,
                budget=budget, threads=threads, inputs=inputs or (), source=file,
                transcript=transcript, most_tokens=most_tokens, rungs=rungs, require=require,
                folder=folder, wanted=Wanted(output, patch, sarif, junit),
                unsafe_no_sandbox=unsafe_no_sandbox, seed=seed))  # fmt: skip
