"""`rheostat read FILE`: what is in a job log, column by column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o


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
    zone: o.Zone = "",
    option: o.ReaderOptions = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the table here as parquet.", writable=True, dir_okay=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Read a job log; print its columns with unit, moment and missing values, and what was odd."""
    from rheostat.cli.output import printed
    from rheostat.questions.logs.describe import describe

    with printed(json=json, most_notes=20) as put:
        put(describe(file, format=form, columns=map_file, renamed=column or (), units=unit or (),
                     known=known or (), zone=zone, options=option or (), out=out))  # fmt: skip
