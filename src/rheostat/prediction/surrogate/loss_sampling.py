"""Which of many past runs are worth learning from?  Those a cheap model gets wrong, mostly.

A light forest predicts every run out of fold; a run is kept with a probability proportional to its
error, never below ``p_min``, and the kept runs weigh 1/p so that averages stay what they were
[Mineiro2013]_.  A uniform draw of the same size is the control that any gain is measured against.

Notation
--------
n  rows      t  targets      L : (n,) difficulty, mean of scaled absolute errors over targets
p : (n,) = min(1, max(p_min, lambda L)), lambda such that sum p = wanted rows

References
----------
.. [Mineiro2013] Mineiro, Karampatziakis: Loss-proportional subsampling for subsequent ERM.
   ICML 2013, arXiv 1306.1840.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.errors import DataError

TINY = 1e-9
"""A loss below this share of the largest counts as none."""
FOLDS = 3


@dataclass(frozen=True)
class LossProportional:
    """Keep about ``fraction`` of the rows, hard ones first; ``weights`` makes the sample unbiased.

    ``p_min`` is the least chance of a row relative to ``fraction``: 0.2 keeps easy rows at a fifth
    of the uniform rate, which bounds the weights at 5 / fraction.
    """

    fraction: float = 0.5
    weights: bool = True
    p_min: float = 0.2

    def chances(self, x: Array, y: Array, rng: np.random.Generator) -> Array:
        """Probability of keeping each row, (n,)."""
        wanted = _wanted(self.fraction, len(y))
        return keep_probabilities(difficulty(x, y, rng), wanted, self.p_min * wanted / len(y))


@dataclass(frozen=True)
class Uniform:
    """Keep each row with probability ``fraction``: the control."""

    fraction: float = 0.5
    weights: bool = False

    def chances(self, x: Array, y: Array, rng: np.random.Generator) -> Array:
        """Probability of keeping each row, (n,)."""
        return np.full(len(y), _wanted(self.fraction, len(y)) / len(y))


def draw(
    p: Array, rng: np.random.Generator, *, weights: bool
) -> tuple[NDArray[np.int64], Array | None]:
    """(rows kept, their weights 1/p or None); at least one row is kept."""
    kept = np.flatnonzero(rng.random(len(p)) < p)
    if not len(kept):
        kept = np.array([int(np.argmax(p))])
    return kept, 1.0 / p[kept] if weights else None


def keep_probabilities(loss: Array, wanted: float, p_min: float) -> Array:
    """Chances p = min(1, max(p_min, lambda L)) with sum p = ``wanted``.

    >>> keep_probabilities(np.array([1.0, 1.0, 2.0, 4.0]), 2.0, 0.0)
    array([0.25, 0.25, 0.5 , 1.  ])
    >>> keep_probabilities(np.zeros(4), 2.0, 0.1)
    array([0.5, 0.5, 0.5, 0.5])

    Where every loss is zero the draw is uniform.  The sum cannot be below n p_min.
    """
    n = len(loss)
    if not (np.isfinite(loss).all() and (loss >= 0).all()):
        raise DataError("keep_probabilities", ["expected finite losses >= 0"])
    if not loss.any() or wanted >= n:
        return np.full(n, min(1.0, wanted / n))
    loss = np.where(loss > TINY * loss.max(), loss / loss.max(), 0.0)
    low, high = 0.0, 1.0 / TINY
    for _ in range(200):
        middle = 0.5 * (low + high)
        total = np.clip(middle * loss, p_min, 1.0).sum()
        low, high = (middle, high) if total < wanted else (low, middle)
    return np.clip(high * loss, p_min, 1.0)


def difficulty(x: Array, y: Array, rng: np.random.Generator) -> Array:
    """Mean over targets of out-of-fold absolute error / its mean, (n,): 1 is an average row.

    The matrix may hold NaN; with fewer rows than folds every row is as difficult as any.
    """
    from sklearn.ensemble import RandomForestRegressor

    n = len(y)
    if n < 2 * FOLDS:
        return np.ones(n)
    fold, error = rng.permutation(np.arange(n) % FOLDS), np.empty_like(y)
    for f in range(FOLDS):
        light = RandomForestRegressor(
            n_estimators=15, min_samples_leaf=3, max_features=0.5, n_jobs=1,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        known = y[fold != f]
        light.fit(x[fold != f], known[:, 0] if y.shape[1] == 1 else known)
        error[fold == f] = np.abs(y - light.predict(x).reshape(y.shape))[fold == f]
    mean = error.mean(axis=0)
    return np.asarray((error / np.where(mean > 0, mean, 1.0)).mean(axis=1))


def wrong_chance(correct: Array) -> Array:
    """Difficulty of rows of a classification: 1 less the probability given to the true class."""
    return np.asarray(1.0 - np.clip(np.asarray(correct, dtype=float), 0.0, 1.0))


def _wanted(fraction: float, n: int) -> float:
    if not 0 < fraction <= 1:
        raise DataError("sample", [f"expected 0 < fraction <= 1, got {fraction}"])
    return fraction * n
