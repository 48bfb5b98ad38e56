"""What will jobs of thousands of applications cost, each knowing a few runs of its own or none?

The same law as in `ensemble`, in the form that scales: every application's curve is a weighted sum
of the basis (law terms and bumps of the Matern kernel), so that belief about it is a mixture of
normals over a few dozen weights.  A component stands where a past application stands, pulled to the
mean of all; components near in context weigh more before anything is measured, and own runs decide
afterwards.  How far to trust the past, how rough curves are and how wide the context kernel is are
learned by predicting applications from the others.

Notation
--------
J  applications     q  weights per quantity     M  members (hyper-parameters)     C  components
a  settings of one application     S  draws     s^2 : (2,) variance of repeated runs (t, p)
F : (n, q) features     w : (2q,)     mean : (C, 2q)     V : (M, 2q, 2q)     rough : (M, 2)

References
----------
Schwaighofer, Tresp, Yu: Learning Gaussian process kernels via hierarchical Bayes (NIPS 2004).
Wilson et al.: Efficiently sampling functions from Gaussian process posteriors (2020): a draw of
the prior corrected by the kernel's pull of the residuals is a draw of the posterior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rheostat.prediction.scaling_law import hyper
from rheostat.prediction.scaling_law.coordinates import Array, Basis, both
from rheostat.prediction.scaling_law.population import Population, learn

WIDTHS, PRIOR_JOBS, TRIALS, MEMBERS, FOLDS = (1.0, 0.5, 0.25), 1.5, 48, 6, 4
BANDWIDTHS = (0.25, 0.5, 1.0, 2.0, np.inf)
_SLOPE, _LEVEL_SLACK = 1.0, (0.1, 0.01)


@dataclass(frozen=True)
class PooledRuns:
    """One application's runs by distinct setting: units (a, D), mean logs (2, a), counts (a,)."""

    units: Array
    logs: Array
    counts: Array

    def at(self, settings: NDArray[np.int64]) -> PooledRuns:
        """Its runs at some of the settings."""
        return PooledRuns(self.units[settings], self.logs[:, settings], self.counts[settings])


@dataclass(frozen=True)
class Pooled:
    """What past applications teach about a new one; see `fit_pooled`."""

    basis: Basis
    means: Array
    covariances: Array
    rough: Array
    log_weights: Array
    repeats: Array
    context: Array
    bandwidth: float
    noise: Array
    hyper: Array
    width: float

    def from_others(self, jobs: Sequence[PooledRuns], context: Array) -> Pooled:
        """The same hyper-parameters for a population of other applications."""
        population = _population(self.basis, jobs)
        covariances, _ = _members(self.basis, population, self.hyper, self.width)
        means = _centres(population, self.width)
        return replace(self, means=means, covariances=covariances, context=context)

    def prior(self, context: Array) -> Array:
        """Log weights (n, C) of the components for contexts (n, c): near ones weigh more."""
        return _nearness(context, self.context, self.bandwidth)

    @cached_property
    def factors(self) -> Array:
        """Cholesky factors (M, 2q, 2q) of the covariances."""
        jitter = 1e-10 * np.eye(self.covariances.shape[1])
        return np.asarray(np.linalg.cholesky(self.covariances + jitter), dtype=float)

    def weights(self, runs: PooledRuns | None, prior: Array) -> tuple[Array, Array]:
        """Draws of the curve's weights (S, 2q) and roughness scales (S, 2), given own runs.

        The draws' randomness is fixed when the model is made, so a row's answer does not depend on
        what else is asked; draw s takes the member and component at quantile (s + 1/2) / S.
        """
        members, size = len(self.covariances), len(self.means)
        log_w = self.log_weights[:, None] + prior[None]
        system = None
        if runs is not None:
            f, k = system = _system(self.basis, runs, self.covariances, self.rough, self.repeats)
            log_w = log_w + _log_density(runs.logs.ravel() - self.means @ f.T, k)
        pick = _quantiles(log_w.ravel(), len(self.noise))
        m, c = np.divmod(pick, size)
        w = self.means[c].copy()
        for i in range(members):
            at = np.flatnonzero(m == i)
            if not len(at):
                continue
            w[at] += self.noise[at] @ self.factors[i].T
            if runs is not None and system is not None:
                own = k[i] - f @ self.covariances[i] @ f.T
                jitter = np.sqrt(np.diag(own)) * _fixed_normals(len(at), len(own))
                left = runs.logs.ravel() - w[at] @ f.T - jitter
                w[at] += np.linalg.solve(k[i], left.T).T @ f @ self.covariances[i]
        return w, self.rough[m]


