"""`front`: what one job would cost at each setting, and which one to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rheostat.core.decision import Assignment
from rheostat.core.front import Constraint, Front, Rule
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import DERIVED
from rheostat.core.report import Grid, Report
from rheostat.core.space import Space
from rheostat.decision.admissible import graded, only, too_good
from rheostat.decision.batch_fronts import BatchFronts
from rheostat.decision.decide import OWN
from rheostat.errors import Infeasible, QuestionError
from rheostat.explanation.choices.choice import explain_choice, nearest_section
from rheostat.explanation.choices.front import explain_front, front_table, ran_once, row_of
from rheostat.explanation.narrate import Narrative
from rheostat.explanation.number_words import setting_words
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.features.requested_settings import as_requested
from rheostat.prediction.known_values import known_values
from rheostat.prediction.scaling_law.scaling_law import OUTSIDE
from rheostat.questions import inputs, listener
from rheostat.questions.advice.log_advice import LogAdvice, advice_method, can_answer
from rheostat.questions.listener import question
from rheostat.questions.logs.log_answer import LogAnswer
from rheostat.questions.parse import Knobs, Names, knob_names, parse_objectives, parse_rules
from rheostat.questions.settings.asked_job import alike_by, asked_row, ended_so, tell_learnt
from rheostat.questions.settings.conditional import possible, with_none
from rheostat.questions.settings.knob_columns import space_of
from rheostat.questions.settings.lacking import our_names, our_rule
from rheostat.questions.settings.left_out import without_empty, without_failed
from rheostat.questions.settings.odd_settings import without_odd
from rheostat.questions.settings.problems_apart import each_apart, parting
from rheostat.questions.settings.unlike_runs import (
    of_one_kind,
    refuse_split,
    tell_ended_badly,
    tell_unlike,
)
from rheostat.questions.settings.warm_up import without_first_runs
from rheostat.questions.settings.worse_results import tell_worse
from rheostat.recipes.nodecount import earlier, own_runs
from rheostat.tradeoff import all_settings
from rheostat.tradeoff.all_settings import RUNTIME_ENERGY
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.measured_cells import QUANTITIES, measured, measured_all

SCHEMA = "rheostat.front/1"
NAMED = 3
"""Settings that are named where a limit leaves them out."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SettingsAnswer(LogAdvice):
    """The settings of one job side by side; of an error, where none holds the limits.

    Parameters
    ----------
    front : Front
        A row per setting, as measured or predicted.
    request : mapping
        What the job had asked for; empty where that is not known.
    nearest : mapping or None
        Where no setting holds the limits: the one that misses them least.
    """

    schema: ClassVar[str] = SCHEMA
    front: Front
    request: Mapping[str, Any] = field(default_factory=dict)
    nearest: Mapping[str, Any] | None = None

    def report(self) -> Report:
        """The table of settings, the picture, the choice and its reasons."""
        return self._explained

    def facts(self) -> dict[str, Any]:
        """Every setting with its intervals, and the choice."""
        return {"job": self._job, **self.log.facts, **self._explained.facts}

    def grids(self) -> tuple[Grid, ...]:
        """A row per setting in base units."""
        return (front_table(self.front, self._row, row_of(self.front, self._asked)),)

    def beside(self) -> tuple[str, ...]:
        """The choice, its price and how sure it is."""
        taken = () if self._taken is None else self._explained.sections[0].sentences
        return (*taken, *ran_once(self.front))

    @property
    def _taken(self) -> Assignment | None:
        return None

    @property
    def _row(self) -> int | None:
        return None if self._taken is None else self._taken.index

    @property
    def _asked(self) -> Mapping[str, Any] | None:
        return self.request or None

    @property
    def _job(self) -> Any:
        frame = self.front.alternatives.frame
        return frame["job_id"][0] if "job_id" in frame.columns else None

    @cached_property
    def _explained(self) -> Narrative:
        sections, facts = explain_front(self.front, self._row, self._asked)
        facts |= {"requested": self._asked, "feasible": self._taken is not None, "choice": None}
        if self._taken is not None:
            (answer, why), reasons = explain_choice(self._taken, self.front, requested=self._asked)
            sections, facts = [answer, *sections, why], facts | reasons
        elif self.nearest is not None:
            facts["nearest"] = self.nearest
            sections = [nearest_section(self.front, self.nearest), *sections]
        named = "job_id" in self.front.alternatives.columns
        return Narrative(f"Job {self._job}" if named else "", sections, facts)


@dataclass(frozen=True, kw_only=True, repr=False)
class FrontAnswer(SettingsAnswer):
    """The settings of one job side by side, and the one to take.

    Parameters
    ----------
    choice : Assignment
        The setting to take, and why.
    """

    choice: Assignment

    @property
    def _taken(self) -> Assignment | None:
        return self.choice


