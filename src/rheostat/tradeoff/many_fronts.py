"""The knee of many fronts at once: the same arithmetic as for one, over a leading axis of jobs.

A table of ten thousand jobs has ten thousand small fronts; a loop over them spends its time in
Python.  Here every step (who dominates whom, which layer a row is in, how far below the chord it
lies) is done for all jobs together.

Notation
--------
J  jobs    S  settings of each job    m  objectives    y : (J, S, m), minimised, NaN = no value
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.dominance import FLAT, non_dominated
from rheostat.core.outcome import Array

Mask = NDArray[np.bool_]
BLOCK = 2_000_000  # comparisons held in memory at once


def dominance(y: Array) -> Mask:
    """(J, S, S): whether row i of a job dominates its row k; a row with NaN takes no part."""
    there: Mask = np.asarray(np.isfinite(y).all(axis=2))
    ahead = np.ones((y.shape[0], y.shape[1], y.shape[1]), dtype=bool)
    better = np.zeros_like(ahead)
    for column in np.moveaxis(y, 2, 0):
        ahead &= column[:, :, None] <= column[:, None, :]
        better |= column[:, :, None] < column[:, None, :]
    return np.asarray(ahead & better & there[:, :, None] & there[:, None, :])


def fronts(y: Array) -> Mask:
    """(J, S): which settings of each job no other dominates.

    >>> fronts(np.array([[[1.0, 3.0], [2.0, 2.0], [2.0, 4.0], [np.nan, 0.0]]]))
    array([[ True,  True, False, False]])
    """
    return np.asarray(np.isfinite(y).all(axis=2) & ~dominance(y).any(axis=1))


def knee_heights(y: Array) -> Array:
    """(J, S): relative height of each row over the chord of its layer; least at the knee.

    >>> one = np.array([[1.0, 100.0], [2.0, 10.0], [100.0, 1.0], [100.0, 100.0]])
    >>> knee_heights(np.stack([one, one[::-1]])).round(2)
    array([[ 0.  , -0.17,  0.  ,  3.  ],
           [ 3.  ,  0.  , -0.17,  0.  ]])

    Rows of the second layer (the front of what remains without the front) score 3 more than their
    height there, and so on; a row with NaN is inf.
    """
    size = max(1, BLOCK // max(1, y.shape[1] ** 2))
    parts = [_heights(y[i : i + size]) for i in range(0, len(y), size)]
    return np.concatenate(parts) if parts else np.zeros(y.shape[:2])


def _heights(y: Array) -> Array:
    height = np.full(y.shape[:2], np.inf)
    layer = _layers(y) if y.shape[1] ** 2 <= BLOCK else np.stack([_peeled(one) for one in y])
    for k in range(layer.max(initial=-1) + 1):
        jobs = np.flatnonzero((layer == k).any(axis=1))
        on = layer[jobs] == k
        height[jobs] = np.where(on, 3.0 * k + _layer_heights(y[jobs], on), height[jobs])
    return height


def _layers(y: Array) -> NDArray[np.int64]:
    """(J, S): how many fronts have to be taken away before a row is on one; -1 without a value."""
    beats = dominance(y)
    left: Mask = np.asarray(np.isfinite(y).all(axis=2))
    layer = np.where(left, 0, -1)
    jobs = np.flatnonzero(left.any(axis=1))
    while jobs.size:
        here = left[jobs]
        left[jobs] &= (beats[jobs] & here[:, :, None]).any(axis=1)
        layer[jobs] += left[jobs]
        jobs = jobs[left[jobs].any(axis=1)]
    return layer


def _peeled(y: Array) -> NDArray[np.int64]:
    """The same (S,) for one job of many settings, without comparing each with each."""
    layer = np.full(len(y), -1)
    left = np.flatnonzero(np.isfinite(y).all(axis=1))
    while left.size:
        best = non_dominated(y[left])
        layer[left[best]] = layer.max() + 1
        left = left[~best]
    return layer


def _layer_heights(y: Array, on: Mask) -> Array:
    """Heights of the rows in ``on`` over the chord of ``on``; other rows hold rubbish."""
    member = on[:, :, None]
    positive = np.asarray(np.where(member, y > 0, True).all(axis=(1, 2)))
    logs = np.log(np.where(y > 0, y, 1.0))
    z = np.where(positive[:, None, None], logs, np.where(member, y, 0.0))
    low = np.where(member, z, np.inf).min(axis=1, keepdims=True)
    high = np.where(member, z, -np.inf).max(axis=1, keepdims=True)
    some = np.asarray(on.any(axis=1))[:, None, None]
    low, span = np.where(some, low, 0.0), np.where(some, high - low, 0.0)
    ranged = (z - low) / np.where(span > 0, span, 1.0)
    ranges = np.maximum(1, (span > 0).sum(axis=2))
    # Rounded, so that rounding errors break no tie; ties go to the better first objective.
    bent = np.round(ranged.sum(axis=2) / ranges - 0.5, 12) + 1e-13 * ranged[:, :, 0]
    two = np.where(_flat(z, on, positive)[:, None], 1.0 - ranged[:, :, 0], ranged[:, :, 0])
    return np.where(_distinct(z, on)[:, None] < 3, two, bent)


def _flat(z: Array, on: Mask, positive: Mask) -> Mask:
    """(J,): whether the better first objective is within `FLAT`, and costs more than it gains."""
    first = np.where(on, z[:, :, 0], np.nan)
    total = z.sum(axis=2)
    rows = np.arange(len(z))
    better, other = (pick(np.where(on, first, fill), axis=1)
                     for pick, fill in ((np.argmin, np.inf), (np.argmax, -np.inf)))  # fmt: skip
    near = first[rows, other] - first[rows, better] < np.log1p(FLAT)
    return np.asarray(positive & near & (total[rows, better] > total[rows, other]))


def _distinct(z: Array, on: Mask) -> NDArray[np.int64]:
    """(J,): number of distinct points among the rows in ``on``, at most the number of rows."""
    order = np.lexsort((*np.moveaxis(z, 2, 0), ~on))
    z, on = np.take_along_axis(z, order[:, :, None], 1), np.take_along_axis(on, order, 1)
    fresh = (z[:, 1:] != z[:, :-1]).any(axis=2) & on[:, 1:]
    return np.asarray(fresh.sum(axis=1) + on[:, :1].sum(axis=1))
