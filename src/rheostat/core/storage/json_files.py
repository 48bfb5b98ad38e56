"""A whole JSON document of another program, or an error that names what was expected."""

from __future__ import annotations

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
