"""The clock of `sacct`: local times without a zone, and the hour that a clock put back shows twice.

Notation
--------
times  (submit, eligible, start, end) of a job, seconds since 1970, None where not known
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise, product
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.dates import instants_of
from rheostat.measurement.slurm.sacct_lines import (
    WHEN,
    Cells,
    JobRun,
    elapsed_s,
    number,
    times_runs,
)

CLOCK = {"submit_s": "Submit", "eligible_s": "Eligible", "start_s": "Start", "end_s": "End"}
HOUR_S, CLOCK_ERROR_S = 3600.0, 60.0
GRACE_S = 300.0
"""How long after its limit a job may still end."""
PUT_BACK = (
    "times run backwards by up to an hour, as where a clock was put back: start_s and end_s not "
    "known (--zone Europe/Berlin, or where it stands, tells them)"
)
DERIVED = "no field Elapsed or ElapsedRaw: runtime_s is End less Start"
OFF = (
    ", an hour off where the site's clock was changed meanwhile (--zone Europe/Berlin, or where it "
    "stands, tells)"
)
REPEATED = (
    "times in the hour that a clock put back shows twice, and nothing tells which: the first is "
    "taken"
)
NO_LENGTH = "; of a run that may be an hour longer runtime_s is not known"
DOUBT = "__repeated_hour"
UNREAD = "{} is no time that can be told: null (SLURM_TIME_FORMAT=standard before sacct)"
NO_SUBMIT = "no field Submit: when jobs were submitted, and how long they waited, is not known"


def dated(runs: Sequence[JobRun]) -> tuple[list[JobRun], list[Note]]:
    """The runs with times as SLURM_TIME_FORMAT asked for them in ISO 8601, and what is noted.

    >>> cells = {"Submit": "13.09.2026 10:00:00", "Start": "Ystday 10:05"}
    >>> runs, notes = dated([JobRun(0, cells, [])])
    >>> runs[0].cells["Submit"], notes[0].message[:29]
    ('2026-09-13 10:00:00', "'Ystday 10:05' is no time tha")
    """
    names = [n for n in CLOCK.values() if any(_strange(run.cells.get(n, "")) for run in runs)]
    if not names:
        return list(runs), []
    texts = {n: pl.Series([run.cells[n] for run in runs], dtype=pl.String) for n in names}
    made, said = instants_of(texts)
    columns = [(made[n].cast(pl.String) if n in made else texts[n]).to_list() for n in names]
    read = [replace(run, cells={**run.cells, **dict(zip(names, row, strict=True))})
            for run, row in zip(runs, zip(*columns, strict=True), strict=True)]  # fmt: skip
    left = [(run.row, t) for run in read for n in names if _strange(t := run.cells[n])]
    notes = [Note(words) for words in said]
    if left:
        notes.append(note_rows(UNREAD.format(repr(left[0][1])), dict(left)))
    return read, notes


def _strange(text: str) -> bool:
    """Whether a cell says something that is not read as a time, nor a word for none."""
    if not text or WHEN.fullmatch(text) or number(text) is not None:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return True
    return False


def clocks_of(
    cells: Cells, zone: ZoneInfo, limit_s: float | None = None
) -> list[tuple[float | None, ...]]:
    """The instants of a job; in the hour that a clock repeats, all that fit each other best.

    They fit where time runs forwards, the run lasts as stated, and no longer than ``limit_s``.
    """
    readings = [_readings(cells.get(theirs, ""), zone) for theirs in CLOCK.values()]
    every = list(product(*readings))
    if len(every) == 1:
        return every
    misfits = [misfit(times, elapsed_s(cells), limit_s) for times in every]
    return [times for times, off in zip(every, misfits, strict=True) if off == min(misfits)]


def length_s(cells: Cells, clocks: Sequence[Sequence[float | None]]) -> float | None:
    """Seconds that a job ran: as stated, else its end less its start where that is one value."""
    if times_runs(cells):
        return elapsed_s(cells)
    spans = {None if not a or not b or b < a else b - a for *_, a, b in clocks}
    return spans.pop() if len(spans) == 1 else None


def misfit(
    times: Sequence[float | None], runtime: float | None, limit_s: float | None
) -> tuple[int, float]:
    """How often time runs backwards, and by how much the run's length is not the one stated.

    Where none is stated, by how much it is over the limit.
    """
    known = [t for t in times if t is not None]
    backwards = sum(b < a for a, b in pairwise(known))
    start, end = times[-2:]
    if start is None or end is None:
        return backwards, 0.0
    if runtime is None:
        return backwards, 0.0 if limit_s is None else max(0.0, end - start - limit_s - GRACE_S)
    return backwards, abs(end - start - runtime)


def _readings(text: str, zone: ZoneInfo) -> tuple[float | None, ...]:
    """Seconds since 1970: one value, or two where a clock that was put back shows it twice."""
    if text.isdigit():
        return (float(text),)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return (None,)
    if when.tzinfo:
        return (when.timestamp(),)
    both = (when.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
    return tuple(dict.fromkeys(both))


def time_zone(name: str) -> ZoneInfo:
    """The zone of that name; any other text is a `DataError`."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise DataError("zone", [f"expected a name like Europe/Paris, got {name!r}"]) from error


def put_back(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[int]]:
    """Runs whose clock went back meanwhile, without start and end; and which rows they are of.

    A run time that the end less the start misses by one hour tells it, and so does a start before
    the submission by less.

    >>> run = {ROW: 0, "submit_s": 0.0, "start_s": 9000.0, "end_s": 7200.0, "runtime_s": 1800.0}
    >>> put_back([run, {**run, "end_s": 10800.0}])[1]
    [0]
    """
    back = [run[ROW] for run in rows if _went_back(run)]
    unknown = {"start_s": None, "end_s": None}
    gone = set(back)
    return [{**run, **unknown} if run[ROW] in gone else run for run in rows], back


def _went_back(run: Mapping[str, Any]) -> bool:
    times: list[float | None] = [run[k] for k in ("submit_s", "start_s", "end_s", "runtime_s")]
    submit, start, end, length = times
    before = submit is not None and start is not None and 0 < submit - start <= HOUR_S
    if start is None or end is None:
        return before
    if length is None:
        return before or 0 < start - end <= HOUR_S
    return before or (end < start and abs(end + HOUR_S - start - length) < CLOCK_ERROR_S)
