"""A Gaussian process on the logarithms of all columns: what stands beside the law.

Where a server does what no term of the law says (no cache of keys and values, batches that wait for
each other), a smooth function of all that was stated before the run learns it from the runs alone.

Notation
--------
n, m  rows measured, rows asked     d  numbers of a row     s  names of a row
x  logarithms of the numbers, in standard deviations of the measured ones

    k(i, j) = linear x_i . x_j + sum_s same_s [names agree]
              + smooth exp(-(sum_d (dx / length_d)^2 + sum_s [names differ] / length_s^2) / 2)

Every hyperparameter has a log-normal prior; the most likely ones under it are taken
[Rasmussen2006]_.

References
----------
.. [Rasmussen2006] Rasmussen, Williams: Gaussian processes for machine learning. MIT Press 2006,
   section 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from rheostat.prediction.serving_law.configurations import Array, Configurations

NUMBERS = ("gpus", "pp", "ep", "dp", "split", "batch", "params", "active", "weight_b", "cap_w",
           "memory_b_per_s", "flop_per_s", "power_w", "prompt", "output")  # fmt: skip
NAMES = ("app", "gpu", "workload", "kind")
LINEAR, SAME, SMOOTH, NOISE, LENGTH = (-1.2, 1.5), (-2.3, 1.5), (-1.2, 1.5), (-5.0, 1.5), (1.0, 1.0)
"""Mean and deviation of the logarithms: of variances, and of lengths."""
MOST, STEPS = 100, 40
"""Rows that the hyperparameters are fitted to at most, evenly spread; steps of the fit."""


@dataclass(frozen=True)
class Columns:
    """Numbers (n, d) and names (n, s) of rows."""

    numbers: Array
    names: np.ndarray

    def of(self, rows: np.ndarray) -> Columns:
        """Some of the rows."""
        return Columns(self.numbers[rows], self.names[rows])


class LogGaussian:
    """One quantity, fitted to n configurations and its logarithms; NaN is not learned from."""

    def __init__(self, seen: Configurations, logs: Array) -> None:
        self.rows = np.flatnonzero(np.isfinite(logs))
        every = _numbers(seen)[self.rows]
        self.typical = _median(every)
        filled = np.where(np.isnan(every), self.typical, every)
        self.width = filled.std(axis=0)
        self.kept = self.width > 1e-9
        self.known = self._columns(seen).of(self.rows)
        self.middle, self.scale = float(logs[self.rows].mean()), float(logs[self.rows].std() + 1e-9)
        y = (logs[self.rows] - self.middle) / self.scale
        few = np.linspace(0, len(y) - 1, min(len(y), MOST)).round().astype(np.int64)
        self.hyper = _fitted(self.known.of(few), y[few])
        spread = _covariance(self.known, self.known, self.hyper)
        self.factor = cho_factor(spread + self._noise() * np.eye(len(y)))
        self.weights = cho_solve(self.factor, y)

    @staticmethod
    def left_out(
        seen: Configurations, logs: Array, folds: Sequence[np.ndarray]
    ) -> tuple[Array, Array]:
        """Errors and deviations, (n,), in each fold of rows from a fit to the others."""
        error, deviation = np.full((2, len(logs)), np.nan)
        for out in folds:
            part = LogGaussian(seen.of_rows(~out), logs[~out])
            mean, spread = part.posterior(seen.of_rows(out))
            error[out], deviation[out] = logs[out] - mean, np.sqrt(np.diag(spread))
        return error, deviation

    def posterior(self, asked: Configurations) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) of the logarithm of a measurement."""
        at = self._columns(asked)
        cross = _covariance(self.known, at, self.hyper)
        spread = _covariance(at, at, self.hyper)
        spread += self._noise() * np.eye(len(asked)) - cross.T @ cho_solve(self.factor, cross)
        mean = self.middle + self.scale * np.asarray(cross.T @ self.weights)
        return mean, np.asarray(self.scale**2 * spread)

    def _noise(self) -> float:
        return float(np.exp(self.hyper[0]))

    def _columns(self, c: Configurations) -> Columns:
        every = _numbers(c)
        filled = np.where(np.isnan(every), self.typical, every)[:, self.kept]
        names = np.column_stack([getattr(c, n) for n in NAMES])
        return Columns((filled - self.typical[self.kept]) / self.width[self.kept], names)


def _numbers(c: Configurations) -> Array:
    return np.asarray(np.log(np.column_stack([getattr(c, n) for n in NUMBERS])))


