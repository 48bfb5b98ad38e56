"""Bytes of a file, never more than are expected: every reader of others' files reads through here.

A device has no end, a sparse file of a terabyte takes no space, and a packed one unpacks to a
thousand times its size.  Each is refused by what it would come to, before or while it is read.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import IO

from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError

MOST_B = 4 * 2**30
"""Bytes that one piece of a file may come to in memory; a table is read in blocks."""


PART_B = 1 << 24
MOST_ROWS, MOST_ROWS_PER_B = 10_000_000, 100
"""Of a parquet file, and more of one whose columns hardly ever change."""
MOST_COLUMNS = 10_000
"""Of any table; counters of each core of the largest machines come to some thousands."""


def checked_size(path: str | Path, most_b: int = MOST_B, *, new: bool = False) -> Path:
    """The path, if it is an `ordinary_file` of at most ``most_b`` bytes; a `DataError` else."""
    path = ordinary_file(path, new=new)
    if (size := path.stat().st_size) > most_b:
        raise DataError(str(path), [_larger(f"it has {size:,} bytes", most_b)])
    return path


def read_bytes(path: str | Path, most_b: int = MOST_B, *, new: bool = False) -> bytes:
    """All of a file, if it is an ordinary one of at most ``most_b`` bytes; ``new`` may be empty."""
    with checked_size(path, most_b, new=new).open("rb") as file:
        return read_all(file, path, most_b)


def read_all(file: IO[bytes], path: str | Path, most_b: int = MOST_B) -> bytes:
    """What is left in an open file, unpacked as it may be; a `DataError` beyond ``most_b``."""
    parts, left = [], most_b + 1  # in parts: read(n) takes n bytes of memory before it reads
    while left and (part := file.read(min(left, PART_B))):
        parts.append(part)
        left -= len(part)
    if not left:
        raise DataError(str(path), [_larger("it goes on", most_b)])
    return b"".join(parts)


def read_member(path: str | Path, name: re.Pattern[str], most_b: int = MOST_B) -> bytes:
    """The one member of a zip whose name matches; a ValueError where there is none or several."""
    with zipfile.ZipFile(ordinary_file(path)) as file:
        members = [i for i in file.infolist() if name.fullmatch(i.filename)]
        if len(members) != 1:
            raise ValueError(f"a zip with {len(members)} documents of this kind, not one")
        with file.open(members[0]) as member:
            return read_all(member, path, most_b)


def check_rows(path: str | Path, rows: int) -> None:
    """A `DataError` where a parquet file says it has more rows than one of its size can."""
    if rows > (most := MOST_ROWS_PER_B * Path(path).stat().st_size + MOST_ROWS):
        problem = f"unpacks to {rows:,} rows, at most {most:,} are read of its size"
        raise DataError(str(path), [problem])


def check_columns(path: str | Path, columns: int) -> None:
    """A `DataError` where a table has more columns than one is asked about."""
    if columns > MOST_COLUMNS:
        problem = f"expected at most {MOST_COLUMNS:,} columns, it has {columns:,}"
        raise DataError(str(path), [problem])


def checked_members(file: zipfile.ZipFile) -> zipfile.ZipFile:
    """The zip, if its members unpack to no more than `MOST_B` together; a ValueError else."""
    if (total := sum(i.file_size for i in file.infolist())) > MOST_B:
        raise ValueError(f"its parts unpack to {total:,} bytes, at most {MOST_B:,} are read")
    return file


def _larger(what: str, most_b: int) -> str:
    return f"expected at most {most_b / 2**20:,.0f} MiB, {what}"
