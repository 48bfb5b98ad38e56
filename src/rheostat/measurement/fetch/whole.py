"""Is an archive there to its end?  All of it is read: its own checksums tell."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path

from rheostat.errors import DataError
from rheostat.measurement.parquet import MAGIC, scan

CHUNK = 1 << 20


def why_not_whole(path: Path) -> str:
    """What is wrong with a gzip, zip or parquet file; empty if it is whole.

    Of anything else the end cannot be told, and that is what is said.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"\x1f\x8b":
        return _gzip(path)
    if start[:2] == b"PK":
        return _zip(path)
    if start == MAGIC:
        return _parquet(path)
    return "is no gzip, zip or parquet file, so that its end cannot be checked"


def _gzip(path: Path) -> str:
    try:
        with gzip.open(path) as file:
            while file.read(CHUNK):
                pass
    except (EOFError, zlib.error, OSError) as error:
        return f"the gzip file is cut off or damaged: {error}"
    return ""


def _zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        return f"the zip file is cut off or damaged: {error}"
    return f"the zip file is damaged: {bad}" if bad else ""


def _parquet(path: Path) -> str:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        scan(path)
        for _ in ParquetFile(path).iter_batches():
            pass
    except DataError as error:
        return "; ".join(error.problems)
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        return f"the parquet file is damaged: {error}".partition("\n")[0][:300]
    return ""
