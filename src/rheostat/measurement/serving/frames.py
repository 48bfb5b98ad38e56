"""Tables of serving as frames; whatever a library cannot read becomes one message of one line."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rheostat.core.file_kinds import describe_file
from rheostat.core.files import ordinary_file
from rheostat.errors import DataError, FileKindError

LONGEST = 200


def csv_frame(path: str | Path, what: str) -> pl.DataFrame:
    """A CSV file with types guessed from all rows; `DataError` where it is none."""
    try:
        return pl.read_csv(ordinary_file(path), infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise unreadable(path, what, error) from error


def frame_of(path: Path, what: str) -> pl.DataFrame:
    """Parquet by its first bytes, JSON lines by theirs, else CSV."""
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    try:
        if start[:4] == b"PAR1":
            return pl.read_parquet(path)
        if start[:1] == b"{":
            return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise unreadable(path, what, error) from error
    return csv_frame(path, what)


def unreadable(path: str | Path, what: str, error: Exception) -> DataError:
    """What the file is, what was expected, and the first line of what a library says."""
    said = (str(error).splitlines() or [""])[0][:LONGEST]
    return FileKindError(str(path), [f"expected a {what}, got {describe_file(path)}: {said}"])
