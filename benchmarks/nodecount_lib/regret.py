"""What a wrong choice costs: constrained decision regret.

An operator asks "fastest under P watts" or "least energy before the deadline".  The method names
one setting (its own model may speak for settings never measured) and the measured values judge it:

    regret = max(0, log(objective / oracle's objective)) + max(0, log(constrained / bound))

so a choice that meets its bound pays only its distance from the best feasible setting, and a choice
that breaks it cannot earn from being cheap.  0.10 reads as "about 10 % dearer, or 10 % over the
bound". Questions are drawn once per pool and pair with a seed made from the pool's name, so every
method answers the same ones: in both directions, bounds log-uniform (stratified) between the
smallest value in the pool and the largest on the true front, where the bound bites; each is
feasible by construction.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from .metric import front_of
from .pools import Array, Pool

QUESTIONS_PER_DIRECTION = 16
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Question:
    """Minimise quantity `minimise` subject to log quantity `limit` <= `bound` (columns of
    log_y)."""

    minimise: int
    limit: int
    bound: float


def questions(pool: Pool, pair: tuple[int, int]) -> list[Question]:
    """The fixed questions for one pool and one pair of objectives."""
    rng = np.random.default_rng([zlib.crc32(pool.name.encode()), *pair])
    front = pool.log_y[front_of(pool.log_y[:, list(pair)])]
    asked = []
    for minimise, limit in (pair, pair[::-1]):
        low, high = pool.log_y[:, limit].min(), front[:, limit].max()
        u = (
            np.arange(QUESTIONS_PER_DIRECTION) + rng.random(QUESTIONS_PER_DIRECTION)
        ) / QUESTIONS_PER_DIRECTION
        asked += [Question(minimise, limit, float(b)) for b in low + u * (high - low)]
    return asked


def choose(belief: Array, question: Question) -> int:
    """Best setting that `belief` (N, 3) holds feasible; the least violating one if none is.

    NaN means unknown and is never chosen while anything is known.

    >>> b = np.array([[1.0, 5.0, 6.0], [2.0, 3.0, 5.0], [np.nan] * 3])
    >>> choose(b, Question(minimise=0, limit=1, bound=4.0)), choose(b, Question(0, 1, 1.0))
    (1, 1)
    """
    limited = np.nan_to_num(belief[:, question.limit], nan=np.inf)
    target = np.nan_to_num(belief[:, question.minimise], nan=np.inf)
    feasible = np.flatnonzero(limited <= question.bound + SLACK)
    if len(feasible) and np.isfinite(target[feasible]).any():
        return int(feasible[np.argmin(target[feasible])])
    return int(np.argmin(limited))


def regret_of(
    log_y: Array, question: Question, choice: int, noise: Array | None = None
) -> tuple[float, bool]:
    """Regret of a choice judged by the true values, and whether it broke its bound.

    With ``noise`` (3,) only what is lost beyond one standard deviation of a measurement counts.

    >>> y = np.log(np.array([[1.0, 4.0, 4.0], [2.0, 1.0, 2.0]]))
    >>> regret_of(y, Question(0, 1, float(np.log(2.0))), 0)
    (0.693..., True)
    """
    feasible = log_y[:, question.limit] <= question.bound + SLACK
    oracle = log_y[feasible, question.minimise].min()
    excess = log_y[choice, question.limit] - question.bound
    slack = np.zeros(3) if noise is None else noise
    dearer = log_y[choice, question.minimise] - oracle - slack[question.minimise]
    loss = max(0.0, dearer) + max(0.0, excess - slack[question.limit])
    return float(loss), bool(excess > SLACK)
