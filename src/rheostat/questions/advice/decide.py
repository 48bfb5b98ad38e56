"""`decide`: a setting for every job of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.front import Constraint, Rule
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report
from rheostat.decision import decide as decisions
from rheostat.decision.accuracy import Accuracy
from rheostat.decision.decide import Advice
from rheostat.errors import DataError
from rheostat.explanation.choices.checked_forecasts import with_accuracy
from rheostat.explanation.formats.grid_cells import with_told_digits
from rheostat.explanation.narrate import explain
from rheostat.questions import inputs, listener
from rheostat.questions.advice.log_advice import LogAdvice, advice_method, advice_rules, can_answer
from rheostat.questions.advice.written_advice import known_ending, write_advice
from rheostat.questions.listener import question
from rheostat.questions.parse import Knobs, Names, parse_objectives, parse_space
from rheostat.questions.settings.unlike_runs import tell_odd
from rheostat.recipes.nodecount import accuracy_on_newest, differing
from rheostat.recipes.nodecount import model as new_model
from rheostat.tradeoff.measured_repeats import MeasuredRepeats, measured_repeats

SCHEMA = "rheostat.decide/1"
NEWEST = 0.2
"""Share of the log, the newest jobs, on which the method is checked without having seen them."""
SEEN = (
    "the forecast has learnt from these jobs; rheostat backtest tells how it does on jobs it has "
    "not seen"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class DecideAnswer(LogAdvice):
    """A setting for every job.

    Parameters
    ----------
    advice : Advice
        A row per job, totals, and what each choice rests on.
    accuracy : mapping of str to Accuracy
        Error and coverage on the newest jobs, by a model that had not seen them.
    learnt_from_these_jobs : bool
        Whether the forecast has seen how the jobs ended.
    """

    schema: ClassVar[str] = SCHEMA
    advice: Advice
    accuracy: Mapping[str, Accuracy] = field(default_factory=dict)
    learnt_from_these_jobs: bool = False

    def report(self) -> Report:
        """How many jobs change, what that saves, how good the forecast was, the first jobs."""
        return self._explained

    def facts(self) -> dict[str, Any]:
        """Every job's advice and the totals."""
        facts = {"accuracy": None, **self._explained.facts}
        return {"learnt_from_these_jobs": self.learnt_from_these_jobs, **self.log.facts, **facts}

    def grids(self) -> tuple[Grid, ...]:
        """A row per job, all columns."""
        frame = self.table()
        return (with_told_digits(Grid(tuple(frame.columns), tuple(frame.rows()))),)

    def table(self) -> pl.DataFrame:
        """A row per job, all columns, all digits."""
        return self.advice.table.frame

    def beside(self) -> tuple[str, ...]:
        """What is saved, and how good the forecast was."""
        report = self._explained
        shown = [report.sections[0], *(report.sections[-1:] if self.accuracy else ())]
        return tuple(s for section in shown for s in section.sentences)

    @cached_property
    def _explained(self) -> Report:
        report: Report = explain(self.advice)
        return with_accuracy(report, self.accuracy, NEWEST) if self.accuracy else report


