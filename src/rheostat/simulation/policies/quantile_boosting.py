"""Quantile boosting of run times with a safety buffer, for planning.

The mean is the wrong thing to plan with: half of the jobs would outlive it.  A quantile of the
logarithm of the run time is asked for instead, and a buffer put on top.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.simulation.workload import Array

FEATURES = ("ask_s", "procs", "last_run_s", "before_run_s", "mean_run_s")


class QuantileBoosting:
    """A `Predictor` of ``runtime_s`` from the request, the size and the user's history.

    ``quantile`` of the run times should lie below the estimate; ``buffer`` is a factor on top.

    Parameters
    ----------
    quantile : float
        Share of jobs whose run time should lie below the estimate.
    buffer : float
        Factor on top.
    seed : int
        Of the boosting.
    """

    def __init__(self, quantile: float = 0.7, buffer: float = 1.1, seed: int = 0) -> None:
        self.quantile, self.buffer, self.seed = quantile, buffer, seed

    def fit(self, jobs: JobTable) -> QuantileBoosting:
        """Learn from ended jobs."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        self._model = HistGradientBoostingRegressor(
            loss="quantile", quantile=self.quantile, max_iter=60, random_state=self.seed
        ).fit(self._features(jobs), np.log(np.maximum(jobs.numpy("runtime_s"), 1.0)))
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """One draw: the buffered quantile of each job, s."""
        seconds = np.exp(self._model.predict(self._features(jobs))) * self.buffer
        return Outcome({"runtime_s": seconds[None, :]})

    def _features(self, jobs: JobTable) -> Array:
        hour = (jobs.numpy("submit_s") / 3600) % 24
        return np.column_stack([*(jobs.numpy(f) for f in FEATURES), hour])
