"""Options of what is read: files, their columns and units, and the rows that are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.asks import Values
from rheostat.cli.options.declared import argument, option

File = Annotated[Path, argument("A job log or table of runs, any format read knows.", "FILE")]

Form = Annotated[str, option("Format; guessed by default.", "--format")]

Map = Annotated[Path | None, option("TOML column mapping for tables of runs.", "--map")]

Columns = Annotated[
    list[str] | None,
    option("Ours=theirs, as runtime_s=wall_s; ours==value of all rows. Repeatable.", "--column"),
]

Known = Annotated[
    list[str] | None, option("Moment of a column, as size=submit. Repeatable.", "--known")
]

Units = Annotated[
    list[str] | None,
    option(
        "Per what energy and power of serving runs are, or in what times are, where a "
        "column does not say: energy=J/request (mJ, Wh; token, batch, run), power=W/gpu, "
        "time=ms, batch=requests/replica. Repeatable.",
        "--unit",
    ),
]

Where = Annotated[list[str] | None, option("Only rows with column=value. Repeatable.")]

By = Annotated[str, option("Columns that make runs the same application, as app,batch_size.")]
Zone = Annotated[str, option("Time zone of a clock that has none.")]
ReaderOptions = Annotated[
    list[str] | None, option("Option of a format, as rejoin=JobName. Repeatable.", "--option")
]


def log(
    form: Form = "", mapped: Map = None, column: Columns = None, zone: Zone = "",
    option: ReaderOptions = None,
) -> Values:  # fmt: skip
    """How a log is read, whatever its format takes."""
    from rheostat.questions.parse import parse_reader_options

    options = parse_reader_options(column or (), columns=mapped, zone=zone, options=option or ())
    return {"options": options}


def table(form: Form = "", mapped: Map = None, column: Columns = None) -> None:
    """How a file is read."""
