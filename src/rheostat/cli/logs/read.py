"""`rheostat read FILE`: what is in a job log, column by column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option, written


@asks("describe", o.shown, most_notes=20)
def read(
    file: Annotated[Path, argument("A job log or table of runs.", "FILE")],
    form: Annotated[str, option("Format; guessed from the content by default.", "--format")] = "",
    mapped: o.Map = None,
    column: o.Columns = None,
    unit: o.Units = None,
    known: Annotated[
        list[str] | None, option("Moment of a column, as size=submit. Repeatable.", "--known")
    ] = None,
    zone: o.Zone = "",
    option: o.ReaderOptions = None,
    out: Annotated[Path | None, written("Write the table here as parquet.", "--out", "-o")] = None,
) -> None:
    """Read a job log; print its columns with unit, moment and missing values, and what was odd."""