@question
def decide(
    jobs: inputs.Jobs,
    *,
    past: inputs.Jobs | None = None,
    trial: inputs.Jobs | None = None,
    model: inputs.Model | None = None,
    knobs: Knobs = None,
    objectives: Names = (),
    rule: str | Rule | None = None,
    slowdown: float | None = None,
    limits: Sequence[str | Constraint] = (),
    method: str = "auto",
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
    known: Sequence[str] = (),
    out: Path | None = None,
) -> DecideAnswer:
    """Advise a setting for every job, with the predicted saving and its interval.

    Without a rule: least energy (without it node-hours) at no more than 10 % slowdown with 80 %
    confidence, as surely no more energy, and what is saved counts as far as that is sure to hold.
    A log is first asked whether it can tell what a setting does.  Without ``model`` or ``past`` the
    forecast learns from the finished jobs of the table itself.

    Parameters
    ----------
    jobs : JobTable or path
        Jobs to advise.
    past : JobTable or path, optional
        Learn from this log instead.
    trial : JobTable or path, optional
        Plan of a trial that is part of the log.
    model : Predictor or path, optional
        Fitted or saved.
    knobs, limits
        As those of `rheostat.front`; slowdowns refer to what each job asked for.
    objectives : sequence of str
        Runtime and energy by default, node-hours where no row has power or energy.
    rule : Rule or str, optional
        Which setting to take.
    slowdown : float, optional
        At most so many per cent slower than each job asked for, with 80 % confidence; 10 without a
        rule.
    method : str
        Names a model to be used nevertheless where a log cannot answer.
    seed : int
        Of everything that draws.
    known : sequence of str
        When columns are known, as ``size=submit``.
    format, columns, renamed : str, path and sequence of str
        How a file is read.
    out : path, optional
        Also write a row per job here, as .csv, .tsv, .parquet or .json.

    Returns
    -------
    DecideAnswer
        With ``advice``, ``accuracy`` and ``log``.

    Raises
    ------
    DataError
        No such knob or objective in the table.
    Infeasible
        The log cannot answer; ``answer`` of the error says why.

    Examples
    --------
    >>> import rheostat as rh
    >>> runs = rh.table({"app": ["lbm"] * 4, "nodes": [1, 2, 4, 8], "power_w": [4e2, 8e2, 2e3, 4e3],
    ...                  "runtime_s": [900.0, 480.0, 280.0, 200.0]})
    >>> asked = rh.table({"job_id": ["1"], "app": ["lbm"], "nodes": [8]})
    >>> answer = rh.decide(asked, past=runs, knobs="nodes=1,2,4,8", slowdown=50, method="law")
    >>> answer.advice.table.frame["status"].to_list()
    ['advised']
    """
    known_ending(out)
    space = parse_space(knobs)
    if objectives:
        parse_objectives(objectives)
    own = model is None and past is None
    asked = inputs.opened(jobs, format, columns, space.names, renamed, known, measured=own)
    log = asked if past is None else inputs.beside(past, renamed, space.names, known)
    log = inputs.with_trial(log, trial, space.names)
    wanted = parse_objectives(objectives or inputs.usual_objectives(log, model))
    rules = advice_rules(rule, slowdown, limits, wanted)
    method = advice_method(method, log, model)
    learner = inputs.fitted(log, model, method, seed, space.names)
    answer = can_answer(learner, log, space.names, SCHEMA)
    accuracy = {} if model is not None else _accuracy(log, method, seed, space.names)
    waiting, seen = _waiting(log) if own else (asked, False)
    if seen:
        listener.note(SEEN)
    if model is None:
        learner = measured_repeats(learner, log, space.names, wanted)
    if isinstance(learner, MeasuredRepeats):
        who = [c for c in differing(log, space.names) if c in ("app", "user")]
        alike = (*space.names, *who)  # repeats are numbered within an application
        tell_odd(log, (*alike, *differing(log, alike)))
    with listener.working(f"advising {len(waiting):,} jobs"):
        advice = decisions.decide(waiting, learner, space, *rules, objectives=wanted)
    made = DecideAnswer(advice=advice, accuracy=accuracy, learnt_from_these_jobs=seen, log=answer)
    if out is not None:
        write_advice(advice, made.grids()[0], made.schema, out)
    return made


def _accuracy(
    log: JobTable, method: str, seed: int, knobs: tuple[str, ...]
) -> Mapping[str, Accuracy]:
    """Error and coverage on the newest jobs; nothing where too few can be held back."""
    if "submit_s" not in log.columns:
        return {}
    try:
        return accuracy_on_newest(log, new_model(method, log, knobs=knobs, seed=seed), NEWEST)
    except DataError:
        return {}


def _waiting(jobs: JobTable) -> tuple[JobTable, bool]:
    """The jobs to advise, and whether the model has seen how they ended.

    With one table for both, those without a runtime yet are advised; if all have run, all are.
    """
    if "runtime_s" not in jobs.columns:
        return jobs, False
    waiting = jobs.frame["runtime_s"].is_null().to_numpy()
    return (jobs.rows(waiting), False) if waiting.any() else (jobs, True)
