"""Tables of serving as frames; whatever a library cannot read becomes one message of one line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rheostat.core.storage.bounded_read import checked_size
from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.parquet import scan

LONGEST = 200


def csv_frame(path: str | Path, what: str) -> pl.DataFrame:
    """A CSV file with types guessed from all rows; `DataError` where it is none."""
    try:
        return pl.read_csv(checked_size(path), infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise unreadable(path, what, error) from error


def frame_of(path: Path, what: str) -> pl.DataFrame:
    """Parquet by its first bytes, JSON lines by theirs, else CSV."""
    with checked_size(path).open("rb") as file:
        start = file.read(64).lstrip()
    try:
        if start[:4] == b"PAR1":
            return scan(path)[0].collect()
        if start[:1] == b"{":
            return pl.read_ndjson(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise unreadable(path, what, error) from error
    return csv_frame(path, what)


def unreadable(path: str | Path, what: str, error: Exception) -> DataError:
    """What the file is, what was expected, and the first line of what a library says."""
    said = (str(error).splitlines() or [""])[0][:LONGEST]
    return FileKindError(str(path), [f"expected a {what}, got {describe_file(path)}: {said}"])


def not_found(missing: Sequence[str], frame: pl.DataFrame) -> str:
    """What a table lacks, what it has, and what names the one by the other.

    >>> not_found(["submit_s", "end_s"], pl.DataFrame({"when": [1.0]}))
    'found no column submit_s and no end_s: name them, --column submit_s=THEIRS; it has when'
    """
    has = ", ".join(frame.columns[:MOST_NAMES]) + ", ..." * (len(frame.columns) > MOST_NAMES)
    them = "it" if len(missing) == 1 else "them"
    what = f"found no column {' and no '.join(missing)}"
    return f"{what}: name {them}, --column {missing[0]}=THEIRS; it has {has}"


MOST_NAMES = 12
