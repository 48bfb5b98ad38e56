"""Files: what is read is an ordinary file, what is written is there as a whole or not at all.

A pipe has no end that could be checked and a device none at all, so both are refused by what the
file system says of them, before a byte is read.  A document (JSON, TOML) is refused with its reason
whatever its bytes are: not UTF-8, nested too deep, a number that is none.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rheostat.core.storage.file_kinds import MOST_B, other_kind, weighed
from rheostat.errors import DataError

BINARY = (b"PK\x03\x04", b"PAR1")
"""First bytes of a zip and of parquet: such a file is no text with a few wrong bytes."""
LARGEST = 2**64
"""Integers stay below: nothing behind us could hold a larger one."""


def ordinary_file(path: str | Path, *, new: bool = False) -> Path:
    """The path, if it is a file with something in it; a `DataError` says what it is instead.

    With ``new`` it may be empty, as a file is that was begun and nothing else.
    """
    path = Path(path)
    try:
        status = path.stat()
    except (FileNotFoundError, ValueError) as error:
        raise DataError(str(path), ["no such file"]) from error
    except OSError as error:
        raise DataError(str(path)[:200], [f"cannot be read: {error.strerror}"]) from error
    if not stat.S_ISREG(status.st_mode):
        folder = stat.S_ISDIR(status.st_mode)
        what = "a folder" if folder else "a pipe or a device: copy it to a file first"
        raise DataError(str(path), [f"expected a file, got {what}"])
    if not status.st_size and not new:
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
        problem = f"line {line} is not UTF-8 (byte {error.object[error.start]:#04x})"
        raise DataError(str(path), [problem, "convert it: iconv -f LATIN1 -t UTF-8"]) from error


def read_json(path: str | Path) -> Any:
    """A JSON document; NaN, infinities and numbers too large to hold are refused."""
    return _document(path, "JSON", parse_json)


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML document; NaN, infinities and integers beyond 64 bits are refused by their name."""
    document: dict[str, Any] = _document(path, "TOML", tomllib.loads)
    odd = [f"{name}: expected a finite number, got {v}" for name, v in _odd_numbers(document, "")]
    if odd:
        raise DataError(str(path), odd)
    return document


def json_or_none(text: str | bytes | bytearray) -> Any:
    """A JSON document as Python reads it; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parse_json(text: str | bytes, *, constant: Callable[[str], Any] | None = None) -> Any:
    """JSON with numbers that fit: a ValueError for NaN, 1e400 and integers beyond 64 bits.

    ``constant`` says what NaN and Infinity, which Python writes and JSON has not, are.

    >>> parse_json('{"watts": 1e400}')
    Traceback (most recent call last):
    ...
    ValueError: 1e400 is no finite number
    """
    try:
        return json.loads(
            weighed(text),
            parse_constant=constant or _finite,
            parse_float=_finite,
            parse_int=_whole,
        )
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no finite number")
    return value


def _whole(text: str) -> int:
    if not abs(value := int(text)) < LARGEST:
        raise ValueError(f"{text[:20]}... needs more than 64 bits")
    return value


def _document(path: str | Path, kind: str, parse: Callable[[str], Any]) -> Any:
    with ordinary_file(path).open("rb") as file:
        if file.read(4) in BINARY:
            raise other_kind(path, kind)
    try:
        return parse(read_text(path))
    except RecursionError as error:
        raise other_kind(path, kind, "nested too deep") from error
    except ValueError as error:
        raise other_kind(path, kind, error) from error


def _odd_numbers(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _odd_numbers(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _odd_numbers(inner, f"{name}[{i}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield name, str(value)
    elif isinstance(value, int) and abs(value) >= LARGEST:
        yield name, "one of more than 64 bits"


@contextmanager
def named_errors(path: str | Path) -> Iterator[None]:
    """Errors of writing carry the file's name: those of a full disk have none of themselves.

    >>> with named_errors("runs.csv"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    ...
    OSError: [Errno 28] No space left on device: 'runs.csv'
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is None:  # as polars tells of a full device
            raise OSError(errno.EIO, str(error), str(path)) from error
        if error.filename is None:
            error.filename = str(path)
        raise


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
        with named_errors(path):
            yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with named_errors(path):
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


def seal(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts and their SHA-256, by which `unsealed` knows that nothing has changed.

    >>> unsealed(seal({"a": 1}), "x")
    {'a': 1}
    >>> unsealed(seal({"a": 1}) | {"a": 2}, "x")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: x: damaged or altered: its checksum is of something else
    """
    return {**facts, "sha256": _digest(facts)}


def unsealed(given: Any, source: str | Path) -> Any:
    """What was sealed, without its sum; what never had one comes back as it is."""
    if not isinstance(given, dict) or "sha256" not in given:
        return given
    facts = {k: v for k, v in given.items() if k != "sha256"}
    if given["sha256"] != _digest(facts):
        raise DataError(str(source), ["damaged or altered: its checksum is of something else"])
    return facts


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def text_digest(*parts: str) -> str:
    """Sixteen letters that differ where the parts, one after the other, do."""
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def code_digest(*folders: str) -> str:
    """Of the source in these folders and the weights beside it: another release has another.

    >>> code_digest("core") == code_digest("core"), code_digest("core") == code_digest("cli")
    (True, False)
    """
    here = Path(__file__).parents[2]
    kinds = (".py", ".json")
    files = [sorted(f for f in (here / p).rglob("*") if f.suffix in kinds) for p in folders]
    assert all(files), f"expected source files in each of {folders}"
    return text_digest(*(file_digest(f) for part in files for f in part))


def replace_file(path: str | Path, content: bytes | str) -> None:
    """Write all of a file or nothing: see `replacing`."""
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
