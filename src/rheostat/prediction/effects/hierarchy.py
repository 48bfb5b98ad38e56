"""Many applications, each with a few runs: regression weights that lend each other strength.

Every application has its own weights, drawn from one population; the population's mean and
covariance are learned from all of them.  An application with many runs keeps its own answer, one
with few is pulled to the others', and what nothing in the data tells stays as wide as the prior.
What the population is, is itself uncertain: each draw learns it from applications and users drawn
with replacement (a cluster bootstrap [Efron2020]_ with independent weights for the two kinds of
cluster [Owen2012]_).

Notation
--------
n  rows      A  applications      q  weights      B  draws
y_a = X_a b_a + e,  b_a ~ N(m, S),  m ~ N(prior mean, prior variance),  S block-diagonal
P_a = X_a' X_a / s_a^2  (precision of application a),  h_a = X_a' y_a / s_a^2

References
----------
.. [Efron2020] Efron, B., Narasimhan, B.: The automatic construction of bootstrap confidence
   intervals. J. Comp. Graph. Stat. 29 (2020); Laird, N., Louis, T.: Empirical Bayes confidence
   intervals based on bootstrap samples. JASA 82 (1987).
.. [Owen2012] Owen, A., Eckles, D.: Bootstrapping data arrays of arbitrary order. AoAS 6 (2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import cholesky, inv
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
NOISE_WORTH = 8.0
"""Runs that the noise of all applications weighs in the noise of one."""
PRIOR_WORTH = 4.0
"""Applications that the prior weighs in the spread between applications."""
ROUNDS, AGAIN = 40, 8
TAIL = 5.0
"""Degrees of freedom of an application's departure: some codes are like no other."""


@dataclass(frozen=True)
class Prior:
    """Before any data: ``mean`` and ``sd`` of the population's mean, ``between`` applications.

    Each (q,).  ``blocks`` numbers the weights that may go together, (q,).
    """

    mean: Array
    sd: Array
    between: Array
    blocks: Ints


@dataclass(frozen=True)
class Hierarchy:
    """What was learned; draws of the weights, (B, A + 1, q), the last for an application not seen.

    ``noise`` is the spread of one row, (A + 1,); ``mean`` draws of the population's mean, (B, q).
    """

    weights: Array
    mean: Array
    noise: Array


def learn(
    x: Array,
    y: Array,
    app: Ints,
    user: Ints,
    prior: Prior,
    lost: Array,
    *,
    draws: int,
    rng: np.random.Generator,
) -> Hierarchy:
    """Weights of every application from rows ``x`` (n, q), ``y`` (n,), less their group means.

    ``lost`` (A,) counts the degrees of freedom that taking group means away has cost.  Applications
    whose rows do not differ tell nothing, and are drawn from the population.

    >>> rng = np.random.default_rng(0)
    >>> app = np.repeat(np.arange(20), 30)
    >>> x = rng.normal(size=(600, 1))
    >>> y = (2.0 + 0.1 * rng.normal(size=20))[app] * x[:, 0] + 0.1 * rng.normal(size=600)
    >>> prior = Prior(np.zeros(1), np.full(1, 9.0), np.full(1, 0.5), np.zeros(1, dtype=int))
    >>> fitted = learn(x, y, app, app, prior, np.zeros(20), draws=64, rng=rng)
    >>> fitted.weights.shape, bool(abs(fitted.mean.mean() - 2) < 0.1)
    ((64, 21, 1), True)
    """
    size, q = len(lost), x.shape[1]
    noise = _noise(x, y, app, lost)
    precision = _summed(x[:, :, None] * x[:, None, :], app, size) / noise[:size, None, None] ** 2
    evidence = _summed(x * y[:, None], app, size) / noise[:size, None] ** 2
    telling = np.bincount(app, np.abs(x).sum(axis=1), minlength=size) > 0
    state = _State(precision[telling], evidence[telling], prior)
    plain = state.spread(np.diag(prior.between**2), ROUNDS, np.ones(telling.sum()))
    weight = _cluster_weights(app, user, size, draws, rng)[:, telling]
    spread = state.spread(np.broadcast_to(plain, (draws, q, q)), AGAIN, weight)
    mean, covariance, shrink = state.population(spread)
    mean = mean + _drawn(covariance, (draws, q), rng)
    centre, own = state.applications(mean, spread, shrink)
    tail = np.sqrt(TAIL / rng.chisquare(TAIL, (draws, size + 1, 1)))
    drawn, known = np.empty((draws, size + 1, q)), np.append(telling, False)
    away = tail[:, ~known] * _drawn(spread[:, None], (draws, int((~known).sum()), q), rng)
    drawn[:, ~known] = mean[:, None] + away
    drawn[:, known] = centre + tail[:, known] * _drawn(own, (draws, int(known.sum()), q), rng)
    return Hierarchy(drawn, mean, noise)


