"""Options of what is read: files, their columns and units, and the rows that are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import argument, option

File = Annotated[Path, argument("A job log or table of runs, any format read knows.", "FILE")]

Form = Annotated[str, option("Format; guessed by default.", "--format")]

Map = Annotated[Path | None, option("TOML column mapping for tables of runs.", "--map")]

Columns = Annotated[
    list[str] | None, option("Ours=theirs, as runtime_s=wall_s. Repeatable.", "--column")
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
