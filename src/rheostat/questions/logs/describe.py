"""`describe`: what is in a job log or a table of runs, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import Column, JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import format_moment, format_quantity
from rheostat.explanation.number_words import duration
from rheostat.measurement.read import guess_format, read
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import parse_reader_options

CALENDAR_S = 3e8
"""Seconds from here on (nine years) are a moment of the calendar, not a duration."""
SPREAD = ("min", "median", "max")


@dataclass(frozen=True, kw_only=True, repr=False)
class DescribeAnswer(Answer):
    """A table as it was read.

    Parameters
    ----------
    jobs : JobTable
        The table.
    file : Path or None
        Where it was read.
    format : str
        By which reader; empty where nothing was read.
    """

    schema: ClassVar[str] = "rheostat.read/1"
    jobs: JobTable
    file: Path | None
    format: str

    def report(self) -> Report:
        """Whether all was read, and a row per column, as people read numbers."""
        grid = _grid(self.jobs, words=True)
        return Report("", (Section("columns", self.beside(), grid),))

    def facts(self) -> dict[str, Any]:
        """Columns with units, moments and spreads, and what was odd."""
        grid, noticed = _grid(self.jobs), self.jobs.notes
        return {
            "file": None if self.file is None else str(self.file),
            "format": self.format,
            "rows": len(self.jobs),
            "dropped": sum(n.count for n in noticed if n.dropped),
            "columns": [dict(zip(grid.heads, row, strict=True)) for row in grid.rows],
            "notes": [
                {"message": n.message, "rows": list(n.rows), "count": n.count, "dropped": n.dropped}
                for n in noticed
            ],
        }

    def grids(self) -> tuple[Grid, ...]:
        """A row per column, in base units."""
        return (_grid(self.jobs),)

    def beside(self) -> tuple[str, ...]:
        """Whether all rows were read, and which of them tell less than others."""
        name = "" if self.file is None else f"{self.file.name}, read as {self.format}: "
        rows, dropped = len(self.jobs), sum(n.count for n in self.jobs.notes if n.dropped)
        whole = f"all {rows:,} rows" if not dropped else (
            f"{rows:,} of {rows + dropped:,} rows ({dropped:,} left out)"
        )  # fmt: skip
        cut = self.jobs.cut_off.sum() if "censored" in self.jobs.schema else 0
        less = f"; {cut:,} runs were cut off (censored)" if cut else ""
        said = f"{name}{whole} are here, with {len(self.jobs.columns)} columns{less}."
        return (said[0].upper() + said[1:] if not name else said,)


@question
def describe(
    jobs: inputs.Jobs,
    *,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] | Mapping[str, str] = (),
    units: Sequence[str] | Mapping[str, str] = (),
    known: Sequence[str] | Mapping[str, str] = (),
    zone: str = "",
    options: Sequence[str] | Mapping[str, str] = (),
    out: Path | str | None = None,
) -> DescribeAnswer:
    """Say what is in a job log: columns with unit, moment and missing values, and what was odd.

    Parameters
    ----------
    jobs : JobTable or path
        A job log or a table of runs.
    format : str
        Of the file; guessed from the content by default.
    columns : path, optional
        TOML column mapping for tables of runs.
    renamed, units, known : sequence of str or mapping
        As ``runtime_s=wall_s``, ``energy=J/request`` and ``size=submit``.
    zone : str
        Time zone of a clock that has none.
    options : sequence of str or mapping
        Of a format, as ``rejoin=JobName``.
    out : path, optional
        Where the table goes, as parquet.

    Returns
    -------
    DescribeAnswer
        With ``jobs``.

    Raises
    ------
    DataError
        The file is of no known format, or damaged.

    Examples
    --------
    >>> import rheostat as rh
    >>> answer = rh.describe(rh.table({"nodes": [1, 2, 4], "runtime_s": [90.0, 50.0, None]}))
    >>> answer.table()["missing"].to_list()
    [0, 1]
    """
    if isinstance(jobs, JobTable):
        table, file, name = jobs, None, ""
    else:
        file = Path(jobs)
        how = parse_reader_options(renamed, units, known, columns, zone, options)
        with listener.working(f"reading {file}"):
            name = format or guess_format(file)
            table = read(file, name, options=how)
    if out is not None:
        table.write_parquet(Path(out))
        listener.line(f"wrote {out}")
    listener.notes(table.notes)
    return DescribeAnswer(jobs=table, file=file, format=name)


def _grid(jobs: JobTable, *, words: bool = False) -> Grid:
    """A row per column; numbers in base units, or in ``words`` as people read them."""
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
    if value is None or isinstance(value, str):
        return value or ""
    if column.unit == "s" and abs(value) >= CALENDAR_S:
        return format_moment(value)
    if column.unit in ("", "1") and float(value).is_integer():
        return f"{value:,.0f}"
    return duration(value) if column.unit == "s" else format_quantity(value, column.unit)
