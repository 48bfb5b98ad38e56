"""`predict`: what jobs will cost as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, ClassVar

import numpy as np

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome, Predictor
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import plain_name, unit_of
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.explanation.number_words import quantity
from rheostat.measurement.runs.mapping import headings_meant
from rheostat.prediction.saved_models.persist import PREDICTORS, load
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.settings.lacking import their_name

LEVEL = 0.9
WHO = ("job_id", "user", "app", "nodes")
QUANTITIES = ("runtime_s", "power_w", "energy_j")

UNUSED = (
    "the model does not use {}, which these jobs have before they run: where its table of runs has "
    "that, too, and the run time goes with it, rheostat fit {} learns from it"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class PredictAnswer(Answer):
    """A forecast for every job at the setting it asked for.

    Parameters
    ----------
    jobs : JobTable
        As they were known at submission.
    outcome : Outcome
        Draws of the quantities; NaN where there are no similar past runs.
    model : str
        The model's file, or its name.
    learnt : tuple of str
        What the model looks at; a column of it in which the jobs differ is shown with each.
    """

    schema: ClassVar[str] = "rheostat.predict/1"
    jobs: JobTable
    outcome: Outcome
    model: str
    learnt: tuple[str, ...] = ()

    def report(self) -> Report:
        """A row per job."""
        return Report("", [Section("predict", (self._in_all(),), self.grids()[0])], self.facts())

    def _in_all(self) -> str:
        """What all jobs take together, of those that are forecast."""
        means = {q: self.outcome.mean(q) for q in ("runtime_s", "energy_j") if q in self.outcome}
        names = [f"{quantity(float(np.nansum(v)), unit_of(q))} {plain_name(q)}"
                 for q, v in means.items()]  # fmt: skip
        missing = [n for v in means.values() if (n := int(np.isnan(v).sum()))]
        left = f", {max(missing):,} of them without a forecast" if missing else ""
        jobs = "job" if len(self.jobs) == 1 else "jobs"
        taken = f": {' and '.join(names)} in all" if names else ""
        return f"{len(self.jobs):,} {jobs}{taken}{left}; each has its 90 % interval."

    def facts(self) -> dict[str, Any]:
        """Values with their intervals, job by job."""
        (grid,) = self.grids()
        rows = [_named(grid.heads, row) for row in grid.rows]
        return {"model": self.model, "level": LEVEL, "jobs": rows}

    def grids(self) -> tuple[Grid, ...]:
        """A row per job: mean, low and high end of the interval."""
        frame = self.jobs.frame
        differing = [c for c in self.learnt if c in frame.columns and frame[c].n_unique() > 1]
        who = [c for c in dict.fromkeys((*WHO, *differing)) if c in frame.columns]
        names = [q for q in QUANTITIES if q in self.outcome]
        columns: list[list[Any]] = [frame[c].to_list() for c in who]
        for q in names:
            spans = (self.outcome.mean(q), *self.outcome.interval(q))
            columns.append(list(zip(*(v.tolist() for v in spans), strict=True)))
        heads, units = [*who, *names], [*[""] * len(who), *map(unit_of, names)]
        if self.outcome.support is not None:
            columns.append([int(v) for v in self.outcome.support])
            heads, units = [*heads, "support"], [*units, ""]
        return (Grid(tuple(heads), tuple(zip(*columns, strict=True)), tuple(units)),)


@question
def predict(
    jobs: inputs.Jobs,
    model: inputs.Model,
    *,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> PredictAnswer:
    """Forecast every job at the setting it asked for, with 90 % intervals.

    Parameters
    ----------
    jobs : JobTable or path
        Jobs as submitted.
    model : Predictor or path
        Fitted or saved.
    format, columns, renamed : str, path and sequence of str
        How a file is read.

    Returns
    -------
    PredictAnswer
        A job without similar past runs has no forecast.

    Raises
    ------
    DataError
        A column that the model needs is missing.
    """
    saved = isinstance(model, (str, Path))
    learner = load(Path(model), PREDICTORS) if isinstance(model, (str, Path)) else model
    opened = inputs.opened(jobs, format, columns, columns=renamed, measured=False)
    learnt = [c for c in getattr(learner, "features_", ()) if c in opened.columns]
    asked = opened.with_columns(
        replace(opened.schema[c], known=Moment.SUBMIT) for c in learnt
    ).known_at(Moment.SUBMIT)
    if unused := _unused(opened, learnt):
        listener.note(
            UNUSED.format(", ".join(unused), " ".join(f"--known {c}=submit" for c in unused))
        )
    try:
        outcome = learner.predict(asked)
    except DataError as error:
        if type(error) is not DataError or not (named := _to_name(opened, learner)):
            raise
        raise DataError(error.where, [*error.problems, *named]) from error
    listener.notes(outcome.notes)
    name = str(model) if saved else type(model).__name__
    return PredictAnswer(jobs=asked, outcome=outcome, model=name, learnt=tuple(learnt))


def _to_name(jobs: JobTable, learner: Predictor) -> list[str]:
    """What names columns that a model learnt from and the jobs lack, or call otherwise."""
    lacking = [c for c in getattr(learner, "features_", ()) if c not in jobs.columns]
    if not lacking:
        return []
    alike = [next(iter(headings_meant([re.sub(r"\s*[\[(].*", "", c)], jobs.columns)), "THEIRS")
             for c in lacking]  # fmt: skip
    named = " ".join(f"--column {quote(f'{c}={t}')}" for c, t in zip(lacking, alike, strict=True))
    return [f"name what the model learnt from: {named} (in another unit with its scale behind it, "
            "as THEIRS*1e-6)"]  # fmt: skip


def _unused(jobs: JobTable, learnt: Sequence[str]) -> list[str]:
    """Numbers of jobs to come that the model has not learnt from; in a log of runs, none."""
    if not learnt or "runtime_s" in jobs.columns:
        return []
    own = [c for c in jobs.columns if c not in VOCABULARY and c not in learnt]
    return [their_name(jobs, c) for c in own if jobs.frame[c].dtype.is_numeric()]


def _named(heads: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    """One job: values plain, intervals beside them."""
    plain = {h: v[0] if isinstance(v, tuple) else v for h, v in zip(heads, row, strict=True)}
    spans = {h: [v[1], v[2]] for h, v in zip(heads, row, strict=True) if isinstance(v, tuple)}
    return {**plain, "intervals": spans}
