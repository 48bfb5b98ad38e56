"""A model that gives way to repeats: settings that a job's application ran at, as measured.

Many jobs get so what `measured_cells` gives to one: the repeats of a setting are its draws.  Jobs
that look alike may hide other work, so this is for tables of measured runs alone, whose repeats
agree to the noise of runs of one problem; what differs between runs has to be alike unless runs at
one setting show that it does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import GRADES, Outcome, Predictor
from rheostat.prediction.effects.doubts import MOST_NOISE
from rheostat.tradeoff.measured_cells import Cells, MeasuredSettings, lengthened, measured, repeated

FEWEST = 2
UNGRADED = -1


@dataclass(frozen=True)
class MeasuredRepeats:
    """A fitted model, and runs whose repeats stand for its forecast where there are any.

    Parameters
    ----------
    model : Predictor
        Fitted.
    runs : JobTable
        Measured runs.
    knobs : sequence of str
        Columns that are turned.
    wanted : sequence of str
        Quantities that a run has to hold.

    Examples
    --------
    >>> from rheostat import table
    >>> class Flat:
    ...     def fit(self, jobs): return self
    ...     def predict(self, jobs): return Outcome({"runtime_s": np.full((2, len(jobs)), 50.0)})
    >>> runs = table({"app": ["a"] * 3, "cap_w": [90, 90, 140], "runtime_s": [70.0, 71.0, 60.0]})
    >>> asked = table({"app": ["a", "a", "b"], "cap_w": [90, 140, 90]})
    >>> forecast = MeasuredRepeats(Flat(), runs, ["cap_w"], ["runtime_s"]).predict(asked)
    >>> forecast["runtime_s"].tolist(), forecast.grade.tolist()
    ([[70.0, 50.0, 50.0], [71.0, 50.0, 50.0]], [3, -1, -1])
    """

    model: Predictor
    runs: JobTable
    knobs: Sequence[str]
    wanted: Sequence[str]

    def fit(self, jobs: JobTable) -> MeasuredRepeats:
        """The same around a model fitted to these runs, which are those believed."""
        return replace(self, model=self.model.fit(jobs), runs=jobs)

    def predict(self, jobs: JobTable) -> Outcome:
        """Repeats as draws where the job's application has them; else as the model says."""
        forecast = self.model.predict(jobs)
        who = next((c for c in ("app", "user") if c in self.runs.columns), None)
        if who is None:
            return self._believed(forecast, np.arange(len(jobs)), jobs, self.runs)
        for name in self.runs.frame[who].drop_nulls().unique(maintain_order=True):
            rows = np.flatnonzero(_same(jobs, who, name))
            if rows.size:
                own = self.runs.rows(_same(self.runs, who, name))
                forecast = self._believed(forecast, rows, jobs.rows(rows), own)
        return forecast

    def _believed(
        self, forecast: Outcome, rows: NDArray[np.int64], jobs: JobTable, runs: JobTable
    ) -> Outcome:
        """The forecast with the repeats of one application in its ``rows``."""
        for alike in _alike(runs, self.knobs):
            if not set(alike) <= set(jobs.columns):
                continue
            own = measured(jobs, runs, [*alike, *self.knobs], self.wanted)
            cells = {i: at for i, at in own.cells.items() if len(at) >= FEWEST}
            every = measured(runs, runs, [*alike, *self.knobs], self.wanted)
            if set(own.values) >= set(forecast.draws) and _agree(every):
                return _with_repeats(forecast, {int(rows[i]): at for i, at in cells.items()}, own)
        return forecast


def _same(jobs: JobTable, column: str, value: object) -> NDArray[np.bool_]:
    if column not in jobs.columns:
        return np.ones(len(jobs), bool)
    return (jobs.frame[column] == value).fill_null(value=False).to_numpy()


def _alike(runs: JobTable, knobs: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Columns in which runs have to be alike: those that never differ at one setting, or all."""
    known = runs.known_at(Moment.SUBMIT)
    others = [c for c in known.columns if c not in knobs and known.frame[c].n_unique() > 1]
    counts = known.frame.group_by(list(knobs)).agg(pl.col(c).n_unique() for c in others)
    steady = tuple(c for c in others if not (counts[c] > 1).any())
    return tuple(dict.fromkeys((steady, tuple(others))))


def _agree(own: MeasuredSettings) -> bool:
    """Whether repeats differ by no more than runs of one problem do, in the logarithm of each."""
    cells = {tuple(at) for at in own.cells.values()}
    free = sum(len(at) - 1 for at in cells)
    if not free:
        return False
    for values in own.values.values():
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values)
        squares = sum(float(np.var(logs[list(at)]) * len(at)) for at in cells)
        if not squares / free <= MOST_NOISE**2:
            return False
    return True


def _with_repeats(forecast: Outcome, cells: Cells, own: MeasuredSettings) -> Outcome:
    """The forecast with the repeats of ``cells`` (row to runs) as draws; the rest as it was."""
    if not cells:
        return forecast
    given, size = next(iter(forecast.draws.values())).shape
    d = max(given, *map(len, cells.values()))
    draws = {q: lengthened(v, d).copy() for q, v in forecast.draws.items()}
    grade = np.full(size, UNGRADED) if forecast.grade is None else np.array(forecast.grade)
    support = np.zeros(size) if forecast.support is None else np.array(forecast.support, float)
    for row, at in cells.items():
        grade[row], support[row] = GRADES.index("measured"), len(at)
        for q, values in draws.items():
            values[:, row] = repeated(own.values[q][at], d)
    return replace(forecast, draws=draws, support=support, grade=grade)


def measured_repeats(
    model: Predictor, runs: JobTable, knobs: Sequence[str], wanted: Sequence[str]
) -> Predictor:
    """The model, which gives way to the repeats of a table of measured runs; as it is for a log.

    A log has a clock, or what jobs had asked for before a trial.
    """
    log = "submit_s" in runs.columns or any(f"{k}_requested" in runs.columns for k in knobs)
    if log or not {"runtime_s", *knobs} <= set(runs.columns):
        return model
    return MeasuredRepeats(model, runs, tuple(knobs), tuple(wanted))
