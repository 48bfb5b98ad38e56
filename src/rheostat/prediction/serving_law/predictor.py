"""`ServingLaw`: the law of a decoding step, moved by the measurements at hand.

Each configuration has its own parameters, normal in the logarithms around those of all machines; a
measurement moves those of other configurations as far as they share its model, GPU type and
service (`sharing`).  The law is linear in its log-parameters near the most likely ones, so all is
one Gaussian, whose intervals hold the parameters' uncertainty, and without a single measurement
the prior answers.

Notation
--------
n, m  rows measured, rows asked       k  parameters       q  quantities: time of a step, energy
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.model_columns import learnable
from rheostat.prediction.serving_law import sharing
from rheostat.prediction.serving_law.accelerators import accelerator
from rheostat.prediction.serving_law.configurations import NEEDED, Array, Configurations
from rheostat.prediction.serving_law.law import HIGHEST, MEDIAN, NAMES, jacobian, prefill_s, step

TARGETS = ("itl_s", "energy_per_token_j")
NOISE, SCATTER = 0.02, 0.1
"""Relative error of one measurement; of the law, where no residual is learned."""
TOGETHER = 0.5
"""Half of a slow step's surplus is energy's too: correlation of the residuals."""
REACH = 2.0  # batches beyond this multiple of what was measured are not answered
STEPS, CAREFUL, LONGEST, CLOSE = 12, 3, 1.0, 1e-3


class ServingLaw:
    """Predict the time between tokens and the energy per token of serving configurations.

    Parameters
    ----------
    residual : whether what the law leaves over is learned, too
    kernels : type of GPU to prior medians of its parameters, from measured kernels
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

    A row with a batch beyond twice the largest or below half the smallest that was measured
    is not answered (NaN); an unknown accelerator or weight precision is a `DataError`.
    """

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

    def fit(self, jobs: JobTable) -> ServingLaw:
        """Learn from measured configurations; a table without rows leaves the prior."""
        jobs.refuse_later_than(Moment.SUBMIT, NEEDED)
        kept, logs = _measured(jobs)
        self.seen_ = Configurations.of(kept)
        self.factor_, self.weights_ = None, np.zeros(2 * len(kept))
        at = self._medians(self.seen_)
        self.slopes_ = jacobian(at, self.seen_)
        if len(kept):
            shared = sharing.levels(self.seen_, self.seen_)
            for turn in range(STEPS):
                self._linearised(at, logs.T.ravel(), shared)
                move = np.clip(self._parameters(shared, self.seen_) - at, -LONGEST, LONGEST)
                at = at + move * (1.0 if turn < CAREFUL else 0.7)
                if np.abs(move).max() < CLOSE:
                    break
            self._linearised(at, logs.T.ravel(), shared)
        self.log_parameters_ = MEDIAN + self._common().T @ self.weights_
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """Draws of ``itl_s`` and ``energy_per_token_j``, (n_draws, n); ``power_w`` follows.

        Power is the mean over decoding and the prompts, which are computed in between.
        """
        asked = Configurations.of(jobs)
        mean, spread = self.posterior(asked)
        z = self._correlated(spread)
        scale = np.sqrt(np.maximum(np.diag(spread), 0.0)).reshape(2, -1)
        values = np.exp(mean.reshape(2, -1) + z * scale)
        values = np.where(self._beyond(asked), np.nan, values)
        draws = {name: values[:, i] for i, name in enumerate(TARGETS)}
        between_s = asked.batch * prefill_s(self.log_parameters_of(asked), asked)
        draws["power_w"] = draws["energy_per_token_j"] * asked.batch / (draws["itl_s"] + between_s)
        return Outcome(draws)

    def posterior(
        self, asked: Configurations, quantities: Sequence[str] = TARGETS
    ) -> tuple[Array, Array]:
        """Mean and covariance of the logarithms, one quantity after the other.

        Parameters
        ----------
        asked
            m configurations.
        quantities
            q of ``itl_s`` and ``energy_per_token_j``.

        Returns
        -------
        mean (q m,) and covariance (q m, q m)
        """
        if not hasattr(self, "log_parameters_"):
            raise NotFitted(self)
        kinds = [TARGETS.index(name) for name in quantities]
        known, among = sharing.levels(self.seen_, asked), sharing.levels(asked, asked)
        at = self._parameters(known, asked)
        rows = np.concatenate([np.arange(len(asked)) + k * len(asked) for k in kinds])
        mean, slopes = np.concatenate(step(at, asked))[rows], jacobian(at, asked)[rows]
        spread = self._covariance(among, slopes, slopes, kinds, kinds)
        if self.factor_ is None:
            return mean, spread
        cross = self._covariance(known, self.slopes_, slopes, (0, 1), kinds)
        left = self._residual(known, (0, 1), kinds).T @ self.weights_
        return mean + left, spread - cross.T @ cho_solve(self.factor_, cross)

    def log_parameters_of(self, asked: Configurations) -> Array:
        """The most likely log-parameters of each configuration, (m, k)."""
        return self._parameters(sharing.levels(self.seen_, asked), asked)

    @property
    def parameters_(self) -> Mapping[str, float]:
        """The law's parameters by name, in their units: those of a configuration not measured."""
        numbers = np.exp(np.minimum(self.log_parameters_, HIGHEST))
        return dict(zip(NAMES, numbers.tolist(), strict=True))

    def common_covariance(self) -> Array:
        """Covariance (k, k) of ``log_parameters_``: the prior narrowed by the measurements."""
        prior = np.diag([_every(name) for name in NAMES])
        if self.factor_ is None:
            return prior
        common = self._common()
        return np.asarray(prior - common.T @ cho_solve(self.factor_, common))

    def _common(self) -> Array:
        """Covariance (2n, k) of what was measured with what all configurations share."""
        return np.asarray(self.slopes_ * [_every(name) for name in NAMES])

    def _linearised(self, at: Array, logs: Array, shared: Mapping[str, Array]) -> None:
        """The Gaussian whose law is the tangent at the parameters ``at``, (n, k)."""
        self.slopes_ = jacobian(at, self.seen_)
        moved = np.sum(
            self.slopes_.reshape(2, *at.shape) * (at - self._medians(self.seen_)), axis=2
        ).ravel()
        spread = self._covariance(shared, self.slopes_, self.slopes_, (0, 1), (0, 1))
        noise = NOISE if self.residual else SCATTER
        self.factor_ = cho_factor(spread + np.eye(len(spread)) * noise**2)
        left = logs - np.concatenate(step(at, self.seen_)) + moved
        self.weights_ = cho_solve(self.factor_, left)

    def _medians(self, c: Configurations) -> Array:
        """Prior medians of the log-parameters of each configuration, (n, k)."""
        at = np.tile(MEDIAN, (len(c), 1))
        for device, numbers in (self.kernels or {}).items():
            rows = [i for i, name in enumerate(c.gpu) if accelerator(name) is accelerator(device)]
            for name, value in numbers.items():
                at[rows, NAMES.index(name)] = np.log(value)
        return at

    def _parameters(self, shared: Mapping[str, Array], c: Configurations) -> Array:
        """Log-parameters (m, k) of rows that share so much with the measured ones, (n, m)."""
        n = len(self.seen_)
        pull = (self.slopes_ * self.weights_[:, None]).reshape(2, n, len(NAMES)).sum(axis=0)
        moves = [
            sharing.covariance(shared, sharing.PARAMETERS[name]).T @ pull[:, k]
            for k, name in enumerate(NAMES)
        ]
        return np.asarray(self._medians(c) + np.stack(moves, axis=1))

    def _covariance(
        self, shared: Mapping[str, Array], of_a: Array, of_b: Array,
        kinds_a: Sequence[int], kinds_b: Sequence[int],
    ) -> Array:  # fmt: skip
        """What the parameters do to both, and what the residuals have in common."""
        times = (len(kinds_a), len(kinds_b))
        total = self._residual(shared, kinds_a, kinds_b)
        for k, name in enumerate(NAMES):
            both = np.tile(sharing.covariance(shared, sharing.PARAMETERS[name]), times)
            total = total + of_a[:, k, None] * both * of_b[None, :, k]
        return total

    def _residual(
        self, shared: Mapping[str, Array], kinds_a: Sequence[int], kinds_b: Sequence[int]
    ) -> Array:
        def block(i: int, j: int) -> Array:
            both = {
                k: (s * sharing.RESIDUALS[j][k]) ** 0.5 for k, s in sharing.RESIDUALS[i].items()
            }
            scale = float(self.residual) * (1.0 if i == j else TOGETHER)
            return scale * sharing.covariance(shared, both)

        return np.block([[block(i, j) for j in kinds_b] for i in kinds_a])

    def _correlated(self, spread: Array) -> Array:
        """Standard normal draws (d, 2, n): the same for all rows, correlated within each."""
        n = len(spread) // 2
        both, own = np.diag(spread[:n, n:]), np.diag(spread)
        together = both / np.sqrt(np.maximum(own[:n] * own[n:], 1e-30))
        z = np.random.default_rng(self.seed).standard_normal((self.n_draws, 2, 1))
        rest = np.sqrt(np.maximum(1.0 - together**2, 0.0))
        return np.concatenate(
            [np.repeat(z[:, :1], n, axis=2), together * z[:, :1] + rest * z[:, 1:]], axis=1
        )

    def _beyond(self, asked: Configurations) -> Array:
        if not len(self.seen_):
            return np.zeros(len(asked), dtype=bool)
        low, high = self.seen_.batch.min() / REACH, self.seen_.batch.max() * REACH
        return np.asarray((asked.batch < low) | (asked.batch > high))


def _every(name: str) -> float:
    """Prior variance of what all configurations share of a log-parameter."""
    return sharing.PARAMETERS[name]["every"] ** 2


def _measured(jobs: JobTable) -> tuple[JobTable, Array]:
    """Rows with both targets, and the logarithms of these, (n, 2)."""
    jobs.require(*TARGETS) if len(jobs) else None
    if not len(jobs):
        return jobs, np.zeros((0, 2))
    kept, values, _ = learnable(jobs, TARGETS)
    if not (values > 0).all():
        raise DataError("serving runs", ["itl_s and energy_per_token_j must be above 0"])
    return kept, np.log(values)
