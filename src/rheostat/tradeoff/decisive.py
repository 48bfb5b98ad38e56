"""Which measurements would decide which setting is best, before any of them is made.

Where the predicted best of a group is sure, nothing needs to be measured; where another setting may
well be better, the measurement is worth most that tells the two apart - at either of them, or at a
third that both depend on.

Notation
--------
n  settings       m, S  mean (n,) and covariance (n, n) of their log cost       s  noise of a run
b, j  best setting of a group and another one of it        d = y_j - y_b
r(b, j) = E max(0, -d)    what is lost on average by taking b where j is better
gain(x) = sum r(b, j) cov(x, d)^2 / (var(d) (S_xx + s^2))    the part of it that measuring x removes
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


def most_decisive(
    mean: Array,
    covariance: Array,
    groups: Sequence[NDArray[np.int64]],
    number: int,
    *,
    noise: float = 0.05,
    measured: Collection[int] = (),
) -> list[int]:
    """Settings to measure, one after the other, each with those before it in mind.

    Parameters
    ----------
    mean, covariance
        Of the logarithm of what is minimised, (n,) and (n, n).
    groups
        Rows among which one is to be chosen; groups may overlap.
    number
        How many settings; fewer come back where the rest would decide nothing.
    noise
        Standard deviation of the logarithm of one measurement.
    measured
        Rows that are not to be named.

    Examples
    --------
    >>> mean, sure = np.array([0.0, 0.1, 5.0]), np.diag([0.01, 0.2, 0.2])
    >>> most_decisive(mean, sure, [np.array([0, 1, 2])], 1)
    [1]
    """
    left = np.array(covariance, dtype=float)
    best = [(int(g[np.argmin(mean[g])]), g) for g in groups if len(g) > 1]
    pairs = [(b, int(j)) for b, g in best for j in g if j != b]
    if not pairs:
        return []
    at, other = np.array(pairs).T
    chosen: list[int] = []
    while len(chosen) < min(number, len(mean) - len(measured)):
        gain = _gain(mean, left, at, other, noise)
        gain[[*chosen, *measured]] = -1.0
        row = int(np.argmax(gain))
        if gain[row] <= 0:
            break
        chosen.append(row)
        left -= np.outer(left[:, row], left[row]) / (left[row, row] + noise**2)
    return chosen


def _gain(
    mean: Array, spread: Array, best: NDArray[np.int64], other: NDArray[np.int64], noise: float
) -> Array:
    variance = spread[other, other] + spread[best, best] - 2 * spread[best, other]
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    ahead = (mean[other] - mean[best]) / deviation
    regret = deviation * (np.exp(-(ahead**2) / 2) / np.sqrt(2 * np.pi) - ahead * ndtr(-ahead))
    told_apart = (spread[:, other] - spread[:, best]) ** 2 / deviation**2
    return np.asarray((told_apart @ regret) / (np.diag(spread) + noise**2))
