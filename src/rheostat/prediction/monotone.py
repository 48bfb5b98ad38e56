"""The nearest table that never falls when a cap rises.

More watts never make a program slower; a table of single runs says they do, by its noise.  The
nearest table (least squares) that rises along every axis takes that noise out, and what it takes
out tells how large the noise is.  Along one axis the answer is a formula of means; along several,
the axes take turns, each correcting what the last did (Dykstra).

Notation
--------
d  draws       y : (d, n1, ..., nk) values       w : (n1, ..., nk) weights, 0 = not measured

References
----------
Robertson, Wright, Dykstra: Order Restricted Statistical Inference (1988), chapter 1: the min-max
formula.  Dykstra, Robertson: An algorithm for isotonic regression for two or more independent
variables, Annals of Statistics 10 (1982).
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array

_TINY = 1e-9


def rising(y: Array, w: Array, axis: int = -1) -> Array:
    """The nearest values that rise along one axis; cells of weight 0 do not pull.

    >>> rising(np.array([[1.0, 3.0, 2.0, 4.0]]), np.ones(4))
    array([[1. , 2.5, 2.5, 4. ]])
    """
    y, w = np.moveaxis(y, axis, -1), np.moveaxis(np.broadcast_to(w, y.shape), axis, -1)
    n, w = y.shape[-1], np.maximum(w, _TINY)
    total = _from_zero(np.cumsum(w * y, axis=-1))
    weight = _from_zero(np.cumsum(w, axis=-1))
    mean = np.full((*y.shape, n), np.inf)  # mean[..., a, b] over cells a..b
    for a in range(n):
        mean[..., a, a:] = (total[..., a + 1 :] - total[..., a, None]) / (
            weight[..., a + 1 :] - weight[..., a, None]
        )
    least = np.minimum.accumulate(mean[..., ::-1], axis=-1)[..., ::-1]
    least[..., np.tri(n, k=-1, dtype=bool)] = -np.inf  # block may not begin after the cell
    return np.moveaxis(least.max(axis=-2), -1, axis)


def _from_zero(x: Array) -> Array:
    return np.concatenate([np.zeros((*x.shape[:-1], 1)), x], axis=-1)


def rising_everywhere(y: Array, w: Array, *, rounds: int = 30, tolerance: float = 1e-4) -> Array:
    """The nearest values that rise along every axis but the first (the draws).

    What is left of a fall after ``rounds`` is closed by the running maximum, so the result rises
    exactly.
    """
    axes = range(1, y.ndim)
    if len(axes) == 1:
        return rising(y, w)
    fitted, owed = y, {a: np.zeros_like(y) for a in axes}
    for _ in range(rounds):
        before = fitted
        for a in axes:
            fitted_next = rising(fitted + owed[a], w, a)
            owed[a] = fitted + owed[a] - fitted_next
            fitted = fitted_next
        if np.abs(fitted - before).max(initial=0.0) < tolerance:
            break
    for a in axes:
        fitted = np.maximum.accumulate(fitted, axis=a)
    return fitted
