"""What the additive model leaves over, and how much of it one device has in common with another.

One Gaussian in the logarithms: the additive model is linear in its log rates near the fit, so the
uncertainty of every rate is part of the covariance; the rest is a Gaussian process over what a step
is made of, with a part that all devices share and a part of each device alone.  A device that was
run little may follow the others more or less: its loading is averaged over a grid by how likely it
makes the runs at hand.  Linear correction of a pre-trained prediction, residual learning, and
everything between are cases of it, and the data choose: a length for each coordinate, so that what
a device does not feel drops out, and how much each run is doubted (errors of measurement have the
tails of Student's t [Lange1989]_: a run far from what all others say counts less).

Notation
--------
n  rows learned from     m  rows asked about     r  loading of the device least run
c  coordinates: z, standardised logarithms of `cost_terms` and the batch
k(x, x') = w^2 exp(-sum_c (z_c - z'_c)^2 / 2 l_c^2)

References
----------
.. [Lange1989] Lange, Little, Taylor: Robust statistical modeling using the t distribution.
   JASA 84, 1989.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from rheostat.prediction.step_cost.additive import AdditiveCost, Array, Codes, fit_additive
from rheostat.prediction.step_cost.terms import TERMS

ALIKE, ALIKE_ON_DEVICE = 0.15, 0.07
"""Log residual of like steps: common to all devices, that of one device alone."""
SAME_APP, SAME_APP_ON_DEVICE, APP_NEARER = 0.1, 0.05, 1.5
"""The same between sizes of one network, whose lengths are shorter by so much."""
LENGTH, LENGTH_SPREAD = 3.0, 1.0
"""Prior of a coordinate's length, in spreads of the runs, and the spread of its logarithm."""
NOISES, SCALES = (0.02, 0.5), (0.125, 8.0)
"""Least and most log spread of one measurement, and multiple of the residual's spreads."""
TAIL = 4.0
"""Degrees of freedom of the errors of measurement."""
STEPS = 30
"""Of the search for noise, scale and lengths."""
ENOUGH = 300
"""Runs that choose them."""
LOADINGS = (0.0, 0.4, 0.7, 0.9, 1.0)
FEW = 100
"""A device with fewer runs may follow the others only in part; fewer in all choose no lengths."""
COORDINATES = (
    "launches", "infeed_b", "convolution_f", "convolution_b", "depthwise_b", "matmul_f", "matmul_b",
    "elementwise_b", "transcendentals", "normalization_b", "reduction_b", "movement_b", "gather_b",
    "elementwise_f", "convolution_patches_b", "convolution_f_narrow", "matmul_operands_b",
    "matmul_f_padded", "rearranged_b", "selected_b", "reduced_b",
)  # fmt: skip


class Known(NamedTuple):
    """n rows as the covariance sees them."""

    terms: Array
    device: Codes
    app: Codes
    batch: Array

    def of(self, rows: NDArray[np.bool_]) -> Known:
        """Some of them."""
        return Known(self.terms[rows], self.device[rows], self.app[rows], self.batch[rows])


class _Posterior(NamedTuple):
    weight: float
    loadings: Array
    factor: tuple[Array, bool]
    alpha: Array


