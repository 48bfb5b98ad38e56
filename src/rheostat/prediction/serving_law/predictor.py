"""`ServingLaw`: the law of a decoding step, moved by the measurements at hand.

The parameters are fitted with their priors; what the law leaves over goes to a Gaussian process.
Both are one Gaussian in the logarithms: the law is linear in its log-parameters near the fit, so
their uncertainty is part of the interval, and without a single measurement the prior answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import least_squares

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.model_columns import learnable
from rheostat.prediction.serving_law.configurations import NEEDED, Array, Configurations
from rheostat.prediction.serving_law.law import HIGHEST, MEDIAN, PARAMETERS, SPREAD, jacobian, step
from rheostat.prediction.serving_law.residual import NOISE, covariance

TARGETS = ("itl_s", "energy_per_token_j")
SCATTER = 0.3  # log residuals of the law alone, for the fit of its parameters
SHARED = np.array([[1.0, 0.5], [0.5, 1.0]])  # half of a slow step's surplus is energy's too
REACH = 2.0  # batches beyond this multiple of what was measured are not answered


class ServingLaw:
    """Predict the time between tokens and the energy per token of serving configurations.

    Parameters
    ----------
    residual : whether a Gaussian process learns what the law leaves over
    n_draws : draws of the answer
    seed : int

    Reads ``gpu_model``, ``gpus``, ``batch_cap``, ``app`` (the language model) and ``params``, and
    where present ``active_params``, ``weight_precision``, ``pp`` and ``workload``.

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

    def __init__(self, *, residual: bool = True, n_draws: int = 200, seed: int = 0) -> None:
        self.residual = residual
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, jobs: JobTable) -> ServingLaw:
        """Learn from measured configurations; a table without rows leaves the prior."""
        jobs.refuse_later_than(Moment.SUBMIT, NEEDED)
        kept, logs = _measured(jobs)
        self.seen_ = Configurations.of(kept)
        self.log_parameters_ = _fitted(self.seen_, logs)
        self.slopes_ = jacobian(self.log_parameters_, self.seen_)
        self.left_ = logs.T.ravel() - self._center(self.seen_, self.slopes_)
        spread = self._covariance(self.seen_, self.seen_, self.slopes_, self.slopes_)
        self.factor_ = cho_factor(spread + np.eye(len(spread)) * NOISE**2) if len(kept) else None
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """Draws of ``itl_s`` and ``energy_per_token_j``, (n_draws, n); ``power_w`` follows."""
        asked = Configurations.of(jobs)
        mean, spread = self.posterior(asked)
        z = self._correlated(spread)
        scale = np.sqrt(np.maximum(np.diag(spread), 0.0)).reshape(2, -1)
        values = np.exp(mean.reshape(2, -1) + z * scale)
        values = np.where(self._beyond(asked), np.nan, values)
        draws = {name: values[:, i] for i, name in enumerate(TARGETS)}
        draws["power_w"] = draws["energy_per_token_j"] * asked.batch / draws["itl_s"]
        return Outcome(draws)

    def posterior(
        self, asked: Configurations, quantities: Sequence[str] = TARGETS
    ) -> tuple[Array, Array]:
        """Mean and covariance of the logarithms, one quantity after the other.

        Parameters
        ----------
        asked
            n configurations.
        quantities
            q of ``itl_s`` and ``energy_per_token_j``.

        Returns
        -------
        mean (q n,) and covariance (q n, q n)
        """
        if not hasattr(self, "log_parameters_"):
            raise NotFitted(self)
        kinds = [TARGETS.index(q) for q in quantities]
        slopes = jacobian(self.log_parameters_, asked)
        rows = np.concatenate([np.arange(len(asked)) + k * len(asked) for k in kinds])
        mean, slopes = self._center(asked, slopes)[rows], slopes[rows]
        spread = self._covariance(asked, asked, slopes, slopes, kinds, kinds)
        if self.factor_ is None:
            return mean, spread
        cross = self._covariance(self.seen_, asked, self.slopes_, slopes, [0, 1], kinds)
        mean = mean + cross.T @ cho_solve(self.factor_, self.left_)
        return mean, spread - cross.T @ cho_solve(self.factor_, cross)

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

    @property
    def parameters_(self) -> Mapping[str, float]:
        """The law's parameters by name, in their units."""
        return {
            p.name: float(v) for p, v in zip(PARAMETERS, np.exp(self.log_parameters_), strict=True)
        }

    def _center(self, c: Configurations, slopes: Array) -> Array:
        """The law at the prior's median, as its line near the fit says: (2n,)."""
        at = np.concatenate(step(self.log_parameters_, c))
        return np.asarray(at + slopes @ (MEDIAN - self.log_parameters_))

    def _covariance(
        self, a: Configurations, b: Configurations, of_a: Array, of_b: Array,
        kinds_a: Sequence[int] = (0, 1), kinds_b: Sequence[int] = (0, 1),
    ) -> Array:  # fmt: skip
        """What the parameters do to both, and what the residuals have in common."""
        law = (of_a * SPREAD**2) @ of_b.T
        if not self.residual:
            return np.asarray(law)
        return np.asarray(law + np.kron(SHARED[np.ix_(kinds_a, kinds_b)], covariance(a, b)))

    def _beyond(self, asked: Configurations) -> Array:
        if not len(self.seen_):
            return np.zeros(len(asked), dtype=bool)
        low, high = self.seen_.batch.min() / REACH, self.seen_.batch.max() * REACH
        return np.asarray((asked.batch < low) | (asked.batch > high))


def _measured(jobs: JobTable) -> tuple[JobTable, Array]:
    """Rows with both targets, and the logarithms of these, (n, 2)."""
    jobs.require(*TARGETS) if len(jobs) else None
    if not len(jobs):
        return jobs, np.zeros((0, 2))
    kept, values, _ = learnable(jobs, TARGETS)
    if not (values > 0).all():
        raise DataError("serving runs", ["itl_s and energy_per_token_j must be above 0"])
    return kept, np.log(values)


def _fitted(c: Configurations, logs: Array) -> Array:
    """The most likely log-parameters under their priors; a run far off the law counts less."""
    if not len(c):
        return MEDIAN.copy()

    def misfit(log_parameters: Array) -> Array:
        law = np.stack(step(log_parameters, c), axis=1)
        return np.concatenate(
            [((law - logs) / SCATTER).ravel(), (log_parameters - MEDIAN) / SPREAD]
        )

    fit = least_squares(misfit, MEDIAN, loss="soft_l1", bounds=(-np.inf, HIGHEST), max_nfev=200)
    return np.asarray(fit.x)
