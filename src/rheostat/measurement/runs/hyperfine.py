"""Read ``hyperfine --export-json``: a run for each time, settings from ``--parameter-list``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.storage.json_files import read_document
from rheostat.core.vocabulary import column
from rheostat.errors import DataError
from rheostat.measurement.checks import as_jobs
from rheostat.measurement.runs.delimited import typed_frame

BEGINS = re.compile(rb'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')
EXPECTED = "what hyperfine --export-json writes"


def is_hyperfine(start: bytes) -> bool:
    """Whether a file begins as hyperfine's JSON does.

    >>> is_hyperfine(b'{"results": [ {"command": "sort", "mean": 1.2'), is_hyperfine(b'{"a": []}')
    (True, False)
    """
    return BEGINS.match(start) is not None


def read_hyperfine(path: str | Path) -> JobTable:
    """Read every timed run; commands are applications where no parameter tells them apart.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    JobTable
        A row per run: ``runtime_s``, parameters as columns, ``censored`` where it failed.

    Raises
    ------
    DataError
        The file is damaged, of another format, or has no run.
    """
    document = read_document(path, EXPECTED)
    results = document.get("results") if isinstance(document, dict) else None
    rows = [row for result in results or () for row in _runs(result)] if results else []
    if not rows:
        raise DataError(str(path), [f"has no run: expected {EXPECTED}"])
    settings = sorted({name for row in rows for name in row["settings"]})
    cells = {name: [str(row["settings"].get(name, "")) for row in rows] for name in settings}
    if not settings:
        cells = {"app": [row["app"] for row in rows]}
    frame, notes = typed_frame(cells, list(range(len(rows))))
    failed = pl.Series([row["failed"] for row in rows], dtype=pl.Boolean)
    frame = frame.with_columns(
        runtime_s=pl.Series([row["runtime_s"] for row in rows], dtype=pl.Float64),
        censored=failed,
    )
    meant = [column(name, meaning="a parameter of the command") for name in settings]
    return as_jobs(frame, meant, notes)


def _runs(result: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(result, Mapping) or not isinstance(result.get("times"), list):
        return
    times, codes = result["times"], result.get("exit_codes")
    codes = codes if isinstance(codes, list) and len(codes) == len(times) else [0] * len(times)
    settings = result.get("parameters")
    for runtime_s, code in zip(times, codes, strict=True):
        if isinstance(runtime_s, (int, float)):
            yield {
                "app": str(result.get("command") or ""), "runtime_s": float(runtime_s),
                "settings": settings if isinstance(settings, Mapping) else {},
                "failed": code != 0,
            }  # fmt: skip
