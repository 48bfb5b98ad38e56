"""Change few nodes: the best answer that leaves all but so many as they are.

Small fleets go to HiGHS as a mixed-integer programme, which takes any linear side constraint.  For
large ones every change is given a price; the lowest price at which few enough nodes change is found
by bisection.

Notation
--------
N  nodes      K  options      x : (N, K) 1 where an option is taken
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.decision.budget.allocate import Allocation, allocate
from rheostat.decision.budget.hull import Level
from rheostat.errors import Infeasible

SMALL = 200
_BISECTIONS = 24


@dataclass(frozen=True)
class Side:
    """A side constraint: the sum of ``weight`` (N, K) over options taken is at most ``most``."""

    weight: Array
    most: float


def at_most(
    watts: Array, value: Array, levels: Sequence[Level], stays: NDArray[np.bool_], changes: int
) -> Allocation:
    """The best answer that changes at most ``changes`` nodes; ``stays`` (N, K) are present options.

    Raises `Infeasible` if the budget cannot be met with so few changes.
    """
    free = allocate(watts, value, levels)
    rows = np.arange(len(watts))
    if int((~stays[rows, free.choice]).sum()) <= changes:
        return free
    if len(watts) <= SMALL:
        solution = programme(watts, value, levels, [Side((~stays).astype(float), changes)])
        return replace(solution, price=free.price)
    low, high, best = 0.0, float(np.ptp(value[np.isfinite(value)])) + 1.0, None
    bound, stay = free.bound, len(watts) - changes
    for _ in range(_BISECTIONS):
        price = (low + high) / 2
        solution = allocate(watts, value + price * stays, levels, exact=False)
        bound = min(bound, solution.bound - price * stay)  # whoever changes so few earns this much
        if int((~stays[rows, solution.choice]).sum()) <= changes:
            best, high = solution.choice, price
        else:
            low = price
    if best is None:
        raise Infeasible(f"the budget cannot be met by changing {changes} nodes: allow more", 0)
    total = float(value[rows, best].sum())
    used = float(watts[rows, best].sum())
    return Allocation(best, total, max(bound, total), free.price, used, False)


def programme(
    watts: Array,
    value: Array,
    levels: Sequence[Level],
    sides: Sequence[Side] = (),
    *,
    most_branches: int = 2_000,
) -> Allocation:
    """The best answer under budgets and side constraints, by HiGHS; for some hundreds of nodes.

    ``exact`` is True when HiGHS proves the answer (relative gap 1e-9) within ``most_branches``
    nodes of its search tree: a limit on work, so that the same input gives the same answer.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    node, option = np.nonzero(np.isfinite(value))
    n, m = len(watts), len(node)
    one = csr_array((np.ones(m), (node, np.arange(m))), shape=(n, m))
    constraints = [LinearConstraint(one, 1, 1)]
    for level in levels:
        member = level.member[node]
        there = np.flatnonzero(member >= 0)
        shape = (len(level.budget_w), m)
        use = csr_array((watts[node, option][there], (member[there], there)), shape=shape)
        constraints.append(LinearConstraint(use, -np.inf, level.budget_w + 1e-6))
    for side in sides:
        row = csr_array(side.weight[node, option][None, :])
        constraints.append(LinearConstraint(row, -np.inf, side.most))
    answer = milp(
        -value[node, option],
        constraints=constraints,
        integrality=np.ones(m),
        bounds=Bounds(0, 1),
        options={"node_limit": most_branches, "mip_rel_gap": 1e-9},
    )
    if answer.x is None:
        reason = "no answer holds" if answer.status == 2 else "no answer was found that holds"
        raise Infeasible(f"{reason} all limits and side constraints: loosen one", 0)
    taken = answer.x > 0.5
    choice = np.zeros(n, dtype=np.int64)
    choice[node[taken]] = option[taken]
    total, used = (float(t[np.arange(n), choice].sum()) for t in (value, watts))
    bound = max(total, -float(answer.mip_dual_bound))
    return Allocation(choice, total, bound, 0.0, used, bool(answer.status == 0))
