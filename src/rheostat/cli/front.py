"""``rheostat front``: what one job would cost at each setting, and which one to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import advice_options, knob_options
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.decision import Assignment
    from rheostat.core.front import Front
    from rheostat.core.jobs import JobTable
    from rheostat.errors import Infeasible
    from rheostat.recipes.log_answer import LogAnswer


def front(
    file: o.File,
    job: Annotated[str, typer.Option(help="The job's id.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(help="Instead of --job: column=value, first match; these make runs alike."),
    ] = None,
    knob: o.Knobs = None,
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    model: o.Saved = None,
    trial: advice_options.TrialPlan = None,
    kind: o.Kind = "auto",
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Forecast one job at every setting and take one: the front, the choice and the reasons.

    Without --model the forecast learns from the jobs in FILE that had ended when this one was
    submitted; such a log is first asked whether it can tell what a setting does (exit code 3 if
    not), and --kind names a model to be used nevertheless.  In a table of measured runs (no
    submission times) a setting that was run shows its measurement, and the model fills only the
    settings that were not; if all are of one application, none has to be named.
    """
    from rheostat.cli.output import tell
    from rheostat.core.jobs import Moment
    from rheostat.core.requested_settings import as_requested
    from rheostat.errors import Infeasible
    from rheostat.recipes.log_answer import LogAnswer
    from rheostat.recipes.nodecount import differing, earlier, own_runs
    from rheostat.tradeoff import all_settings
    from rheostat.tradeoff.measured_cells import measured_all

    space = knob_options.space(knob)
    o.two_to_draw(figure, o.names(objectives))
    jobs = o.load(file, form, mapped, knobs=space.names)
    knob_options.turnable(jobs, space)
    jobs = advice_options.with_trial(jobs, trial, space.names)
    row = _row(jobs, job, where)
    one = jobs.rows([row]).known_at(Moment.SUBMIT)
    by = tuple(o.condition(jobs, w)[0] for w in where or ()) or None
    runs = own_runs(jobs, row, by)
    one = one if runs is not None else as_requested(one, space.names)
    named = bool(job) or runs is None  # in a table of measured runs nothing was asked for
    request = {k: one.frame[k][0] for k in space.names if k in one.columns} if named else {}
    known = len(request) == len(space.names) and None not in request.values()
    wanted = o.quantities(objectives) if model else o.judged(jobs, objectives)
    settings = space.settings()
    settings += [request] if known and request not in settings else []
    if runs is not None and (mixed := differing(runs, space.names)):
        tell(f"note: runs that differ in {', '.join(mixed)} count as repeats: --where tells apart")
    learner, answer = None, LogAnswer()
    if not measured_all(one, runs, space, settings, wanted):
        past = jobs if model or runs is not None else earlier(jobs, row)
        kind = advice_options.advice_kind(kind, past, model)
        learner = o.fitted(past, model, kind, seed, space.names, by)
        answer = advice_options.can_answer(learner, past, space.names, SCHEMA, json=json)
    options = all_settings.front(one, learner, space, wanted, settings=settings, runs=runs)
    chosen_by, limits = o.rules(rule, within, request if known else None)
    try:
        choice = _own(options, request if runs is None else {}).choose(chosen_by, limits)
    except Infeasible as stop:
        show(options, None, request, answer, json=json, html=html, figure=figure, stop=stop)
        raise
    show(options, choice, request, answer, json=json, html=html, figure=figure)


SCHEMA = "rheostat.front/1"


def _own(options: Front, request: dict[str, Any]) -> Front:
    """The front without forecasts that rest on other applications' runs, as `decide` chooses."""
    import numpy as np

    from rheostat.decision.admissible import graded, only
    from rheostat.decision.batch_fronts import BatchFronts
    from rheostat.decision.decide import OWN

    settings = [options.setting(i) for i in range(len(options))]
    if request not in settings:
        return options
    alone = BatchFronts(options, np.array([settings.index(request)]), len(options))
    own = graded(alone, OWN)
    return options if own is None or not own.any() else only(alone, own).flat


def _row(jobs: JobTable, job: str, where: list[str] | None) -> int:
    """The row of the job asked about: its last one, where an id occurs more than once.

    In a table of runs of one application any row stands for it.
    """
    from rheostat.errors import DataError
    from rheostat.recipes.nodecount import own_runs

    if not job and not where:
        runs = own_runs(jobs, 0, None)
        if runs is None or len(runs) < len(jobs):
            raise typer.BadParameter("name a job: --job ID or --where column=value")
        return 0
    conditions = [*([f"job_id={job}"] if job else []), *(where or [])]
    rows = [set(o.rows_with(jobs, text)) for text in conditions]
    keep = sorted(set.intersection(*rows))
    if not keep:
        raise DataError(" and ".join(conditions), [f"no such row among {len(jobs)}"])
    return keep[-1] if job else keep[0]


def show(
    options: Front,
    choice: Assignment | None,
    request: dict[str, Any],
    answer: LogAnswer,
    *,
    json: bool,
    html: Any,
    figure: Any,
    stop: Infeasible | None = None,
) -> None:
    """Print the front of a job, the choice and its reasons; without one, what comes nearest."""
    from rheostat.cli.output import (
        on_terminal,
        put_json,
        put_report,
        tell,
        tell_notes,
        write_files,
    )
    from rheostat.explanation.choice import explain_choice
    from rheostat.explanation.front import explain_front, front_table, row_of
    from rheostat.explanation.narrate import Narrative

    row = None if choice is None else choice.index
    sections, facts = explain_front(options, row, request or None)
    facts |= {"requested": request or None, "feasible": stop is None, "choice": None}
    if choice is not None:
        more, reasons = explain_choice(choice, options, requested=request or None)
        sections, facts = [*sections, *more], facts | reasons
    elif stop is not None and stop.nearest >= 0:
        facts["nearest"] = options.setting(stop.nearest)
    title = "" if "job_id" not in options.alternatives.columns else f"Job {_job(options)}"
    report = Narrative(title, sections, facts)
    if json:
        put_json(SCHEMA, {"job": _job(options), **answer.facts, **facts})
    else:
        put_report(report, front_table(options, row, row_of(options, request or None)))
        tell_notes(options.outcome.notes)
        if choice is not None and not on_terminal():
            tell(sections[1].sentences[0])
    write_files(answer.above(report), html, figure)


def _job(options: Front) -> Any:
    frame = options.alternatives.frame
    return frame["job_id"][0] if "job_id" in frame.columns else None
