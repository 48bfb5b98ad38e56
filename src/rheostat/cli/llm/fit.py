"""``rheostat llm fit``: what a served model takes, as a law with units and intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import Values, asks
from rheostat.cli.llm.serving_runs import Config, Gpus, Kernels, Runs
from rheostat.cli.options.declared import option


@asks(
    "llm.fit",
    o.table,
    o.shown,
    instead={"symbolic": "llm.formula"},
    symbolic="kind",
    save="out",
    config="model_config",
)
def fit(
    runs: Runs,
    latex: Annotated[bool, option("Print the equation as LaTeX.", "--latex")] = False,
    python: Annotated[bool, option("Print a Python function.", "--python")] = False,
    for_: Annotated[
        str,
        option(
            "Print the law as it answers for these configurations of RUNS, as "
            "app=NAME,gpu_model=H100,gpus=2: their own parameters, what is left over, the "
            "answers.",
            "--for",
        ),
    ] = "",
    next_count: Annotated[
        int, option("Also name this many configurations to measure.", "--next", min=0, max=10_000)
    ] = 0,
    symbolic: Annotated[
        str,
        option(
            "Find a formula instead: products (sums of products of powers) or operon "
            "(genetic programming, extra symbolic)."
        ),
    ] = "",
    save: Annotated[
        Path | None, option("Keep the law in this file.", "--save", "-o", writable=True)
    ] = None,
    config: Config = None,
    gpu: Gpus = None,
    kernels: Kernels = None,
    seed: o.Seed = 0,
    where: o.Where = None,
    unit: o.Units = None,
) -> Values:
    """Fit the law of time and energy per token to measured configurations, and print it.

    Each parameter has a unit and a 90 % interval: the prior of other machines, narrowed by RUNS.
    """
    from rheostat.errors import DataError

    if symbolic and save is not None:
        raise DataError("--save", ["keeps the law; a formula is a line of text"])
    return {} if symbolic else {"form": "latex" if latex else "python" if python else "text"}
