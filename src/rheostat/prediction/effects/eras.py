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
from rheostat.prediction.effects.doubts import Ints
from rheostat.prediction.effects.places import alike, pairs, variance

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
    whole = variance(setting, problem)
    if again < runs / 2 or not whole > 0:
        return None
    rows = np.arange(runs)
    tried = np.unique(np.linspace(0, runs, DATES + 2)[1:-1].astype(int))
    left = [variance(setting, 2 * problem + (rows >= at)) for at in tried]
    since = int(tried[int(np.argmin(left))])
    era = (rows >= since).astype(int)
    if min(left) > LEFT * whole or alike(setting, y, problem, era):
        return None
    return since


def by_era(problem: Ints, since: int) -> Ints:
    """Problems (n,) that are others since a row; rows of no named problem stay their own.

    >>> by_era(np.array([4, 1, 4, 4]), 2).tolist()
    [5, 1, 6, 6]
    """
    n = len(problem)
    own = n + pairs(problem, (np.arange(n) >= since).astype(int))
    return np.where(problem >= n, np.unique(own, return_inverse=True)[1].reshape(-1) + n, problem)
