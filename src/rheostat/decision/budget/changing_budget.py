"""A budget that changes with time: lower before it falls, raise only once it has risen.

Caps take a moment to hold, so before a fall the lower budget must already be kept.  The budget to
plan for is therefore the least over the moments just ahead; each plan starts from the one before,
and a change of caps must be worth making (`BudgetObjective.change`).

Notation
--------
t  seconds      b(t) : the budget      lead_s : how long caps take to hold, with a margin
planned(t) = min of b over [t, t + lead_s]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rheostat.core.series import Series
from rheostat.decision.budget.allocate_power import BudgetPlan, PowerLimits, allocate_power
from rheostat.decision.budget.node_options import BudgetObjective
from rheostat.decision.budget.nodes import NodeFleet


@dataclass(frozen=True)
class BudgetAt:
    """At ``at_s`` the plan ``spent`` takes over; ``budget_w`` holds from then on."""

    at_s: float
    budget_w: float
    spent: BudgetPlan


def planned(
    budget: Series, begin_s: float, end_s: float, lead_s: float
) -> list[tuple[float, float]]:
    """Moments in [begin, end) at which the planned budget changes, with what it changes to.

    >>> planned(Series((0.0, 100.0, 200.0), (9.0, 5.0, 7.0)), 0.0, 300.0, 10.0)
    [(0.0, 9.0), (90.0, 5.0), (200.0, 7.0)]
    """
    ahead = budget.changes(begin_s, end_s + lead_s)
    moments = np.unique(np.concatenate([[begin_s], ahead, ahead - lead_s]))
    steps: list[tuple[float, float]] = []
    for t in moments[(moments >= begin_s) & (moments < end_s)]:
        inside = ahead[(ahead > t) & (ahead <= t + lead_s)]
        least = float(budget.at(np.concatenate([[t], inside])).min())
        if not steps or steps[-1][1] != least:
            steps.append((float(t), least))
    return steps


def follow(
    fleet: NodeFleet,
    budget: Series,
    objective: BudgetObjective,
    *,
    end_s: float,
    begin_s: float = 0.0,
    lead_s: float = 2.0,
    limits: PowerLimits | None = None,
    most_changes: int | None = None,
) -> Iterator[BudgetAt]:
    """A plan for every moment at which the budget changes, each from the one before.

    Gains are always over the caps that the fleet had at the beginning.
    """
    base = fleet
    groups = {} if limits is None else limits.groups
    for at_s, watts in planned(budget, begin_s, end_s, lead_s):
        allowed = PowerLimits(watts, groups)
        spent = allocate_power(fleet, allowed, objective, most_changes=most_changes)
        yield BudgetAt(at_s, watts, spent)
        fleet = replace(spent.after, notes=base.notes)
