"""Lift the node that is worst off as far as the budget reaches, then spend what is left.

How much must be spent so that nobody has less than x?  Each node takes its cheapest option worth at
least x; the sum grows with x.  So the highest x that fits is found by bisection over the values
there are, and is exact.  What is left goes to the largest sum, without going below x.

Notation
--------
N  nodes      K  options      x  the least value of any node
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.dominance import Mask
from rheostat.core.outcome import Array
from rheostat.decision.budget.allocate import Allocation, allocate, check
from rheostat.decision.budget.hull import Level
from rheostat.errors import Infeasible


def lift_worst(watts: Array, value: Array, levels: Sequence[Level]) -> Allocation:
    """Maximise the least value over nodes, then the sum.

    >>> from rheostat.decision.budget.allocate import whole
    >>> w = np.array([[0.0, 10.0], [0.0, 20.0]])
    >>> v = np.array([[0.0, 0.9], [0.0, 0.1]])
    >>> lift_worst(w, v, [whole(2, 20.0)]).choice, lift_worst(w, v, [whole(2, 30.0)]).choice
    (array([1, 0]), array([1, 1]))

    A node with one option alone (idle, kept) bounds nobody.  The certificate is that of the second
    step: the sum, given that nobody falls below x.
    """
    check(np.where(np.isfinite(value), watts, np.inf).min(axis=1), levels)
    free = np.isfinite(value).sum(axis=1) > 1
    if not free.any():
        return allocate(watts, value, levels)
    reachable = value[free].max(axis=1).min()
    steps = np.unique(value[np.isfinite(value) & (value <= reachable)])
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(watts, _from(value, steps[middle], free), levels):
            low = middle
        else:
            high = middle - 1
    return allocate(watts, _from(value, steps[low], free), levels)


def _from(value: Array, least: float, free: Mask) -> Array:
    """The values without those of free nodes that are below ``least``, which become -inf."""
    return np.asarray(np.where((value >= least - 1e-12) | ~free[:, None], value, -np.inf))


def _fits(watts: Array, value: Array, levels: Sequence[Level]) -> bool:
    cost = np.where(np.isfinite(value), watts, np.inf).min(axis=1)
    try:
        check(cost, levels)
    except Infeasible:
        return False
    return True
