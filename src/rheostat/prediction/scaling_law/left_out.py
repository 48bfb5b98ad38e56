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

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from rheostat.prediction.scaling_law.coordinates import Array, spread_out

Index = NDArray[np.int64]
Left = list[tuple[int, Index]]
FEWEST = 4
"""Settings that an application needs for one to be forecast from the others."""
BELIEVED = 0.5
"""The law's own spread counts as so many errors that are as large as it says."""
NEAR = 0.5
"""Distance by coordinate, of a range of 2, at which an error says a third as much."""
UPPER = 0.95
SAME = 1e-9
"""Difference up to which two coordinates are one value."""


def inner(units: Array) -> NDArray[np.int64]:
    """Settings (m,) within the range of the others in every coordinate; none of too few.

    >>> inner(np.array([[-1.0], [0.0], [0.5], [1.0]]))
    array([1, 2])
    """
    apart = np.eye(len(units), dtype=bool)
    return np.array([i for i, _ in _within(units, apart, np.arange(len(units)))], np.int64)


def left_out(asked: Array, units: Array, most: int) -> Iterator[tuple[Index, Left]]:
    """Rows of ``asked`` that were not measured, with the settings to be left out for them.

    Where no run has a setting's value of some coordinate, whoever shares the left one's value there
    is left out with it: beside runs at the same value an error would say too little.

    Parameters
    ----------
    asked : array (n, D)
        Coordinates of distinct settings.
    units : array (a, D)
        Coordinates of those that were measured.
    most : int
        Settings to be left out at most.

    Yields
    ------
    tuple
        Rows of ``asked``, and for each setting to be left out the settings that remain.

    Examples
    --------
    >>> grid = np.array([[x, y] for x in (0.0, 1.0, 2.0) for y in (0.0, 1.0, 2.0)])
    >>> for rows, left in left_out(np.array([[1.0, 0.5], [0.0, 0.0]]), grid, 9):
    ...     print(rows, [(at, len(rest)) for at, rest in left])
    [0] [(1, 6), (4, 6), (7, 6)]
    """
    same = np.abs(asked[:, None] - units[None]) < SAME
    new = ~np.asarray(same.any(axis=1))
    measured = np.asarray(same.all(axis=2)).any(axis=1)
    alike = np.abs(units[:, None] - units[None]) < SAME
    tried = spread_out(units, most)
    for axes in np.unique(new[~measured], axis=0):
        rows = np.flatnonzero(np.asarray((new == axes).all(axis=1)) & ~measured)
        alone = np.asarray(alike.all(axis=2))
        line = np.asarray(alike[:, :, axes].any(axis=2))
        together = _within(units, alone | line, tried)
        yield rows, together or _within(units, alone, tried)


def shares(left: Left) -> Array:
    """One over how many of the settings ``left`` out are forecast from the same others.

    >>> shares([(0, np.array([2, 3])), (1, np.array([2, 3])), (2, np.array([0, 1, 3]))])
    array([0.5, 0.5, 1. ])
    """
    others = [rest.tobytes() for _, rest in left]
    return np.array([1.0 / others.count(rest) for rest in others])


def _within(units: Array, apart: NDArray[np.bool_], tried: Index) -> Left:
    """Of ``tried``, settings within the range of those not left out with them, and these."""
    kept = []
    for i in tried:
        rest = np.flatnonzero(~apart[i])
        others = units[rest]
        if len(rest) < FEWEST - 1:
            continue
        if ((units[i] >= others.min(axis=0)) & (units[i] <= others.max(axis=0))).all():
            kept.append((int(i), rest))
    return kept


def widening(asked: Array, left: Array, scores: Array, shares: Array | float = 1.0) -> Array:
    """Factors (n, 2) of the curve's spread at ``asked`` (n, D), of errors z (m, 2) at ``left``.

    ``shares`` (m,) of settings forecast from the same others add up to one error: they err alike.

    Errors nearby count more, and where few are near, all together; how large they are is known
    as well as from twice as far around, so that it does not jump between neighbours.  The quantile
    is that of Student's t with as many degrees of freedom as there are errors and beliefs.  A
    spread is narrowed as far as 90 % of the errors, and of one more that is larger than all, would
    have allowed (jackknife): with fewer than nine not at all.

    >>> at = np.array([[0.0], [0.5]])
    >>> widening(at, at, np.array([[0.5, 4.0], [0.5, 4.0]])).round(2)
    array([[1.  , 6.69],
           [1.  , 6.69]])
    >>> widening(at, at[:0], np.empty((0, 2)))[0]
    array([1., 1.])
    """
    if not len(scores):
        return np.ones((len(asked), 2))
    least = _narrowing(np.abs(scores))
    apart = np.sqrt(((asked[:, None] - left[None]) ** 2).mean(axis=2))
    near, around = shares * np.exp(-apart / NEAR), shares * np.exp(-apart / (2 * NEAR))
    squares, errors = scores**2, np.broadcast_to(shares, len(scores))
    every = (errors @ squares + BELIEVED * least**2) / (errors.sum() + BELIEVED)
    local = near @ squares + BELIEVED * every
    scale = np.sqrt(local / (near.sum(axis=1)[:, None] + BELIEVED))
    freedom = around.sum(axis=1)[:, None] + BELIEVED
    return np.asarray(np.maximum(scale * stdtrit(freedom, UPPER) / ndtri(UPPER), least))


def _narrowing(error: Array) -> Array:
    """Factors (2,), at most 1, with which 90 % intervals would have held errors (m, 2).

    >>> _narrowing(np.full((9, 2), 0.4)).round(2), _narrowing(np.full((8, 2), 0.4))
    (array([0.24, 0.24]), array([1., 1.]))
    """
    place = int(np.ceil((len(error) + 1) * (2 * UPPER - 1) - 1e-9)) - 1
    if place >= len(error):
        return np.ones(2)
    return np.asarray(np.minimum(np.sort(error, axis=0)[place] / ndtri(UPPER), 1.0))
