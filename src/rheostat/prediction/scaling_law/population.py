"""What do the curves of past jobs have in common, and in which ways do they differ?

Every past job is a curve over the settings: a weighted sum of the law's terms and of local bumps.
The weights of all jobs are taken as draws from one normal distribution, and its mean and covariance
are learned by expectation-maximisation; jobs measured at different settings are no obstacle, since
each job's weights are only known as well as its runs tell.  A generic physical prior worth a job or
two keeps the covariance sane when there are few jobs.  A new job is one more draw; or, where the
jobs come in kinds, a draw from near one of them (a smoothed bootstrap with the same mean and
covariance), which lets few measurements recognise the kind.

Notation
--------
J  past jobs     n_j  runs of job j     q  weights per quantity     C  components     N  settings
F_j : (2 n_j, 2q) features      y_j : (2 n_j,) log runtime, then log power      w_j : (2q,) weights
w_j ~ N(m, S),  y_j = F_j w_j + e,  e ~ N(0, v) with one v per quantity
S = (c S_0 + sum_j E[(w_j - m)(w_j - m)']) / (c + J)                        c : jobs S_0 counts as
A : (2 n_j, 2 n_j) covariance of y_j, solved instead of S: jobs have fewer runs than weights

References
----------
Schwaighofer, Tresp, Yu: Learning Gaussian process kernels via hierarchical Bayes (NIPS 2004).
West: Approximating posterior distributions by mixtures (1993): shrunken kernel densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from rheostat.prediction.scaling_law.coordinates import Array, Basis, both

_SLOPE, _BEND, _LEVEL, _BUMP = 0.3, 0.15, 0.5, 0.1
"""Generic spreads between jobs, in log units over half a knob's range, before any job is seen."""
_POWER_SHARE = 0.5
"""Generic variances of log power relative to log runtime."""
_NOISE, _NOISE_RANGE = 0.03**2, (0.003**2, 0.3**2)
_LEAST_LEVEL = np.array([0.3, 0.05])


@dataclass(frozen=True)
class Population:
    """Mean ``m`` and covariance ``S`` of the weights, each job's own ``weights``, and levels."""

    mean: Array
    covariance: Array
    weights: Array
    levels: Array

    def means(self, features: Array, width: float) -> Array:
        """Components' means (C, 2N) at ``features`` (N, q).

        ``width`` 1 is the normal population; smaller ones put a component at each past job's shape,
        pulled to the mean so that mean and covariance stay; levels are never taken from one job.
        """
        n = len(features)
        f = both(features)
        base = f @ self.mean + np.repeat(self.levels.mean(axis=0), n)
        if width >= 1.0:
            return np.asarray(base[None])
        shapes = ((self.weights - self.mean) @ f.T) * np.sqrt(1 - width**2)
        for part in (slice(0, n), slice(n, 2 * n)):
            shapes[:, part] -= shapes[:, part].mean(axis=1, keepdims=True)
        return np.asarray(base + shapes)

    def covariance_between(self, features: Array, others: Array, width: float) -> Array:
        """The components' covariance (2n, 2m) between settings, features (n, q) and (m, q)."""
        covariance = both(features) @ self.covariance @ both(others).T
        if width >= 1.0:
            return np.asarray(covariance)
        levels = self._level_covariance() * (1 - width**2)
        apart = np.kron(levels, np.ones((len(features), len(others))))
        return np.asarray(width**2 * covariance + apart)

    def variances(self, features: Array, width: float) -> Array:
        """Diagonal of `covariance_between`, (3, n): runtime, power, runtime with power."""
        q = features.shape[1]
        runtime, power = slice(0, q), slice(q, 2 * q)
        blocks = ((runtime, runtime), (power, power), (runtime, power))
        own = np.stack(
            [((features @ self.covariance[a, b]) * features).sum(axis=1) for a, b in blocks]
        )
        if width >= 1.0:
            return own
        levels = self._level_covariance() * (1 - width**2)
        return np.asarray(width**2 * own + levels[[0, 1, 0], [0, 1, 1]][:, None])

    def _level_covariance(self) -> Array:
        centred = self.levels - self.levels.mean(axis=0)
        return np.asarray((centred.T @ centred + np.diag(_LEAST_LEVEL)) / len(self.levels))


def learn(
    basis: Basis,
    units: Sequence[Array],
    logs: Sequence[Array],
    *,
    prior_jobs: float,
    rounds: int = 5,
) -> Population:
    """Mean and covariance of the weights of jobs at ``units[j]`` (n_j, D), ``logs[j]`` (2, n_j)."""
    levels = np.array([y.mean(axis=1) for y in logs])
    middle = levels.mean(axis=0)
    jobs = [_condensed(basis(u), y - middle[:, None]) for u, y in zip(units, logs, strict=True)]
    variances = basis.variances(_LEVEL, _SLOPE, _BEND, _BUMP)
    prior = np.kron(np.diag([1.0, _POWER_SHARE]), np.diag(variances))
    tiny = 1e-9 * np.eye(len(prior))
    runs, count = sum(y.shape[1] for y in logs), len(jobs)
    mean, noise = np.zeros(len(prior)), np.full(2, _NOISE)
    covariance: Array = np.array(prior, dtype=float)
    for _ in range(rounds):
        covariance = covariance + tiny
        weights, information, squares = _expected(jobs, mean, covariance, noise)
        about = 9 * prior + tiny  # of the mean itself, before any job is seen
        mean = about @ np.linalg.solve(about + covariance / count, weights.mean(axis=0))
        apart = weights - mean
        spreads = count * covariance - covariance @ information @ covariance
        covariance = (prior_jobs * prior + apart.T @ apart + spreads) / (prior_jobs + count)
        noise = np.clip((squares + 8 * _NOISE) / (runs + 8), *_NOISE_RANGE)
    return Population(mean, covariance, weights, levels)


@dataclass(frozen=True)
class _Condensed:
    """A job's runs as at most q rows that say as much about its weights, by orthogonal rotation.

    ``rest`` (2,) are the squares of what no weights explain.
    """

    features: Array
    y: Array
    rest: Array


def _condensed(features: Array, y: Array) -> _Condensed:
    rotation, rows = np.linalg.qr(features)
    inside = y @ rotation
    return _Condensed(both(rows), inside.ravel(), (y**2).sum(axis=1) - (inside**2).sum(axis=1))


def _expected(
    jobs: Sequence[_Condensed], mean: Array, covariance: Array, noise: Array
) -> tuple[Array, Array, Array]:
    """Each job's weights (J, 2q), F' A^-1 F (2q, 2q) summed over jobs, squared errors (2,).

    With A = F S F' + N, the weights are m + S F' A^-1 (y - F m), known up to S - S F' A^-1 F S, and
    their errors' squares have the mean |N A^-1 (y - F m)|^2 + trace(N - N A^-1 N).
    """
    white, pulls, squares = [], [], np.zeros(2)
    for job in jobs:
        rows = len(job.y) // 2
        n = np.repeat(noise, rows)
        a = job.features @ covariance @ job.features.T + np.diag(n)
        inverse_root = solve_triangular(np.linalg.cholesky(a), np.eye(2 * rows), lower=True)
        pull = inverse_root.T @ (inverse_root @ (job.y - job.features @ mean))
        left = (n * pull) ** 2 + n - n**2 * (inverse_root**2).sum(axis=0)
        squares += left.reshape(2, rows).sum(axis=1) + job.rest
        white.append(inverse_root @ job.features)
        pulls.append(job.features.T @ pull)
    stacked = np.vstack(white)
    return mean + np.array(pulls) @ covariance, stacked.T @ stacked, squares
