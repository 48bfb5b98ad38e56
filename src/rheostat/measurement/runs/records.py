"""A table of runs as JSON: a list of objects, one object a line, or a document around rows.

Objects inside a row, as ``{"config": {...}, "result": {...}}``, are columns too; lists are not read
and noted; rows that are no object are left out.  NaN and Infinity, as Python writes them, are no
values.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.storage.bounded_read import check_columns
from rheostat.core.storage.files import parse_json
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.lines import whole
from rheostat.measurement.runs.delimited import typed_frame
from rheostat.measurement.runs.nested_rows import LOG, rows_within

MOST_CELLS = 50_000_000
"""Of a table, empty ones too: rows whose names differ have few of their own and many empty ones."""


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
        return _first_within(text)
    if start.lstrip()[:1] == b"[" or text[end:].strip():
        return record if isinstance(record, dict) and _one_line(start, text[:end]) else None
    try:
        within = rows_within(record)
    except DataError:  # several tables: the reader says so
        return _first_within(text)
    plain = isinstance(record, dict) and _one_line(start, text)
    return within[0] if within else record if plain else None


def _one_line(start: bytes, text: str) -> bool:
    return start.lstrip()[:1] == b"[" or "\n" not in text.strip()


FIRST_ROW = re.compile(r'"([^"]+)"\s*:\s*\[\s*(?=\{)')
"""Where a list of objects begins in a document, and under which key."""
FIRST_COLUMN = re.compile(r'\{\s*"([^"]+)"\s*:\s*\[\s*[-\d"tfn]')
"""A document that begins with a column."""


def _first_within(text: str) -> dict[str, Any] | None:
    """The first row of a document that is cut behind it; of a scheduler's log none."""
    if column := FIRST_COLUMN.match(text):
        return {column[1]: 0}
    first = FIRST_ROW.search(text) if text[:1] == "{" else None
    if first is None or first[1] == LOG:
        return None
    try:
        row, _ = json.JSONDecoder().raw_decode(text, first.end())
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


TAGGED = re.compile(rb'\s*\[[^\[\]{}"]*\][ \t]*\S|\s*\[[A-Za-z][\w .:-]*\][ \t]*\r?\n')
"""A line of a log behind its time or level in brackets, or of a section's name: no JSON text."""


def begins_as_json(start: bytes) -> bool:
    """Whether a file that begins so is JSON, damaged or not.

    >>> begins_as_json(b' [{"nodes": 4}'), begins_as_json(b"[2026-03-01 10:00:00] nodes=4")
    (True, False)
    """
    return start.lstrip()[:1] in (b"{", b"[") and not TAGGED.match(start)


def is_records(start: bytes) -> bool:
    """Whether a file that begins so holds runs as objects: most values in them are plain."""
    first = first_record(start) or {}
    if isinstance(first.get("jobs"), list):
        return False  # a whole log in one line
    record = _flat(first)
    plain = [v for v in record.values() if not isinstance(v, list)]
    ours = str(record.get("schema", record.get("format", ""))).startswith("rheostat")
    return bool(plain) and len(plain) > len(record) / 2 and not ours


def read_records(path: str | Path, encoding: str = "utf-8") -> tuple[pl.DataFrame, list[Note]]:
    """(frame with the row number, notes), as `read_delimited` gives them of a CSV file."""
    path, unknown = Path(path), list[str]()
    try:
        rows = _rows_in(whole(path).decode(encoding).strip(), unknown)
    except ValueError as error:
        raise DataError(str(path), [f"expected a list of objects as JSON: {error}"]) from error
    odd = [i for i, row in enumerate(rows) if not isinstance(row, dict)]
    good = [i for i, row in enumerate(rows) if isinstance(row, dict)]
    if not good:
        raise DataError(str(path), ["has no row that is a JSON object"])
    flat = [_flat(rows[i]) for i in good]
    paths = dict.fromkeys(k for row in flat for k in row)
    check_columns(path, len(paths))
    if (count := len(paths) * len(flat)) > MOST_CELLS:
        problem = f"expected at most {MOST_CELLS:,} cells, got {count:,}: {len(paths):,} columns"
        raise DataError(str(path), [f"{problem}, most of them in few of the rows"])
    nested = [p for p in paths if any(isinstance(row.get(p), (dict, list)) for row in flat)]
    ends = [_named(p, paths) for p in paths]
    times = Counter(ends)
    names = {p: end if times[end] == 1 else p for p, end in zip(paths, ends, strict=True)}
    cells = {names[p]: [_cell(row.get(p)) for row in flat] for p in paths if p not in nested}
    frame, notes = typed_frame(cells, good)
    if odd:
        notes.append(note_rows("row is no JSON object", odd, dropped=True))
    if unknown:
        words = ", ".join(sorted(set(unknown)))
        notes.append(Note(f"no value is what JSON has no number for: {words}", (), len(unknown)))
    if nested:
        notes.append(Note(f"not read (lists): {', '.join(nested)}"))
    return frame, notes


def _rows_in(text: str, unknown: list[str]) -> list[Any]:
    """Rows of a list, of a document around them, or of lines; words that are no number apart."""
    if text[:1] == "[":
        rows: list[Any] = parse_json(text, constant=_not_a_number(unknown))
        return rows
    said = list[str]()
    try:
        document = parse_json(text, constant=_not_a_number(said))
    except ValueError:
        return [_line(x, unknown) for x in text.splitlines() if x]
    unknown += said
    return rows_within(document) or [document]


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Values by their path, as ``config.model``.

    >>> _flat({"config": {"model": "vgg16", "gpu": {"name": "T4"}}, "ms": 8})
    {'config.model': 'vgg16', 'config.gpu.name': 'T4', 'ms': 8}
    """
    made: dict[str, Any] = {}
    for key, value in row.items():
        inner = _flat(value) if isinstance(value, dict) else {}
        made |= {f"{key}.{k}": v for k, v in inner.items()} or {str(key): value}
    return made


PART = re.compile(r"value|mean|median|avg|average|std|stddev|min|max|p\d+|unit|count|n", re.I)
"""What says which part of a quantity a number is, and not of which."""


def _named(path: str, paths: Collection[str] = ()) -> str:
    """The last name of a path, with the one before it where it says a part of a quantity alone.

    >>> _named("config.nodes"), _named("metrics.runtime.mean"), _named("metrics.energy.value")
    ('nodes', 'runtime_mean', 'energy')
    >>> _named("energy.value", ["energy.value", "energy.unit"])
    'energy_value'
    """
    above, _, last = path.rpartition(".")
    if not above or not PART.fullmatch(last):
        return last
    of = above.rpartition(".")[2]
    return of if last.lower() == "value" and f"{above}.unit" not in paths else f"{of}_{last}"


def _line(text: str, unknown: list[str]) -> Any:
    """The object in a line; None for a line that is no JSON, so that it is noted as no row."""
    try:
        return parse_json(text, constant=_not_a_number(unknown))
    except ValueError:
        return None


def _not_a_number(unknown: list[str]) -> Callable[[str], str]:
    """What NaN and Infinity are in a cell, the word of an empty one; each is kept in a list."""

    def noted(word: str) -> str:
        unknown.append(word)
        return "NaN"

    return noted


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
