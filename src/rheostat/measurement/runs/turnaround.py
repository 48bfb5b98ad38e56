"""Run times where a table tells how long a job took from its submission on, and how it waited."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

TURNAROUND = re.compile(r"(turn_?around|sojourn)(_?time)?|time_(in|to)_system")
RUN = {"runtime_s", "start_s", "end_s"}
WITH_WAIT = (
    "{} is the time from submission to end: with the wait in the queue, which nothing here tells; "
    "a run time is --column runtime_s=THEIRS"
)


def without_wait(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """With the run time where a turnaround stands beside a wait, and nothing else is a run time.

    >>> jobs = pl.DataFrame({"turnaround_min": [70.0, 50.0], "wait_s": [600.0, 0.0]})
    >>> frame, notes = without_wait(jobs)
    >>> frame["runtime_s"].to_list(), notes[0].message
    ([3600.0, 3000.0], 'runtime_s is turnaround_min less wait_s')
    """
    named = {c: guess_name(c) for c in frame.columns}
    whole = [c for c in frame.columns if _is_turnaround(c) and frame[c].dtype.is_numeric()]
    if RUN & set(named.values()) or len(whole) != 1:
        return frame, []
    waits = [c for c, n in named.items() if n == "wait_s" and frame[c].dtype.is_numeric()]
    if len(waits) != 1:
        return frame, [Note(WITH_WAIT.format(whole[0]))]
    less = _seconds(whole[0]) - _seconds(waits[0])
    made = frame.with_columns(runtime_s=pl.when(less >= 0).then(less)).drop(whole[0])
    return made, [Note(f"runtime_s is {whole[0]} less {waits[0]}")]


def _is_turnaround(heading: str) -> bool:
    stem = split_unit(heading, timed=True)[0]
    return TURNAROUND.fullmatch(re.sub(r"[\W_]+", "_", stem.lower()).strip("_")) is not None


def _seconds(heading: str) -> pl.Expr:
    return pl.col(heading).cast(pl.Float64) * split_unit(heading, timed=True)[3]
