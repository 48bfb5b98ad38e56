"""A spreadsheet as the CSV text of its table: every reader of text reads Excel and LibreOffice.

A workbook may have remarks and pictures in other sheets; of several sheets with numbers below
headings nobody but its owner knows which is meant.
"""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import python_calamine as calamine

from rheostat.errors import FileKindError

ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
PARTS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
"""What a zip holds that is a spreadsheet of Excel or of LibreOffice."""
MOST_TIMES, SMALL_B = 100, 64 * 2**20
"""Unpacked bytes of a workbook, by its own size."""
Rows = list[list[Any]]


def is_workbook(path: Path, start: bytes) -> bool:
    """Whether a file whose first bytes are ``start`` is a spreadsheet."""
    if start.startswith(OLE):
        return True
    if not start.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(path) as members:
            return not {*PARTS}.isdisjoint(members.namelist())
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def workbook_text(path: Path) -> bytes:
    """The one sheet that is a table, as CSV.

    Raises
    ------
    FileKindError
        Damaged, no such sheet, or several: all are named.
    """
    status = path.stat()
    return _text(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2)
def _text(path: Path, changed_ns: int, size_b: int) -> bytes:
    del changed_ns  # another file under the same name is read anew
    _refuse_bomb(path, size_b)
    try:
        with calamine.load_workbook(path) as book:
            sheets = {n: _filled(book.get_sheet_by_name(n).to_python()) for n in book.sheet_names}
    except (calamine.CalamineError, OSError) as error:
        problem = f"the workbook cannot be read: {error}; save its sheet as CSV"
        raise FileKindError(str(path), [problem[:300]]) from error
    tables = [name for name, rows in sheets.items() if _is_table(rows)]
    if len(tables) != 1:
        held = ", ".join(f"{name} ({len(rows)} rows)" for name, rows in sheets.items())
        problem = f"expected one sheet of numbers below headings, got {len(tables)} in {held}"
        raise FileKindError(str(path), [problem, "save the sheet that is meant as CSV"])
    out = io.StringIO()
    csv.writer(out).writerows([[_written(v) for v in row] for row in sheets[tables[0]]])
    return out.getvalue().encode()


def _refuse_bomb(path: Path, size_b: int) -> None:
    if not zipfile.is_zipfile(path):
        return
    most = max(SMALL_B, MOST_TIMES * size_b)
    with zipfile.ZipFile(path) as members:
        if sum(member.file_size for member in members.infolist()) > most:
            raise FileKindError(str(path), [f"unpacks to more than {most:,} bytes: no table does"])


def _filled(rows: Rows) -> Rows:
    """Without rows and columns in which no cell says anything."""
    rows = [row for row in rows if any(v != "" for v in row)]
    kept = [i for i in range(len(rows[0]) if rows else 0) if any(row[i] != "" for row in rows)]
    return [[row[i] for i in kept] for row in rows]


def _is_table(rows: Rows) -> bool:
    numbers = any(isinstance(v, (int, float)) for row in rows[1:] for v in row)
    return len(rows) > 1 and len(rows[0]) > 1 and numbers


def _written(value: Any) -> str:
    """A cell as text.

    >>> from datetime import timedelta
    >>> _written(4.0), _written(0.5), _written(timedelta(hours=26, seconds=3)), _written("lbm")
    ('4', '0.5', '26:00:03', 'lbm')
    """
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(value.total_seconds(), 60)
        return f"{int(minutes // 60)}:{int(minutes % 60):02d}:{seconds:02.0f}"
    return str(value)
