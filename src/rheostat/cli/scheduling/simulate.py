"""``rheostat simulate``: what a trace would have waited under other policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options import batch as b
from rheostat.cli.options.declared import option, written


def _tell_orders(asked: bool) -> None:
    """The orders with what they mean, and no simulation."""
    if not asked:
        return
    from rheostat.cli.output import put
    from rheostat.questions.scheduling.orders import orders

    put(orders(), json=False)
    raise typer.Exit


@asks("simulate", b.planned, o.log, o.drawn, trace="jobs")
def simulate(
    trace: b.Trace,
    machine: b.MachineSize = "",
    policy: Annotated[
        list[str] | None,
        option(
            "fcfs, easy, conservative, ORDER, ORDER+easy, ORDER+conservative, agent:FILE "
            "(agent:ours comes with rheostat), best-of-past (each night the order that did "
            "best in replays of the days before) or your own, FILE.py:NAME.  ORDER is fcfs, "
            "sjf, ljf, saf, sqf, largest, lxf, wfp3, unicef, f1, f2, f3, f4, multifactor, "
            "multifactor:FILE or tree:FILE; rheostat simulate --orders says what each means. "
            " Repeatable, the first is what the others are compared with.  [default: easy]"
        ),
    ] = None,
    guard: Annotated[
        str,
        option(
            "Keep the longest wait of every policy near so many times that of FCFS with "
            "EASY: jobs go first before theirs is longer.  A single policy: NAME+1.5x.",
            metavar="1.5x",
        ),
    ] = "",
    replays: Annotated[
        int,
        option(
            "Also replay TRACE so many times, submissions moved by up to 120 s: do policies "
            "differ by more than that does?  At least 2.",
            min=0,
            max=1000,
        ),
    ] = 0,
    alternatives: Annotated[
        Path | None,
        option("Moldable jobs: a CSV or parquet table of job_id, cores, runtime_s, ..."),
    ] = None,
    power_model: o.PowerModel = None,
    schedule: Annotated[Path | None, written("Write starts and ends here, as CSV.")] = None,
    orders: Annotated[
        bool, option("Say what each ORDER means.", "--orders", callback=_tell_orders, is_eager=True)
    ] = False,
    seed: o.Seed = 0,
) -> None:
    """Run TRACE through batch policies and compare how long jobs wait.

    Sizes are processors asked for, else used.  Rows that no machine could run are noted and left
    out; nothing else is changed.  Differences from the first policy are paired, job by job; their
    intervals are drawn with --seed.
    """
