"""``rheostat decide``: a setting for every job of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import advice_options, knob_options
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.report import Report
    from rheostat.decision.decide import Advice
    from rheostat.recipes.log_answer import LogAnswer


def decide(
    file: o.File,
    past: Annotated[
        Path | None, typer.Option(help="Learn from this log instead of from FILE.")
    ] = None,
    trial: advice_options.TrialPlan = None,
    model: o.Saved = None,
    knob: o.Knobs = None,
    objectives: o.Objectives = o.RUNTIME_ENERGY,
    rule: o.RuleText = "",
    slowdown: o.Slowdown = None,
    within: o.Within = None,
    kind: o.Kind = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the advice: .csv, .tsv, .parquet or .json; a pipe is then left empty.",
            writable=True,
            dir_okay=False,
        ),
    ] = None,
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Advise a setting for every job of FILE, with the predicted saving and its interval.

    Without --rule: least energy (without it node-hours) at no more than 10 % slowdown with 80 %
    confidence, as surely no more energy, and what is saved counts as far as that is sure to hold;
    --slowdown sets another percentage, which like all slowdowns refers to what each job asked for.
    A log is first asked whether it can tell what a setting does; where it cannot, it is said what
    to record or to try (exit code 3), and --kind names a model to be used nevertheless. Without
    --model or --past the forecast learns from the finished jobs of FILE itself.
    """
    from rheostat.cli.output import (
        on_terminal,
        put_json,
        put_report,
        tell,
        working,
        write_files,
    )
    from rheostat.decision.decide import decide
    from rheostat.explanation.advice import with_accuracy
    from rheostat.explanation.narrate import explain

    space = knob_options.space(knob)
    _known_ending(out)
    chosen_by, limits = advice_options.advice_rules(rule, slowdown, within, objectives)
    jobs = o.load(file, form, mapped, knobs=space.names)
    log = advice_options.with_trial(
        o.load(past, knobs=space.names) if past else jobs, trial, space.names
    )
    jobs = jobs if past else log
    learner, answer, held_out = _learnt(log, model, kind, seed, space.names, json=json)
    waiting, seen = _asked(jobs, alone=model is None and past is None)
    if seen:
        tell(f"note: the forecast has learnt from these jobs; {SEEN}")
    with working(f"advising {len(waiting):,} jobs"):
        advice = decide(
            waiting, learner, space, chosen_by, limits, objectives=o.quantities(objectives)
        )
    if out is not None:
        _write(advice, out)
        tell(f"wrote {out}")
    report: Report = explain(advice)
    if held_out:
        report = with_accuracy(report, held_out, NEWEST)
    if json:
        facts = {"accuracy": None, **report.facts}
        put_json(SCHEMA, {"learnt_from_these_jobs": seen, **answer.facts, **facts})
    else:
        if out is None or on_terminal():
            put_report(report, _full(advice))
        if not on_terminal():
            beside = [report.sections[0], *(report.sections[-1:] if held_out else ())]
            tell("\n".join(s for section in beside for s in section.sentences))
    write_files(answer.above(report), html, figure)


SCHEMA = "rheostat.decide/1"


NEWEST = 0.2
"""Share of the log, the newest jobs, on which the method is checked without having seen them."""


def _learnt(
    log: JobTable, saved: Path | None, kind: str, seed: int, knobs: tuple[str, ...], *, json: bool
) -> tuple[Any, LogAnswer, dict[str, Any]]:
    """The model, what the log identifies, and error and coverage on the newest jobs."""
    from rheostat.errors import DataError
    from rheostat.recipes.nodecount import accuracy_on_newest, model

    kind = advice_options.advice_kind(kind, log, saved)
    learner = o.fitted(log, saved, kind, seed, knobs)
    answer = advice_options.can_answer(learner, log, knobs, SCHEMA, json=json)
    if saved is not None or "submit_s" not in log.columns:
        return learner, answer, {}
    try:
        return (
            learner,
            answer,
            accuracy_on_newest(log, model(kind, log, knobs=knobs, seed=seed), NEWEST),
        )
    except DataError:  # too few jobs to hold some back
        return learner, answer, {}


SEEN = "rheostat backtest tells how it does on jobs it has not seen"


def _asked(jobs: JobTable, *, alone: bool) -> tuple[JobTable, bool]:
    """The jobs to advise, and whether the model has seen how they ended.

    With one file for both, those without a runtime yet are advised; if all have run, all are.
    """
    if not alone or "runtime_s" not in jobs.columns:
        return jobs, False
    waiting = jobs.frame["runtime_s"].is_null().to_numpy()
    return (jobs.rows(waiting), False) if waiting.any() else (jobs, True)


def _full(advice: Advice):  # type: ignore[no-untyped-def]
    """The whole table, for a pipe."""
    from rheostat.core.report import Grid
    from rheostat.explanation.grid_cells import with_told_digits

    frame = advice.table.frame
    return with_told_digits(Grid(tuple(frame.columns), tuple(frame.rows())))


ENDINGS = (".csv", ".tsv", ".parquet", ".json")


def _known_ending(out: Path | None) -> None:
    if out is not None and out.suffix not in ENDINGS:
        raise typer.BadParameter(f"expected a name ending in {', '.join(ENDINGS)}, got {out}")


def _write(advice: Advice, out: Path) -> None:
    from rheostat.core.files import replace_file, replacing

    if out.suffix == ".parquet":
        advice.table.write_parquet(out)
    elif out.suffix == ".json":
        from rheostat.explanation.advice import advice_facts, advice_rows
        from rheostat.explanation.json import document

        facts = {**advice_facts(advice), "jobs": advice_rows(advice)}
        replace_file(out, document(SCHEMA, facts))
    elif out.suffix == ".tsv":
        from rheostat.explanation.grid_cells import tsv

        replace_file(out, tsv(_full(advice)))
    else:
        import polars as pl

        grid, schema = _full(advice), advice.table.frame.schema
        with replacing(out) as draft:
            pl.DataFrame(list(grid.rows), schema, orient="row").write_csv(draft)
