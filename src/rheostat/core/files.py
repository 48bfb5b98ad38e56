"""Files: what is read is an ordinary file, what is written is there as a whole or not at all.

A pipe has no end that could be checked and a device none at all, so both are refused by what the
file system says of them, before a byte is read.  A document (JSON, TOML) is refused with its reason
whatever its bytes are: not UTF-8, nested too deep, a number that is none.
"""

from __future__ import annotations

import json
import math
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rheostat.errors import DataError

MOST_B = 256 * 2**20
"""Bytes of a document; a larger one is a table under a wrong name."""


def ordinary_file(path: str | Path) -> Path:
    """The path, if it is a file with something in it; a `DataError` says what it is instead."""
    path = Path(path)
    try:
        found = path.stat()
    except (FileNotFoundError, ValueError) as error:
        raise DataError(str(path), ["no such file"]) from error
    except OSError as error:
        raise DataError(str(path)[:200], [f"cannot be read: {error.strerror}"]) from error
    if not stat.S_ISREG(found.st_mode):
        folder = stat.S_ISDIR(found.st_mode)
        what = "a folder" if folder else "a pipe or a device: copy it to a file first"
        raise DataError(str(path), [f"expected a file, got {what}"])
    if not found.st_size:
        raise DataError(str(path), ["the file is empty (0 bytes)"])
    return path


def read_text(path: str | Path, *, errors: str = "strict") -> str:
    """All of a document, which must be UTF-8; ``errors="replace"`` where only ASCII matters."""
    path = ordinary_file(path)
    if path.stat().st_size > MOST_B:
        raise DataError(str(path), [f"is larger than {MOST_B >> 20} MiB: no document of ours is"])
    try:
        return path.read_text(encoding="utf-8", errors=errors)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        told = f"line {line} is not UTF-8 (byte {error.object[error.start]:#04x})"
        raise DataError(str(path), [told, "convert it: iconv -f LATIN1 -t UTF-8"]) from error


def read_json(path: str | Path) -> Any:
    """A JSON document; NaN, infinities and numbers too large to hold are refused."""
    return _document(path, "JSON", parse_json)


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML document; NaN and infinities are refused by the name of their line."""
    found: dict[str, Any] = _document(path, "TOML", tomllib.loads)
    odd = [f"{name}: expected a finite number, got {v}" for name, v in _not_finite(found, "")]
    if odd:
        raise DataError(str(path), odd)
    return found


def parse_json(text: str | bytes) -> Any:
    """JSON as its standard has it: a ValueError for NaN, 1e400 and whatever Python adds.

    >>> parse_json('{"watts": 1e400}')
    Traceback (most recent call last):
    ...
    ValueError: 1e400 is no finite number
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no finite number")
    return value


def _document(path: str | Path, kind: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(read_text(path))
    except RecursionError as error:
        raise DataError(str(path), [f"is not {kind}: nested too deep"]) from error
    except ValueError as error:
        raise DataError(str(path), [f"is not {kind}: {error}"[:300]]) from error


def _not_finite(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _not_finite(inner, f"{name}[{i}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield name, value


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A path to write to; at the end it becomes ``path`` in one step, and the device has it.

    Where writing fails, the file that was there is untouched.  The draft lies in the same folder,
    which is made if needed.  A device or a pipe (``/dev/stdout``) is written to as it is.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "result.csv"
    >>> with replacing(file) as draft:
    ...     _ = draft.write_text("whole")
    >>> file.read_text()
    'whole'
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    if path.exists() and not path.is_file():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield draft
        _flush(draft, os.O_RDWR)
        os.replace(draft, path)
        _flush(path.parent, os.O_RDONLY)
    except OSError as error:
        if error.filename == str(draft):
            error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


def _flush(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: str | Path, content: bytes | str) -> None:
    """Write all of a file or nothing: see `replacing`."""
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
