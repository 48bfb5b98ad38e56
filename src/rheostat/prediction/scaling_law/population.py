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

References
----------
Schwaighofer, Tresp, Yu: Learning Gaussian process kernels via hierarchical Bayes (NIPS 2004).
West: Approximating posterior distributions by mixtures (1993): shrunken kernel densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    features = [basis(u) for u in units]
    grams = [f.T @ f for f in features]
    targets = [(y - middle[:, None]) for y in logs]
    variances = basis.variances(_LEVEL, _SLOPE, _BEND, _BUMP)
    prior = np.kron(np.diag([1.0, _POWER_SHARE]), np.diag(variances))
    q, jobs = len(variances), len(logs)
    tiny = 1e-9 * np.eye(2 * q)
    mean, noise = np.zeros(2 * q), np.full(2, _NOISE)
    covariance: Array = np.array(prior, dtype=float)
    mean_prior = np.linalg.inv(9 * prior + tiny)
    for _ in range(rounds):
        inverse = np.linalg.inv(covariance + tiny)
        weights, spreads = np.empty((jobs, 2 * q)), np.zeros((2 * q, 2 * q))
        squares, count = np.zeros(2), np.zeros(2)
        for j, (f, g, y) in enumerate(zip(features, grams, targets, strict=True)):
            spread = np.linalg.inv(np.kron(np.diag(1 / noise), g) + inverse)
            pull = np.concatenate([f.T @ y[0] / noise[0], f.T @ y[1] / noise[1]])
            weights[j] = spread @ (pull + inverse @ mean)
            spreads += spread
            for t, part in enumerate((slice(0, q), slice(q, 2 * q))):
                left = y[t] - f @ weights[j, part]
                squares[t] += left @ left + (spread[part, part] * g).sum()
            count += len(f)
        mean = np.linalg.solve(jobs * inverse + mean_prior, jobs * inverse @ weights.mean(axis=0))
        apart = weights - mean
        covariance = (prior_jobs * prior + apart.T @ apart + spreads) / (prior_jobs + jobs)
        noise = np.clip((squares + 8 * _NOISE) / (count + 8), *_NOISE_RANGE)
    return Population(mean, covariance, weights, levels)
