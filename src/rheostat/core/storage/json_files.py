"""JSON documents of other programs, or an error that names what was expected."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from rheostat.core.storage.bounded_read import read_bytes
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import ordinary_file, parse_json


def read_document(path: str | Path, expected: str) -> Any:
    """The values of a JSON file; a `FileKindError` that names ``expected`` where it is none.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "jobs.json"
    >>> _ = file.write_text('{"jobs": []}')
    >>> read_document(file, "what flux jobs --json prints")
    {'jobs': []}
    """
    path = ordinary_file(path)
    try:
        return parse_json(read_bytes(path))
    except ValueError as error:
        raise other_kind(path, expected, error) from error


def read_documents(path: str | Path, expected: str) -> list[Any]:
    """Documents that follow each other, with or without a line end, or the items of one array.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "sweep.json"
    >>> _ = file.write_text('{"tp": 1}{"tp": 2}')
    >>> read_documents(file, "reports"), file.write_text('[{"tp": 1}]'), read_documents(file, "")
    ([{'tp': 1}, {'tp': 2}], 11, [{'tp': 1}])
    """
    path = ordinary_file(path)
    given, decoder, at = [], json.JSONDecoder(), 0
    try:
        text = read_bytes(path).decode("utf-8-sig").strip()
        while at < len(text):
            document, end = decoder.raw_decode(text, at)
            given += document if isinstance(document, list) else [document]
            at = BLANK.match(text, end).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError) as error:
        raise other_kind(path, expected, error) from error
    return given


BLANK = re.compile(r"\s*")
