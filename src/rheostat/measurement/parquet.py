"""Read a parquet file through a list of `Field`: ours, from which of theirs, by which expression.

The file is scanned lazily: only the columns that a field needs leave the disk, and a list of power
samples becomes a mean before anything else sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Column, JobTable, Note
from rheostat.core.storage.bounded_read import MOST_B, check_columns, check_rows
from rheostat.core.storage.files import ordinary_file
from rheostat.core.vocabulary import column
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs

NUMBER, TEXT, INSTANT, SERIES, ANY = "a number", "text", "an instant", "a list of numbers", "any"
MAGIC = b"PAR1"
# polars panics, which is no PolarsError, on some files whose inside was overwritten
BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
MOST_TEXT = 100
"""Times the size of the file that its texts may come to, where that is more than `MOST_B`."""
SMALL_B = 32_000_000
"""Files up to this size are decoded once beforehand: on a damaged size polars ends the process."""


@dataclass(frozen=True)
class Field:
    """Our column ``name`` = ``expr`` of their ``source``, which must be of a ``kind``."""

    name: str
    source: str
    expr: pl.Expr
    kind: str = NUMBER
    required: bool = False
    described: Column | None = None

    @property
    def column(self) -> Column:
        """Unit, moment and meaning: the field's own or the vocabulary's."""
        return self.described or column(self.name)


def number(name: str, source: str, scale: float = 1.0, *, required: bool = False) -> Field:
    """A number, times ``scale`` to reach our unit; integers stay integers at scale 1."""
    expr = pl.col(source) if scale == 1.0 else pl.col(source).cast(pl.Float64) * scale
    return Field(name, source, expr, NUMBER, required)


def text(name: str, source: str) -> Field:
    """A name: identifiers that are numbers become text, so that nobody averages them."""
    return Field(name, source, pl.col(source).cast(pl.String), ANY)


def scan(path: str | Path) -> tuple[pl.LazyFrame, pl.Schema]:
    """The lazy file and its column types; a cut or foreign file is a `DataError`."""
    path = ordinary_file(path)
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    if head != MAGIC:
        raise DataError(str(path), ["is not a parquet file (it does not begin with PAR1)"])
    if tail != MAGIC:
        hint = "is cut off: its end is missing; download or copy it again"
        raise DataError(str(path), [f"the parquet file {hint}"])
    try:
        lazy = pl.scan_parquet(path)
        types = lazy.collect_schema()
        rows = lazy.select(pl.len()).collect().item()
    except BROKEN as error:
        raise DataError(str(path), [f"is a damaged parquet file: {error}"]) from error
    check_rows(path, rows)
    check_columns(path, len(types))
    return lazy, types


def read_fields(
    path: str | Path,
    fields: Sequence[Field],
    *,
    notes: Sequence[Note] = (),
    derived: Sequence[pl.Expr] = (),
) -> JobTable:
    """The table of ``fields``; ``derived`` expressions see the renamed columns.

    All missing and mistyped columns are reported in one `DataError`.  Optional columns that are
    absent are named in a note, and so are the file's columns that no field reads.
    """
    lazy, types = scan(path)
    _check(path, fields, types)
    present = [f for f in fields if f.source in types]
    lazy = lazy.with_row_index(ROW).select(ROW, *(f.expr.alias(f.name) for f in present))
    frame = gather(path, lazy.with_columns(*derived))
    if not frame.height:
        raise DataError(str(path), ["has columns but no rows"])
    absent = [f.source for f in fields if f.source not in types]
    said = [Note(f"not in this file: {', '.join(absent)}")] if absent else []
    return as_jobs(frame, [f.column for f in fields], (*notes, *said))


def gather(path: str | Path, lazy: pl.LazyFrame) -> pl.DataFrame:
    """Collect a lazy frame over ``path``, streaming; damage met on the way is a `DataError`."""
    _must_decode(Path(path))
    try:
        frame = lazy.collect(engine="streaming")
    except BROKEN as error:
        first = str(error).partition("\n")[0][:300]
        raise DataError(str(path), [f"is damaged inside: {first}"]) from error
    check_text(path, frame)
    return frame


def flat(path: Path) -> tuple[pl.DataFrame, list[Note]]:
    """The columns of plain values as they stand, spans in seconds, the row in `ROW`; and notes."""
    lazy, types = scan(path)
    nested = [c for c, t in types.items() if t.is_nested()]
    notes = [Note(f"not read (lists and structures): {', '.join(nested)}")] if nested else []
    frame = gather(path, lazy.drop(nested).with_row_index(ROW))
    spans = [c for c, t in types.items() if t == pl.Duration]
    if not frame.height:
        raise DataError(str(path), ["has columns but no rows"])
    return frame.with_columns(pl.col(spans).dt.total_microseconds() / 1e6), notes


def check_text(path: str | Path, frame: pl.DataFrame) -> None:
    """A `DataError` where texts, which polars holds once each, come to more than one could."""
    texts = [n for n, t in frame.schema.items() if t == pl.String]
    lengths = frame.select(pl.col(texts).str.len_bytes().cast(pl.UInt64).sum())
    most = max(MOST_B, MOST_TEXT * Path(path).stat().st_size)
    if texts and (total := sum(n or 0 for n in lengths.row(0))) > most:
        problem = f"its texts come to {total:,} bytes, at most {most:,} are read of its size"
        raise DataError(str(path), [problem])


def _must_decode(path: Path) -> None:
    """Decode a small file with Arrow, which raises where polars would ask for 2^61 bytes.

    A text that stands in many rows is held once.
    """
    if path.stat().st_size > SMALL_B:
        return
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            columns = (file.schema.column(i) for i in range(len(file.schema)))
            texts = [c.path for c in columns if c.physical_type == "BYTE_ARRAY"]
        with ParquetFile(path, read_dictionary=texts) as file:
            for _ in file.iter_batches():
                pass
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        first = str(error).partition("\n")[0][:300]
        raise DataError(str(path), [f"is damaged inside: {first}"]) from error


def unread(fields: Sequence[Field], types: Sequence[str], why: str) -> list[Note]:
    """A note naming the file's columns that are not read."""
    left = [c for c in types if c not in {f.source for f in fields}]
    return [Note(f"not read ({why}): {', '.join(left)}")] if left else []


def _check(path: str | Path, fields: Sequence[Field], types: pl.Schema) -> None:
    problems = [
        f"column {f.source} is missing" for f in fields if f.required and f.source not in types
    ]
    problems += [
        f"column {f.source} is {types[f.source]}, expected {f.kind}"
        for f in {f.source: f for f in fields}.values()
        if f.source in types and not _is(types[f.source], f.kind)
    ]
    if problems:
        raise DataError(str(path), [*problems, f"present: {', '.join(types)}"])


def _is(dtype: pl.DataType, kind: str) -> bool:
    if kind == NUMBER:
        return dtype.is_numeric()
    if kind == TEXT:
        return dtype == pl.String or isinstance(dtype, (pl.Categorical, pl.Enum))
    if kind == INSTANT:
        return isinstance(dtype, pl.Datetime)
    if kind == SERIES:
        return isinstance(dtype, pl.List) and dtype.inner.is_numeric()
    return True
