"""A trace as the engines want it: arrays in order of submission, and notes on every row left out.

Sizes are what was asked for, or else what was used.  A row that no machine could run - no size, no
run time, no submission, more processors than there are - is left out and noted.  Nothing is
rewritten: a run longer than its request stays so, and a request that is not there is said to be
planned with the true run time, which makes the plan clairvoyant for those rows.

    Symbol    Shape  Meaning
    submit_s  (n,)   submission, s, ascending; equal ones in the order of the trace
    run_s     (n,)   run time, s
    procs     (n,)   processors
    ask_s     (n,)   run time asked for, s
    row       (n,)   row of the job in the table it came from
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.core.outcome import Predictor
from rheostat.errors import DataError

Array = np.ndarray
UNITS = ("cores", "cores_alloc", "nodes", "nodes_alloc")
GPUS_ALONE = "no processors or nodes in the log: a processor of the machine is a GPU here"
UNSIZED = "which column has them? --column cores=THEIRS (nodes, gpus)"
Estimates = str | Array | Predictor


@dataclass(frozen=True)
class Workload:
    """The arrays of the notation above; ``unasked`` jobs had no requested run time."""

    submit_s: Array
    run_s: Array
    procs: Array
    ask_s: Array
    row: Array
    unasked: int
    notes: tuple[Note, ...]

    def __len__(self) -> int:
        return len(self.submit_s)


def workload(jobs: JobTable, machine: Machine) -> Workload:
    """What of ``jobs`` can run on ``machine``, in order of submission."""
    jobs.require("submit_s", "runtime_s")
    submit, run, procs = jobs.numpy("submit_s"), jobs.numpy("runtime_s"), sizes(jobs)
    ask = (
        jobs.numpy("time_limit_s") if "time_limit_s" in jobs.schema else np.full(len(jobs), np.nan)
    )
    reasons = {
        "no submission time": ~np.isfinite(submit),
        "no run time": ~np.isfinite(run),
        "negative run time": run < 0,
        "never started, as jobs that were cancelled while they waited": _unstarted(jobs, run),
        "no processors asked for or used": ~(procs > 0),
        "processors are not a whole number": procs != np.floor(procs),
        f"more processors than the machine's {machine.procs}": procs > machine.procs,
    }
    keep = np.ones(len(jobs), bool)
    notes = []
    for why, bad in reasons.items():
        hit = bad & keep & ~np.isnan(procs) if "whole" in why else bad & keep
        notes += [_rows(f"{why}: left out", hit, dropped=True)] if hit.any() else []
        keep &= ~hit
    if not keep.any():
        named = [] if {*UNITS} & {*jobs.columns} else [UNSIZED]
        problems = ["no row of the trace can run", *(n.message for n in notes), *named]
        raise DataError("simulate", problems)
    row = np.flatnonzero(keep)
    row = row[np.argsort(submit[row], kind="stable")]
    notes += _odd(submit, run, ask, keep) + _twice(jobs, keep)
    sized = any(jobs.frame[name].count() for name in UNITS if name in jobs.schema)
    notes += [] if sized else [Note(GPUS_ALONE)]
    unasked = ~(ask > 0)
    return Workload(
        submit[row],
        run[row],
        procs[row].astype(np.int64),
        np.where(unasked, run, ask)[row],
        row,
        int(unasked[row].sum()),
        tuple(notes),
    )


def _unstarted(jobs: JobTable, run: Array) -> Array:
    """Jobs of no length without a start, where the log tells that of others."""
    start = jobs.numpy("start_s") if "start_s" in jobs.schema else np.full(len(jobs), np.nan)
    never: Array = np.isnan(start) & (run == 0) & np.isfinite(start).any()
    return never


def sizes(jobs: JobTable) -> Array:
    """Processors asked for, else used, else nodes, else GPUs; NaN where the table has none."""
    size = np.full(len(jobs), np.nan)
    for name in UNITS:
        if name in jobs.schema and not (name == "nodes" and np.isfinite(size).any()):
            other = jobs.numpy(name)
            size = np.where(size > 0, size, np.where(other > 0, other, size))
        if name == "cores_alloc" and np.isfinite(size).any():
            break  # nodes and processors are different units: never mixed in one trace
    if np.isfinite(size).any():
        return size
    asked, given = (jobs.numpy(n) if n in jobs.schema else size for n in ("gpus", "gpus_alloc"))
    return np.where(asked > 0, asked, np.where(given > 0, given, np.nan))


def users(jobs: JobTable, load: Workload) -> Array:
    """A number per user, (n,); a job without one is a user of its own."""
    if "user" not in jobs.schema:
        return np.arange(len(load))
    names = jobs.frame["user"].cast(pl.String)[load.row]
    alone = pl.Series(np.arange(len(load))).cast(pl.String) + " alone"
    number: Array = names.fill_null(alone).rank("dense").to_numpy().astype(np.int64) - 1
    return number


def _odd(submit: Array, run: Array, ask: Array, keep: Array) -> list[Note]:
    """Notes on rows that are simulated as they are, though a reader would want to know."""
    late = np.zeros(len(submit), bool)
    kept = np.flatnonzero(keep)
    late[kept[1:]] = submit[kept[1:]] < np.maximum.accumulate(submit[kept])[:-1]
    hits = {
        "submitted before the row above: simulated in order of time": late,
        "zero run time: starts and ends at once": keep & (run == 0),
        "no requested run time: planned with the true one (clairvoyant)": keep & ~(ask > 0),
        "ran longer than requested: kept, planned with the request": keep & (ask > 0) & (run > ask),
    }
    return [_rows(why, hit) for why, hit in hits.items() if hit.any()]


def _twice(jobs: JobTable, keep: Array) -> list[Note]:
    """A note on jobs that share a number: each is simulated, and none can be told by it."""
    if "job_id" not in jobs.schema or not jobs.frame["job_id"].is_duplicated().any():
        return []
    hit = keep & jobs.frame["job_id"].is_duplicated().to_numpy()
    return [_rows("job number used more than once: each is simulated", hit)] if hit.any() else []


def _rows(message: str, hit: Array, *, dropped: bool = False) -> Note:
    rows = np.flatnonzero(hit)
    return Note(message, tuple(int(r) for r in rows[:10]), len(rows), dropped)


def schedule_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of a written schedule: job_id, submit_s, start_s, end_s, procs."""
    return frame.select("job_id", "submit_s", "start_s", "end_s", "procs")
