"""Plain curves through a few runs: between the settings tried, and between known applications.

Linear interpolation of scattered points is that of radial basis functions with the kernel -r and a
constant: in one dimension the piecewise line, constant beyond the ends.  What the points lie along
is up to the caller: the caps themselves, or what each cap costs the known applications on average,
along which their curves are nearly straight.

Notation
--------
p  settings      k  knobs      n  settings tried      A  known applications
x : (p, k) coordinates      y : (n,) log speed at the tried ones

References
----------
Wendland: Scattered Data Approximation (2004), chapter 8.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from rheostat.core.outcome import Array
from rheostat.prediction.completion.kernels import additive

_APART = 1e-3  # of the range of a knob: no two settings get the same coordinate
_NEAREST = 3


def linear(x: Array, tried: np.ndarray | list[int], y: Array) -> Array:
    """Linear interpolation of ``y`` at the settings ``tried``, at all settings, (p,).

    >>> linear(np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 2], np.array([0.0, 1.0])).round(6)
    array([0. , 0.5, 1. , 1. ])
    """
    at = x[tried]
    n = len(at)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = 1e-9 * np.eye(n) - cdist(at, at)
    system[:n, n] = system[n, :n] = 1.0
    weight = np.linalg.lstsq(system, np.append(y, 0.0), rcond=None)[0]
    return np.asarray(weight[n] - cdist(x, at) @ weight[:n])


def whole(rows: Array, x: Array) -> Array:
    """Rows (A, p) of log speed with every missing cell interpolated from the row's own."""
    filled = rows.copy()
    for row in filled:
        there = np.isfinite(row)
        if not there.all():
            row[~there] = linear(x, np.flatnonzero(there), row[there])[~there]
    return filled


def costs(mean: Array, depth: Array, falling: list[int]) -> Array:
    """What each knob alone costs on average, as coordinates (p, k), from the mean curve (p,).

    Knobs in ``falling`` cost more the lower they are; where the mean says otherwise it is noise.
    """
    parts = additive(mean, depth).T
    for j in falling:
        levels, place = np.unique(depth[:, j], return_inverse=True)
        by_level = np.array([parts[depth[:, j] == u, j].mean() for u in levels])
        parts[:, j] = np.minimum.accumulate(by_level)[place]
    return np.asarray(parts - _APART * depth)


def nearest(rows: Array, tried: np.ndarray | list[int], y: Array) -> Array:
    """Mean of the 3 rows (A, p) closest at the tried settings, the closer the heavier, (p,)."""
    if not len(tried):
        return np.asarray(rows.mean(axis=0))
    far = np.sqrt(((rows[:, tried] - y) ** 2).mean(axis=1))
    near = np.argsort(far, kind="stable")[:_NEAREST]
    return np.asarray(np.average(rows[near], axis=0, weights=1.0 / (far[near] + 1e-6)))
