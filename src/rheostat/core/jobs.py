"""`JobTable`: rows of jobs at settings, and for each column its unit and the moment it is known.

A trace, the alternatives of one job, a set of measured runs and the output of a simulation are the
same thing: one row is one job at one setting.  Each column says *when* it becomes known, so that a
model asked at submit time can be shown, by construction, nothing that only the end reveals.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.storage.bounded_read import check_rows, checked_size
from rheostat.core.storage.files import replacing
from rheostat.errors import DataError, LeakError

MOST_NAMES = 6
"""Columns that the short form of a table names."""


class Moment(IntEnum):
    """When a value becomes known; a later moment knows everything an earlier one does."""

    SUBMIT = 0
    START = 1
    END = 2


@dataclass(frozen=True)
class Column:
    """What a column means: ``unit`` in SI ("s", "W", "J", "" for counts and names), when known.

    Parameters
    ----------
    name : str
        Its name in the frame.
    unit : str
        SI unit; empty for counts and names.
    known : Moment
        When its values become known.
    meaning : str
        What it holds.
    """

    name: str
    unit: str
    known: Moment
    meaning: str = ""


@dataclass(frozen=True)
class Note:
    """Something a reader or model noticed.  ``rows`` are row numbers of the source, from 0.

    ``count`` is the number of rows concerned (``rows`` may list only the first of them);
    ``dropped`` tells whether those rows were left out of the table.
    """

    message: str
    rows: tuple[int, ...] = ()
    count: int = 0
    dropped: bool = False


class Schema(Mapping[str, Column]):
    """Columns by name, in table order; immutable."""

    def __init__(self, columns: Iterable[Column] = ()) -> None:
        self._columns = {c.name: c for c in columns}

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """This schema with ``columns`` added or replaced."""
        return Schema({**self._columns, **{c.name: c for c in columns}}.values())

    def only(self, names: Iterable[str]) -> Schema:
        """The columns in ``names``, in that order."""
        return Schema(self._columns[n] for n in names)


@dataclass(frozen=True, repr=False)
class JobTable:
    """Jobs at settings: a polars ``frame``, its ``schema`` and the reader's ``notes``.

    Every column of the frame has a `Column` in the schema and the reverse.

    Parameters
    ----------
    frame : polars.DataFrame
        A row per job, a column per quantity.
    schema : Schema
        A `Column` for each column of the frame.
    notes : tuple of Note
        What a reader left out, repaired or assumed.

    Raises
    ------
    DataError
        Frame and schema have different columns.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> jobs = table({"job_id": [1, 2], "nodes": [4, 8], "runtime_s": [60.0, 40.0]})
    >>> jobs.known_at(Moment.SUBMIT).columns
    ('job_id', 'nodes')
    >>> jobs
    <JobTable: 2 rows of job_id, nodes, runtime_s>
    >>> jobs.job(2).frame["nodes"].to_list()
    [8]
    >>> jobs.job(3)
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: job 3: not in this table of 2 rows; job_id runs from 1 to 2
    """

    frame: pl.DataFrame
    schema: Schema
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        problems = [
            f"column {c} has no schema entry" for c in self.frame.columns if c not in self.schema
        ]
        there = set(self.frame.columns)  # polars lists them anew at each call
        problems += [f"schema names {c}, the frame has not" for c in self.schema if c not in there]
        if problems:
            raise DataError("JobTable", problems)

    def __len__(self) -> int:
        return self.frame.height

    @property
    def columns(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(self.frame.columns)

    def known_at(self, moment: Moment) -> JobTable:
        """Only the columns known at ``moment``."""
        return self.select([c for c in self.columns if self.schema[c].known <= moment])

    def refuse_later_than(self, moment: Moment, columns: Iterable[str]) -> None:
        """Raise `LeakError` naming each of ``columns`` that becomes known after ``moment``."""
        late = [c for c in columns if c in self.schema and self.schema[c].known > moment]
        if late:
            raise LeakError(moment.name, late)

    def select(self, names: Sequence[str]) -> JobTable:
        """These columns; a `DataError` names all that are missing."""
        self.require(*names)
        return replace(self, frame=self.frame.select(names), schema=self.schema.only(names))

    def require(self, *names: str) -> None:
        """Raise a `DataError` that names every missing column and lists those present."""
        missing = [n for n in names if n not in self.schema]
        if missing:
            raise DataError(
                "table",
                [f"column {n} is missing" for n in missing]
                + [f"present: {', '.join(self.columns)}"],
            )

    def with_columns(self, columns: Iterable[Column], **values: Any) -> JobTable:
        """Add or replace columns; ``values`` are arrays, series, scalars or polars expressions."""
        columns = tuple(columns)
        exprs = {
            k: v if isinstance(v, (pl.Expr, pl.Series)) else _literal(v) for k, v in values.items()
        }
        return replace(
            self, frame=self.frame.with_columns(**exprs), schema=self.schema.with_columns(columns)
        )

    def rows(self, where: pl.Expr | np.ndarray | Sequence[int]) -> JobTable:
        """Rows by expression, boolean mask or indices; order is kept (indices: as given)."""
        if isinstance(where, pl.Expr):
            return replace(self, frame=self.frame.filter(where))
        index = np.asarray(where)
        if index.dtype == bool:
            return replace(self, frame=self.frame.filter(pl.Series(index)))
        return replace(self, frame=self.frame[index.astype(np.int64)])

    def job(self, job_id: int | str) -> JobTable:
        """The rows of one job."""
        self.require("job_id")
        ids = self.frame["job_id"]
        rows = self.rows(ids.cast(pl.String).to_numpy() == str(job_id))
        if not len(rows):
            there = f"job_id runs from {ids.min()!s} to {ids.max()!s}"
            raise DataError(f"job {job_id}", [f"not in this table of {len(self)} rows; {there}"])
        return rows

    def split_by_time(self, fraction: float, by: str = "submit_s") -> tuple[JobTable, JobTable]:
        """(past, recent): the first ``fraction`` of rows by submit time, ties to the past.

        A model is judged on the recent part only; a random split would let it see the future.
        """
        self.require(by)
        if not 0 < fraction < 1:
            raise DataError("split_by_time", [f"expected 0 < fraction < 1, got {fraction}"])
        ordered = self.frame.sort(by, nulls_last=True, maintain_order=True)
        if not ordered.height:
            return self, self
        edge = ordered[by][max(0, int(fraction * ordered.height) - 1)]
        past = ordered.filter(pl.col(by) <= edge)
        recent = ordered.filter((pl.col(by) > edge) | pl.col(by).is_null())
        return replace(self, frame=past), replace(self, frame=recent)

    def noted(self, *notes: Note) -> JobTable:
        """The same table with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def numpy(self, name: str) -> np.ndarray:
        """One numeric column as float64, null as NaN."""
        self.require(name)
        values = self.frame[name].cast(pl.Float64, strict=False)
        odd = values.is_null() & self.frame[name].is_not_null()
        if odd.any():
            at = int(odd.arg_max() or 0)
            problem = f"expected a number, got {self.frame[name][at]!r} in row {at}"
            raise DataError(f"column {name}", [problem[:300]])
        return values.fill_null(np.nan).to_numpy()

    @property
    def cut_off(self) -> np.ndarray:
        """(n,) bool: rows marked ``censored``; false where that is missing."""
        if "censored" not in self.columns:
            return np.zeros(len(self), dtype=bool)
        return self.frame["censored"].cast(pl.Boolean).fill_null(value=False).to_numpy()

    def finished(self) -> JobTable:
        """Rows that were not cut off: those whose runtime and energy are measurements."""
        return self.rows(~self.cut_off) if self.cut_off.any() else self

    def to_pandas(self) -> Any:
        """The rows as a frame of pandas, which has to be installed with pyarrow.

        Units and moments stay behind: `rheostat.table` gives those of the vocabulary back.
        """
        return self.frame.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for pyarrow, DuckDB, pandas and others, by Arrow's C interface."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = ", ".join(self.columns[:MOST_NAMES])
        more = f" and {len(self.columns) - MOST_NAMES} more" * (len(self.columns) > MOST_NAMES)
        noted = f"; {len(self.notes)} note{'s' * (len(self.notes) > 1)}" if self.notes else ""
        return f"<JobTable: {len(self):,} row{'s' * (len(self) != 1)} of {names}{more}{noted}>"

    def _repr_html_(self) -> str:
        return self.frame._repr_html_()

    def write_parquet(self, path: str | Path) -> None:
        """Write with units, moments and notes in the metadata; `read_parquet` restores them."""
        columns = [[c.name, c.unit, c.known.name, c.meaning] for c in self.schema.values()]
        notes = [[n.message, list(n.rows), n.count, n.dropped] for n in self.notes]
        meta = json.dumps({"schema": "rheostat.jobs/1", "columns": columns, "notes": notes})
        with replacing(path) as draft:
            try:
                self.frame.write_parquet(draft, metadata={"rheostat": meta})
            except pl.exceptions.ComputeError as error:  # a full device, as polars tells it
                raise OSError(errno.EIO, f"{error}"[:200], str(path)) from error

    @classmethod
    def read_parquet(cls, path: str | Path) -> JobTable:
        """A table written by `write_parquet`."""
        meta = pl.read_parquet_metadata(checked_size(path)).get("rheostat")
        if meta is None:
            raise DataError(
                str(path), ["not written by rheostat; read other formats with rheostat.read"]
            )
        check_rows(path, pl.scan_parquet(path).select(pl.len()).collect().item())
        facts = json.loads(meta)
        schema = Schema(Column(n, u, Moment[k], m) for n, u, k, m in facts["columns"])
        notes = tuple(Note(m, tuple(r), c, d) for m, r, c, d in facts["notes"])
        return cls(pl.read_parquet(path), schema, notes)


def concat(tables: Sequence[JobTable]) -> JobTable:
    """Tables one under the other; a column absent from one of them is null there.

    Parameters
    ----------
    tables
        Of any columns.

    Returns
    -------
    JobTable
        All rows and all notes, in order.

    Raises
    ------
    DataError
        A column holds text in one table and numbers in another.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> concat([table({"nodes": [1]}), table({"nodes": [2], "user": ["a"]})]).frame.rows()
    [(1, None), (2, 'a')]
    """
    if not tables:
        return JobTable(pl.DataFrame(), Schema())
    try:
        frame = pl.concat([t.frame for t in tables], how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise DataError("tables", [f"do not fit together: {error}".splitlines()[0]]) from error
    schema = Schema(c for t in reversed(tables) for c in t.schema.values()).only(frame.columns)
    return JobTable(frame, schema, tuple(n for t in tables for n in t.notes))


def _literal(value: Any) -> pl.Expr | pl.Series:
    """A scalar as a literal, anything with a length as a series."""
    if isinstance(value, str) or np.ndim(value) == 0:
        return pl.lit(value)
    return pl.Series(value)