def fit_pooled(
    basis: Basis,
    jobs: Sequence[PooledRuns],
    context: Array,
    *,
    repeats: Array,
    draws: int,
    seed: int = 0,
) -> Pooled:
    """Learn from applications ``jobs`` with ``context`` (J, c); ``repeats`` (2,) run variances."""
    rng = np.random.default_rng(seed)
    size = hyper.SHARED + jobs[0].units.shape[1]
    trials = rng.normal(size=(TRIALS, size))
    population = _population(basis, jobs)
    scores, width, bandwidth = _predict(basis, jobs, context, trials=trials, repeats=repeats)
    weight = np.exp(scores - scores.max())
    keep = np.argsort(-weight, kind="stable")[:MEMBERS]
    covariances, rough = _members(basis, population, trials[keep], width)
    return Pooled(
        basis,
        _centres(population, width),
        covariances,
        rough,
        np.log(weight[keep] / weight[keep].sum()),
        repeats,
        context,
        bandwidth,
        _stratified(draws, covariances.shape[1], rng),
        trials[keep],
        width,
    )


def _population(basis: Basis, jobs: Sequence[PooledRuns]) -> Population:
    return learn(basis, [j.units for j in jobs], [j.logs for j in jobs], prior_jobs=PRIOR_JOBS)


def _centres(population: Population, width: float) -> Array:
    """Component means (J, 2q), pooled level included; with width 1 all are the mean."""
    apart = population.weights - population.mean
    centres = population.mean + np.sqrt(1 - width**2) * apart
    level = population.levels.mean(axis=0)
    half = centres.shape[1] // 2
    centres[:, 0] += level[0]
    centres[:, half] += level[1]
    return np.asarray(centres)


def _members(basis: Basis, population: Population, z: Array, width: float) -> tuple[Array, Array]:
    """Covariances (M, 2q, 2q) of the weights, and roughness (M, 2), for hyper-parameters z."""
    h = hyper.named(z)
    half = len(population.mean) // 2
    unit = basis.variances(0.0, _SLOPE, 0.3, 0.0)
    bumps = basis.variances(0.0, 0.0, 0.0, 1.0)
    covariances = h["follow"][:, None, None] * width**2 * population.covariance
    i = np.arange(half)
    b2, ratio = h["slope"][:, None] ** 2, h["slope_ratio"][:, None]
    t, p = h["local_t"][:, None], h["local_p"][:, None]
    cross = (h["slope_rho"][:, None] * b2 * ratio) * unit
    cross = cross + h["local_rho"][:, None] * t * p * bumps
    covariances[:, i, i] += b2 * unit + t**2 * bumps
    covariances[:, half + i, half + i] += b2 * ratio**2 * unit + p**2 * bumps
    covariances[:, i, half + i] += cross
    covariances[:, half + i, i] += cross
    covariances[:, 0, 0] += _LEVEL_SLACK[0]
    covariances[:, half, half] += _LEVEL_SLACK[1]
    return covariances, np.column_stack([h["rough_t"], h["rough_p"]])


