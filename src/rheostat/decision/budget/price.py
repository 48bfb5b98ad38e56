"""What is one more watt worth, and how sure is that?

The slope at which the money runs out is the price of a watt.  Solved once per draw of the surfaces,
the relaxation gives a distribution of prices; nodes of one class are one row with a count, so a
large fleet costs no more than a small one.

Notation
--------
d  draws      R  rows: distinct (class, groups)      count : (R,) nodes in each
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.budget.hull import Level, fill, hull
from rheostat.decision.budget.node_options import BudgetObjective, NodeOptions, value_draws
from rheostat.decision.budget.nodes import NodeFleet

_DRAWS = 32
_WORK = 20_000  # rows times draws


def price_draws(
    fleet: NodeFleet, choices: NodeOptions, objective: BudgetObjective, levels: Sequence[Level]
) -> Array:
    """Value of one more watt for the whole fleet, one per draw; empty if no surface is unsure."""
    members = np.column_stack([choices.kind, *(level.member for level in levels)])
    rows, count = np.unique(members, axis=0, return_counts=True)
    nested = [Level(rows[:, i + 1], level.budget_w) for i, level in enumerate(levels)]
    draws = _class_draws(fleet, choices, objective, max(2, min(_DRAWS, _WORK // len(rows))))
    if draws is None:
        return np.zeros(0)
    watts = choices.class_watts[rows[:, 0]]
    prices = []
    for values in draws:
        value = values[rows[:, 0]]
        w = np.where(np.isfinite(value), watts, np.inf)
        first, steps = hull(w, value)
        spent = w[np.arange(len(w)), first]
        prices.append(fill(steps, spent, nested, count.astype(float)).price)
    return np.array(prices)


def _class_draws(
    fleet: NodeFleet, choices: NodeOptions, objective: BudgetObjective, most: int
) -> Array | None:
    """Values of the options, draw by draw, (d, C, K); None where all draws agree."""
    result = np.tile(choices.class_value, (most, 1, 1))
    unsure = False
    for c, node in enumerate(choices.representative):
        if node in fleet.fixed:  # its one option is worth the same in every draw
            continue
        there = np.isfinite(choices.class_value[c])
        surface = fleet.surfaces[fleet.app[node]]
        drawn = fleet.weight[node] * value_draws(surface, int(fleet.now[node]), objective)
        drawn = drawn[:, choices.class_row[c, there]]
        unsure |= bool(np.ptp(drawn, axis=0).max() > 0)
        result[:, c, there] = drawn[np.arange(most) % len(drawn)]
    return result if unsure else None