@dataclass(frozen=True)
class _State:
    """Sufficient statistics of the applications, (A, q, q) and (A, q), and the prior."""

    precision: Array
    information: Array
    prior: Prior

    def population(self, spread: Array) -> tuple[Array, Array, Array]:
        """Mean (..., q) and covariance of the population's mean given ``spread`` (..., q, q).

        The third value, (..., A, q, q), is how much each application is pulled to that mean.
        """
        own = np.eye(spread.shape[-1]) + spread[..., None, :, :] @ self.precision
        shrink = np.asarray(inv(own), dtype=float)
        certain = np.diag(1 / self.prior.sd**2)
        weight = certain + (self.precision @ shrink).sum(axis=-3)
        information = (
            np.einsum("...aqr,aq->...r", shrink, self.information) + certain @ self.prior.mean
        )
        covariance = np.asarray(inv(weight), dtype=float)
        mean = np.asarray(np.einsum("...qr,...r->...q", covariance, information))
        return mean, covariance, shrink

    def applications(self, mean: Array, spread: Array, shrink: Array) -> tuple[Array, Array]:
        """Mean (..., A, q) and covariance of every application's weights given the population."""
        own = shrink @ spread[..., None, :, :]
        centre = np.einsum("...aqr,...r->...aq", shrink, mean)
        return centre + np.einsum("...aqr,ar->...aq", own, self.information), own

    def spread(self, start: Array, rounds: int, weight: Array) -> Array:
        """Covariance between applications, by expectation-maximisation; ``weight`` (..., A)."""
        prior, q = self.prior, start.shape[-1]
        together = prior.blocks[:, None] == prior.blocks[None, :]
        scatter = PRIOR_WORTH * np.diag(prior.between**2)
        count = weight.sum(axis=-1)[..., None, None] + PRIOR_WORTH
        spread = start
        for _ in range(rounds):
            mean, unsure, shrink = self.population(spread)
            centre, own = self.applications(mean, spread, shrink)
            away = centre - mean[..., None, :]
            pull = shrink - np.eye(q)
            moved = pull @ unsure[..., None, :, :] @ np.swapaxes(pull, -1, -2)
            square = own + moved + away[..., :, None] * away[..., None, :]
            total = np.einsum("...a,...aqr->...qr", weight, square)
            spread = (total + scatter) / count * together
        return spread


def _noise(x: Array, y: Array, app: Ints, lost: Array) -> Array:
    """Spread of one row of each application, (A + 1,), pulled to that of all; the last is all's."""
    size, q = len(lost), x.shape[1]
    gram = _summed(x[:, :, None] * x[:, None, :], app, size)
    cross = _summed(x * y[:, None], app, size)
    ridge = 1e-3 * (1 + np.trace(gram, axis1=1, axis2=2) / q)
    weights = np.linalg.solve(gram + ridge[:, None, None] * np.eye(q), cross[..., None])[..., 0]
    rest = np.bincount(app, (y - np.einsum("nq,nq->n", x, weights[app])) ** 2, minlength=size)
    free = np.maximum(np.bincount(app, minlength=size) - lost - q, 0.0)
    common = rest[free > 0].sum() / free.sum() if free.any() else float(np.var(y))
    common = max(common, 1e-8)
    own = (np.where(free > 0, rest, 0.0) + NOISE_WORTH * common) / (free + NOISE_WORTH)
    return np.asarray(np.sqrt(np.append(own, common)))


def _cluster_weights(
    app: Ints, user: Ints, size: int, draws: int, rng: np.random.Generator
) -> Array:
    """(B, A): applications and users drawn with replacement, as smooth weights of mean one."""
    users = int(user.max()) + 1
    by_user = rng.exponential(size=(draws, users))
    pairs, count = np.unique(app * users + user, return_counts=True)
    share = np.zeros((size, users))
    share[pairs // users, pairs % users] = count
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1.0)
    weight = rng.exponential(size=(draws, size)) * (by_user @ share.T)
    return np.asarray(weight * size / weight.sum(axis=1, keepdims=True))


def _drawn(covariance: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Normal draws with these covariances, mean zero."""
    even = (covariance + np.swapaxes(covariance, -1, -2)) / 2
    root = cholesky(even + 1e-10 * np.eye(covariance.shape[-1]))
    return np.asarray(np.einsum("...qr,...r->...q", root, rng.standard_normal(shape)))


def _summed(rows: Array, app: Ints, size: int) -> Array:
    """Sums of ``rows`` (n, ...) over the rows of each application, (A, ...)."""
    flat = rows.reshape(len(rows), -1)
    sums = np.stack([np.bincount(app, c, minlength=size) for c in flat.T], axis=-1).astype(float)
    return sums.reshape(size, *rows.shape[1:])
