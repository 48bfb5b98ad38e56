"""Arrow columns for generated files: lists from flat values, instants, repeated text, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

CHUNK = 20_000


def lists(values: NDArray[Any], lengths: NDArray[np.int64]) -> pa.ListArray:
    """Row i holds the next ``lengths[i]`` of ``values``; no Python object per row.

    >>> lists(np.array([1, 2, 3]), np.array([2, 0, 1])).to_pylist()
    [[1, 2], [], [3]]
    """
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def instants(seconds: NDArray[np.float64], zone: str | None = "UTC") -> pa.Array:
    """Seconds since 1970 as microsecond timestamps, with a zone or without."""
    micros = np.rint(np.asarray(seconds) * 1e6).astype(np.int64)
    return pa.array(micros).cast(pa.timestamp("us", tz=zone))


def texts(keys: NDArray[np.int64], spell: Callable[[int], str]) -> pa.Array:
    """``spell(key)`` of each row, spelled once for each distinct key."""
    distinct, index = np.unique(keys, return_inverse=True)
    return pa.array([spell(int(k)) for k in distinct]).take(pa.array(index))


def chunks(n: int) -> Iterator[slice]:
    """Slices of at most `CHUNK` rows."""
    return (slice(i, min(i + CHUNK, n)) for i in range(0, n, CHUNK))


def write(path: str | Path, n: int, columns: Callable[[slice], dict[str, Any]]) -> None:
    """Write ``n`` rows, a chunk at a time: memory stays that of one chunk."""
    writer: pq.ParquetWriter | None = None
    for part in chunks(n):
        piece = pa.table(columns(part))
        writer = writer or pq.ParquetWriter(path, piece.schema, compression="zstd")
        writer.write_table(piece)
    if writer is not None:
        writer.close()
