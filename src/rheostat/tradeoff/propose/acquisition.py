"""What a setting is worth trying for, as plain numbers: no model, no state, only draws.

A model that is unsure gives draws of what a setting might cost.  The worth of trying it is the
mean, over draws, of how much it would add: to the area the known front dominates (hypervolume
improvement), or below the best single value so far (improvement).  For two objectives the added
area is a sum over the steps of the staircase, so it is computed exactly and for all draws at once.

Notation
--------
d  draws     n  candidates     f  front points     m  objectives, all minimised
y : (d, n, m) draws of the candidates      z : (d, f, 2) or (f, 2) the known points
r : (2,) reference      a_0 = -inf < a_1 <= ... <= a_f  first coordinates of the staircase
b_0 = r_2 >= b_1 >= ... >= b_f  its height right of a_i

References
----------
Emmerich, Deutz, Klinkenberg: Hypervolume-based expected improvement (CEC 2011).
Daulton, Balandat, Bakshy: Parallel Bayesian optimization of multiple noisy objectives with expected
hypervolume improvement (NeurIPS 2021): batches by adding picked points to each draw's own front.
Knowles: ParEGO (IEEE TEC 2006): augmented Chebyshev scalarisation, rho = 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.dominance import non_dominated
from rheostat.core.outcome import Array

_CELLS = 4_000_000  # draws x candidates x steps held at a time (32 MB of doubles)


def hypervolume_improvement(y: Array, known: Array, reference: Sequence[float] | Array) -> Array:
    """Area that each candidate would add to what ``known`` dominates, in each draw: (d, n).

    ``y`` is (d, n, 2); ``known`` is (f, 2) for all draws or (d, f, 2), each draw's own.  Dominated
    points, points beyond the reference and points with NaN change nothing.

    Examples
    --------
    >>> known = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> hypervolume_improvement(np.array([[[0.0, 0.0], [1.5, 1.5], [2.0, 2.0]]]), known, (3.0, 3.0))
    array([[6.  , 0.25, 0.  ]])

    A candidate with NaN adds nothing.
    """
    r = np.asarray(reference, dtype=float)
    y = np.where(np.isnan(y).any(axis=-1, keepdims=True), np.inf, y)
    left, right, height = _staircase(known, r)
    n_draws, n = y.shape[0], y.shape[1]
    gain = np.zeros((n_draws, n))
    block = max(1, _CELLS // max(1, n_draws * left.shape[-1]))
    for start in range(0, n, block):
        part = y[:, start : start + block, :, None]
        width = np.clip(right - np.maximum(left, part[:, :, 0]), 0.0, None)
        depth = np.clip(height - part[:, :, 1], 0.0, None)
        gain[:, start : start + block] = (width * depth).sum(axis=-1)
    return gain


def _staircase(known: Array, r: Array) -> tuple[Array, Array, Array]:
    """Steps of the front: from where, to where, how high; each (d or 1, 1, f + 1)."""
    z = np.asarray(known, dtype=float)
    z = z if z.ndim == 3 else z.reshape(1, -1, 2)
    inside = np.isfinite(z).all(axis=-1) & (z < r).all(axis=-1)
    z = np.where(inside[..., None], z, r)
    order = np.argsort(z[..., 0], axis=-1, kind="stable")
    z = np.take_along_axis(z, order[..., None], axis=-2)
    edge = np.ones((len(z), 1))
    left = np.concatenate([-np.inf * edge, z[..., 0]], axis=-1)
    right = np.concatenate([z[..., 0], r[0] * edge], axis=-1)
    height = np.minimum.accumulate(np.concatenate([r[1] * edge, z[..., 1]], axis=-1), axis=-1)
    return left[:, None], right[:, None], height[:, None]


def improvement(y: Array, best: Array | float) -> Array:
    """By how much each draw undercuts ``best`` (one number, or (d, 1)), (d, n).

    Where nothing is known (``best`` is inf) the largest draw stands in for it.

    >>> improvement(np.array([[1.0, 3.0, np.nan]]), 2.0)
    array([[1., 0., 0.]])
    """
    worst = np.max(y, where=np.isfinite(y), initial=-np.inf)
    best = np.where(np.isfinite(best), best, worst if np.isfinite(worst) else 0.0)
    return np.nan_to_num(np.clip(best - y, 0.0, None), nan=0.0)


def chebyshev(y: Array, weights: Array, ideal: Array, span: Array, rho: float = 0.05) -> Array:
    """Augmented Chebyshev scalarisation of ``y`` (..., m) on the box ideal..ideal + span: (...).

    >>> y = np.array([[0.0, 10.0], [5.0, 5.0]])
    >>> chebyshev(y, np.array([0.5, 0.5]), np.zeros(2), np.full(2, 10.0), rho=0.0)
    array([0.5 , 0.25])
    """
    weighted = weights * (y - ideal) / np.where(span > 0, span, 1.0)
    return np.asarray(weighted.max(axis=-1) + rho * weighted.sum(axis=-1))


def infer_reference(y: Array) -> Array:
    """A reference a tenth of the front's range beyond its nadir, (m,).

    With one front point the range of all points is taken, with one point in all one tenth of its
    size; nothing finite is a range of 1 around 0.

    >>> infer_reference(np.array([[0.0, 10.0], [10.0, 0.0], [50.0, 50.0]]))
    array([11., 11.])
    """
    y = y[np.isfinite(y).all(axis=1)]
    if not len(y):
        return np.ones(y.shape[1])
    front = y[non_dominated(y)]
    span = np.ptp(front if len(np.unique(front, axis=0)) > 1 else y, axis=0)
    span = np.where(span > 0, span, np.maximum(np.abs(front.max(axis=0)), 1e-9))
    return np.asarray(front.max(axis=0) + 0.1 * span)


def project_out(z: Array, chosen: int) -> Array:
    """Draws ``z`` (d, n), centred, given that column ``chosen`` becomes known (linearly).

    The sum of squares of a column is its remaining uncertainty; the chosen one's is 0 afterwards.
    """
    pivot = z[:, chosen]
    size = float(pivot @ pivot)
    return z if size <= 0 else z - np.outer(pivot, pivot @ z / size)
