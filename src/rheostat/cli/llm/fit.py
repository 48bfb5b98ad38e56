"""``rheostat llm fit``: what a served model takes, as a law with units and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.llm.serving_runs import Config, Gpus, Kernels, Runs


def fit(
    runs: Runs,
    latex: Annotated[bool, typer.Option("--latex", help="Print the equation as LaTeX.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Print a Python function.")] = False,
    for_: Annotated[
        str,
        typer.Option(
            "--for",
            help="Print the law as it answers for these configurations of RUNS, as "
            "app=NAME,gpu_model=H100,gpus=2: their own parameters, what is left over, the answers.",
        ),
    ] = "",
    next_count: Annotated[
        int,
        typer.Option(
            "--next", min=0, max=10_000, help="Also name this many configurations to measure."
        ),
    ] = 0,
    symbolic: Annotated[
        str,
        typer.Option(
            help="Find a formula instead: products (sums of products of powers) or operon (genetic "
            "programming, extra symbolic)."
        ),
    ] = "",
    save: Annotated[
        Path | None, typer.Option("--save", "-o", help="Keep the law in this file.", writable=True)
    ] = None,
    config: Config = None,
    gpu: Gpus = None,
    kernels: Kernels = None,
    seed: o.Seed = 0,
    where: o.Where = None,
    form: o.Form = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    unit: o.Units = None,
    json: o.Json = False,
) -> None:
    """Fit the law of time and energy per token to measured configurations, and print it.

    Each parameter has a unit and a 90 % interval: the prior of other machines, narrowed by RUNS.
    """
    from rheostat.cli.output import printed
    from rheostat.errors import DataError
    from rheostat.questions.llm import fit as ask
    from rheostat.questions.llm import formula

    if symbolic and save is not None:
        raise DataError("--save", ["keeps the law; a formula is a line of text"])
    with printed(json=json) as put:
        if symbolic:
            put(formula(runs, symbolic, model_config=config, gpus=gpu or (), seed=seed,
                        where=where or (), format=form, columns=mapped, renamed=column or (),
                        units=unit or ()))  # fmt: skip
            return
        put(ask(runs, for_=for_, form="latex" if latex else "python" if python else "text",
                next_count=next_count, out=save, model_config=config, gpus=gpu or (),
                kernels=kernels, where=where or (), format=form, columns=mapped,
                renamed=column or (), units=unit or ()))  # fmt: skip
