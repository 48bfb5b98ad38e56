"""Hypervolume of measured settings, and how much of it so few evaluations could reach at all.

Objectives are logarithms, scaled by the pool's own box (best 0, worst 1); the reference is 1.1 on
both axes. Box, reference and front belong to the judge: no method sees them.  The best subset of k
points is found exactly, because in two dimensions a front sorted by one objective is sorted against
the other, so the area of a subset is a sum over neighbours and a dynamic programme of O(n^2 k)
finds the largest.

Notation
--------
f : (n, 2)  normalised objectives, both minimised        r = 1.1  reference
best : (k + 1,)  largest hypervolume of any subset of at most that many points

References
----------
.. [1] K. Bringmann, T. Friedrich, P. Klitzke, "Two-dimensional subset selection for hypervolume and
   epsilon-indicator", GECCO 2014.
"""

from __future__ import annotations

import moocore
import numpy as np

from .pools import Array

REFERENCE = 1.1


def normalise(log_pair: Array) -> Array:
    """Scale two log objectives (N, 2) to the pool's own min/max box.

    >>> normalise(np.array([[0.0, 5.0], [2.0, 1.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    low, high = log_pair.min(axis=0), log_pair.max(axis=0)
    return (log_pair - low) / (high - low)


def front_of(f: Array) -> np.ndarray:
    """Indices of the non-dominated points, sorted by the first objective; one of equal points is
    kept."""
    index = np.flatnonzero(moocore.is_nondominated(f))
    return index[np.argsort(f[index, 0], kind="stable")]


def hypervolume(f: Array, reference: float = REFERENCE) -> float:
    """Area dominated by the rows of `f` and bounded by the reference; 0 for no rows.

    >>> round(hypervolume(np.array([[0.1, 0.6], [0.6, 0.1]])), 6)
    0.75
    """
    return float(moocore.hypervolume(f, ref=[reference, reference])) if len(f) else 0.0


def attainable(f: Array, reference: float = REFERENCE) -> Array:
    """Largest hypervolume of any subset of at most k points, k = 0 .. size of the front.

    >>> attainable(np.array([[0.1, 0.6], [0.6, 0.1], [0.7, 0.7]])).round(6)
    array([0.  , 0.5 , 0.75])
    """
    x, y = f[front_of(f)].T
    n = len(x)
    height = np.maximum(reference - y, 0.0)
    gain = np.maximum(reference - x, 0.0) * height
    best = [0.0, float(gain.max())]
    step = np.where(np.arange(n)[None, :] > np.arange(n)[:, None], x[None, :] - x[:, None], -np.inf)
    strip = step * np.maximum(height, 1e-300)[:, None]
    for _ in range(2, n + 1):
        gain = np.maximum(gain, (strip + gain[None, :]).max(axis=1))
        best.append(float(gain.max()))
    return np.array(best)


class Judge:
    """Scores sets of measured settings of one pool on one pair of objectives.

    ``noise`` (2,) are the standard deviations of one measurement's logs.
    """

    def __init__(self, log_pair: Array, noise: Array | None = None) -> None:
        self.f = normalise(log_pair)
        span = log_pair.max(axis=0) - log_pair.min(axis=0)
        self.slack = np.zeros(2) if noise is None else noise / span
        self.front = front_of(self.f)
        self.best = attainable(self.f)
        self.total = hypervolume(self.f)

    def fraction(self, chosen: list[int]) -> float:
        """Hypervolume of the chosen settings over that of the true front."""
        return hypervolume(self.f[chosen]) / self.total

    def attained(self, chosen: list[int]) -> float | None:
        """Hypervolume of the chosen settings over the best that as many could have; None for
        none."""
        k = min(len(chosen), len(self.best) - 1)
        return hypervolume(self.f[chosen]) / float(self.best[k]) if k else None

    def attained_beyond_noise(self, chosen: list[int]) -> float | None:
        """`attained`, with every chosen setting better by one standard deviation of the noise.

        Only what the true front dominates counts, so that noise earns nothing beyond it.
        """
        k = min(len(chosen), len(self.best) - 1)
        if not k:
            return None
        eased = self.f[chosen] - self.slack
        joined = hypervolume(np.vstack([eased, self.f[self.front]]))
        common = hypervolume(eased) + self.total - joined
        return min(1.0, common / float(self.best[k]))