def _median(numbers: Array) -> Array:
    """Median of each column, 0 where nothing is known."""
    known = np.isfinite(numbers).any(axis=0)
    middle = np.zeros(numbers.shape[1])
    middle[known] = np.nanmedian(numbers[:, known], axis=0)
    return middle


def _covariance(a: Columns, b: Columns, hyper: Array) -> Array:
    """Covariance (n, m), as `PairwiseColumns` has it, without an array for each column."""
    names, d = len(NAMES), a.numbers.shape[1]
    same, parts = np.exp(hyper[3 : 3 + names]), np.exp(-2.0 * hyper[3 + names :])
    one, two = (rows.numbers * np.sqrt(parts[:d]) for rows in (a, b))
    away = (one**2).sum(axis=1)[:, None] + (two**2).sum(axis=1) - 2.0 * one @ two.T
    total = np.exp(hyper[1]) * (a.numbers @ b.numbers.T) + same.sum()
    for k in range(names):
        kinds = np.unique(np.concatenate([a.names[:, k], b.names[:, k]]), return_inverse=True)[1]
        differ = kinds[: len(one), None] != kinds[len(one) :]
        away += parts[d + k] * differ
        total -= same[k] * differ
    return np.asarray(total + np.exp(hyper[2] - 0.5 * np.maximum(away, 0.0)))


@dataclass(frozen=True)
class PairwiseColumns:
    """What few rows have in common: products (n, n), squared distances by column (d + s, n n)."""

    products: Array
    apart: Array

    @staticmethod
    def of(rows: Columns) -> PairwiseColumns:
        """Of each with each."""
        numbers = (rows.numbers.T[:, :, None] - rows.numbers.T[:, None, :]) ** 2
        differ = rows.names.T[:, :, None] != rows.names.T[:, None, :]
        apart = np.concatenate([numbers, differ])
        return PairwiseColumns(rows.numbers @ rows.numbers.T, apart.reshape(len(apart), -1))

    def smooth(self, hyper: Array) -> Array:
        """The smooth part of the covariance, (n, n)."""
        away = np.exp(-2.0 * hyper[3 + len(NAMES) :]) @ self.apart
        return np.asarray(np.exp(hyper[2] - 0.5 * away).reshape(self.products.shape))

    def covariance(self, hyper: Array, smooth: Array) -> Array:
        """Covariance (n, n), ``smooth`` its smooth part.

        The hyperparameters are logarithms: noise, linear, smooth, same (s), lengths (d + s).
        """
        same = np.exp(hyper[3 : 3 + len(NAMES)])
        agree = same.sum() - (same @ self.apart[-len(NAMES) :]).reshape(self.products.shape)
        return np.asarray(np.exp(hyper[1]) * self.products + smooth + agree)

    def slopes(self, hyper: Array, smooth: Array, pull: Array) -> Array:
        """Sum of ``pull`` times the derivatives by each hyperparameter but the noise."""
        names, bent = len(NAMES), (pull * smooth).ravel()
        linear = np.exp(hyper[1]) * np.sum(pull * self.products)
        agree = pull.sum() - self.apart[-names:] @ pull.ravel()
        longer = np.exp(-2.0 * hyper[3 + names :]) * (self.apart @ bent)
        return np.concatenate([[linear, bent.sum()], np.exp(hyper[3 : 3 + names]) * agree, longer])


def _fitted(known: Columns, y: Array) -> Array:
    """The most likely hyperparameters."""
    d, names = known.numbers.shape[1], len(NAMES)
    prior = np.array([NOISE, LINEAR, SMOOTH, *[SAME] * names, *[LENGTH] * (d + names)])
    middle, width = prior.T
    shared, one = PairwiseColumns.of(known), np.eye(len(y))

    def unlikely(hyper: Array) -> tuple[float, Array]:
        smooth, noise = shared.smooth(hyper), np.exp(hyper[0])
        root = np.linalg.cholesky(shared.covariance(hyper, smooth) + (noise + 1e-8) * one)
        inverse = cho_solve((root, True), one)
        weights = inverse @ y
        pull = inverse - np.outer(weights, weights)
        moved = (hyper - middle) / width
        value = y @ weights / 2 + np.log(np.diag(root)).sum() + moved @ moved / 2
        slopes = np.append(noise * np.trace(pull), shared.slopes(hyper, smooth, pull))
        return float(value), slopes / 2 + moved / width

    box = list(zip(middle - 4 * width, middle + 4 * width, strict=True))
    made = minimize(unlikely, middle, jac=True, method="L-BFGS-B", bounds=box,
                    options={"maxiter": STEPS})  # fmt: skip
    return np.asarray(made.x, dtype=float)
