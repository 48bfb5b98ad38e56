"""Where between two measured settings does a curve jump?  Nothing tells, so either side may be.

A sum of power laws (work that divides, a floor, a serial part, messages that grow) is convex in
logarithms: along a knob its slope never falls.  Nor does time fall by more than in proportion to a
knob.  Where one gap between neighbours breaks this and the others do not, something changes inside
it, as when data begin to fit into a cache; a setting there lies on the curve of one side or of the
other.

Notation
--------
m  settings of one application     D  coordinates     g  gaps between neighbours along one knob
A side is (2, 2): centres of log runtime and log power, and their standard deviations.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.scaling_law.coordinates import Array

FEWEST = 4
"""Settings on a line: three slopes, of which one may be odd."""
SURE = 3.0
"""Standard deviations by which slopes fall before they count as falling."""
SAME = 1e-9
UNIFORM = np.sqrt(12.0)


def two_sides(
    asked: Array, units: Array, logs: Array, variance: Array, proportional: Array
) -> Array | None:
    """What ``asked`` takes by the curve before a jump, and by the curve after it.

    Parameters
    ----------
    asked : array (D,)
        Coordinates of a setting that was not measured.
    units : array (m, D)
        Coordinates of those that were.
    logs : array (2, m)
        Log runtime (s) and log power (W).
    variance : array (2, m)
        Of ``logs``.
    proportional : array (D,)
        Slope of what falls in proportion to a knob; NaN where a knob is no logarithm.

    Returns
    -------
    array or None
        Two sides (2, 2, 2); None where no jump shows.

    Examples
    --------
    >>> n = np.array([[0.0], [1.0], [3.0], [4.0], [5.0]])
    >>> log_t = np.log(0.5) * n.ravel() + np.log(1.5) * (n.ravel() < 2)
    >>> logs, variance, steep = np.stack([log_t, 0 * log_t]), np.full((2, 5), 1e-6), np.log([0.5])
    >>> np.exp(two_sides(np.array([2.0]), n, logs, variance, steep)[:, 0, 0]).round(3)
    array([0.375, 0.25 ])
    >>> two_sides(np.array([4.5]), n, logs, variance, steep) is None
    True
    """
    for axis, at, gap in _lines(asked, units):
        x, steep = units[at, axis], proportional[axis]
        apart = np.diff(x)
        slopes = np.diff(logs[:, at], axis=1) / apart
        noise = np.sqrt(variance[:, at[1:]] + variance[:, at[:-1]]) / apart
        if not _breaks(slopes[0], noise[0], gap, steep):
            continue
        rest = np.delete(slopes, gap, axis=1)
        spread = np.hypot(rest.std(axis=1), noise[:, gap])
        beside = (_slope(rest, spread, gap - 1, steep), _slope(rest, spread, gap, 0.0))
        sides = []
        for end, (slope, sd) in zip((gap, gap + 1), beside, strict=True):
            far, own = asked[axis] - x[end], variance[:, at[end]]
            sides.append([logs[:, at[end]] + slope * far, np.sqrt(own + (sd * far) ** 2)])
        return np.array(sides)
    return None


def drawn(sides: Array, variance: Array, normal: Array) -> Array:
    """Draws (2, S) of one more run, half of them on either side.

    ``variance`` (2,) is that of a run, ``normal`` (3, S) standard normal numbers.
    """
    side = np.argsort(np.argsort(normal[0])) % 2
    centre, spread = np.moveaxis(sides[side], 0, -1)
    return np.asarray(centre + np.sqrt(spread**2 + variance[:, None]) * normal[1:])


def _lines(asked: Array, units: Array) -> Iterator[tuple[int, NDArray[np.int64], int]]:
    """Each coordinate along which ``asked`` lies between others: those in order, and its gap."""
    same = np.abs(units - asked) < SAME
    for axis in range(len(asked)):
        at = np.flatnonzero(np.delete(same, axis, axis=1).all(axis=1))
        at = at[np.argsort(units[at, axis])]
        gap = int(np.searchsorted(units[at, axis], asked[axis])) - 1
        if len(at) >= FEWEST and 0 <= gap < len(at) - 1 and not same[at, axis].any():
            yield axis, at, gap


def _breaks(slopes: Array, noise: Array, gap: int, steep: float) -> bool:
    """Whether slopes (g,) fall, or lie below ``steep``, and without that of ``gap`` do not."""
    if np.isfinite(steep):
        slopes, noise, gap = np.append(steep, slopes), np.append(0.0, noise), gap + 1
    return not _convex(slopes, noise) and _convex(np.delete(slopes, gap), np.delete(noise, gap))


def _convex(slopes: Array, noise: Array) -> bool:
    return bool((np.diff(slopes) >= -SURE * np.hypot(noise[1:], noise[:-1])).all())


def _slope(slopes: Array, spread: Array, gap: int, bound: float) -> tuple[Array, Array]:
    """Slopes (2,) on one side and their spread; without a ``gap`` there, between next and bound."""
    if 0 <= gap < slopes.shape[1]:
        return slopes[:, gap], spread
    nearest = slopes[:, 0 if gap < 0 else -1]
    beyond = bound - nearest[0] if np.isfinite(bound) else 0.0
    return nearest + np.array([beyond / 2, 0.0]), np.hypot(spread, abs(beyond) / UNIFORM)
