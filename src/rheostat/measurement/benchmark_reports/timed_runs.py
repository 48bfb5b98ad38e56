"""Timed runs of a report in JSON as a table of runs: settings, what was measured, what failed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.storage.json_files import read_document
from rheostat.core.vocabulary import column
from rheostat.errors import DataError
from rheostat.measurement.checks import as_jobs
from rheostat.measurement.runs.delimited import typed_frame


@dataclass(frozen=True)
class TimedRun:
    """One run: what was run, its settings, its run time in s and what else was measured."""

    app: str
    runtime_s: float | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    failed: bool = False


@dataclass(frozen=True)
class BenchmarkReport:
    """A format: how it begins, where its runs are, and what is said beside them.

    Parameters
    ----------
    name, about : str
        Of the format, and who writes it.
    begins : pattern of bytes
        What the start of such a file matches.
    runs : callable
        The runs of a document; nothing where it is another one.
    notes : callable
        What is to be said of a document.
    """

    name: str
    about: str
    begins: re.Pattern[bytes]
    runs: Callable[[Any], Iterator[TimedRun]]
    notes: Callable[[Any], Iterable[Note]] = lambda _document: ()

    def looks_like(self, start: bytes) -> bool:
        """Whether a file begins so."""
        return self.begins.match(start) is not None

    def read(self, path: str | Path) -> JobTable:
        """A row a run; names are applications where several were run, or no setting tells them.

        Parameters
        ----------
        path : path
            The report.

        Returns
        -------
        JobTable
            ``runtime_s``, settings and what else was measured; ``censored`` where a run failed.

        Raises
        ------
        DataError
            The file is damaged, of another format, or has no run.
        """
        document = read_document(path, self.about)
        runs = list(self.runs(document))
        if not runs:
            raise DataError(str(path), [f"has no run: expected {self.about}"])
        return _table(runs, self.notes(document))


def _table(runs: list[TimedRun], said: Iterable[Note]) -> JobTable:
    settings = sorted({name for run in runs for name in run.settings})
    cells = {name: [_text(run.settings.get(name)) for run in runs] for name in settings}
    if not settings or len({run.app for run in runs}) > 1:
        cells["app"] = [run.app for run in runs]
    frame, notes = typed_frame(cells, list(range(len(runs))))
    measured = sorted({name for run in runs for name in run.measured} - set(cells))
    frame = frame.with_columns(
        pl.Series("runtime_s", [run.runtime_s for run in runs], dtype=pl.Float64),
        pl.Series("censored", [run.failed for run in runs], dtype=pl.Boolean),
        *(pl.Series(n, [r.measured.get(n) for r in runs], dtype=pl.Float64) for n in measured),
    )
    meant = [column(name, meaning="a setting of the run") for name in settings]
    meant += [column(name, known=Moment.END) for name in measured]
    return as_jobs(frame, meant, (*said, *notes))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def number(value: Any) -> float | None:
    """A number of a document; None for anything else, truth values too.

    >>> number(2), number("2"), number(True)
    (2.0, None, None)
    """
    return float(value) if type(value) in (int, float) else None


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """What of an object is a number.

    >>> numbers({"watts": 200, "word": "a"})
    {'watts': 200.0}
    """
    return {str(k): n for k, v in values.items() if (n := number(v)) is not None}


def objects(document: Any, name: str) -> list[Mapping[str, Any]]:
    """The objects in a list of a document; none where there is no such list."""
    listed = document.get(name) if isinstance(document, Mapping) else None
    return [x for x in listed if isinstance(x, Mapping)] if isinstance(listed, list) else []
