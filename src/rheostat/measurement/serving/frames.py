"""Tables of serving as frames; whatever a library cannot read becomes one message of one line."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO, StringIO
from pathlib import Path

import polars as pl

from rheostat.core.storage.bounded_read import MOST_COLUMNS, check_columns, checked_size
from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.lines import BOM, beginning, is_packed, raw_lines, whole
from rheostat.measurement.lines import LONGEST as LONGEST_ROW
from rheostat.measurement.parquet import scan

LONGEST = 200
PACKED = (b"x\x01", b"x\x9c", b"x\xda", b"\x1f\x8b")
"""How files of zlib, and of gzip inside of gzip, begin."""
ZSTANDARD = b"\x28\xb5\x2f\xfd"


def csv_frame(path: str | Path, what: str) -> pl.DataFrame:
    """A CSV file with types guessed from all rows; `DataError` where it is none."""
    path = checked_size(path)
    try:
        _check_header(path)
        return pl.read_csv(_unpacked(path), infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError, csv.Error) as error:
        raise unreadable(path, what, error) from error


def frame_of(path: Path, what: str) -> pl.DataFrame:
    """Parquet by its first bytes, JSON lines by theirs, else CSV."""
    start = beginning(checked_size(path), 64).lstrip()
    try:
        if start[:4] == b"PAR1":
            return scan(path)[0].collect()
        if start[:1] == b"{":
            check_columns(path, _count_names(path))
            return pl.read_ndjson(_unpacked(path), infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        raise unreadable(path, what, error) from error
    return csv_frame(path, what)


def _unpacked(path: Path) -> Path | BytesIO:
    """What polars is to read: it would unpack a file itself, to any size and by other methods."""
    start = beginning(path, 4)
    if start[:2] in PACKED or start == ZSTANDARD:
        raise DataError(str(path), ["expected plain text or gzip, it is packed otherwise"])
    with path.open("rb") as file:
        marked = file.read(len(BOM)) == BOM
    return BytesIO(whole(path)) if marked or is_packed(path) else path


def _check_header(path: Path) -> None:
    """A `DataError` where the first row is too long or has too many cells, before any is read."""
    text = StringIO(beginning(path, LONGEST_ROW).decode("latin-1"), newline="")
    check_columns(path, len(next((row for row in csv.reader(text) if row), ())))
    if text.tell() == LONGEST_ROW:
        raise DataError(str(path), [f"expected a first row of less than {LONGEST_ROW:,} bytes"])


def _count_names(path: Path) -> int:
    """Different names of values in JSON lines, until there are too many of them."""
    names: set[str] = set()

    def take(pairs: list[tuple[str, object]]) -> None:
        names.update(name for name, _ in pairs)

    for line in raw_lines(path):
        with suppress(ValueError, RecursionError):  # no JSON: who reads the rows says so
            json.loads(line, object_pairs_hook=take)
        if len(names) > MOST_COLUMNS:
            break
    return len(names)


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
