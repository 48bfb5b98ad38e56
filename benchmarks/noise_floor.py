"""The error that is left to somebody who sees the whole series: the floor for every forecast.

Each iteration is predicted from those around it, before and after: the median of its regime, or,
where that is clearly better in hindsight, of a window or of the same phase of a pattern.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rheostat.core.outcome import Array

LEAST = 5
"""Iterations of the shortest regime."""
PENALTY = 8.0
"""Drop of squared error, in variances of neighbouring differences, that a further change needs."""
WINDOWS = (0, 5, 10, 20)
LONGEST = 30
CLEARLY = 0.95
"""Of the regime's error, what another rule may have at most: a little less is chance, as the best
of some thirty rules is taken."""


def regimes(times: Array) -> list[slice]:
    """The series cut where its level changes, by binary segmentation of the logarithms.

    >>> [s.start for s in regimes(np.repeat([1.0, 4.0], [20, 10]))]
    [0, 20]
    """
    z = np.log(times)
    noise = np.median(np.abs(np.diff(z))) / 0.954 if len(z) > 1 else 1.0
    cuts = _cuts(z, 0, len(z), PENALTY * np.log(max(len(z), 2)) * max(noise, 1e-6) ** 2)
    edges = [0, *sorted(cuts), len(z)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _cuts(z: Array, begin: int, end: int, penalty: float) -> list[int]:
    part = z[begin:end]
    n = len(part)
    if n < 2 * LEAST:
        return []
    at = np.arange(LEAST, n - LEAST + 1)
    sums = np.cumsum(part)
    left, right = sums[at - 1], sums[-1] - sums[at - 1]
    drop = left**2 / at + right**2 / (n - at) - sums[-1] ** 2 / n
    best = int(np.argmax(drop))
    if drop[best] < penalty:
        return []
    cut = begin + int(at[best])
    return [cut, *_cuts(z, begin, cut, penalty), *_cuts(z, cut, end, penalty)]


def noise_floor(times: Array) -> Array:
    """Predictions in hindsight, one per iteration, none from the iteration itself.

    Parameters
    ----------
    times
        Iteration times of one application.

    Returns
    -------
    ndarray
        As many predictions, all of one rule.

    Examples
    --------
    >>> noise_floor(np.tile([1.0, 1.0, 3.0], 8)).round(3).tolist()[:4]
    [1.0, 1.0, 3.0, 1.0]
    """
    z, parts = np.log(times), regimes(times)
    rules = [_around(z, parts, window, 1) for window in WINDOWS]
    rules.append(_around(z, [slice(0, len(z))], 0, 1))  # single long iterations may look like cuts
    rules += [_around(z, parts, 5 * p, p) for p in range(2, min(LONGEST, len(z) // 3) + 1)]
    errors = np.array([np.mean(np.abs(np.exp(r) / times - 1.0)) for r in rules])
    errors[1:] /= CLEARLY
    return np.asarray(np.exp(rules[int(np.argmin(errors))]))


def _around(z: Array, parts: list[slice], window: int, period: int) -> Array:
    """The median of others of the regime, so near and at multiples of the period away."""
    out = z.copy()
    for part in parts:
        own = z[part]
        for i in range(len(own)):
            near = np.arange(i % period, len(own), period)
            near = near[(near != i) & ((abs(near - i) <= window) | (window == 0))]
            if not len(near):
                near = np.delete(np.arange(len(own)), i)
            out[part.start + i] = np.median(own[near]) if len(near) else own[i]
    return out