@dataclass(frozen=True)
class TransferGP:
    """The joint Gaussian, given runs; everything computed follows from its fields.

    ``log_y`` (n,) are the measured logarithms of the rows ``terms``, ``device``, ``app``,
    ``batch``; app code -1 is a network that was never run.  ``doubt`` (n,) multiplies a run's noise
    variance, ``lengths`` (c,) belong to the coordinates, ``loadings`` (D + 1,) are averaged over
    where they are not given.
    """

    law: AdditiveCost
    terms: Array
    device: Codes
    app: Codes
    batch: Array
    log_y: Array
    doubt: Array
    lengths: Array
    noise: float = 0.1
    scale: float = 1.0
    loadings: Array | None = None

    @staticmethod
    def of(law: AdditiveCost, known: Known, log_y: Array) -> TransferGP:
        """Before anything was chosen."""
        lengths = np.full(len(COORDINATES) + 1, LENGTH)
        return TransferGP(law, *known, log_y, np.ones(len(log_y)), lengths)

    def refitted(self, rows: NDArray[np.bool_]) -> TransferGP:
        """The same given only some of the rows; its law is fitted anew, its loadings are kept."""
        law = fit_additive(self.terms[rows], self.log_y[rows], self.device[rows], self.law.devices,
                           self.law.parameters)  # fmt: skip
        best = max(self._posteriors, key=lambda p: p.weight).loadings
        return replace(self, **{c: getattr(self, c)[rows] for c in RUNS}, law=law, loadings=best)

    def chosen(self, seed: int, least_noise: float = 0.0) -> TransferGP:
        """The same with the noise, scale and lengths that make the runs likeliest, and doubts.

        Fewer than `FEW` runs choose noise and scale alone.
        """
        first = self._likeliest(seed, least_noise)
        if len(self.log_y) < FEW:
            return first
        error, spread = first.scores(np.arange(len(self.log_y)))
        doubt = (TAIL + (error / spread) ** 2) / (TAIL + 1.0)
        return replace(first, doubt=doubt)._likeliest(seed, least_noise)

    def _likeliest(self, seed: int, least_noise: float) -> TransferGP:
        every = np.random.default_rng(seed).permutation(len(self.log_y))
        few = np.sort(every[:ENOUGH])
        less = replace(self, **{c: getattr(self, c)[few] for c in RUNS})
        free = (0.1, 100.0) if len(few) >= FEW else (1.0, 1.0)
        bounds = [(max(NOISES[0], least_noise), max(NOISES[1], 2.0 * least_noise)), SCALES,
                  *[(LENGTH * free[0], LENGTH * free[1])] * len(self.lengths)]  # fmt: skip
        start = np.clip([self.noise, self.scale, *self.lengths], *np.array(bounds).T)
        best = minimize(less._unlikely, np.log(start), jac=True, bounds=np.log(bounds),
                        method="L-BFGS-B", options={"maxiter": STEPS})  # fmt: skip
        noise, scale, *lengths = np.exp(best.x)
        return replace(self, noise=float(noise), scale=float(scale), lengths=np.array(lengths))

    def _unlikely(self, at: Array) -> tuple[float, Array]:
        """Negative log likelihood and prior of log noise, scale and lengths; its slopes.

        Every device follows the others.
        """
        noise, scale, *lengths = np.exp(at)
        gp = replace(self, noise=float(noise), scale=float(scale), lengths=np.array(lengths))
        evidence, factor, alpha = gp._given(np.ones(self.law.devices))
        short = (at[2:] - np.log(LENGTH)) / LENGTH_SPREAD
        inverse = cho_solve(factor, np.eye(len(alpha)))
        pull = 0.5 * (inverse - np.outer(alpha, alpha))
        residual, sharp = gp._residual
        z, far = gp._z(gp.known), pull * sharp
        slopes = 2.0 * ((z**2).T @ far.sum(axis=1) - np.einsum("ic,ij,jc->c", z, far, z,
                                                               optimize=True))  # fmt: skip
        return -evidence + 0.5 * float(short @ short), np.concatenate([
            [2.0 * noise**2 * float(np.diag(pull) @ self.doubt),
             2.0 * float((pull * residual).sum())],
            slopes / np.array(lengths) ** 2 + short / LENGTH_SPREAD,
        ])  # fmt: skip

    @property
    def _residual(self) -> tuple[Array, Array]:
        """Covariance of what the law leaves over, and its slope by -|z - z'|^2 / 2 l^2, (n, n)."""
        known = self.known
        alike, app = self._likeness(known, known)
        same = known.device[:, None] == known.device[None]
        alike *= self.scale**2 * (ALIKE**2 + ALIKE_ON_DEVICE**2 * same)
        app *= self.scale**2 * (SAME_APP**2 + SAME_APP_ON_DEVICE**2 * same)
        return alike + app, alike + APP_NEARER**2 * app

    def predict(self, asked: Known) -> tuple[Array, Array]:
        """Mean and standard deviation of the logarithms, (m,) each."""
        known, prior, slopes = self.known, self._center(asked), self._slopes(asked)
        shared, own = self._parts(asked, known)
        same = asked.device[:, None] == known.device[None]
        fixed = own * same + (slopes * self.law.prior_variance) @ self._slopes(known).T
        top = self._top(asked, slopes)
        means, variances, weights = [], [], []
        for weight, loadings, factor, alpha in self._posteriors:
            cross = fixed + shared * _loaded(loadings, asked.device, known.device, same)
            means.append(prior + cross @ alpha)
            variances.append(top - (cross * cho_solve(factor, cross.T).T).sum(axis=1))
            weights.append(weight)
        mean = np.average(means, axis=0, weights=weights)
        around = np.array(variances) + (np.array(means) - mean) ** 2
        variance = np.average(around, axis=0, weights=weights)
        return mean, np.sqrt(np.maximum(variance, self.noise**2))

    def covariance(self, asked: Known) -> Array:
        """Of the logarithms given the runs, without measurement noise, at the likeliest loading."""
        _, loadings, factor, _ = max(self._posteriors, key=lambda p: p.weight)
        given, cross = (self._between(asked, rows, loadings) for rows in (asked, self.known))
        return np.asarray(given - cross @ cho_solve(factor, cross.T))

    def _between(self, a: Known, b: Known, loadings: Array) -> Array:
        shared, own = self._parts(a, b)
        same = a.device[:, None] == b.device[None]
        law = (self._slopes(a) * self.law.prior_variance) @ self._slopes(b).T
        return np.asarray(own * same + law + shared * _loaded(loadings, a.device, b.device, same))

    def scores(self, groups: Codes) -> tuple[Array, Array]:
        """Errors of each row had its group not been run, and their standard deviations, (n,)."""
        _, _, factor, alpha = max(self._posteriors, key=lambda p: p.weight)
        inverse = cho_solve(factor, np.eye(len(alpha)))
        error, spread = np.empty(len(alpha)), np.empty(len(alpha))
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            inner = np.linalg.inv(inverse[np.ix_(rows, rows)])
            own = np.diag(inner) - self.noise**2 * (self.doubt[rows] - 1.0)
            error[rows] = inner @ alpha[rows]
            spread[rows] = np.sqrt(np.maximum(own, self.noise**2))
        return error, spread

    @cached_property
    def known(self) -> Known:
        """The rows learned from."""
        return Known(self.terms, self.device, self.app, self.batch)

    @cached_property
    def _scaling(self) -> tuple[Array, Array, Array]:
        """Smallest amounts told apart, and center and spread of the coordinates."""
        floor = 1e-6 * self.terms[:, _PLACES].max(axis=0) + 1e-12
        z = coordinates(self.terms, self.batch, floor)
        spread = z.std(axis=0)
        return floor, z.mean(axis=0), np.where(spread > 1e-9, spread, 1.0)

    @cached_property
    def _posteriors(self) -> list[_Posterior]:
        tried = [(loadings, *self._given(loadings)) for loadings in self._loadings()]
        weights = np.exp(np.array([t[1] for t in tried]) - max(t[1] for t in tried))
        weights /= weights.sum()
        return [_Posterior(float(w), t[0], *t[2:]) for w, t in zip(weights, tried, strict=True)
                if w > 0.01]  # fmt: skip

    def _given(self, loadings: Array) -> tuple[float, tuple[Array, bool], Array]:
        """Log likelihood of the runs, and the solution for predictions."""
        fixed, shared, same, left = self._covariance
        spread = fixed + shared * _loaded(loadings, self.device, self.device, same)
        factor = cho_factor(spread, lower=True)
        alpha = cho_solve(factor, left)
        return float(-0.5 * left @ alpha - np.log(np.diag(factor[0])).sum()), factor, alpha

    @cached_property
    def _covariance(self) -> tuple[Array, Array, NDArray[np.bool_], Array]:
        known, slopes = self.known, self._slopes(self.known)
        shared, own = self._parts(known, known)
        same = known.device[:, None] == known.device[None]
        fixed = own * same + (slopes * self.law.prior_variance) @ slopes.T
        fixed[np.diag_indices_from(fixed)] += self.noise**2 * self.doubt
        return fixed, shared, same, self.log_y - self._center(known)

    def _loadings(self) -> list[Array]:
        if self.loadings is not None:
            return [self.loadings]
        runs = np.bincount(self.device, minlength=self.law.devices)
        all_follow = np.ones(self.law.devices)
        there = np.flatnonzero(runs)
        least = there[np.argmin(runs[there])]
        if len(there) < 2 or runs[least] >= FEW:
            return [all_follow]
        which = np.arange(self.law.devices) == least
        return [np.where(which, r, all_follow) for r in LOADINGS]

    def _center(self, rows: Known) -> Array:
        """The law at the prior's mean, as its line near the fit says, (n,)."""
        away = self.law.prior_mean - self.law.parameters
        return np.asarray(self.law.predict(rows.terms, rows.device) + self._slopes(rows) @ away)

    def _slopes(self, rows: Known) -> Array:
        return self.law.slopes(rows.terms, rows.device)

    def _z(self, rows: Known) -> Array:
        floor, center, spread = self._scaling
        return np.asarray((coordinates(rows.terms, rows.batch, floor) - center) / spread)

    def _parts(self, a: Known, b: Known) -> tuple[Array, Array]:
        """Covariances (n, m) that all devices share, and those within one device."""
        alike, app = self._likeness(a, b)
        wide = self.scale**2
        return (wide * (ALIKE**2 * alike + SAME_APP**2 * app),
                wide * (ALIKE_ON_DEVICE**2 * alike + SAME_APP_ON_DEVICE**2 * app))  # fmt: skip

    def _likeness(self, a: Known, b: Known) -> tuple[Array, Array]:
        """How alike steps are, (n, m), and how alike those of one network."""
        x, y = self._z(a) / self.lengths, self._z(b) / self.lengths
        far = np.maximum((x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2.0 * x @ y.T, 0.0)
        app = (a.app[:, None] == b.app[None]) & (a.app >= 0)[:, None]
        return np.exp(-0.5 * far), np.where(app, np.exp(-0.5 * APP_NEARER**2 * far), 0.0)

    def _top(self, rows: Known, slopes: Array) -> Array:
        """Variance of each row before any run, noise included."""
        residual = ALIKE**2 + SAME_APP**2 + ALIKE_ON_DEVICE**2 + SAME_APP_ON_DEVICE**2
        law = (slopes**2 * self.law.prior_variance).sum(axis=1)
        return np.asarray(self.scale**2 * residual + self.noise**2 + law)


RUNS = ("terms", "device", "app", "batch", "log_y", "doubt")
_PLACES = [TERMS.index(c) for c in COORDINATES]


def coordinates(terms: Array, batch: Array, floor: Array | float) -> Array:
    """Logarithms of what a step is made of and of its batch, (n, coordinates)."""
    return np.column_stack([np.log(terms[:, _PLACES] + floor), np.log(batch)])


def _loaded(loadings: Array, a: Codes, b: Codes, same: NDArray[np.bool_]) -> Array:
    return np.where(same, 1.0, loadings[a][:, None] * loadings[b][None])
