"""Which few hundred settings of a large space can be on the front?

Joint draws over all settings of a large space cost the square of their number.  Means and standard
deviations alone are cheap, and say which settings can matter: those that would be on the front if
they were better than expected by one standard deviation, those expected to be on it, the ends of
the space, and an even sprinkling of all, lest the model be wrong everywhere.

Notation
--------
N  settings     m  objectives, minimised, on log axes
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.dominance import non_dominated
from rheostat.core.outcome import Array

Index = NDArray[np.int64]
EXPECTED, SPRINKLED, ENDS = 0.25, 0.125, 4
"""Shares of the candidates from the expected front and from everywhere; worst and best of each."""


def promising(
    mean: Array, spread: Array, count: int, *, excess: Array | None = None, seed: int = 0
) -> Index:
    """About ``count`` settings that can be on the front, ascending.

    Parameters
    ----------
    mean, spread : (N, m)
        Expected value and standard deviation of each objective.
    count : int
        At most so many, beside the ends.
    excess : (N,), optional
        By how much a setting would miss its limits if it were better than expected; at most 0 where
        it may hold them.  Others are taken only where too few may.
    seed : int
        Of the sprinkling.

    Examples
    --------
    >>> x = np.linspace(0, 1, 1000)
    >>> front = np.column_stack([x, (1 - x) ** 2])
    >>> dominated = front + 1.0
    >>> chosen = promising(np.vstack([front, dominated]), np.full((2000, 2), 0.01), 100)
    >>> len(chosen) <= 100 + 4 * ENDS, bool((chosen < 1000).sum() > 80)
    (True, True)
    """
    n = len(mean)
    if n <= count:
        return np.arange(n)
    order = np.argsort(np.zeros(n) if excess is None else np.maximum(excess, 0), kind="stable")
    among = order[: max(count, int((excess <= 0).sum()) if excess is not None else n)]
    sprinkled = np.random.default_rng(seed).choice(n, int(SPRINKLED * count), replace=False)
    sides = np.argsort(mean, axis=0, kind="stable")
    ends = np.concatenate([sides[:ENDS], sides[-ENDS:]]).ravel()
    chosen = set(sprinkled.tolist())
    chosen |= set(among[layers(mean[among], int(EXPECTED * count))].tolist())
    best = among[layers(mean[among] - spread[among], count)]
    fresh = [i for i in best.tolist() if i not in chosen]
    chosen |= set(fresh[: count - len(chosen)])
    return np.array(sorted(chosen | set(ends.tolist())), dtype=np.int64)


def layers(values: Array, count: int) -> Index:
    """``count`` rows of ``values`` (N, m), front by front; of the last front an even selection.

    >>> layers(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [1.0, 1.0]]), 3)
    array([0, 1, 3])
    """
    left, chosen = np.arange(len(values)), list[int]()
    while len(chosen) < count and len(left):
        best = non_dominated(values[left])
        layer = left[best]
        layer = layer[np.argsort(values[layer, 0], kind="stable")]
        room = count - len(chosen)
        if len(layer) > room:
            layer = layer[np.linspace(0, len(layer) - 1, room).round().astype(int)]
        chosen += layer.tolist()
        left = left[~best]
    return np.array(chosen, dtype=np.int64)
