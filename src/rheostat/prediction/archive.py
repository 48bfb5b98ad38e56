"""The zip around every saved model: read whole, bounded, and refused for a reason."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

from rheostat.core.files import ordinary_file
from rheostat.errors import DataError, ModelFileError

LARGEST = 4 * 2**30
"""Bytes a part may unpack to: more is no model but an attack on the memory."""
NOT_A_ZIP = (
    zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, RuntimeError,
    OSError, UnicodeError,
)  # fmt: skip
"""What Python's zipfile raises on bytes that are no zip, or half of one."""


def members(path: str | Path) -> dict[str, bytes]:
    """Every part of the file by name; `ModelFileError` where it is damaged or something else."""
    try:
        with zipfile.ZipFile(ordinary_file(path)) as archive:
            large = [i.filename for i in archive.infolist() if i.file_size > LARGEST]
            if large:
                raise ModelFileError(f"{path}: part {large[0]} is larger than any model")
            return {i.filename: archive.read(i) for i in archive.infolist()}
    except NOT_A_ZIP as error:
        text = "expected a model written by rheostat, got a file that is damaged or something else"
        raise ModelFileError(f"{path}: {text} ({error})") from error
    except DataError as error:
        text = f"expected a model written by rheostat: {'; '.join(error.problems)}"
        raise ModelFileError(f"{path}: {text}") from error


def holds(path: str | Path, name: str) -> bool:
    """Whether the file is a zip with a part of this name; nothing is unpacked."""
    try:
        with zipfile.ZipFile(ordinary_file(path)) as archive:
            return name in archive.namelist()
    except (*NOT_A_ZIP, DataError):
        return False