@question
def front(
    jobs: inputs.Jobs,
    *,
    job: str = "",
    where: Sequence[str] = (),
    knobs: Knobs = None,
    objectives: Names = RUNTIME_ENERGY,
    rule: str | Rule = "knee",
    limits: Sequence[str | Constraint] = (),
    model: inputs.Model | None = None,
    trial: inputs.Jobs | None = None,
    method: str = "auto",
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
    known: Sequence[str] = (),
) -> FrontAnswer:
    """Forecast one job at every setting and take one: the front, the choice and the reasons.

    Without a model the forecast learns from the jobs that had ended when this one was submitted;
    such a log is first asked whether it can tell what a setting does.  In a table of measured runs
    (no submission times) a setting that was run shows its measurement, and the model fills only the
    settings that were not.

    Parameters
    ----------
    jobs : JobTable or path
        A job log or a table of runs.
    job : str
        The job's id.  Not needed in a table of runs of one application.
    where : sequence of str
        Instead of ``job``: ``column=value``, of a log the newest that holds them; what is known
        at submission makes runs alike.
    knobs : Space, Knob, several Knobs, or texts as ``nodes=1..64``
        What may be turned; by default 1 to 256 nodes, and in a table of runs the settings of
        machines and programs that were turned there.
    objectives : sequence of str
        Quantities to minimise.
    rule : Rule or str
        Which setting to take: ``knee``, ``deadline=2h``, `Weighted`, ...
    limits : sequence of Constraint or str
        What has to hold: ``deadline=2h@0.9`` is two hours with 90 % confidence.
    model : Predictor or path, optional
        Fitted or saved; else one is learned here.
    trial : JobTable or path, optional
        Plan of a trial that is part of the log.
    method : str
        Names a model to be used nevertheless where a log cannot answer.
    seed : int
        Of everything that draws.
    known : sequence of str
        When columns are known, as ``size=submit``.
    format, columns, renamed : str, path and sequence of str
        How a file is read: its format, a TOML file of its columns' names, and names as texts
        ``ours=theirs``.

    Returns
    -------
    FrontAnswer
        With ``front``, ``choice`` and ``log``.

    Raises
    ------
    DataError
        No such job, knob or objective in the table.
    QuestionError
        Runs of several applications or problem sizes; it says each one's answer.
    Infeasible
        No setting holds the limits, or the log cannot answer; ``answer`` of the error has what is
        known.

    Examples
    --------
    >>> import rheostat as rh
    >>> runs = rh.table({"app": ["lbm"] * 3, "nodes": [1, 2, 4], "runtime_s": [900.0, 480.0, 280.0],
    ...                  "power_w": [400.0, 800.0, 1600.0]})
    >>> answer = rh.front(runs, knobs="nodes=1,2,4", rule="deadline=10min")
    >>> answer.choice.setting
    {'nodes': 2}
    """
    wanted, named = parse_objectives(objectives), knob_names(knobs)
    jobs = inputs.opened(jobs, format, columns, named, renamed, known, measured=model is None)
    wanted = our_names(jobs, wanted)
    jobs = ended_so(jobs, where)
    fixed = [inputs.condition(jobs, text)[0] for text in where]
    space = space_of(jobs, knobs, fixed, measured=model is None)
    jobs, space, conditional = with_none(jobs, space, knobs)
    if not job and model is None and (apart := parting(jobs, where, space.names)):
        ask = partial(
            front, jobs, knobs=space, objectives=wanted, rule=rule, limits=limits, method=method,
            seed=seed
        )  # fmt: skip
        raise QuestionError("front", each_apart(jobs, where, apart, ask))
    jobs = inputs.with_trial(jobs, trial, space.names)
    row, by = asked_row(jobs, job, where), alike_by(jobs, where, space.names)
    runs = own_runs(jobs, row, by or None)
    one, request = _one(jobs, row, space, runs, named=bool(job))
    settings = possible(space.settings(), conditional)
    settings += [request] if _known(request, space) and request not in settings else []
    if runs is not None:
        refuse_split(runs, space)
        jobs, runs = without_first_runs(*of_one_kind(jobs, runs, space), space.names)
        tell_unlike(runs, space)
    if model is None and not measured_all(one, runs, space, settings, wanted):
        inputs.judged(jobs, wanted, own=runs)
    settings = settings if model is not None else _answerable(one, runs, space, settings, wanted)
    learner, log = None, LogAnswer()
    if not measured_all(one, runs, space, settings, wanted):
        past = jobs if model is not None or runs is not None else earlier(jobs, row)
        learner = inputs.fitted(
            past, model, advice_method(method, past, model), seed, space.names, by or None
        )
        log = can_answer(learner, past, space.names, SCHEMA)
        if model is None and runs is None and isinstance(learner, WithinApplication):
            tell_learnt(past, one, learner.coding_.by)
        if runs is not None and model is None:
            learner = known_values(learner, past, space.names)
    options = all_settings.front(one, learner, space, wanted, settings=settings, runs=runs)
    listener.notes(options.outcome.notes)
    if runs is not None and any(n.message.startswith(OUTSIDE) for n in options.outcome.notes):
        listener.note("`rheostat next` forecasts settings beyond those that ran, to measure them")
    options = options if knobs else without_empty(options, request)
    options = without_odd(without_failed(options, runs, space.names), runs, space.names)
    answer = SettingsAnswer(front=options, request=request, log=log)
    given = request if _known(request, space) else None
    own = _own(options, request if runs is None else {}, learner, space.names)
    rule, held = parse_rules(rule, limits, given)
    try:
        taken = chosen(answer, (our_rule(jobs, rule), held), own)
    except Infeasible as stop:
        raise stop if runs is None else _of_measured(stop, options) from None
    if runs is not None:
        tell_ended_badly(runs, taken.choice.setting)
        tell_worse(runs, taken.choice.setting)
    return taken


