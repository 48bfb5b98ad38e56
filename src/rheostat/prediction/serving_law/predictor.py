"""`ServingLaw`: the law of a decoding step, moved by the measurements at hand.

Each configuration has its own parameters, normal in the logarithms around those of all machines; a
measurement moves those of other configurations as far as they share its model, GPU type and
service (`sharing`).  The law is linear in its log-parameters near the most likely ones, so all is
one Gaussian, whose intervals hold the parameters' uncertainty, and without a single measurement
the prior answers.

Notation
--------
n, m  rows measured, rows asked     k  parameters     q  quantities: time of a step, energy, power
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from rheostat._threads import one_thread
from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.saved_models.from_file import blames_its_file
from rheostat.prediction.serving_law.configurations import NEEDED, Array, Configurations
from rheostat.prediction.serving_law.kernel_medians import medians
from rheostat.prediction.serving_law.law import MEDIAN, NAMES, in_units, jacobian, step
from rheostat.prediction.serving_law.learned_part import LogGaussian
from rheostat.prediction.serving_law.measured_range import outside
from rheostat.prediction.serving_law.measured_rows import QUANTITIES, measured_rows
from rheostat.prediction.serving_law.part_weights import (
    FEWEST,
    LeftOut,
    PartWeights,
    folds_of,
    groups_of,
    prior_of,
    unweighed,
    weighed,
)
from rheostat.prediction.serving_law.sharing import PARAMETERS, PriorCovariance

NOISE, SCATTER = 0.02, 0.1
"""Relative error of one measurement; of the law, where no residual is learned."""
EVERY = tuple(range(len(QUANTITIES)))
STEPS, HALVINGS, CLOSE = 40, 10, 0.002
"""At most so many steps towards the most likely parameters, while each gains as much as `CLOSE`
for each row, in units of the logarithm of the likelihood; each is halved at most so often."""
MOST_ROWS, BLOCK = 800, 100
"""Rows that are learned from at most, and that are asked for at once: matrices are (q n, q n)."""


class ServingLaw:
    """Predict the time between tokens and the energy per token of serving configurations.

    Parameters
    ----------
    residual : whether what the law leaves over is learned, too
    kernels : type of GPU to what its kernels reach, as prior (`kernel_medians`)
    n_draws : draws of the answer
    seed : int

    Reads ``gpu_model``, ``gpus``, ``batch_cap``, ``app`` (the language model) and ``params``, and
    where present ``active_params``, ``weight_precision``, ``pp``, ``ep``, ``power_cap_w`` (of one
    GPU) and ``workload``.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> asked = table({"app": ["m"] * 2, "params": [8e9] * 2, "gpu_model": ["H100", "B200"],
    ...                "gpus": [1, 1], "batch_cap": [64, 64]})
    >>> alone = ServingLaw().fit(asked.rows([])).predict(asked)
    >>> bool((alone.mean("energy_per_token_j") > 0).all())
    True

    A row far from all that was measured, or on a type of GPU that was not, is not answered (NaN,
    and a note: `measured_range`); an unknown accelerator or weight precision is a `DataError`.
    Of more than `MOST_ROWS` runs so many are learned from, evenly spread, and a note says so.
    """

    configurations_ = 0  # of models saved before there was a bound
    learned_: Sequence[LogGaussian | None] = ()  # of models saved before there was one
    evidence_: PartWeights | None = None

    def __init__(
        self,
        *,
        residual: bool = True,
        kernels: Mapping[str, Mapping[str, float]] | None = None,
        n_draws: int = 200,
        seed: int = 0,
    ) -> None:
        self.residual = residual
        self.kernels = kernels
        self.n_draws = n_draws
        self.seed = seed

    @one_thread()  # several wait for each other for longer than such matrices take
    def fit(self, jobs: JobTable) -> ServingLaw:
        """Learn from measured configurations; a table without rows leaves the prior."""
        jobs.refuse_later_than(Moment.SUBMIT, NEEDED)
        kept, logs = measured_rows(jobs)
        self.configurations_ = len(kept)
        kept, logs = _few(kept, logs)
        self.seen_ = Configurations.of(kept)
        self.observed_ = np.flatnonzero(np.isfinite(logs.T.ravel()))
        self.factor_: tuple[Array, bool] | None = None
        self.weights_ = np.zeros(len(QUANTITIES) * len(kept))
        self.pull_ = np.zeros((len(kept), len(NAMES)))
        self.slopes_ = jacobian(self._medians(self.seen_), self.seen_)
        if len(kept):
            self._settle(logs.T.ravel(), PriorCovariance.between(self.seen_, self.seen_))
        self._compare(logs)
        common = np.array([_every(name) for name in NAMES])
        self.log_parameters_ = MEDIAN + common * self.pull_.sum(axis=0)
        return self

    @blames_its_file
    @one_thread()
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws of ``itl_s``, ``energy_per_token_j`` and ``power_w`` (all GPUs), (n_draws, n)."""
        asked = Configurations.of(jobs)
        blocks = [slice(i, i + BLOCK) for i in range(0, max(1, len(asked)), BLOCK)]
        parts = [self._drawn(Configurations.of(jobs.rows(np.arange(len(asked))[b])))
                 for b in blocks]  # fmt: skip
        values = np.concatenate(parts, axis=2)
        beyond, notes = outside(
            self.seen_, asked, [d for d, n in (self.kernels or {}).items() if "bandwidth" in n]
        )
        values = np.where(beyond, np.nan, values)
        draws = {name: values[:, i] for i, name in enumerate(QUANTITIES)}
        draws["power_w"] = np.minimum(draws["power_w"], asked.gpus * asked.cap_w)
        return Outcome(draws, notes=(*notes, *sampled(self.configurations_)))

    def _drawn(self, asked: Configurations) -> Array:
        """Draws of some rows, (d, q, n): they depend on no other row."""
        mean, spread = self.posterior(asked)
        drawn: Array = np.exp(mean.reshape(len(QUANTITIES), -1) + self._deviations(spread))
        return drawn

    @blames_its_file
    @one_thread()
    def posterior(
        self, asked: Configurations, quantities: Sequence[str] = QUANTITIES
    ) -> tuple[Array, Array]:
        """Mean and covariance of the logarithms, one quantity after the other.

        Parameters
        ----------
        asked
            m configurations.
        quantities
            q of ``itl_s``, ``energy_per_token_j`` and ``power_w``.

        Returns
        -------
        mean (q m,) and covariance (q m, q m)
        """
        if not hasattr(self, "log_parameters_"):
            raise NotFitted(self)
        kinds = [QUANTITIES.index(name) for name in quantities]
        known, among = (
            PriorCovariance.between(self.seen_, asked),
            PriorCovariance.between(asked, asked),
        )
        at = self._parameters(known, asked)
        rows = np.concatenate([np.arange(len(asked)) + k * len(asked) for k in kinds])
        mean, slopes = np.concatenate(step(at, asked))[rows], jacobian(at, asked)[rows]
        spread = self._covariance(among, slopes, slopes, kinds, kinds)
        if self.factor_ is None:
            return mean, spread
        cross = self._covariance(known, self.slopes_, slopes, EVERY, kinds)[self.observed_]
        left = self._residuals(known, EVERY, kinds).T @ self.weights_
        spread -= cross.T @ cho_solve(self.factor_, cross)
        return self._mixed(mean + left, spread, asked, kinds)

    def _mixed(
        self, mean: Array, spread: Array, asked: Configurations, kinds: Sequence[int]
    ) -> tuple[Array, Array]:
        """The law's answer with the learned part's share of it, as wide as left-out groups say."""
        if self.evidence_ is None:
            return mean, spread
        m = len(asked)
        share, width = (
            np.repeat(v[kinds], m) for v in (self.evidence_.share, self.evidence_.width)
        )
        share = share * np.tile(np.isin(asked.gpu, self.seen_.gpu), len(kinds))
        other, beside = mean.copy(), np.zeros_like(spread)
        for k, kind in enumerate(kinds):
            part = self.learned_[kind]
            if part is not None and self.evidence_.share[kind] > 0:
                own = slice(k * m, (k + 1) * m)
                other[own], beside[own, own] = part.posterior(asked)
        apart = np.sqrt(share * (1 - share)) * (mean - other)
        spread = np.outer(np.sqrt(1 - share), np.sqrt(1 - share)) * spread
        spread += np.outer(np.sqrt(share), np.sqrt(share)) * beside + np.outer(apart, apart)
        return (1 - share) * mean + share * other, np.outer(width, width) * spread

    def _compare(self, logs: Array) -> None:
        """Fit the learned part, and see which part is right about groups that it has not seen."""
        groups = groups_of(self.seen_)
        self.learned_ = [None] * len(QUANTITIES)
        self.evidence_ = unweighed(len(QUANTITIES), len(np.unique(groups)))
        if not self.residual or self.evidence_.groups < FEWEST:
            return
        self.learned_ = [_learned(self.seen_, own) for own in logs.T]
        folds, blank = folds_of(groups, self.seed), np.full((2, len(groups)), np.nan)
        parts = [
            blank if part is None else LogGaussian.left_out(self.seen_, own, folds)
            for part, own in zip(self.learned_, logs.T, strict=True)
        ]
        learned = LeftOut(*np.swapaxes(parts, 0, 1))
        self.evidence_ = weighed(self.left_out(groups), learned, groups, prior_of(self.seen_))

    def left_out(self, groups: np.ndarray) -> LeftOut:
        """The law's errors in groups of rows that it was not fitted to, on the tangent at all."""
        n, q = len(groups), len(QUANTITIES)
        assert self.factor_ is not None
        made = np.full((2, q * n), np.nan)
        inverse, _ = dpotri(self.factor_[0], lower=self.factor_[1])
        inverse = np.triu(inverse) + np.triu(inverse, 1).T
        own = np.tile(groups, q)[self.observed_]
        for g in np.unique(own):
            here = np.flatnonzero(own == g)
            spread = np.linalg.inv(inverse[np.ix_(here, here)])
            made[0, self.observed_[here]] = spread @ self.pulled_[self.observed_[here]]
            made[1, self.observed_[here]] = np.sqrt(np.diag(spread))
        return LeftOut(*made.reshape(2, q, n))

    def log_parameters_of(self, asked: Configurations) -> Array:
        """The most likely log-parameters of each configuration, (m, k)."""
        return self._parameters(PriorCovariance.between(self.seen_, asked), asked)

    @property
    def parameters_(self) -> Mapping[str, float]:
        """The law's parameters by name, in their units: those of a configuration not measured."""
        return dict(zip(NAMES, in_units(self.log_parameters_).tolist(), strict=True))

    def common_covariance(self) -> Array:
        """Covariance (k, k) of ``log_parameters_``: the prior narrowed by the measurements."""
        prior = np.diag([_every(name) for name in NAMES])
        if self.factor_ is None:
            return prior
        common = self._common()[self.observed_]
        return np.asarray(prior - common.T @ cho_solve(self.factor_, common))

    def _common(self) -> Array:
        """Covariance (q n, k) of what was measured with what all configurations share."""
        return np.asarray(self.slopes_ * [_every(name) for name in NAMES])

    def _settle(self, logs: Array, shared: PriorCovariance) -> None:
        """Go to the most likely parameters by Gauss-Newton, each step halved while that gains."""
        rows = self.observed_
        residuals = self._residuals(shared, EVERY, EVERY)
        np.einsum("ii->i", residuals)[:] += (NOISE if self.residual else SCATTER) ** 2
        alone = _factor(residuals, rows)

        def unlikely(pull: Array) -> tuple[float, Array, Array]:
            """Half the squares of what moved and of what is left over; parameters; weights."""
            at = self._pulled(shared, self.seen_, pull)
            left = (logs - np.concatenate(step(at, self.seen_)))[rows]
            weights = cho_solve(alone, left)
            moved = at - self._medians(self.seen_)
            return float(np.sum(pull * moved) + left @ weights) / 2, at, weights

        now, at, self.weights_[rows] = unlikely(self.pull_)
        for _ in range(STEPS):
            whole = self._tangent(at, logs, shared, residuals) - self.pull_
            best = (np.inf, at, self.weights_[rows], 0.0)
            for share in 0.5 ** np.arange(HALVINGS):
                tried = (*unlikely(self.pull_ + share * whole), share)
                if best[0] < min(now, tried[0]):
                    break
                best = min(best, tried, key=lambda t: t[0])
            if best[0] >= now - CLOSE * len(self.seen_):
                break
            self.pull_ = self.pull_ + best[3] * whole
            now, at, self.weights_[rows], _ = best

    def _tangent(self, at: Array, logs: Array, shared: PriorCovariance, residuals: Array) -> Array:
        """Take the tangent of the law at ``at``, (n, k); the pull most likely under it."""
        self.slopes_ = jacobian(at, self.seen_)
        slopes = self.slopes_.reshape(len(QUANTITIES), *at.shape)
        moved = np.sum(slopes * (at - self._medians(self.seen_)), axis=2).ravel()
        rows = self.observed_
        spread = residuals.copy()
        shared.add_parameters(spread, self.slopes_, self.slopes_, EVERY, EVERY)
        self.factor_ = _factor(spread, rows)
        weights = np.zeros(len(logs))
        left = logs - np.concatenate(step(at, self.seen_)) + moved
        weights[rows] = cho_solve(self.factor_, left[rows])
        self.pulled_ = weights
        return np.asarray(np.sum(slopes * weights.reshape(len(QUANTITIES), -1, 1), axis=0))

    def _medians(self, c: Configurations) -> Array:
        """Prior medians of the log-parameters of each configuration, (n, k)."""
        return medians(self.kernels or {}, c)

    def _parameters(self, shared: PriorCovariance, c: Configurations) -> Array:
        """Log-parameters (m, k) of rows that share so much with the measured ones, (n, m)."""
        return self._pulled(shared, c, self.pull_)

    def _pulled(self, shared: PriorCovariance, c: Configurations, pull: Array) -> Array:
        moves = [shared.parameters[name].T @ pull[:, k] for k, name in enumerate(NAMES)]
        return np.asarray(self._medians(c) + np.stack(moves, axis=1))

    def _covariance(
        self, shared: PriorCovariance, of_a: Array, of_b: Array,
        kinds_a: Sequence[int], kinds_b: Sequence[int],
    ) -> Array:  # fmt: skip
        """What the parameters do to both, and what the residuals have in common."""
        total = self._residuals(shared, kinds_a, kinds_b)
        shared.add_parameters(total, of_a, of_b, kinds_a, kinds_b)
        return total

    def _residuals(
        self, shared: PriorCovariance, kinds_a: Sequence[int], kinds_b: Sequence[int]
    ) -> Array:
        part = float(self.residual)
        rows = [[part * shared.residual(i, j) for j in kinds_b] for i in kinds_a]
        made: Array = np.block(rows)
        return made

    def _deviations(self, spread: Array) -> Array:
        """Draws of the logarithms' deviations, (d, q, n): correlated within each row alone."""
        q = len(QUANTITIES)
        n = len(spread) // q
        own = np.array([spread[i::n, i::n] for i in range(n)]).reshape(n, q, q)
        root = np.linalg.cholesky(own + 1e-12 * np.eye(q))
        z = np.random.default_rng(self.seed).standard_normal((self.n_draws, q))
        return np.asarray(np.einsum("nij,dj->din", root, z))


