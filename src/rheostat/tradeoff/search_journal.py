"""The journal of a search: every result on disk before the next question is asked.

Measurements are expensive and jobs get killed.  Each line is one JSON object with its checksum:
first a header, then what was asked and what was told.  A result counts as told once its line,
newline included, has been written and flushed to the device; a line without a newline at the end of
the file was cut off while being written, and is noted and removed.

The header says what was searched: the program that was run, the space, the objectives.  Results of
one program are worth nothing to another, so that another search is refused.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note, Schema
from rheostat.core.outcome import Outcome
from rheostat.core.space import Forbidden
from rheostat.core.storage.bounded_read import checked_size, read_all
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import named_errors, parse_json, seal, unsealed
from rheostat.errors import DataError

SCHEMA = "rheostat.journal/2"
BEGINS = b'{"schema": "rheostat.journal/'
SHOWN = 300
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError)
_PLAIN = (bool, int, float, str, type(None))


class SearchJournal:
    """An append-only file of asked and told settings; one search at a time may hold it.

    Parameters
    ----------
    path : path
        Opening reads what is there: ``results`` (pairs of one-row table and outcome), ``pending``
        (asked, never told) and ``notes``.
    proposer : Proposer
        Its objectives, its space and the job it is about make up the header.
    measure : callable, optional
        Its attribute ``program``, a text, where it has one: what is run.

    Raises
    ------
    DataError
        The file holds another search, or is no journal; it is left as it is.
    """

    def __init__(self, path: str | Path, proposer: Any, measure: Any = None) -> None:
        self.path = Path(path)
        self.searched = _searched(proposer, measure)
        self.results: list[tuple[JobTable, Outcome]] = []
        self.pending: list[JobTable] = []
        self.notes: tuple[Note, ...] = ()
        self._columns: list[list[str]] | None = None

    def __enter__(self) -> SearchJournal:
        if os.path.lexists(self.path):
            checked_size(self.path, new=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "a+b")
        try:
            _lock(self._file.fileno(), self.path)
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._file.close()

    def asked(self, jobs: JobTable) -> None:
        """Write down what is about to be measured."""
        if self._columns is None:
            self._columns = _described(jobs)
            self._append({"schema": SCHEMA, **self.searched, "columns": self._columns})
        self._append({"asked": [_plain(row, self.path) for row in jobs.frame.rows(named=True)]})

    def tell(self, jobs: JobTable, outcome: Outcome) -> None:
        """Write down one result; when this returns, the device has it."""
        row = _plain(jobs.frame.row(0, named=True), self.path)
        draws = {n: [_null(v) for v in outcome[n][:, 0]] for n in outcome.names}
        support = None if outcome.support is None else float(outcome.support[0])
        self._append({"told": row, "draws": draws, "support": support})

    def _append(self, record: dict[str, Any]) -> None:
        with named_errors(self.path):
            self._file.write(json.dumps(seal(record), allow_nan=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())

    def _read(self) -> None:
        self._file.seek(0)
        text = read_all(self._file, self.path)
        if not text.startswith(BEGINS[: len(text)]):
            raise other_kind(self.path, f"a journal of schema {SCHEMA}")
        whole = text.rfind(b"\n") + 1
        waiting: dict[str, JobTable] = {}
        for number, line in enumerate(text[:whole].splitlines(), start=1):
            try:
                self._take(self._record(line), waiting)
            except _DAMAGE as error:
                message = f"line {number} is damaged: mend it, or move the file away to start anew"
                raise DataError(str(self.path), [message]) from error
        if whole < len(text):
            self.notes = (Note("journal: the last line was cut off and is ignored", count=1),)
            self._file.truncate(whole)
        self.pending = list(waiting.values())

    def _record(self, line: bytes) -> dict[str, Any]:
        record = parse_json(line)
        if record.get("schema", SCHEMA) != SCHEMA:
            message = (
                f"expected schema {SCHEMA}, got {record['schema']}, which does not say what ran"
            )
            raise DataError(str(self.path), [message, "move the file away to start anew"])
        try:
            checked: dict[str, Any] = unsealed(record, self.path)
        except DataError as error:
            raise ValueError("checksum") from error
        return checked

    def _take(self, record: dict[str, Any], waiting: dict[str, JobTable]) -> None:
        if "schema" in record:
            self._check(record)
        for row in record.get("asked", ()):
            waiting[_name(row)] = self._table(row)
        if "told" in record:
            waiting.pop(_name(record["told"]), None)
            self.results.append((self._table(record["told"]), _outcome(record)))

    def _check(self, header: dict[str, Any]) -> None:
        """Refuse another search, with all that differs."""
        problems = [
            f"{name}: {_said(header.get(name))} there, {_said(mine)} now"
            for name, mine in self.searched.items()
            if header.get(name) != mine
        ]
        if problems:
            hint = "name another journal, or move this one away to start anew"
            raise DataError(str(self.path), ["holds another search", *problems, hint])
        self._columns = header["columns"]

    def _table(self, row: dict[str, Any]) -> JobTable:
        _plain(row, self.path)
        schema = Schema(Column(n, u, Moment[k], m) for n, u, k, m in self._columns or ())
        return JobTable(pl.DataFrame([row]), schema.only(row))


def _searched(proposer: Any, measure: Any) -> dict[str, Any]:
    """What a journal is about, as plain values that a file gives back."""
    space = getattr(proposer, "space", None)
    job = getattr(proposer, "job", None)
    knobs = () if space is None else space.knobs
    constraints = () if space is None else space.constraints
    header = {
        "program": str(getattr(measure, "program", "")),
        "space": [[k.name, list(k.values) or [k.low, k.high]] for k in knobs],
        "job": None if job is None else job.frame.row(0, named=True),
        "objectives": [[o.name, o.sense] for o in proposer.objectives],
        "forbidden": [c.values for c in constraints if isinstance(c, Forbidden)] or None,
    }
    plain: dict[str, Any] = json.loads(json.dumps(header, default=str))
    return plain


def _said(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def _described(jobs: JobTable) -> list[list[str]]:
    return [[c.name, c.unit, c.known.name, c.meaning] for c in jobs.schema.values()]


def _plain(row: dict[str, Any], path: Path) -> dict[str, Any]:
    strange = [
        f"column {k} holds a {type(v).__name__}" for k, v in row.items() if type(v) not in _PLAIN
    ]
    if strange:
        raise DataError(
            str(path), [*strange, "a journal keeps numbers, text and booleans: drop it"]
        )
    return row


def _null(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _name(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def _outcome(record: dict[str, Any]) -> Outcome:
    draws = {
        n: np.array([np.nan if v is None else v for v in values], dtype=float)[:, None]
        for n, values in record["draws"].items()
    }
    support = record.get("support")
    return Outcome(draws, None if support is None else np.array([support]))


def _lock(descriptor: int, path: Path) -> None:
    """Refuse a second search on the same journal; the lock goes when its holder ends, however."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: nothing to lock with
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DataError(str(path), ["another search is writing to this journal"]) from error
