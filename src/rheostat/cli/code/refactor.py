"""``rheostat code refactor``: a program that takes less energy, by a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p


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
    search: Annotated[bool, typer.Option(help="Also search without the model.")] = True,
    judge: Annotated[
        bool, typer.Option(help="Ask the model for its opinion of what is accepted; advice only.")
    ] = False,
    self_prompting: m.SelfPrompting = True,
    no_output_check: m.NoOutputCheck = False,
    newlines_deleted: m.NewlinesDeleted = False,
    unlimited_corrections: m.UnlimitedCorrections = False,
    one_run: m.OneRun = False,
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
    """Rewrite PROGRAM with a language model so that it takes less energy (LASSI-EE).

    With several --samples energy-reduction@k is given for each k, in both conventions for
    candidates that take more.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.code import Wanted
    from rheostat.questions.code import refactor as ask

    how = m.lassi_options(temperature, max_tokens, corrections, self_prompting=self_prompting,
                          no_output_check=no_output_check, newlines_deleted=newlines_deleted,
                          unlimited_corrections=unlimited_corrections)  # fmt: skip
    with printed(json=json, html=html) as put:
        put(ask(program, m.address(model, base_url, gguf),
                larger=m.address(larger, larger_url or base_url, larger_gguf), how=how,
                samples=samples, one_run=one_run, search=search, judge=judge,
                budget=budget, threads=threads, inputs=inputs or (), source=file,
                transcript=transcript, most_tokens=most_tokens, rungs=rungs, require=require,
                folder=folder, wanted=Wanted(output, patch, sarif, junit),
                unsafe_no_sandbox=unsafe_no_sandbox, seed=seed))  # fmt: skip
