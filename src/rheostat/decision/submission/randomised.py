"""What advice changed, by the jobs that chance gave it and those that chance kept as they were.

Chance decided within each kind of job, so means are compared within kinds, and each kind counts by
all its jobs.  Every job counts in the arm it was drawn for, also one that failed: who was drawn has
no say in that, and leaving such jobs out would compare other jobs.

Notation
--------
kind k : jobs of one user and application at one number of nodes asked for      n_k : its jobs
a, b  means of a quantity as advised and as asked, T = sum of n_k a_k, B = sum of n_k b_k
change = T / B - 1, with an interval of log(T / B) by Student's t

References
----------
Neyman, J.: On the application of probability theory to agricultural experiments (1923).
Satterthwaite, F.: An approximate distribution of estimates of variance components (1946).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

LEVEL = 0.9
FEWEST = 2
"""Jobs of each arm from which a kind tells how much they vary."""


@dataclass(frozen=True)
class Effect:
    """A change that randomisation measured, with its 90 % interval.

    Parameters
    ----------
    change, low, high : float
        Of the sum over all jobs of the kinds, relative.
    before, after : float
        That sum with every job as asked, and with every job as advised.
    advised, asked : int
        Jobs of each arm.
    kinds : int
        Kinds with at least two jobs of each arm.
    left_out : int
        Jobs of other kinds, and jobs of which the quantity is not known.
    """

    change: float
    low: float
    high: float
    before: float
    after: float
    advised: int
    asked: int
    kinds: int
    left_out: int


def effect(values: Array, advised: NDArray[np.bool_], kind: NDArray[np.int64]) -> Effect | None:
    """The change by advice of a quantity that is above zero.

    Parameters
    ----------
    values : array
        The quantity of each job of a trial; NaN is not known.
    advised : array of bool
        Whether the job was drawn to run as advised.
    kind : array of int
        Number of the job's kind.

    Returns
    -------
    Effect or None
        None where no kind has two jobs of each arm.

    Examples
    --------
    >>> values = np.array([6.0, 6.0, 10.0, 10.0, 5.0])
    >>> found = effect(values, np.array([True, True, False, False, True]), np.array([0] * 4 + [1]))
    >>> round(found.change, 3), found.advised, found.asked, found.left_out
    (-0.4, 2, 2, 1)
    """
    known = np.isfinite(values)
    kind = np.where(known, kind, -1)
    used = [k for k in np.unique(kind[known]) if _fewest(advised[kind == k]) >= FEWEST]
    rows = [_of_kind(values[kind == k], advised[kind == k]) for k in used]
    after, before = (sum(r[side][0] for r in rows) for side in (0, 1))
    if not (after > 0 and before > 0):
        return None
    parts = [(r[side][1] / total**2, r[side][2])
             for r in rows for side, total in enumerate((after, before))]  # fmt: skip
    middle, half = math.log(after / before), _half_width(parts)
    low, high = (math.expm1(middle + end) for end in (-half, half))
    here = np.isin(kind, used)
    arms = int((here & advised).sum()), int((here & ~advised).sum())
    left_out = len(values) - sum(arms)
    return Effect(math.expm1(middle), low, high, before, after, *arms, len(used), left_out)


def _fewest(advised: NDArray[np.bool_]) -> int:
    return min(int(advised.sum()), int((~advised).sum()))


def _of_kind(values: Array, advised: NDArray[np.bool_]) -> list[tuple[float, float, int]]:
    """Sum over the kind, its variance and degrees of freedom: as advised, as asked."""
    count = len(values)
    return [
        (count * float(arm.mean()), count**2 * float(arm.var(ddof=1)) / len(arm), len(arm) - 1)
        for arm in (values[advised], values[~advised])
    ]


def _half_width(parts: list[tuple[float, int]]) -> float:
    """Half the interval of a sum of independent parts with (variance, degrees of freedom)."""
    from scipy.stats import t

    total = sum(v for v, _ in parts)
    if total <= 0:
        return 0.0
    free = total**2 / sum(v * v / f for v, f in parts)
    return float(t.ppf(0.5 + LEVEL / 2, free)) * math.sqrt(total)
