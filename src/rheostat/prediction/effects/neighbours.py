"""What the runs just before and after a job say of it: users run one problem several times.

A job of a trial is compared with jobs that ran as asked, and most of what sets it apart from them
is another problem.  The runs of the same user's application next to it in time often are of the
same problem, and where those two agree with each other they mostly are.  Chance chose the setting,
so what they tell may be taken off the job's outcome without any bias (regression adjustment of a
randomised trial [Lin2013]_), and the less uncertain jobs weigh more.

Notation
--------
n  rows in order of time      q : (n,) log outcome less the effect of the setting that ran
m : (n,) what the request betrays of q      a : mean of q before and after      h : their distance
q ~ b a + c m, fitted in classes of h on rows that ran as asked

References
----------
.. [Lin2013] Lin, W.: Agnostic notes on regression adjustments to experimental data. Annals of
   Applied Statistics 7 (2013).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
CLASSES, FEWEST = 8, 30
"""Classes of h, and rows that ran as asked from which one is learned."""
LEAST_SD = 0.03
"""Two runs of one problem differ by at least so much: curves are not exact either."""


def beside(q: Array, betrayed: Array, cell: Ints, turned: NDArray[np.bool_]) -> tuple[Array, Array]:
    """What neighbours say of each turned row, and by how much surer the row is then.

    Parameters
    ----------
    q, betrayed : array (n,)
        See the notation; both less their cell's mean.
    cell : array (n,)
        The user's application.
    turned : array (n,)
        Rows that ran at a setting drawn by chance.

    Returns
    -------
    tuple of arrays (n,)
        What to take off the outcome (0 for all other rows); the factor (1 for them) by which the
        spread of the row is smaller.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> problem = np.repeat(rng.normal(size=400), 5)
    >>> q, turned = problem + 0.01 * rng.normal(size=2000), rng.random(2000) < 0.1
    >>> off, surer = beside(q, np.zeros(2000), np.zeros(2000, dtype=int), turned)
    >>> bool(np.median(np.abs((q - off)[turned])) < 0.05), bool(np.median(surer[turned]) > 10)
    (True, True)
    """
    order = np.argsort(cell, kind="stable")
    before, after = (_next(q, cell, order, step) for step in (1, -1))
    mean = np.where(np.isfinite(before), before, after)
    mean = np.where(np.isfinite(before + after), (before + after) / 2, mean)
    apart = np.abs(before - after)
    kind = _classes(apart, mean)
    off, surer = np.zeros(len(q)), np.ones(len(q))
    plain = np.var((q - betrayed)[~turned])
    for k in range(CLASSES + 1):
        known, here = (kind == k) & ~turned, (kind == k) & turned
        if known.sum() < FEWEST or not here.any():
            continue
        x = np.column_stack([mean, betrayed])
        weight = np.linalg.lstsq(x[known], q[known], rcond=None)[0]
        rest = np.var((q - x @ weight)[known]) + LEAST_SD**2
        off[here] = (x @ weight - betrayed)[here]
        surer[here] = np.sqrt(max(plain / rest, 1.0))
    return off, surer


def _next(q: Array, cell: Ints, order: Ints, step: int) -> Array:
    """``q`` of the row before (``step`` 1) or after (-1) in the same cell; NaN at its ends."""
    there = np.roll(order, step)
    same = cell[there] == cell[order]
    same[0 if step > 0 else -1] = False
    values = np.full(len(q), np.nan)
    values[order] = np.where(same, q[there], np.nan)
    return values


def _classes(apart: Array, mean: Array) -> Ints:
    """Places of ``apart`` among its quantiles; ``CLASSES`` with one neighbour, -1 with none."""
    two = np.isfinite(apart)
    if not two.any():
        return np.where(np.isfinite(mean), CLASSES, -1)
    edges = np.quantile(apart[two], np.linspace(0, 1, CLASSES + 1)[1:-1])
    kind = np.searchsorted(edges, np.where(two, apart, 0.0))
    return np.select([two, np.isfinite(mean)], [kind, CLASSES], -1)
