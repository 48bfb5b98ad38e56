"""Which steps are worth their watts, and where does the money run out?

Each node takes one of its options; together they may not cost more than the budget.  Of a node's
options only those on its upper concave hull can be best per watt, and along a hull every step buys
less than the one before.  So: sort all steps of all nodes by gain per watt, take them until the
budget is gone.  Cut the last step to fit and the result is the optimum of the linear relaxation,
which nothing can beat: the *bound* that certifies the answer.  Groups inside groups (racks in rows
in a site) cut their own steps first and hand the rest up; the bound stays exact because the groups
are nested.

Notation
--------
N  rows (nodes, or classes of equal nodes)      K  options      M  steps      G  groups of a level
watts, value : (N, K); an option that a row has not is +inf, -inf; rows sorted by watts
count : (N,) nodes in each row

References
----------
Dantzig: Discrete-variable extremum problems, Operations Research 5 (1957): the relaxation.
Sinha, Zoltners: The multiple-choice knapsack problem, Operations Research 27 (1979).
Federgruen, Groenevelt: The greedy procedure for resource allocation problems, Operations Research
34 (1986): nested limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
_SLACK_W = 1e-6


@dataclass(frozen=True)
class Level:
    """Groups at one level of the tree, and what each may use.

    ``member`` (N,) is the group of each row, -1 for none; ``budget_w`` (G,) are watts.
    """

    member: Ints
    budget_w: Array


@dataclass(frozen=True)
class HullSteps:
    """M steps along the hulls, each a row, the option reached, watts and gain of one node."""

    row: Ints
    option: Ints
    watts: Array
    gain: Array

    def take(self, index: Ints) -> HullSteps:
        """Some of the steps, in the order given."""
        return HullSteps(self.row[index], self.option[index], self.watts[index], self.gain[index])


def hull(watts: Array, value: Array) -> tuple[Ints, HullSteps]:
    """The cheapest option of each row (N,), and the steps from it along the upper concave hull.

    >>> w, v = np.array([[10.0, 20.0, 30.0]]), np.array([[0.0, 0.1, 0.4]])
    >>> first, steps = hull(w, v)
    >>> first, steps.option, steps.gain / steps.watts
    (array([0]), array([2]), array([0.02]))

    Of options that cost the same the best is looked at.  A step always gains: dearer options that
    are no better are left out.
    """
    n, k = watts.shape
    rows = np.arange(n)
    cheapest = watts.min(axis=1, keepdims=True)
    first = np.where(watts <= cheapest, value, -np.inf).argmax(axis=1)
    at, active = first.copy(), rows
    parts: list[tuple[Ints, Ints, Array, Array]] = []
    for _ in range(k):
        w, v = watts[active], value[active]
        here = at[active]
        own = np.arange(len(active))
        dw, dv = w - w[own, here][:, None], v - v[own, here][:, None]
        slope = np.full(dw.shape, -np.inf)
        np.divide(dv, dw, out=slope, where=(dw > 0) & (dv > 0))
        best = slope.argmax(axis=1)
        goes = slope[own, best] > 0
        active, best, own = active[goes], best[goes], own[goes]
        if not len(active):
            break
        parts.append((active, best, dw[own, best], dv[own, best]))
        at[active] = best
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return first, HullSteps(none, none, np.zeros(0), np.zeros(0))
    return first, HullSteps(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Filled:
    """What the relaxation takes: ``steps`` whole, in falling order of gain per watt.

    ``bound`` is the gain of the relaxation over the cheapest options; ``price`` the gain of one
    more watt at the top, 0 where the budget is more than enough.
    """

    steps: HullSteps
    bound: float
    price: float


def fill(
    steps: HullSteps, spent: Array, levels: Sequence[Level], count: Array | None = None
) -> Filled:
    """Take steps by gain per watt within every level's budgets, the finest level first.

    ``spent`` (N,) are the watts of the cheapest options; they must fit every budget.
    """
    many = np.ones(len(spent)) if count is None else count
    slope = steps.gain / steps.watts
    cost = steps.watts * many[steps.row]
    gain = steps.gain * many[steps.row]
    whole = np.ones(len(slope), dtype=bool)
    kept = np.lexsort((steps.row, -slope))  # a row's steps come in order: slopes fall along a hull
    price = 0.0
    for level in levels:
        before = kept
        kept, cost, gain, cut = _within(kept, steps.row, cost, gain, level, spent * many)
        whole[cut] = False
        left = np.setdiff1d(before, kept, assume_unique=True)
        price = float(max(slope[cut].max(initial=0.0), slope[left].max(initial=0.0)))
    return Filled(steps.take(kept[whole[kept]]), float(gain[kept].sum()), price)


def _within(
    kept: Ints, row: Ints, cost: Array, gain: Array, level: Level, spent: Array
) -> tuple[Ints, Array, Array, Ints]:
    """Steps that fit the groups of one level; of the step that fits only in part, that part."""
    groups = len(level.budget_w)
    member = level.member[row[kept]]
    inside = level.member >= 0
    room = level.budget_w - np.bincount(level.member[inside], spent[inside], groups)
    order = np.argsort(member, kind="stable")
    kept, member = kept[order], member[order]
    total = np.cumsum(cost[kept])
    starts = np.searchsorted(member, np.arange(-1, groups))
    before = np.concatenate([[0.0], total])[starts]
    used = total - before[member + 1]
    limit = np.where(member >= 0, room[np.maximum(member, 0)], np.inf)
    fits = used <= limit + _SLACK_W
    part = ~fits & (used - cost[kept] < limit - _SLACK_W)
    cut = kept[part]
    share = (limit[part] - (used[part] - cost[cut])) / cost[cut]
    cost, gain = cost.copy(), gain.copy()
    cost[cut], gain[cut] = cost[cut] * share, gain[cut] * share
    stay = np.sort(order[fits | part])  # back to falling gain per watt
    back = np.empty(len(kept), dtype=np.int64)
    back[order] = kept
    return back[stay], cost, gain, cut
