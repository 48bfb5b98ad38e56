"""Which rows are worth considering, how much they cover, and where their front bends.

Notation
--------
n  rows      m  objectives      y : (n, m) values, all to be minimised
r : (m,) reference point, worse than everything of interest

References
----------
Das, I.: On characterizing the "knee" of the Pareto curve (1999): the point farthest from the chord.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.errors import DataError

Mask = NDArray[np.bool_]

FLAT = 0.03
"""Two values nearer than this are the same to anyone who weighs what the better one costs."""


def non_dominated(y: Array) -> Mask:
    """Rows of ``y`` (n, m; minimised) that no other row dominates.

    >>> non_dominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [2.0, 2.0], [np.nan, 0.0]]))
    array([ True,  True, False,  True, False])

    Equal rows do not dominate each other: all copies stay.  A row with NaN is never on the front
    and dominates nobody.  Empty input gives an empty mask.
    """
    y = np.asarray(y, dtype=float)
    mask: Mask = np.asarray(np.isfinite(y).all(axis=1))
    if y.shape[1] == 2:
        mask[mask] = _non_dominated_2d(y[mask])
        return mask
    for i in np.flatnonzero(mask):
        others = y[mask]
        mask[i] = not np.any((others <= y[i]).all(axis=1) & (others < y[i]).any(axis=1))
    return mask


def _non_dominated_2d(y: Array) -> Mask:
    """The same for finite rows of two objectives, by sorting: large spaces have many rows."""
    order = np.lexsort((y[:, 1], y[:, 0]))
    first, second = y[order].T
    start = np.searchsorted(first, first)  # the least second objective of those with equal first
    least = np.concatenate([[np.inf], np.minimum.accumulate(second)])[start]  # of a smaller first
    mask = np.empty(len(y), dtype=bool)
    mask[order] = (second < least) & (second == second[start])
    return mask


def hypervolume_2d(y: Array, reference: Sequence[float]) -> float:
    """Area dominated by ``y`` (n, 2; minimised) up to ``reference``; rows beyond it add nothing.

    >>> hypervolume_2d(np.array([[1.0, 2.0], [2.0, 1.0]]), (3.0, 3.0))
    3.0
    >>> hypervolume_2d(np.empty((0, 2)), (1.0, 1.0))
    0.0
    """
    r = np.asarray(reference, dtype=float)
    y = np.asarray(y, dtype=float).reshape(-1, 2)
    y = y[(y < r).all(axis=1)]
    y = y[np.lexsort((y[:, 1], y[:, 0]))]
    ceiling = np.minimum.accumulate(np.concatenate(([r[1]], y[:, 1])))
    return float(np.sum((r[0] - y[:, 0]) * (ceiling[:-1] - ceiling[1:])))


def worth_it(better: Array, other: Array) -> bool:
    """Whether the better first objective is told apart from the other's, or costs no more.

    Both are logarithms of all objectives, (m,).
    """
    gain = other[0] - better[0]
    return bool(gain >= np.log1p(FLAT) or better.sum() <= other.sum())


def knee_index(y: Array) -> int:
    """Row of the front farthest below the chord between its ends, on log axes where possible.

    >>> knee_index(np.array([[1.0, 100.0], [2.0, 10.0], [50.0, 9.0], [100.0, 8.0]]))
    1

    Ratios are what people weigh, hence log axes when all values are positive.  Fewer than three
    distinct front points have no bend and lie equally deep: ties go to the best first objective,
    unless that is less than `FLAT` better there and costs more than it gains.

    >>> knee_index(np.array([[91.0, 1540.0], [91.1, 454.0]]))
    1
    """
    front = np.flatnonzero(non_dominated(y))
    if not front.size:
        raise DataError("knee", ["no alternative has finite objectives"])
    z, positive = y[front], bool((y[front] > 0).all())
    z = np.log(z) if positive else z
    ends = np.unique(z, axis=0)
    if positive and len(ends) == 2 and not worth_it(*ends):
        return int(front[np.argmax(z[:, 0])])
    span = z.max(axis=0) - z.min(axis=0)
    depth = 1.0 - ((z - z.min(axis=0)) / np.where(span > 0, span, 1.0)).sum(axis=1) / max(
        1, int((span > 0).sum())
    )
    order = np.lexsort((z[:, 0], -np.round(depth, 12)))
    return int(front[order[0]])
