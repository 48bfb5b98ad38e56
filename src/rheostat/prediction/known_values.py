"""A model that says nothing of a knob that was never turned: one value tells no effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Outcome, Predictor


@dataclass(frozen=True)
class KnownValues:
    """A fitted model whose forecasts are withheld where a knob has another than its one value.

    Parameters
    ----------
    model : Predictor
        Fitted.
    value : mapping
        Knob to the one value that all runs have.

    Examples
    --------
    >>> from rheostat import table
    >>> class Amdahl:
    ...     def fit(self, jobs): return self
    ...     def predict(self, jobs):
    ...         return Outcome({"runtime_s": 10 + 90 / jobs.numpy("nodes")[None, :]})
    >>> forecast = KnownValues(Amdahl(), {"nodes": 2}).predict(table({"nodes": [2, 4]}))
    >>> forecast["runtime_s"], forecast.notes[0].message
    (array([[55., nan]]), 'all runs have nodes = 2: what another value costs is not known, run one')
    """

    model: Predictor
    value: Mapping[str, Any]

    def fit(self, jobs: JobTable) -> KnownValues:
        """The same around a model fitted to these jobs."""
        return replace(self, model=self.model.fit(jobs))

    def predict(self, jobs: JobTable) -> Outcome:
        """As the model says; NaN, with a note, where a knob has another value."""
        forecast = self.model.predict(jobs)
        other = np.zeros(len(jobs), dtype=bool)
        for knob, value in self.value.items():
            other |= (jobs.frame[knob] != value).fill_null(value=False).to_numpy()
        if not other.any():
            return forecast
        draws = {q: np.where(other, np.nan, v) for q, v in forecast.draws.items()}
        same = ", ".join(f"{k} = {v}" for k, v in self.value.items())
        note = Note(f"all runs have {same}: what another value costs is not known, run one")
        return replace(forecast, draws=draws, notes=(*forecast.notes, note))


def known_values(model: Predictor, runs: JobTable, knobs: Sequence[str]) -> Predictor:
    """The model, which says nothing of values of knobs that have one value in all ``runs``.

    >>> from rheostat import table
    >>> known_values(None, table({"nodes": [2, 2], "cap_w": [90, 140]}), ["nodes", "cap_w"])
    KnownValues(model=None, value={'nodes': 2})
    """
    held = {k: runs.frame[k].drop_nulls().unique() for k in knobs if k in runs.columns}
    value = {k: v[0] for k, v in held.items() if len(v) == 1}
    return KnownValues(model, value) if value else model