def _factor(covariance: Array, rows: np.ndarray) -> tuple[Array, bool]:
    """Cholesky factor of some rows of a covariance, which is not copied where these are all."""
    some = covariance if len(rows) == len(covariance) else covariance[np.ix_(rows, rows)]
    factor, lower = cho_factor(some.T, overwrite_a=False, check_finite=False)
    return factor, lower


def sampled(configurations: int) -> tuple[Note, ...]:
    """A note where there are more to learn from than are learned from."""
    if configurations <= MOST_ROWS:
        return ()
    said = f"the law is learned from {MOST_ROWS:,} of {configurations:,} configurations, evenly "
    return (Note(f"{said}spread: what any two have in common is in its matrices"),)


def _few(jobs: JobTable, logs: Array) -> tuple[JobTable, Array]:
    """At most `MOST_ROWS` of the rows, evenly spread."""
    if len(jobs) <= MOST_ROWS:
        return jobs, logs
    rows = np.linspace(0, len(jobs) - 1, MOST_ROWS).round().astype(np.int64)
    return jobs.rows(rows), logs[rows]


def _every(name: str) -> float:
    """Prior variance of what all configurations share of a log-parameter."""
    return PARAMETERS[name]["every"] ** 2


def _learned(seen: Configurations, logs: Array) -> LogGaussian | None:
    """The learned part of a quantity, where it was measured often enough."""
    return LogGaussian(seen, logs) if np.isfinite(logs).sum() >= FEWEST else None
