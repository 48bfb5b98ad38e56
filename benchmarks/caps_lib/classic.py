"""What a new row of the table is filled with by simpler means: the baselines of `CapModel`.

The mean of the known applications at each setting needs no run at all, and every figure must be
read against it.  Low rank (SVD), neighbours and factors are what recommender systems do.

Notation
--------
A  known applications      p  settings      n  settings tried      r  rank
x : (p,) speed of the new application, known at the tried ones
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.completion.table import CapTable


class Completer(Protocol):
    """Fills a row: ``fit`` on known applications, ``fill`` from n speeds (n,) to all (p,)."""

    def fit(self, known: CapTable) -> Completer:
        """Learn."""
        ...

    def fill(self, tried: list[int], speed: Array) -> Array:
        """Speeds at all settings."""
        ...


class TrainMean:
    """The mean of the known applications at each setting; looks at no run of the new one.

    >>> t = CapTable(("a", "b"), ("cap_w",), np.array([[1.0], [2.0]]), np.array([[.5, 1], [.7, 1]]))
    >>> TrainMean().fit(t).fill([], np.zeros(0))
    array([0.6, 1. ])
    """

    def fit(self, known: CapTable) -> TrainMean:
        """Remember the means."""
        self.mean_ = np.nanmean(known.speed, axis=0)
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """The means, whatever was tried."""
        return np.array(self.mean_)


class Neighbours:
    """Known applications weighted by how close they were at the tried settings (k nearest)."""

    def __init__(self, k: int = 3) -> None:
        self.k = k

    def fit(self, known: CapTable) -> Neighbours:
        """Remember the rows; a missing cell is the setting's mean."""
        self.rows_ = _whole(known.speed)
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """The weighted mean of the k nearest rows; without a try, of all."""
        if not tried:
            return np.asarray(self.rows_.mean(axis=0))
        far = np.sqrt(((self.rows_[:, tried] - speed) ** 2).mean(axis=1))
        near = np.argsort(far, kind="stable")[: self.k]
        return np.asarray(np.average(self.rows_[near], axis=0, weights=1 / (far[near] + 1e-6)))


class LowRank:
    """Iterated singular value decomposition (soft impute without shrinkage) of rank r."""

    def __init__(self, rank: int = 2, rounds: int = 200) -> None:
        self.rank = rank
        self.rounds = rounds

    def fit(self, known: CapTable) -> LowRank:
        """Remember the rows; a missing cell is the setting's mean."""
        self.rows_ = _whole(known.speed)
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """Complete the table with the new row until it changes no more."""
        mean = self.rows_.mean(axis=0)
        row = mean.copy()
        row[tried] = speed
        for _ in range(self.rounds):
            table = np.vstack([self.rows_, row]) - mean
            left, size, right = np.linalg.svd(table, full_matrices=False)
            fitted = (left[-1, : self.rank] * size[: self.rank]) @ right[: self.rank] + mean
            fitted[tried] = speed
            if np.abs(fitted - row).max() < 1e-6:
                break
            row = fitted
        return row


def _whole(speed: Array) -> Array:
    return np.where(np.isfinite(speed), speed, np.nanmean(speed, axis=0))
