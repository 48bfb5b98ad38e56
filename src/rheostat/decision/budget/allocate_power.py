"""Spend a budget on a fleet: which caps for which node, what it gains, what a watt more would buy.

Two ways of going about it.  *Replan*: every node may take any caps, so the budget goes where it is
worth most.  *Reclaim*, the published way: devices that draw less than their caps allow (donors)
give back all but a margin, and what came free goes where it gains most; nobody is pushed below what
it draws.  A donor of GPU watts may well receive for its processors, and may get its own back where
its mean draw hid peaks that the surface knows.

Notation
--------
N  nodes      L  levels of nested limits      d  draws
gain : (N,) speed over the caps before, less 1, as mean, low and high

References
----------
Zheng, Papka, Lan: Performance-aware power management for power-constrained heterogeneous systems,
arXiv 2604.17635 (2026).  Only the abstract is public: the donor rule and the recurrence are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from rheostat.core.jobs import Note
from rheostat.core.outcome import Array
from rheostat.decision.budget.allocate import Allocation, allocate, whole
from rheostat.decision.budget.change_limit import at_most
from rheostat.decision.budget.hull import Ints, Level
from rheostat.decision.budget.max_min import lift_worst
from rheostat.decision.budget.node_options import (
    BudgetObjective,
    NodeOptions,
    node_options,
    not_below,
)
from rheostat.decision.budget.nodes import NodeFleet
from rheostat.decision.budget.price import price_draws
from rheostat.errors import DataError

Interval = tuple[float, float, float]
MOST_W = 1e12
"""More than all the world's power stations give."""
_LEVEL = 0.9


@dataclass(frozen=True)
class PowerLimits:
    """Watts for all (``total_w``) and for groups at each level, the finest level first.

    Parameters
    ----------
    total_w : float
        Watts of all caps together.
    groups : mapping
        Watts by level and group: ``{"rack": {"r1": 400.0}}``.

    Examples
    --------
    >>> PowerLimits(1000.0, {"rack": {"r1": 400.0}}).total_w
    1000.0
    """

    total_w: float
    groups: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        every = {"total": self.total_w} | {
            f"{level} {name}": watts
            for level, budgets in self.groups.items()
            for name, watts in budgets.items()
        }
        problems = [
            f"{name}: expected at most {MOST_W:g} W, got {watts:g} W"
            for name, watts in every.items()
            if not watts <= MOST_W
        ]
        if problems:
            raise DataError("limits", problems)

    def levels(self, fleet: NodeFleet) -> list[Level]:
        """As levels over the fleet's nodes; a group that no node is in is a `DataError`."""
        group_levels, problems = [], []
        for level, budgets in self.groups.items():
            if level not in fleet.groups:
                have = ", ".join(fleet.groups) or "none"
                problems.append(f"the nodes have no column {level} (columns: {have})")
                continue
            names = list(budgets)
            place = {n: i for i, n in enumerate(names)}
            member = np.array([place.get(n, -1) for n in fleet.groups[level]], dtype=np.int64)
            problems += [f"no node is in {level} {n}" for n in names if place[n] not in member]
            group_levels.append(Level(member, np.array([budgets[n] for n in names], dtype=float)))
        if problems:
            raise DataError("limits", problems)
        return [*_nested(group_levels), whole(len(fleet), self.total_w)]


def _nested(levels: list[Level]) -> list[Level]:
    """Finest first, by number of groups; groups that cross are a `DataError`."""
    ordered = sorted(levels, key=lambda level: -len(level.budget_w))
    for fine, coarse in pairwise(ordered):
        both = (fine.member >= 0) & (coarse.member >= 0)
        pairs = np.unique(np.column_stack([fine.member, coarse.member])[both], axis=0)
        if len(np.unique(pairs[:, 0])) < len(pairs):
            raise DataError("limits", ["expected groups inside groups, but two levels cross"])
    return ordered


@dataclass(frozen=True)
class BudgetPlan:
    """The settings chosen, ``rows`` (N,), and what is known of them.

    ``certificate`` holds value, bound and price in units of the objective; ``price`` is the gain,
    summed over nodes, of one more watt, with a 90 % interval; ``donors`` are nodes that gave.
    ``slopes`` tell why a node got what it got: the gain per watt of the least rewarding step below
    its caps and of the most rewarding one above, each (N,), NaN where there is none.
    """

    fleet: NodeFleet
    rows: Ints
    objective: BudgetObjective
    limits: PowerLimits
    certificate: Allocation
    price: Interval
    gain: tuple[Array, Array, Array]
    donors: Ints
    slopes: tuple[Array, Array]
    notes: tuple[Note, ...] = ()

    @property
    def after(self) -> NodeFleet:
        """The fleet once the caps are set."""
        return self.fleet.at(self.rows)

    @property
    def mean_gain(self) -> Interval:
        """Mean over nodes by their weights, with ends."""
        mean, low, high = (by_weight(self.fleet, g) for g in self.gain)
        return mean, low, high

    @property
    def changed(self) -> Ints:
        """Nodes whose caps change."""
        return np.flatnonzero(self.rows != self.fleet.now)


