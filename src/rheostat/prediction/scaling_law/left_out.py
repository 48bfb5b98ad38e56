"""How far is a curve from its law between the settings that were measured?

Each measured setting of an application is forecast from the others.  Where these forecasts miss by
more than they should, as beside a kink or where communication grows faster than any law, the
curve's spread at settings that were not measured is so many times as wide.

Notation
--------
a  settings of one application     n  settings asked
z : (m, 2) error over its standard deviation (runtime, power)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from rheostat.prediction.scaling_law.coordinates import Array

FEWEST = 4
"""Settings that an application needs for one to be forecast from the others."""
BELIEVED = 0.5
"""The law's own spread counts as so many errors that are as large as it says."""
NEAR = 0.5
"""Distance, of a range of 2, at which an error says a third as much."""
UPPER = 0.95


def inner(units: Array) -> NDArray[np.int64]:
    """Settings (m,) within the range of the others in every coordinate; none of too few.

    >>> inner(np.array([[-1.0], [0.0], [0.5], [1.0]]))
    array([1, 2])
    """
    every = np.arange(len(units))
    if len(units) < FEWEST:
        return every[:0]
    others = [np.delete(units, i, axis=0) for i in every]
    inside = [
        bool(((u >= o.min(axis=0)) & (u <= o.max(axis=0))).all())
        for u, o in zip(units, others, strict=True)
    ]
    return np.asarray(every[np.array(inside, dtype=bool)])


def widening(asked: Array, left: Array, scores: Array) -> Array:
    """Factors (n, 2) of the curve's spread at ``asked`` (n, D), of errors z (m, 2) at ``left``.

    Errors nearby count more.  The quantile is that of Student's t with as many degrees of freedom
    as there are errors and beliefs; a spread is never narrowed.

    >>> at = np.array([[0.0], [0.5]])
    >>> widening(at, at, np.array([[0.5, 4.0], [0.5, 4.0]])).round(2)
    array([[1.25, 6.45],
           [1.25, 6.45]])
    >>> widening(at, at[:0], np.empty((0, 2)))[0]
    array([1., 1.])
    """
    if not len(scores):
        return np.ones((len(asked), 2))
    apart = np.sqrt(((asked[:, None] - left[None]) ** 2).sum(axis=2))
    weight = np.exp(-apart / NEAR)
    freedom = weight.sum(axis=1)[:, None] + BELIEVED
    scale = np.sqrt((weight @ scores**2 + BELIEVED) / freedom)
    return np.asarray(np.maximum(scale * stdtrit(freedom, UPPER) / ndtri(UPPER), 1.0))