def _predict(
    basis: Basis, jobs: Sequence[PooledRuns], context: Array, *, trials: Array, repeats: Array
) -> tuple[Array, float, float]:
    """Scores (T,) of hyper-parameters, and width and bandwidth that best predict held-out jobs."""
    folds = min(FOLDS, len(jobs))
    if folds < 2:
        return np.zeros(len(trials)), 1.0, float("inf")
    ways = [
        (w, b) for w in WIDTHS for b in (BANDWIDTHS if w < 1 and context.shape[1] else (np.inf,))
    ]
    table = np.zeros((len(ways), len(trials)))
    for fold in range(folds):
        kept = [j for j in range(len(jobs)) if j % folds != fold]
        population = _population(basis, [jobs[j] for j in kept])
        for width in WIDTHS:
            covariances, rough = _members(basis, population, trials, width)
            centres = _centres(population, width)[: 1 if width == 1 else None]
            for j in range(fold, len(jobs), folds):
                f, k = _system(basis, jobs[j], covariances, rough, repeats)
                density = _log_density(jobs[j].logs.ravel() - centres @ f.T, k)
                for row, (w, bandwidth) in enumerate(ways):
                    if w == width:
                        near = _nearness(context[j : j + 1], context[kept], bandwidth)[0]
                        near = near if width < 1 else np.zeros(1)
                        table[row] += np.logaddexp.reduce(density + near, axis=1)
    best = int(np.logaddexp.reduce(table, axis=1).argmax())
    return table[best] / np.sqrt(len(jobs)), *ways[best]


def _system(
    basis: Basis, runs: PooledRuns, covariances: Array, rough: Array, repeats: Array
) -> tuple[Array, Array]:
    """Features (2a, 2q) of an application's settings, covariance (M, 2a, 2a) of its run means."""
    f = both(basis(runs.units))
    k = f @ covariances @ f.T
    spread = rough[:, :, None] ** 2 + repeats[None, :, None] / runs.counts
    at = np.arange(len(f))
    k[:, at, at] += spread.reshape(len(rough), -1) + 1e-8
    return f, k


def _nearness(context: Array, centres: Array, bandwidth: float) -> Array:
    """Normalised log weights (n, C): a Gaussian kernel of the mean squared context difference."""
    if not np.isfinite(bandwidth) or not context.shape[1]:
        return np.full((len(context), len(centres)), -np.log(len(centres)))
    gap = np.nanmean((context[:, None] - centres[None]) ** 2, axis=2)
    log_w = -gap / (2 * bandwidth**2)
    return np.asarray(log_w - np.logaddexp.reduce(log_w, axis=1, keepdims=True))


def _log_density(residual: Array, k: Array) -> Array:
    """Log normal densities (M, C) of residuals (C, n) under covariances (M, n, n)."""
    factor = np.linalg.cholesky(k)
    white = np.linalg.solve(factor, np.broadcast_to(residual.T, (len(k), *residual.T.shape)))
    logdet = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    n = residual.shape[1]
    return np.asarray(-0.5 * (white**2).sum(axis=1) - logdet[:, None] - n / 2 * np.log(2 * np.pi))


def _quantiles(log_weights: Array, count: int) -> np.ndarray:
    """``count`` indices spread evenly over the weights, in a fixed interleaved order."""
    w = np.exp(log_weights - log_weights.max())
    at = (np.arange(count) + 0.5) / count
    places = np.minimum(np.searchsorted(np.cumsum(w / w.sum()), at), len(w) - 1)
    return places[np.argsort(_golden(count), kind="stable")]


def _golden(count: int) -> Array:
    """The golden-ratio sequence: an order in which any stretch is spread out."""
    return np.asarray((np.arange(count) * 0.6180339887498949) % 1.0)


def _fixed_normals(rows: int, columns: int) -> Array:
    """The same standard normals on every call."""
    return np.random.default_rng([rows, columns]).normal(size=(rows, columns))


def _stratified(rows: int, columns: int, rng: np.random.Generator) -> Array:
    """Standard normals (rows, columns), each column with exactly even quantiles."""
    at = np.array([rng.permutation(rows) for _ in range(columns)]).T
    return np.asarray(ndtri((at + 0.5) / rows))
