"""A table of runs as JSON: a list of flat objects, or one object a line (as pandas writes both).

Values that are objects or lists are not read and noted; rows that are no object are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.files import parse_json
from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.lines import whole
from rheostat.measurement.runs.delimited import typed_frame


def first_record(start: bytes) -> dict[str, Any] | None:
    r"""The first object of a list, or of lines, in the beginning of a file; None where none is.

    >>> first_record(b'[{"nodes": 4}, {"no'), first_record(b'{"nodes": 4}\n{"no')
    ({'nodes': 4}, {'nodes': 4})
    >>> first_record(b"nodes,runtime") is None
    True
    """
    text = start.decode("utf-8", "replace").lstrip().removeprefix("[").lstrip()
    try:
        record, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    one_line = start.lstrip()[:1] == b"[" or "\n" not in text[:end].strip()
    return record if isinstance(record, dict) and one_line else None


def is_records(start: bytes) -> bool:
    """Whether a file that begins so holds runs as flat objects: most values are plain."""
    record = first_record(start) or {}
    plain = [v for v in record.values() if not isinstance(v, (dict, list))]
    ours = str(record.get("schema", record.get("format", ""))).startswith("rheostat")
    return bool(plain) and len(plain) > len(record) / 2 and not ours


def read_records(path: str | Path, encoding: str = "utf-8") -> tuple[pl.DataFrame, list[Note]]:
    """(frame with the row number, notes), as `read_delimited` gives them of a CSV file."""
    path = Path(path)
    try:
        text = whole(path).decode(encoding).strip()
        rows = parse_json(text) if text[:1] == "[" else [_line(x) for x in text.splitlines() if x]
    except ValueError as error:
        raise DataError(str(path), [f"expected a list of objects as JSON: {error}"]) from error
    odd = [i for i, row in enumerate(rows) if not isinstance(row, dict)]
    good = [i for i, row in enumerate(rows) if isinstance(row, dict)]
    if not good:
        raise DataError(str(path), ["has no row that is a JSON object"])
    names = dict.fromkeys(str(k) for i in good for k in rows[i])
    nested = [n for n in names if any(isinstance(rows[i].get(n), (dict, list)) for i in good)]
    cells = {n: [_cell(rows[i].get(n)) for i in good] for n in names if n not in nested}
    frame, notes = typed_frame(cells, good)
    if odd:
        notes.append(note_rows("row is no JSON object", odd, dropped=True))
    if nested:
        notes.append(Note(f"not read (lists and structures): {', '.join(nested)}"))
    return frame, notes


def _line(text: str) -> Any:
    """The object in a line; None for a line that is no JSON, so that it is noted as no row."""
    try:
        return parse_json(text)
    except ValueError:
        return None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
