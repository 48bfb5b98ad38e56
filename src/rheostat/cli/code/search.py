"""``rheostat code search``: variants of a program, each verified before it counts."""

from __future__ import annotations

from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.code import model_options as m
from rheostat.cli.code import program_options as p


def search(
    program: p.ProgramFile,
    to: Annotated[
        str, typer.Option(help="openmp; from CUDA also serial; empty: the same language.")
    ] = "",
    objective: Annotated[str, typer.Option(help="runtime_s or energy_j.")] = "",
    budget: Annotated[int, typer.Option(min=1, max=100_000, help="Variants that are run.")] = 8,
    most_seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="Begin no variant later; 0: no limit.")
    ] = 0.0,
    joules: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Begin no variant after so many joules of the search, modelled; 0: any.",
        ),
    ] = 0.0,
    threads: Annotated[int, typer.Option(min=1, max=4096, help="Threads of timed runs.")] = 2,
    pairs: Annotated[int, typer.Option(min=1, max=10_000, help="Pairs of timed runs.")] = 7,
    inputs: p.Inputs = None,
    file: p.Changed = "",
    model: m.ModelName = "",
    base_url: m.BaseUrl = "",
    gguf: m.Gguf = None,
    larger: m.Larger = "",
    larger_url: m.LargerUrl = "",
    larger_gguf: m.LargerGguf = None,
    transcript: m.TranscriptFile = None,
    most_tokens: m.MostTokens = 0,
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
    """Search variants of PROGRAM without a model: OpenMP pragmas, flags and loops, CUDA by rule.

    A variant counts only if every rung of rheostat code verify that can run here accepts it.  With
    --model a language model is asked where half of the budget brought nothing that is accepted,
    with --larger a larger one after it.  Exit code 3: none
    is accepted, or none gains on PROGRAM by more than the noise; PROGRAM stays.
    """
    from rheostat.cli.output import printed
    from rheostat.questions.code import Wanted
    from rheostat.questions.code import search as ask

    with printed(json=json, html=html) as put:
        put(ask(program, to=to, objective=objective, budget=budget, most_seconds=most_seconds,
                most_joules=joules, threads=threads, pairs=pairs, inputs=inputs or (), source=file,
                model=m.address(model, base_url, gguf),
                larger=m.address(larger, larger_url or base_url, larger_gguf),
                transcript=transcript, most_tokens=most_tokens, rungs=rungs, require=require,
                folder=folder, wanted=Wanted(output, patch, sarif, junit),
                unsafe_no_sandbox=unsafe_no_sandbox, seed=seed))  # fmt: skip
