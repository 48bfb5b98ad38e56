"""``rheostat predict``: what jobs will cost as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.outcome import Outcome
    from rheostat.core.report import Grid


def predict(
    file: o.File,
    model: Annotated[Path, typer.Option(help="A model saved by rheostat fit.")],
    form: o.Form = "",
    mapped: o.Map = None,
    json: o.Json = False,
) -> None:
    """Forecast every job of FILE at the setting it asked for, with 90 % intervals.

    A job without similar past runs has an empty forecast.
    """
    from rheostat.cli.output import put_json, put_report, tell_notes
    from rheostat.core.jobs import Moment
    from rheostat.core.report import Report, Section
    from rheostat.prediction.persist import PREDICTORS, load
    from rheostat.questions import inputs

    learner = load(model, PREDICTORS)
    jobs = inputs.load(file, form, mapped).known_at(Moment.SUBMIT)
    outcome = learner.predict(jobs)
    grid = _grid(jobs, outcome)
    if json:
        rows = [_named(grid.heads, row) for row in grid.rows]
        put_json("rheostat.predict/1", {"model": str(model), "level": 0.9, "jobs": rows})
        return
    put_report(Report("", [Section("predict", (f"{len(jobs):,} jobs.",), grid)]), grid)
    tell_notes(outcome.notes)


def _grid(jobs: JobTable, outcome: Outcome) -> Grid:
    from rheostat.core.report import Grid
    from rheostat.explanation.number_words import unit_of

    who = [c for c in ("job_id", "user", "app", "nodes") if c in jobs.columns]
    names = [q for q in ("runtime_s", "power_w", "energy_j") if q in outcome]
    columns: list[list[Any]] = [jobs.frame[c].to_list() for c in who]
    for q in names:
        low, high = outcome.interval(q)
        columns.append(
            list(zip(outcome.mean(q).tolist(), low.tolist(), high.tolist(), strict=True))
        )
    heads, units = [*who, *names], [*[""] * len(who), *map(unit_of, names)]
    if outcome.support is not None:
        columns.append([int(v) for v in outcome.support])
        heads, units = [*heads, "support"], [*units, ""]
    return Grid(tuple(heads), tuple(zip(*columns, strict=True)), tuple(units))


def _named(heads: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    """One job: values plain, intervals beside them."""
    plain = {h: v[0] if isinstance(v, tuple) else v for h, v in zip(heads, row, strict=True)}
    spans = {h: [v[1], v[2]] for h, v in zip(heads, row, strict=True) if isinstance(v, tuple)}
    return {**plain, "intervals": spans}
