"""Is a record of the problem what it seems?  Every source is tested before it is believed.

Runs that a record calls the same problem (a job script), or of which it tells the size, must agree
at equal settings to the noise of true repeats; what they differ by beyond it the record does not
tell, and users may have chosen their settings by it.  True repeats are runs of one user that follow
each other with all they asked for unchanged.  What chance chose outranks what was observed: where
the same problem at several settings says otherwise than the jobs of a trial, the record is not
believed; and a column that moves with a setting that chance drew is no record of the problem, but
a consequence of the setting.  The setting cannot change the run before: where it tells, at equal
records, what that run took, the record misses a cause of both in this application.

Notation
--------
n  rows in order of time      r : (n,) log outcome less what request and record tell of it
h : sd of r beyond noise      k : sd of the log request at equal records
a hidden cause biases an exponent by c h / k, with c its correlation with the request over what that
correlation leaves, r / sqrt(1 - r^2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.effects.levels import centred

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
MOST_NOISE = 0.1
"""Runs that differ by more, in logarithm, may be other problems: noise is not told from them."""
LEAST_NOISE = 0.02
SURE = 4.0
"""Standard errors beyond which a test fails: many are made of one log."""
FEWEST_PAIRS = 12
FEWEST_TURNED = 10
"""Jobs of a trial with which it says something."""
NEGLIGIBLE = 0.1
"""Exponents that change little advice."""


@dataclass(frozen=True)
class Slope:
    """An exponent and its standard error."""

    value: float
    error: float

    def differs(self, other: Slope) -> bool:
        """Whether two exponents differ by more than chance and more than advice notices."""
        gap = abs(self.value - other.value)
        return gap > NEGLIGIBLE and gap > SURE * float(np.hypot(self.error, other.error))

    def words(self) -> str:
        """The exponent with its 90 % interval."""
        low, high = self.value - 1.645 * self.error, self.value + 1.645 * self.error
        return f"{self.value:.2f} [{low:.2f}, {high:.2f}]"


def noise_of_repeats(y: Array, same: Ints, cell: Ints) -> float:
    """Spread of log runtime between runs in a row with the same request and record.

    Most of them are true repeats, so the median tells; ``same`` (n,) numbers what was asked for.

    >>> rng = np.random.default_rng(0)
    >>> problem = np.repeat(rng.normal(size=200), 5)
    >>> zero = np.zeros(1000, dtype=int)
    >>> 0.04 < noise_of_repeats(problem + 0.05 * rng.normal(size=1000), zero, zero) < 0.08
    True
    """
    group = np.unique(np.stack([cell, same]), axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(group, kind="stable")
    gap = np.abs(np.diff(y[order]))[np.diff(group[order]) == 0]
    if len(gap) < FEWEST_PAIRS:
        return LEAST_NOISE
    return float(np.clip(np.median(gap) / (0.6745 * np.sqrt(2)), LEAST_NOISE, MOST_NOISE))


def hidden_spread(y: Array, group: Ints, noise: float) -> tuple[float, float]:
    """Spread of ``y`` (n,) within ``group``, and what of it is beyond ``noise``; NaN without pairs.

    >>> spread, hidden = hidden_spread(np.array([0.0, 0.1, 5.0]), np.array([0, 0, 1]), 0.05)
    >>> round(spread, 3), round(hidden, 3)
    (0.071, 0.05)
    """
    free = len(group) - len(np.unique(group))
    if not free:
        return float("nan"), float("nan")
    inside = centred(y, np.unique(group, return_inverse=True)[1])
    spread = float(np.sqrt(inside @ inside / free))
    return spread, float(np.sqrt(max(spread**2 - noise**2, 0.0)))


def within_slope(
    x: Array, y: Array, group: Ints, cluster: Ints, given: Array | None = None
) -> Slope | None:
    """Slope of ``y`` on ``x`` within groups, at equal ``given`` (n, g), and its error by clusters.

    None where fewer than two clusters tell it.

    >>> group = np.repeat(np.arange(20), 2)
    >>> x = np.tile([0.0, 1.0], 20)
    >>> within_slope(x, 2 * x, group, group).value
    2.0
    """
    code = np.unique(group, return_inverse=True)[1]
    both = centred(np.column_stack([x, y]), code)
    if given is not None:
        flat = centred(given, code)
        both = both - flat @ np.linalg.lstsq(flat, both, rcond=None)[0]
    total = float(both[:, 0] @ both[:, 0])
    _, cluster = np.unique(cluster, return_inverse=True)
    used = len(np.unique(cluster[np.abs(both[:, 0]) > 1e-9]))
    if total < 1e-9 or used < 2:
        return None
    slope = float(both[:, 0] @ both[:, 1]) / total
    sums = np.bincount(cluster, both[:, 0] * (both[:, 1] - slope * both[:, 0]))
    error = float(np.sqrt((sums**2).sum() * used / (used - 1))) / total
    return Slope(slope, error)


def placebo(rest: Array, asked: Array, group: Ints, app: Ints, apps: int) -> Array:
    """(A,): exponent of the run before in the next request, 0 where it may be nothing.

    Parameters
    ----------
    rest, asked : array (n,)
        Log outcome less what its own request and record tell of it, log request; in order of time.
    group : array (n,)
        Runs that follow each other: of a user's application, or of one problem.
    app : array (n,)
        Application, from 0.
    apps : int
        Applications in all.

    Returns
    -------
    array (A,)
    """
    order = np.argsort(group, kind="stable")
    follows = np.diff(group[order]) == 0
    before, after = order[:-1][follows], order[1:][follows]
    slopes = np.zeros(apps)
    for a in np.unique(app[before]):
        here = app[before] == a
        if here.sum() < FEWEST_PAIRS:
            continue
        pairs = before[here], after[here]
        own = np.column_stack([asked[pairs[0]], asked[pairs[0]] ** 2])
        slope = within_slope(asked[pairs[1]], rest[pairs[0]], group[pairs[0]], pairs[0], own)
        if slope is not None and slope.differs(Slope(0.0, 0.0)):
            slopes[a] = slope.value
    return slopes


def moves_with_chance(column: Array, ran: Array, asked: Array, cell: Ints) -> bool:
    """Whether a column (n,) differs with the setting that chance drew, at equal requests.

    ``ran`` and ``asked`` (n,) are logarithms.
    """
    given = np.column_stack([asked, asked**2])
    slope = within_slope(ran, column, cell, np.arange(len(cell)), given)
    return slope is not None and slope.differs(Slope(0.0, 0.0))