def _of_measured(stop: Infeasible, options: Front) -> Infeasible:
    """The error, which says no more than is known where settings have neither run nor forecast."""
    empty = [
        setting_words(options.setting(int(i))) for i in np.flatnonzero(options.outcome.abstained)
    ]
    if not empty or stop.nearest < 0:
        return stop
    few = f"{', '.join(empty[:NAMED])}{f' and {len(empty) - NAMED} others' * (len(empty) > NAMED)}"
    said = str(stop).replace("no setting meets", "no setting that was measured meets", 1)
    said += (
        f"; {few} may: `rheostat next` with the same knobs, and --within for the rule, forecasts"
    )
    return Infeasible(f"{said} them", stop.nearest, stop.answer)


def _answerable(
    job: JobTable,
    runs: JobTable | None,
    space: Space,
    settings: list[dict[str, Any]],
    wanted: Sequence[str],
) -> list[dict[str, Any]]:
    """The settings, of which only those that were measured have an objective nobody forecasts."""
    strange = [q for q in wanted if q not in {*QUANTITIES, *DERIVED}]
    if runs is None or not strange:
        return settings
    cells = measured(space.alternatives(job, settings), runs, space.names, wanted).cells
    kept = [s for i, s in enumerate(settings) if i in cells]
    if left := len(settings) - len(kept) if kept else 0:
        said = f"{', '.join(strange)}: measured alone, nothing forecasts it; left out, not measured"
        listener.note(f"{said}: {left:,} of {len(settings):,} settings")
    return kept or settings


def _one(
    jobs: JobTable, row: int, space: Space, runs: JobTable | None, *, named: bool
) -> tuple[JobTable, dict[str, Any]]:
    """The job as it was known at submission, and what it asked for: in runs, only one named did."""
    one = jobs.rows([row]).known_at(Moment.SUBMIT)
    one = one if runs is not None else as_requested(one, space.names)
    if not named and runs is not None:
        return one, {}
    return one, {k: one.frame[k][0] for k in space.names if k in one.columns}


def _known(request: Mapping[str, Any], space: Space) -> bool:
    return len(request) == len(space.names) and None not in request.values()


def chosen(
    answer: SettingsAnswer, rules: tuple[Any, tuple[Any, ...]], among: Front | None = None
) -> FrontAnswer:
    """The answer with its choice; an error that carries the settings where there is none.

    ``among`` is the front without settings that are shown and not taken.
    """
    try:
        choice = (answer.front if among is None else among).choose(*rules)
    except Infeasible as stop:
        nearest = answer.front.setting(stop.nearest) if stop.nearest >= 0 else None
        stop.answer = replace(answer, nearest=nearest)
        raise
    for limit in (rules[0], *rules[1]):
        if isinstance(limit, Limit):
            _tell_missed_by_few(answer.front, limit)
    return FrontAnswer(front=answer.front, request=answer.request, log=answer.log, choice=choice)


def _tell_missed_by_few(front: Front, limit: Limit) -> None:
    """Say which measured settings hold a limit in the mean, and not in most of their runs."""
    runs = front.repeats if front.repeats is not None else np.zeros(len(front))
    near = (front.middle(limit.quantity) <= limit.most) & (limit.excess(front) > 0) & (runs > 1)
    for row in np.flatnonzero(near)[:NAMED]:
        over = round(float(runs[row] * (1 - limit.held(front)[row])))
        what = f"{setting_words(front.setting(int(row)))} is left out: in the mean {limit}"
        listener.note(f"{what}, but not in {over} of its {runs[row]} runs")


def _own(options: Front, request: Mapping[str, Any], model: object, knobs: Sequence[str]) -> Front:
    """The front without forecasts that `decide` does not choose either."""
    settings = [options.setting(i) for i in range(len(options))]
    if dict(request) not in settings:
        return options
    alone = BatchFronts(options, np.array([settings.index(dict(request))]), len(options))
    alone = only(alone, ~too_good(alone, model, knobs))
    own = graded(alone, OWN)
    return alone.flat if own is None or not own.any() else only(alone, own).flat