def allocate_power(
    fleet: NodeFleet,
    limits: PowerLimits | float,
    objective: BudgetObjective | None = None,
    *,
    reclaim_w: float | None = None,
    most_changes: int | None = None,
) -> BudgetPlan:
    """The best caps for every node within the limits.

    Parameters
    ----------
    fleet : NodeFleet
        Nodes, what they run, how their caps stand.
    limits : PowerLimits or float
        Watts of caps in total, or for nested groups too.
    objective : BudgetObjective
        Objective, risk, slowdown bound, hysteresis; by default the mean gain in speed.
    reclaim_w : float or None
        Take only what devices do not draw, less this margin (the published way).
    most_changes : int or None
        Change the caps of at most so many nodes.

    Returns
    -------
    BudgetPlan
        Caps per node, the expected gain with its interval, the price of a watt, and a bound on what
        the best plan could reach.

    Raises
    ------
    Infeasible
        The lowest caps allowed exceed a limit.
    """
    objective = objective or BudgetObjective()
    limits = limits if isinstance(limits, PowerLimits) else PowerLimits(float(limits))
    levels = limits.levels(fleet)
    donors = np.zeros(0, dtype=np.int64)
    allowed = None
    if reclaim_w is not None:
        floors, donors = reclaimed(fleet, reclaim_w)

        def allowed(node: int) -> Array:
            return not_below(fleet, node, floors[node])

    choices = node_options(fleet, objective, allowed)
    allocation = _allocated(choices, levels, objective, fleet, most_changes)
    rows = choices.rows(allocation.choice)
    price = _interval(price_draws(fleet, choices, objective, levels), allocation.price)
    why = slopes(choices, allocation.choice)
    gain = gains(fleet, rows)
    return BudgetPlan(
        fleet, rows, objective, limits, allocation, price, gain, donors, why, fleet.notes
    )


def _allocated(
    choices: NodeOptions,
    levels: list[Level],
    objective: BudgetObjective,
    fleet: NodeFleet,
    most_changes: int | None,
) -> Allocation:
    watts, value = choices.watts, choices.value
    if objective.objective.startswith("max-min"):
        return lift_worst(watts, value, levels)
    if most_changes is None:
        return allocate(watts, value, levels)
    stays = choices.class_row[choices.kind] == fleet.now[:, None]
    return at_most(watts, value, levels, stays, most_changes)


def reclaimed(fleet: NodeFleet, margin_w: float) -> tuple[Array, Ints]:
    """Caps that no node goes below, (N, k), and the donors: nodes whose caps those lower.

    A cap comes down to the lowest of the surface's that leaves the device its draw and the margin.
    A device of unknown draw gives nothing.
    """
    caps = fleet.caps
    floors = np.zeros((len(fleet), len(caps)))
    gives = np.zeros(len(fleet), dtype=bool)
    for i, (a, now) in enumerate(zip(fleet.app, fleet.now, strict=True)):
        surface = fleet.surfaces[a]
        for j, cap in enumerate(caps):
            column = surface.values[:, surface.knobs.index(cap)]
            floors[i, j] = column[now]
            enough = column[column >= fleet.draw_w[i, j] + margin_w]
            if len(enough) and enough.min() < column[now]:
                floors[i, j], gives[i] = enough.min(), True
    gives[fleet.fixed] = False
    return floors, np.flatnonzero(gives)


def by_weight(fleet: NodeFleet, gain: Array) -> float:
    """Mean of a gain (N,) over nodes, as the objective weighs them."""
    return float(np.average(gain, weights=fleet.weight))


def gains(fleet: NodeFleet, rows: Ints, level: float = _LEVEL) -> tuple[Array, Array, Array]:
    """Gain in speed of each node at settings ``rows``: mean and the ends of an interval, (N,)."""
    pairs, back = np.unique(
        np.column_stack([fleet.app, fleet.now, rows]), axis=0, return_inverse=True
    )
    ends = []
    for a, now, row in pairs:
        draws = fleet.surfaces[a].gain(int(now))[:, int(row)]
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
        ends.append((draws.mean(), low, high))
    table = np.array(ends)[back]
    return table[:, 0], table[:, 1], table[:, 2]


def slopes(choices: NodeOptions, choice: Ints) -> tuple[Array, Array]:
    """Gain per watt of the least step below each node's option and the best above it, (N,)."""
    pairs, back = np.unique(np.column_stack([choices.kind, choice]), axis=0, return_inverse=True)
    slope = np.full((len(pairs), 2), np.nan)
    for i, (c, j) in enumerate(pairs):
        w, v = choices.class_watts[c], choices.class_value[c]
        there = np.isfinite(v)
        below, above = there & (w < w[j]), there & (w > w[j])
        if below.any():
            slope[i, 0] = ((v[j] - v[below]) / (w[j] - w[below])).min()
        if above.any():
            slope[i, 1] = ((v[above] - v[j]) / (w[above] - w[j])).max()
    return slope[back, 0], slope[back, 1]


def _interval(draws: Array, point: float, level: float = _LEVEL) -> Interval:
    if not len(draws):
        return point, float("nan"), float("nan")
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return point, float(low), float(high)


def settings(spent: BudgetPlan, node: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Caps of a node before and after."""
    before = spent.fleet.setting(node, int(spent.fleet.now[node]))
    return before, spent.fleet.setting(node, int(spent.rows[node]))
