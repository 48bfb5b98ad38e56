"""From nearly best to proven best: rule out what cannot be in a better answer, then be exhaustive.

At the price of a watt, every option of a node has a reduced worth (value less price times watts).
An option whose reduced worth lies below the node's best by more than the distance between bound and
answer cannot be in any better answer.  What remains is little, and a dynamic programme over watts
searches all of it:  V_i(b) = max over options j of V_{i-1}(b - w_ij) + v_ij.

Notation
--------
N  nodes      K  options      B  budget in steps of the greatest common divisor of all differences

References
----------
Pisinger: A minimal algorithm for the multiple-choice knapsack problem, European Journal of
Operational Research 83 (1995).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
_MOST_WORK = 3e8  # additions; a second or two
_MOST_CELLS = 2e8  # bytes of the record of choices
_EVEN_W = 1e-3


def improve_exactly(
    watts: Array, value: Array, choice: Ints, *, limit: float, bound: float, price: float
) -> tuple[Ints, bool]:
    """The best choice and True; or ``choice`` and False where proving it would take too long.

    ``bound`` is a value no answer exceeds, ``price`` the relaxation's value of a watt.
    """
    rows = np.arange(len(watts))
    answer = float(value[rows, choice].sum())
    scale = max(abs(bound), 1.0)
    if bound - answer <= 1e-12 * scale:
        return choice, True
    possible = np.isfinite(value)
    reduced = np.where(possible, value - price * np.where(possible, watts, 0.0), -np.inf)
    behind = reduced.max(axis=1, keepdims=True) - reduced
    keep = behind <= bound - answer + 1e-12 * scale
    best, found = _programme(watts, value, keep, limit)
    if best is None:
        return choice, False
    if found <= answer:
        return choice, True
    return best, True


def _programme(
    watts: Array, value: Array, keep: NDArray[np.bool_], limit: float
) -> tuple[Ints | None, float]:
    """The best combination of the options kept; None if it is too much work."""
    rows = np.arange(len(watts))
    choice = keep.argmax(axis=1)  # of a row with one option left, that one
    kept = {int(i): _useful(watts[i], value[i], keep[i]) for i in np.flatnonzero(keep.sum(1) > 1)}
    for i, options in kept.items():
        choice[i] = options[0]
    need = {i: watts[i, o] - watts[i, o[0]] for i, o in kept.items() if len(o) > 1}
    if not need:
        return choice, float(value[rows, choice].sum())
    free = limit - watts[rows, choice].sum()
    if free < -_EVEN_W:
        return None, -np.inf
    step = _common(np.concatenate(list(need.values())))
    size = int(min(max(free, 0.0), sum(float(x[-1]) for x in need.values())) / step + 1e-6) + 1
    work = sum(len(x) for x in need.values()) * size
    if work > _MOST_WORK or len(need) * size > _MOST_CELLS:
        return None, -np.inf
    best, record = np.zeros(size), []
    for i, watts_more in need.items():
        jumps = np.rint(watts_more / step).astype(np.int64)
        best, which = _stage(best, jumps, value[i, kept[i]])
        record.append(which)
    at = int(best.argmax())
    for i, which in zip(reversed(need), reversed(record), strict=True):
        option = int(which[at])
        choice[i] = kept[i][option]
        at -= round(float(need[i][option]) / step)
    return choice, float(value[rows, choice].sum())


def _useful(watts: Array, value: Array, keep: NDArray[np.bool_]) -> Ints:
    """Options kept that no cheaper or equal one matches, by watts."""
    index = np.flatnonzero(keep)
    index = index[np.lexsort((-value[index], watts[index]))]
    above = np.concatenate([[-np.inf], np.maximum.accumulate(value[index])[:-1]])
    return np.asarray(index[value[index] > above])


def _stage(best: Array, jumps: Ints, gain: Array) -> tuple[Array, NDArray[np.uint8]]:
    """One node more: V_i(b) and which option attains it."""
    result = np.full(len(best), -np.inf)
    which = np.zeros(len(best), dtype=np.uint8)
    for j, (jump, v) in enumerate(zip(jumps, gain, strict=True)):
        if jump >= len(best):
            continue
        candidate = best[: len(best) - jump] + v
        better = candidate > result[jump:]
        result[jump:][better] = candidate[better]
        which[jump:][better] = j
    return result, which


def _common(watts: Array) -> float:
    """The largest step of which all ``watts`` are multiples, a thousandth of a watt at least."""
    ticks = np.unique(np.rint(watts / _EVEN_W).astype(np.int64))
    return max(int(np.gcd.reduce(ticks)), 1) * _EVEN_W
