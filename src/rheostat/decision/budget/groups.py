"""Budgets inside budgets: first what each group can make of every watt, then watts for the groups.

Within a group (a rack) a dynamic programme gives the best value for every number of watts up to the
group's budget.  These points are the group's options: the group takes the place of its nodes, and
the problem has one level less.  Nothing is lost on the way, so what is proven for the groups is
proven for the nodes.

Notation
--------
N  rows      K  options      G  groups
V_i(b) = max over options j of V_{i-1}(b - w_ij) + v_ij      b in steps of all differences' divisor
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.budget.branch_and_bound import Frontier, Ints, frontier
from rheostat.decision.budget.hull import Level

MOST_WORK = 5e8
"""Additions in all groups of a level together; some seconds.

Enough for 10,000 nodes in racks of 40 whose 17 caps are one watt apart, with 60 W more per node.
"""


@dataclass(frozen=True)
class Grouped:
    """The groups of a level and the rows in none of them, as rows: ``watts``, ``value`` (R, K)."""

    watts: Array
    value: Array
    members: list[Ints]
    frontiers: list[Frontier]
    alone: Ints

    @property
    def whole(self) -> bool:
        """Whether no watts were rounded."""
        return all(one.whole for one in self.frontiers)

    def lifted(self, level: Level) -> Level:
        """A coarser level over these rows."""
        first = np.array([rows[0] for rows in self.members], dtype=np.int64)
        return Level(level.member[np.concatenate([first, self.alone])], level.budget_w)

    def expanded(self, choice: Ints, n: int) -> Ints:
        """Options of the ``n`` rows there were before, from the options of these rows."""
        expanded_choice = np.zeros(n, dtype=np.int64)
        for rows, solved, point in zip(self.members, self.frontiers, choice, strict=False):
            expanded_choice[rows] = solved.options(int(solved.points[point]))
        expanded_choice[self.alone] = choice[len(self.members) :]
        return expanded_choice


def grouped(
    watts: Array, value: Array, levels: Sequence[Level], *, down: bool = False
) -> Grouped | None:
    """The groups of the finest level as rows; ``down`` as in `frontier`.

    None where a group lies only in part within a group of a coarser level.
    """
    level, coarser = levels[0], levels[1:]
    members = [np.flatnonzero(level.member == g) for g in range(len(level.budget_w))]
    limits = [b for b, rows in zip(level.budget_w, members, strict=True) if len(rows)]
    members = [rows for rows in members if len(rows)]
    if any(len(np.unique(c.member[rows])) > 1 for c in coarser for rows in members):
        return None
    solved = []
    for rows, limit in zip(members, limits, strict=True):
        w, v, share = watts[rows], value[rows], len(rows) / len(watts)
        one = frontier(w, v, np.isfinite(v), float(limit), MOST_WORK * share, down=down)
        if one is None:
            return None
        solved.append(one)
    alone = np.flatnonzero(level.member < 0)
    return Grouped(*_stacked(watts[alone], value[alone], solved), members, solved, alone)


def _stacked(watts: Array, value: Array, solved: Sequence[Frontier]) -> tuple[Array, Array]:
    """Options of the groups and of the rows that are in none, in one table each."""
    most = max([watts.shape[1], *(len(one.points) for one in solved)])
    w = np.full((len(solved) + len(watts), most), np.inf)
    v = np.full(w.shape, -np.inf)
    for i, one in enumerate(solved):
        w[i, : len(one.points)], v[i, : len(one.points)] = one.watts, one.values
    w[len(solved) :, : watts.shape[1]], v[len(solved) :, : watts.shape[1]] = watts, value
    return w, v
