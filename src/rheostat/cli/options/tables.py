"""Options of what is read: files, their columns and units, and the rows that are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[
    Path, typer.Argument(help="A job log or table of runs, any format read knows.", metavar="FILE")
]

Form = Annotated[str, typer.Option("--format", help="Format; guessed by default.")]

Map = Annotated[Path | None, typer.Option("--map", help="TOML column mapping for tables of runs.")]

Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="Ours=theirs, as runtime_s=wall_s. Repeatable."),
]

Units = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        help="Per what energy and power of serving runs are, or in what times are, where a column "
        "does not say: energy=J/request (mJ, Wh; token, batch, run), power=W/gpu, time=ms, "
        "batch=requests/replica. Repeatable.",
    ),
]

Where = Annotated[list[str] | None, typer.Option(help="Only rows with column=value. Repeatable.")]

By = Annotated[
    str, typer.Option(help="Columns that make runs the same application, as app,batch_size.")
]
Zone = Annotated[str, typer.Option(help="Time zone of a clock that has none.")]
ReaderOptions = Annotated[
    list[str] | None,
    typer.Option("--option", help="Option of a format, as rejoin=JobName. Repeatable."),
]
