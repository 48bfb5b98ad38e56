"""From nearly best to proven best: rule out what cannot be in a better answer, then be exhaustive.

At the price of a watt, every option of a node has a reduced worth (value less price times watts).
An option whose reduced worth lies below the node's best by more than the distance between bound and
answer cannot be in any better answer.  What remains is little, and a dynamic programme over watts
searches all of it:  V_i(b) = max over options j of V_{i-1}(b - w_ij) + v_ij.  Where watts have no
common step its numbers of watts are those of the sums worth their watts (`pareto.py`).

Notation
--------
N  nodes      K  options      B  budget in steps of the greatest common divisor of all differences

References
----------
Pisinger: A minimal algorithm for the multiple-choice knapsack problem, European Journal of
Operational Research 83 (1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.decision.budget.pareto import Price, Sums, sums

Ints = NDArray[np.int64]
_MOST_WORK = 3e8  # additions; a second or two
_EVEN_W = 1e-3
_SAME_W = 1e-6
SAME = 1e-12
"""Relative difference at which a value and a bound are the same."""
ROUNDED = 4096
"""Steps of a limit where exact ones would be too many."""


def improve_exactly(
    watts: Array, value: Array, choice: Ints, *, limit: float, bound: float, price: float
) -> tuple[Ints, float]:
    """The best choice that the programme finds, and a value that no answer exceeds.

    ``bound`` is such a value known before, ``price`` the relaxation's value of a watt.  Where watts
    need no rounding the two agree: the choice is proven best.
    """
    rows = np.arange(len(watts))
    answer = float(value[rows, choice].sum())
    if bound - answer <= SAME * max(abs(bound), 1.0):
        return choice, bound
    possible = np.isfinite(value)
    reduced = np.where(possible, value - price * np.where(possible, watts, 0.0), -np.inf)
    behind = reduced.max(axis=1, keepdims=True) - reduced
    most_behind = bound - answer + SAME * max(abs(bound), 1.0)
    keep = behind <= most_behind
    solved = frontier(watts, value, keep, limit, price=Price(price, most_behind))
    if solved is None:
        return choice, bound
    best = solved.options(int(solved.points[-1]))
    choice = best if float(value[rows, best].sum()) > answer else choice
    answer = float(value[rows, choice].sum())
    if solved.whole:
        return choice, answer
    above = frontier(watts, value, keep, limit, down=True)
    return choice, bound if above is None else min(bound, max(answer, float(above.values[-1])))


_Stage = tuple[int, Ints, Ints, NDArray[np.uint32]]
"""Row, its options, the steps that each takes, and which is best at every number of steps."""


@dataclass(frozen=True)
class Frontier:
    """The best values of some rows for every number of watts up to a limit.

    ``points`` are the numbers of steps above the cheapest options at which the best value rises,
    ``watts`` and ``values`` what these use and reach.  Not ``whole`` are watts that were rounded.
    """

    points: Ints
    watts: Array
    values: Array
    whole: bool
    cheapest: Ints
    record: list[_Stage]
    sums: Sums | None = None

    def options(self, point: int) -> Ints:
        """The option of each row at a point."""
        if self.sums is not None:
            return self.sums.options(point, self.cheapest)
        choice = self.cheapest.copy()
        for row, kept, jumps, which in reversed(self.record):
            option = int(which[point])
            choice[row] = kept[option]
            point -= int(jumps[option])
        return choice


def frontier(
    watts: Array,
    value: Array,
    keep: NDArray[np.bool_],
    limit: float,
    most: float = _MOST_WORK,
    *,
    down: bool = False,
    price: Price | None = None,
) -> Frontier | None:
    """The best combinations of the options kept; None where the cheapest exceed the limit.

    Exact where at most ``most`` additions suffice.  Else watts are rounded up to `ROUNDED` steps,
    so that the limit is kept; or ``down``, so that nothing within the limit is better.  With a
    ``price`` only what could be in a better answer need be there.

    >>> w, v = np.array([[0.0, 10.0], [0.0, 20.0]]), np.array([[0.0, 1.0], [0.0, 5.0]])
    >>> found = frontier(w, v, np.isfinite(v), 25.0)
    >>> found.watts, found.values, found.options(found.points[-1])
    (array([ 0., 10., 20.]), array([0., 1., 5.]), array([0, 1]))
    """
    rows = np.arange(len(watts))
    kept = [_useful(*of) for of in zip(watts, value, keep, strict=True)]
    cheapest = np.array([options[0] for options in kept], dtype=np.int64)
    base_w, base = float(watts[rows, cheapest].sum()), float(value[rows, cheapest].sum())
    need = {i: watts[i, o] - watts[i, o[0]] for i, o in enumerate(kept) if len(o) > 1}
    free = min(max(limit - base_w, 0.0), sum(float(x[-1]) for x in need.values()))
    if limit - base_w < -_EVEN_W:
        return None
    step_w, whole = _step(list(need.values()), free, most)
    exact = None if whole or down else sums(watts, value, kept, limit, most, price)
    if exact is not None:
        points = np.arange(len(exact.watts))
        return Frontier(points, exact.watts, exact.values, True, cheapest, [], exact)
    rounded = np.rint if whole else np.floor if down else np.ceil
    best, record = np.zeros(int((free + _SAME_W) / step_w) + 1), []
    for i, more in need.items():
        jumps = rounded(more / step_w).astype(np.int64)
        last = np.flatnonzero(np.diff(jumps, append=-1))  # of options rounded alike, the best
        options = kept[i][last]
        best, which = _stage(best, jumps[last], value[i, options] - value[i, kept[i][0]])
        record.append((i, options, jumps[last], which))
    points = np.flatnonzero(np.diff(best, prepend=-np.inf) > 0)
    used = points * step_w if whole or down else _used(points, watts, cheapest, record)
    return Frontier(
        points, np.asarray(base_w + used, dtype=float), base + best[points], whole, cheapest, record
    )


def _used(points: Ints, watts: Array, cheapest: Ints, record: Sequence[_Stage]) -> Array:
    """Watts above the cheapest options at each point, before they were rounded."""
    at, used = points.copy(), np.zeros(len(points))
    for row, options, jumps, which in reversed(record):
        option = which[at]
        used += watts[row, options[option]] - watts[row, cheapest[row]]
        at -= jumps[option]
    return used


def _step(need: list[Array], free: float, most: float) -> tuple[float, bool]:
    """Watts of a step, and whether all of ``need`` are multiples of it."""
    every = np.concatenate([*need, [0.0]])
    step_w = reduce(_divisor, np.unique(every.round(9)).tolist())
    if step_w == 0:
        return 1.0, True  # nothing to choose: any step serves
    count = np.rint(every / step_w)
    step_w = float(every @ count / (count @ count))  # without what was rounded off
    whole = step_w >= _EVEN_W and np.abs(every - count * step_w).max() < _SAME_W
    size = free / step_w + 1
    if whole and len(every) * size <= most and len(need) * size <= most / 16:
        return step_w, True
    return max(free / ROUNDED, _EVEN_W), False


def _divisor(a: float, b: float) -> float:
    """The greatest common divisor of two numbers of watts that need not be whole.

    >>> round(_divisor(100 / 7, 250 / 7), 6)
    7.142857
    """
    while b > _SAME_W:
        a, b = b, a % b
        b = 0.0 if a - b < _SAME_W else b
    return a


def _useful(watts: Array, value: Array, keep: NDArray[np.bool_]) -> Ints:
    """Options kept that no cheaper or equal one matches, by watts."""
    index = np.flatnonzero(keep)
    index = index[np.lexsort((-value[index], watts[index]))]
    above = np.concatenate([[-np.inf], np.maximum.accumulate(value[index])[:-1]])
    return np.asarray(index[value[index] > above])


def _stage(best: Array, jumps: Ints, gain: Array) -> tuple[Array, NDArray[np.uint32]]:
    """One row more: V_i(b) and which option attains it."""
    result = np.full(len(best), -np.inf)
    which = np.zeros(len(best), dtype=np.uint32)
    for j, (jump, v) in enumerate(zip(jumps, gain, strict=True)):
        if jump >= len(best):
            continue
        candidate = best[: len(best) - jump] + v
        better = candidate > result[jump:]
        result[jump:][better] = candidate[better]
        which[jump:][better] = j
    return result, which
