"""One row a job: the latest of its runs, with the hours of those before, which are lost."""

from __future__ import annotations

from typing import Any

import polars as pl

from rheostat.core.jobs import Column, Moment
from rheostat.measurement.checks import ROW
from rheostat.measurement.slurm.latest_runs import jobs_apart

SIZES = {"requeued_node_hours": ("nodes", "node_h"), "requeued_core_hours": ("cores", "core_h")}
"""What earlier runs used, by what they are counted in."""
EARLIER = tuple(
    Column(name, unit, Moment.END, f"{size[:-1]}-hours of the job's earlier runs")
    for name, (size, unit) in SIZES.items()
)
TYPES = dict.fromkeys(SIZES, pl.Float64)

Row = dict[str, Any]


def latest(rows: list[Row]) -> tuple[list[Row], list[int], list[int]]:
    """One row a job, of a job with several the one that ended last; the others' numbers.

    And those of jobs whose number another job had before: numbers begin anew.

    >>> run = {ROW: 0, "job_id": "7", "user": "ann", "submit_s": 0.0, "start_s": 0.0,
    ...        "end_s": 3600.0, "runtime_s": 3600.0, "nodes": None, "cores": 8}
    >>> kept, gone, anew = latest([run, {**run, ROW: 1, "start_s": 9e3, "end_s": 9.9e3}])
    >>> gone, anew, [(row["start_s"], row["requeued_core_hours"]) for row in kept]
    ([0], [], [(9000.0, 8.0)])
    """
    numbered: dict[str, list[Row]] = {}
    for row in rows:
        numbered.setdefault(row["job_id"], []).append(row)
    kept, gone, anew = list[Row](), list[int](), list[int]()
    for of_number in numbered.values():
        jobs = jobs_apart(sorted(of_number, key=_recency))
        kept += [{**job[-1], **_hours_before(job)} for job in jobs]
        gone += [row[ROW] for job in jobs for row in job[:-1]]
        anew += [job[-1][ROW] for job in jobs[1:]]
    return sorted(kept, key=lambda row: row[ROW]), sorted(gone), sorted(anew)


def _recency(row: Row) -> tuple[Any, ...]:
    """Of equal ends the last one listed is the later."""
    return row["user"] or "", row["submit_s"] or 0.0, row["end_s"] or 0.0


def _hours_before(runs: list[Row]) -> Row:
    """Node- and core-hours of a job before its last run; one that is listed twice counts once."""
    last = runs[-1]
    starts = {run["start_s"]: run for run in runs if run["start_s"] is not None}
    starts.pop(last["start_s"], None)
    made = {}
    for name, (size, _) in SIZES.items():
        used = [(r[size] or 0) * (r["runtime_s"] or 0.0) / 3600.0 for r in starts.values()]
        stated = last.get(name)  # by the record itself
        made[name] = sum(used) + (stated or 0.0) if used or stated else None
    return made


def with_none(frame: pl.DataFrame) -> pl.DataFrame:
    """Hours of earlier runs as 0 where a job has none and another one has."""
    some = [n for n in SIZES if n in frame.columns and frame[n].count()]
    return frame.with_columns(pl.col(some).fill_null(0.0))
