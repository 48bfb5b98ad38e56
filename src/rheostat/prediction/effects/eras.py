"""Did everybody change settings at one date?  What else changed then looks like the setting.

A new version of a code, a repaired machine or another default at the date at which users went over
to other settings cannot be told from what the settings do.  Runs of one problem before and since
are then other problems, unless equal settings took as long before as since.

Notation
--------
n  rows in order of time      problem : (n,) rows that are named have the number n or more
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.doubts import Ints, Mask
from rheostat.prediction.effects.places import alike, less_means, pairs, variance

LEFT = 0.5
"""Of the variance of settings among runs of one problem, when a date leaves less it tells most."""
DATES = 39
"""Dates that are tried, evenly spread over the runs."""


def date_of_change(setting: Array, y: Array, problem: Ints) -> int | None:
    """The row since which other settings ran, as at one date; None where there is none.

    A series that ran each setting once, one after the other, is a comparison and no change.

    Parameters
    ----------
    setting, y : ndarray, (n,)
        Logarithms of what was asked for and of the run time.
    problem : ndarray, (n,)
        What is the same whenever the problem is.

    Examples
    --------
    >>> nodes = np.log(np.repeat([8, 4], 60))
    >>> problem = np.tile(np.arange(6), 20)
    >>> date_of_change(nodes, -nodes, problem)
    60
    >>> date_of_change(np.random.default_rng(0).permutation(nodes), -nodes, problem) is None
    True
    """
    runs = len(setting)
    again = runs - len(np.unique(pairs(problem, np.unique(setting, return_inverse=True)[1])))
    since = None if again < runs / 2 else _date(setting, problem)
    if since is None or alike(setting, y, problem, (np.arange(runs) >= since).astype(int)):
        return None
    return since


def date_of_step(setting: Array, y: Array, problem: Ints) -> int | None:
    """The row since which runs of one problem at one setting take otherwise; None without one.

    By more than `MOST_NOISE`, so much that little of what they differ by is left, and less than a
    drift over all runs leaves, as of problems that grow.

    >>> problem = np.tile(np.arange(6), 20)
    >>> faster = np.where(np.arange(120) >= 60, -0.5, 0.0)
    >>> date_of_step(np.zeros(120), problem + faster, problem)
    60
    >>> drift = problem + np.linspace(0.0, 1.0, 120)
    >>> [date_of_step(np.zeros(120), y, problem) for y in (problem + 0.0, drift)]
    [None, None]
    """
    rows, same = np.arange(len(y)), pairs(problem, np.unique(setting, return_inverse=True)[1])
    since = _date(y, same)
    if since is None or alike(setting, y, problem, (rows >= since).astype(int)):
        return None
    time, rest = less_means(rows / len(y), same), less_means(y, same)
    drifted = rest - time * float(time @ rest) / max(float(time @ time), 1e-12)
    return since if variance(y, 2 * same + (rows >= since)) < variance(drifted, same) else None


def _date(values: Array, group: Ints) -> int | None:
    """The row that parts ``values`` (n,) of each group so that little of their variance is left."""
    runs, whole = len(values), variance(values, group)
    if not whole > 0:
        return None
    rows = np.arange(runs)
    tried = np.unique(np.linspace(0, runs, DATES + 2)[1:-1].astype(int))
    left = [variance(values, 2 * group + (rows >= at)) for at in tried]
    return int(tried[int(np.argmin(left))]) if min(left) <= LEFT * whole else None


def by_era(problem: Ints, late: Mask) -> Ints:
    """Problems (n,) that are others in ``late`` rows; rows of no named problem stay their own.

    >>> by_era(np.array([4, 1, 4, 4]), np.arange(4) >= 2).tolist()
    [5, 1, 6, 6]
    """
    n = len(problem)
    own = n + pairs(problem, late.astype(int))
    return np.where(problem >= n, np.unique(own, return_inverse=True)[1].reshape(-1) + n, problem)
