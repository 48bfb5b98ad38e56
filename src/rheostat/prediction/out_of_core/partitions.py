"""How do we read a trace that is larger than memory, more than once, and on several machines?

A trace comes in *parts* in time order, one per file (a month, say), and each part is read batch by
batch.  A part is a small value that can be sent to another process and opened there as often as
needed.  The reader is passed in by the caller, so that any format that yields `JobTable` batches
will do.

The last part in time is kept from learning: prediction intervals are calibrated on it, because they
will be used on a future that differs from the past about as much as the last part does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError

Progress = Callable[[str, float, float], None]
"""Told (stage, done, total) as the work goes on."""


def silent(stage: str, done: float, total: float) -> None:
    """The progress of those who do not ask for any."""


class ReadBatches(Protocol):
    """Opens a file as batches; must be importable by name where workers are other processes."""

    def __call__(self, path: str, columns: Sequence[str] | None) -> Iterable[JobTable]:
        """Batches of ``path`` in row order with ``columns`` only (None: all there are)."""
        ...


@dataclass(frozen=True)
class Part:
    """Rows ``start`` to ``stop`` of a file that ``read`` opens, or of a table in memory.

    >>> from rheostat.core.vocabulary import table
    >>> part = Part(table=table({"nodes": [1, 2, 3, 4]}))
    >>> [b.frame["nodes"].to_list() for b in part.rows(1, 3).batches()]
    [[2, 3]]
    >>> part.rows(1, 3).count()
    2
    """

    path: str = ""
    read: ReadBatches | None = None
    table: JobTable | None = field(default=None, repr=False)
    start: int = 0
    stop: int | None = None

    def rows(self, start: int, stop: int | None) -> Part:
        """The same part, fewer rows."""
        return replace(self, start=start, stop=stop)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[JobTable]:
        """Batches in row order; empty ones are left out."""
        at = 0
        for batch in self._open(columns):
            low = max(self.start - at, 0)
            high = len(batch) if self.stop is None else min(self.stop - at, len(batch))
            at += len(batch)
            if high > low:
                yield replace(batch, frame=batch.frame[low:high])
            if self.stop is not None and at >= self.stop:
                return

    def count(self, columns: Sequence[str] | None = None) -> int:
        """How many rows; ``columns`` limits what is read for it."""
        return sum(len(b) for b in self.batches(columns))

    def first(self) -> JobTable | None:
        """The first batch, all columns, or None where there is no row."""
        return next(self.batches(), None)

    def _open(self, columns: Sequence[str] | None) -> Iterable[JobTable]:
        if self.table is not None:
            return [self.table if columns is None else self.table.select(columns)]
        if self.read is None:
            raise DataError(self.path or "part", ["expected a table or a path with its reader"])
        return self.read(self.path, columns)


def read_own(path: str, columns: Sequence[str] | None) -> Iterator[JobTable]:
    """The reader of tables that `JobTable.write_parquet` wrote, one batch per file."""
    jobs = JobTable.read_parquet(path)
    yield jobs if columns is None else jobs.select(columns)


def parts_of(
    source: JobTable | Part | Sequence[str | Path] | Sequence[Part] | Iterable[JobTable],
    read: ReadBatches | None = None,
    *,
    spool: Path | None = None,
) -> tuple[Part, ...]:
    """Parts from whatever the caller has: a table, paths (with ``read``), parts, or batches.

    Batches that can be taken only once (a generator) are written to the folder ``spool`` first,
    for each row is read more than once.
    """
    if isinstance(source, JobTable):
        return (Part(table=source),)
    if isinstance(source, Part):
        return (source,)
    if isinstance(source, Sequence):
        parts = tuple(_part(item, read) for item in source)
    elif spool is None:
        raise DataError("batches", ["can be read only once: give work_dir= to spool them to"])
    else:
        spool.mkdir(parents=True, exist_ok=True)
        parts = tuple(_spooled(b, spool / f"{i:06d}.parquet") for i, b in enumerate(source))
    if not parts:
        raise DataError("parts", ["expected at least one part, got none"])
    return parts


def _part(item: object, read: ReadBatches | None) -> Part:
    if isinstance(item, Part):
        return item
    return Part(table=item) if isinstance(item, JobTable) else Part(str(item), read or read_own)


def _spooled(batch: JobTable, path: Path) -> Part:
    batch.write_parquet(path)
    return Part(str(path), read_own)


def split_last(
    parts: Sequence[Part], fraction: float = 0.2
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """(training, calibration): the last part, or of a single part the last ``fraction`` of rows.

    >>> from rheostat.core.vocabulary import table
    >>> past, last = split_last([Part(table=table({"nodes": list(range(10))}))], 0.2)
    >>> past[0].count(), last[0].count()
    (8, 2)
    """
    if len(parts) > 1:
        return tuple(parts[:-1]), tuple(parts[-1:])
    (only,) = parts
    first = only.first()
    if first is None:
        raise DataError("parts", ["no rows at all"])
    total = only.count(first.columns[:1])
    edge = only.start + total - max(1, int(fraction * total))
    return (only.rows(only.start, edge),), (only.rows(edge, only.stop),)


def head(parts: Iterable[Part], count: int) -> list[JobTable]:
    """The first ``count`` batches over all parts, to look at."""
    return list(islice((b for p in parts for b in p.batches()), count))
