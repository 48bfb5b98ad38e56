"""``rheostat trial``: which jobs run at another setting, how many it takes, and what they told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option

Turned = Annotated[str, option("The setting that is turned.")]


@asks("trial.plan", o.table, o.shown)
def plan(
    file: o.File,
    share: Annotated[
        float, option("Expected share of jobs that take part.", min=0.0, max=0.5)
    ] = 0.05,
    knob: Turned = "nodes",
    largest: Annotated[int, option("Largest setting that exists.", min=1, max=10_000_000)] = 256,
    accuracy: Annotated[
        float, option("How well the exponent of runtime is to be known.", min=0.001)
    ] = 0.05,
    past: Annotated[
        Path | None, option("Log that tells how runtimes vary.  [default: FILE]")
    ] = None,
    out: Annotated[
        Path | None, option("Write the plan as CSV.", "--out", "-o", writable=True)
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Name the jobs of FILE to run at a quarter or four times their setting; how many are needed.

    Who takes part is drawn by chance, larger jobs more often. Run them so and give the log and the
    plan to `rheostat decide LOG --trial PLAN.csv`.
    """


@asks("trial.read", o.table, o.shown, plan="trial")
def read(
    file: o.File,
    plan: Annotated[
        Path | None, option("The plan; not needed where FILE has the column KNOB_requested.")
    ] = None,
    knob: Turned = "nodes",
    seed: o.Seed = 0,
) -> None:
    """Say what the trial's jobs in the log FILE told, beside what the log alone would say.

    `rheostat decide FILE --trial PLAN.csv` uses both together; the exponent that its forecasts have
    for these jobs stands beside.
    """
