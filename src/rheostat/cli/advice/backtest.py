"""``rheostat backtest``: what the advice would have changed last month."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options import workers as w
from rheostat.cli.options.declared import option


@asks("backtest", w.on_workers, o.table, o.drawn)
def backtest(
    file: o.File,
    test_fraction: o.TestFraction = 0.2,
    test_period: Annotated[
        str, option("Instead: test on the jobs of so many last days, as 30d.")
    ] = "",
    knob: o.Knobs = None,
    objectives: o.AdviceObjectives = "",
    rule: o.RuleText = "",
    slowdown: o.Slowdown = None,
    within: o.Within = None,
    kind: o.Kind = "auto",
    trial: o.TrialPlan = None,
    machine: Annotated[
        str, option("Nodes of the site, for the simulated month; else the most ever in use.")
    ] = "",
    seed: o.Seed = 0,
) -> None:
    """Learn from the past, advise the recent jobs, report what it would have changed.

    Rules and methods are those of `rheostat decide`. What ran is compared with its forecast; what
    advised settings would have cost is a forecast. The recent jobs are simulated on the site's
    machine with and without the advice: waiting, makespan, power.
    """
