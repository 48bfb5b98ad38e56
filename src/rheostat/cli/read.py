"""`rheostat read FILE`: what is in a job log, column by column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli import options as o

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
    from rheostat.cli.output import printed
    from rheostat.questions.describe import describe

    with printed(json=json, most_notes=20) as put:
        put(describe(file, format=form, columns=map_file, renamed=column or (), units=unit or (),
                     known=known or (), zone=zone, options=option or (), out=out))  # fmt: skip
