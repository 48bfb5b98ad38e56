"""Power from a model where a measurement has none: a code that is timed but not metered."""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Outcome, Predictor
from rheostat.tradeoff.search import Measure

NOTE = Note("power is predicted by the model, not measured")


class PredictedPower:
    """A measurement whose missing power a model predicts; energy follows from it.

    Parameters
    ----------
    measure : callable
        Gives runtime_s, and power_w or energy_j where it can.
    model : Predictor
        Fitted; predicts power_w of a row of knobs.

    Examples
    --------
    >>> from rheostat import table
    >>> class Watts:
    ...     def fit(self, jobs): return self
    ...     def predict(self, jobs): return Outcome({"power_w": 50.0 * jobs.numpy("nodes")[None]})
    >>> timed = lambda jobs: Outcome({"runtime_s": 8.0 / jobs.numpy("nodes")[None]})
    >>> PredictedPower(timed, Watts())(table({"nodes": [1, 4]})).mean("energy_j")
    array([400., 400.])
    """

    def __init__(self, measure: Measure, model: Predictor) -> None:
        self._measure = measure
        self._model = model
        self.program = getattr(measure, "program", "")

    @property
    def notes(self) -> tuple[Note, ...]:
        """Those of the measurement, and that power is predicted."""
        return (*getattr(self._measure, "notes", ()), NOTE)

    def __call__(self, jobs: JobTable) -> Outcome:
        """As measured; without power or energy, with the power that the model expects."""
        outcome = self._measure(jobs)
        if "power_w" in outcome:
            return outcome
        power = self._model.predict(jobs).mean("power_w")
        like = outcome[outcome.names[0]]
        draws = {**outcome.draws, "power_w": np.broadcast_to(power, like.shape).copy()}
        return Outcome(draws, outcome.support, outcome.notes)
