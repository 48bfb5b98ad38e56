"""The best option for every node within the budget, with a certificate of how good it is.

Greedy along the hulls (`hull.py`) comes within one step of the optimum; what is left over is spent
by looking at every single change that still fits.  Where only few options can be in any better
answer, a dynamic programme over these makes it exact (`exact.py`).  Nested budgets are solved from
the inside, the groups of the finest level becoming rows of a smaller problem (`groups.py`).
Whatever was done, a bound says what cannot be exceeded.  What limits the search is work, not time.

Notation
--------
N  nodes      K  options      L  levels of nested budgets
watts, value : (N, K), an option that a node has not is +inf, -inf
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.budget.branch_and_bound import SAME, improve_exactly
from rheostat.decision.budget.groups import grouped
from rheostat.decision.budget.hull import Filled, Ints, Level, fill, hull
from rheostat.errors import Infeasible

_SLACK_W = 1e-6
_EVEN = 1e-12
_ROUNDS = 200
_SURELY = 1000  # nodes up to which a proof is always tried
_CLOSE = 1e-5


@dataclass(frozen=True)
class Allocation:
    """The option of each node, ``choice`` (N,), and how good that is.

    ``value`` is the sum over nodes, ``bound`` what no answer exceeds, ``price`` the value of one
    more watt; ``exact`` tells whether the answer is proven best.
    """

    choice: Ints
    value: float
    bound: float
    price: float
    used_w: float
    exact: bool

    @property
    def gap(self) -> float:
        """How far from the bound at most, as a share of it; 0 if proven best."""
        if self.exact or self.bound <= self.value:
            return 0.0
        return (self.bound - self.value) / max(abs(self.bound), 1e-12)


def whole(n: int, budget_w: float) -> Level:
    """One budget for all.

    >>> whole(2, 100.0).member
    array([0, 0])
    """
    return Level(np.zeros(n, dtype=np.int64), np.array([float(budget_w)]))


def allocate(
    watts: Array, value: Array, budget: float | Sequence[Level], *, exact: bool = True
) -> Allocation:
    """Maximise the sum of ``value`` within ``budget``.

    Parameters
    ----------
    watts, value : (N, K)
        Cost and worth of each option.
    budget : float or levels
        Watts for all together, or nested levels, the finest first.
    exact : bool
        Try to prove the answer best, within limits on work, not on time; for more than 1,000 nodes
        (or groups) only where the certificate is worse than 0.001 %.

    Raises
    ------
    Infeasible
        The cheapest options already exceed a budget; ``nearest`` is the group by the most.

    Examples
    --------
    >>> watts = np.array([[0.0, 10.0, 20.0], [0.0, 10.0, 20.0]])
    >>> value = np.array([[0.0, 0.1, 0.2], [0.0, 0.0, 0.5]])
    >>> found = allocate(watts, value, 20.0)
    >>> found.choice, found.value, found.exact
    (array([0, 2]), 0.5, True)
    """
    levels = [whole(len(watts), budget)] if isinstance(budget, (int, float)) else list(budget)
    watts = np.where(np.isfinite(value), watts, np.inf)
    first, steps = hull(watts, value)
    rows = np.arange(len(watts))
    check(watts[rows, first], levels)
    filled = fill(steps, watts[rows, first], levels)
    bound = float(value[rows, first].sum()) + filled.bound
    choice = spend_rest(watts, value, _taken(first, filled), levels)
    if exact and len(levels) > 1:
        choice, bound = _by_groups(watts, value, choice, levels, bound)
    elif exact and (levels[0].member == 0).all() and _worth_proving(value, choice, bound):
        limit = float(levels[0].budget_w[0])
        choice, bound = improve_exactly(
            watts, value, choice, limit=limit, bound=bound, price=filled.price
        )
    total = float(value[rows, choice].sum())
    used = float(watts[rows, choice].sum())
    proven = bound - total <= SAME * max(abs(bound), 1.0)
    return Allocation(choice, total, max(bound, total), filled.price, used, proven)


def _worth_proving(value: Array, choice: Ints, bound: float) -> bool:
    return len(value) <= _SURELY or bound - total_of(value, choice) > _CLOSE * abs(bound)


def _by_groups(
    watts: Array, value: Array, choice: Ints, levels: Sequence[Level], bound: float
) -> tuple[Ints, float]:
    """A choice as good as ``choice`` or better, and a bound, from a problem of one level less."""
    groups = grouped(watts, value, levels)
    if groups is None:
        return choice, bound
    inner = allocate(groups.watts, groups.value, [groups.lifted(x) for x in levels[1:]])
    solution = groups.expanded(inner.choice, len(watts))
    if groups.whole:
        return solution, min(bound, inner.bound)
    solution = max(choice, spend_rest(watts, value, solution, levels), key=partial(total_of, value))
    above = grouped(watts, value, levels, down=True)
    if above is not None:
        upper = allocate(above.watts, above.value, [above.lifted(x) for x in levels[1:]])
        bound = min(bound, upper.bound)
    return solution, bound


def total_of(value: Array, choice: Ints) -> float:
    """The sum of the chosen values."""
    return float(value[np.arange(len(value)), choice].sum())


def check(spent: Array, levels: Sequence[Level]) -> None:
    """Raise `Infeasible` where ``spent`` watts (N,) exceed a budget."""
    for level in levels:
        inside = level.member >= 0
        used = np.bincount(level.member[inside], spent[inside], len(level.budget_w))
        over = used - level.budget_w
        if len(over) and over.max() > _SLACK_W:
            worst = int(over.argmax())
            raise Infeasible(
                f"the lowest caps need {used[worst]:,.0f} W, the budget is "
                f"{level.budget_w[worst]:,.0f} W: raise it, or take nodes out of service",
                worst,
            )


def _taken(first: Ints, filled: Filled) -> Ints:
    """The options reached: steps come in order, so the last one of a row counts."""
    choice = first.copy()
    choice[filled.steps.row] = filled.steps.option
    return choice


def room(now: Array, levels: Sequence[Level]) -> list[Array]:
    """Watts left in each group of each level when nodes use ``now`` (N,)."""
    left = []
    for level in levels:
        inside = level.member >= 0
        left.append(
            level.budget_w - np.bincount(level.member[inside], now[inside], len(level.budget_w))
        )
    return left


def spend_rest(watts: Array, value: Array, choice: Ints, levels: Sequence[Level]) -> Ints:
    """Change one node of a group at a time to what gains most and fits, until nothing does."""
    choice, rows = choice.copy(), np.arange(len(watts))
    for _ in range(_ROUNDS):
        now = watts[rows, choice]
        left = room(now, levels)
        free = np.full(len(watts), np.inf)
        for level, spare in zip(levels, left, strict=True):
            free = np.minimum(free, np.where(level.member >= 0, spare[level.member], np.inf))
        gain = np.where(watts <= (now + free + _SLACK_W)[:, None], value, -np.inf)
        gain -= value[rows, choice][:, None]
        best = gain.argmax(axis=1)
        taken = _together(gain[rows, best], watts[rows, best] - now, levels, left)
        if not taken:
            break
        choice[taken] = best[taken]
    return choice


def _together(most: Array, cost: Array, levels: Sequence[Level], left: list[Array]) -> list[int]:
    """The best change of each of the finest groups, as long as all of them fit together."""
    order = np.flatnonzero(most > _EVEN)
    order = order[np.argsort(-most[order], kind="stable")]
    _, index = np.unique(levels[0].member[order], return_index=True)
    taken = []
    for row in order[np.sort(index)].tolist():
        groups = [(spare, level.member[row]) for spare, level in zip(left, levels, strict=True)]
        groups = [(spare, g) for spare, g in groups if g >= 0]
        if all(cost[row] <= spare[g] + _SLACK_W for spare, g in groups):
            taken.append(row)
            for spare, g in groups:
                spare[g] -= cost[row]
    return taken
