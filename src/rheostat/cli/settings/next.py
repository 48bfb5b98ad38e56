"""``rheostat next``: which settings to measure next, from the results at hand."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option


@asks("next_settings", o.table, o.shown, file="runs")
def next(
    file: o.File,
    knob: o.Knobs = None,
    where: o.Where = None,
    count: Annotated[int, option("Settings to name.", "-n", "--count", min=1, max=100_000)] = 1,
    method: o.Method = "auto",
    prior: o.Prior = None,
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    seed: o.Seed = 0,
) -> None:
    """Name the settings to measure next, given the runs in FILE; nothing is run.

    Measure them, append the rows to FILE, and call it again.  With --where the other rows of FILE,
    being other applications, teach the method, unless --prior names a table that does.  The method
    is that of `rheostat search`.
    """
