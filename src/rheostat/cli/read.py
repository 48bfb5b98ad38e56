"""`rheostat read FILE`: what is in a job log, column by column."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import Column, JobTable
    from rheostat.core.report import Grid

CALENDAR_S = 3e8
"""Seconds from here on (nine years) are a moment of the calendar, not a duration."""


Zone = Annotated[str, typer.Option(help="Time zone of a clock that has none.")]
ReaderOptions = Annotated[
    list[str] | None,
    typer.Option("--option", help="Option of a format, as rejoin=JobName. Repeatable."),
]


def read(
    file: Annotated[Path, typer.Argument(help="A job log or table of runs.", metavar="FILE")],
    form: Annotated[
        str, typer.Option("--format", help="Format; guessed from the content by default.")
    ] = "",
    map_file: o.Map = None,
    column: o.Columns = None,
    unit: o.Units = None,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", help="Moment of a column, as size=submit. Repeatable."),
    ] = None,
    zone: Zone = "",
    option: ReaderOptions = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the table here as parquet.", writable=True, dir_okay=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read a job log; print its columns with unit, moment and missing values, and what was odd."""
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, working
    from rheostat.core.report import Report, Section
    from rheostat.measurement.read import guess_format
    from rheostat.measurement.read import read as read_file

    options = reader_options(column, unit, known, map_file, zone, option)
    with working(f"reading {file}"):
        name = form or guess_format(file)
        jobs = read_file(file, name, options=options)
    if out:
        jobs.write_parquet(out)
        tell(f"wrote {out}")
    if json:
        put_json("rheostat.read/1", _facts(file, name, jobs))
        return
    heading = f"{file.name}: {name}, {len(jobs):,} rows, {len(jobs.columns)} columns"
    if not sys.stdout.isatty():
        tell(f"{heading}; {_sentences(jobs)[0]}")
    report = Report(heading, (Section("columns", _sentences(jobs), _grid(jobs, words=True)),))
    put_report(report, _grid(jobs))
    tell_notes(jobs.notes, most=20)


def reader_options(
    column: list[str] | None,
    unit: list[str] | None,
    known: list[str] | None,
    map_file: Path | None,
    zone: str,
    option: list[str] | None,
) -> dict[str, Any]:
    """What was typed, as options of a reader."""
    from rheostat.questions.parse import parse_pairs

    options: dict[str, Any] = {"columns": parse_pairs(column, "--column")} if column else {}
    options |= {"units": parse_pairs(unit, "--unit")} if unit else {}
    options |= {"known": parse_pairs(known, "--known")} if known else {}
    options |= {"map": map_file} if map_file else {}
    options |= {"zone": zone} if zone else {}
    return options | {k: _value(v) for k, v in parse_pairs(option, "--option").items()}


def _value(text: str) -> Any:
    """A number, a list at commas, or the text."""
    from rheostat.questions.parse import parse_value

    return text.split(",") if "," in text else parse_value(text)


SPREAD = ("min", "median", "max")


def _grid(jobs: JobTable, *, words: bool = False) -> Grid:
    """A row per column; numbers in base units, or in ``words`` as people read them."""
    from rheostat.core.report import Grid

    nulls = dict(zip(jobs.columns, jobs.frame.null_count().row(0), strict=True))
    rows = []
    for c in jobs.schema.values():
        spread = _spread(jobs, c.name)
        shown = [_said(v, c) for v in spread] if words else spread
        rows.append((c.name, c.unit, c.known.name, nulls[c.name], *shown, c.meaning))
    return Grid(("column", "unit", "known", "missing", *SPREAD, "meaning"), tuple(rows))


def _spread(jobs: JobTable, name: str) -> list[Any]:
    """(least, median, most) of the values there are; of text the one that all rows have, if any."""
    values = jobs.frame[name].drop_nulls()
    if not values.dtype.is_numeric() or name.endswith("_id"):
        same = str(values.dtype) == "String" and len(values) and values.n_unique() == 1
        return [None, values[0] if same else None, None]
    values = values.drop_nans() if values.dtype.is_float() else values
    return [values.min(), values.median(), values.max()]


def _said(value: Any, column: Column) -> str:
    from rheostat.core.units import format_moment, format_quantity
    from rheostat.explanation.number_words import duration

    if value is None or isinstance(value, str):
        return value or ""
    if column.unit == "s" and abs(value) >= CALENDAR_S:
        return format_moment(value)
    if column.unit in ("", "1") and float(value).is_integer():
        return f"{value:,.0f}"
    return duration(value) if column.unit == "s" else format_quantity(value, column.unit)


def _sentences(jobs: JobTable) -> tuple[str, ...]:
    dropped = sum(n.count for n in jobs.notes if n.dropped)
    if "censored" not in jobs.schema:
        return (f"{dropped:,} rows left out",)
    return (f"{dropped:,} rows left out, {jobs.cut_off.sum():,} runs cut off (censored)",)


def _facts(file: Path, name: str, jobs: JobTable) -> dict[str, Any]:
    grid = _grid(jobs)
    return {
        "file": str(file),
        "format": name,
        "rows": len(jobs),
        "dropped": sum(n.count for n in jobs.notes if n.dropped),
        "columns": [dict(zip(grid.heads, row, strict=True)) for row in grid.rows],
        "notes": [
            {"message": n.message, "rows": list(n.rows), "count": n.count, "dropped": n.dropped}
            for n in jobs.notes
        ],
    }
