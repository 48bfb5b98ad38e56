"""The numbers behind a report's pictures of several runs: a few thousand, however long the trace.

Nothing is drawn per job except in a close-up of a few hundred: time is cut into bins, users beyond
the largest are one row, and differences between runs are counted in classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.measurement.job_logs.log_usage import calendar_zero_s
from rheostat.simulation.result import Simulation
from rheostat.simulation.schedule_metrics import SIZES, size_class
from rheostat.simulation.timeline import even_edges, mean_in, peak_in, place, steps

Array = np.ndarray
BINS = 240
WAIT_CELLS = 36
ROWS = 10
CLOSE_UP = 250
DAYS = (24, 20_000)
NARROWEST_S = 3 * 3600.0
CHANGES = (
    "sooner by over a day",
    "1 h to a day sooner",
    "1 min to 1 h sooner",
    "the same",
    "1 min to 1 h later",
    "1 h to a day later",
    "later by over a day",
)
CHANGE_EDGES_S = (-86_400.0, -3600.0, -60.0, 60.0, 3600.0, 86_400.0)


def picture(runs: Sequence[Simulation]) -> dict[str, Any]:
    """Series over time, occupancy by user, a close-up, and differences from the first run."""
    begin = min(float(r.jobs.numpy("submit_s").min()) for r in runs)
    end = max(map(_last_end, runs))
    edges = even_edges(begin, end, BINS)
    days = (edges - begin) / 86_400
    return {
        "begin_s": begin,
        "calendar_s": calendar_zero_s(runs[0].jobs),
        "bin_s": float(edges[1] - edges[0]),
        "day": days[:-1] + np.diff(days) / 2,
        "series": {r.policy.name: _series(r, edges) for r in runs},
        "end_day": {r.policy.name: (_last_end(r) - begin) / 86_400 for r in runs},
        "cap_w": _cap(runs[0], edges),
        "occupancy": {r.policy.name: _occupancy(r, edges) for r in _ends(runs)},
        "close_up": {r.policy.name: c for r, c in _close_ups(runs, begin)},
        "change_classes": CHANGES,
        "changes": {r.policy.name: changes(r.jobs, runs[0].jobs) for r in runs[1:]},
        "wait_pairs": wait_pairs(runs[-1].jobs, runs[0].jobs) if len(runs) > 1 else None,
    }


def _last_end(run: Simulation) -> float:
    return float(run.jobs.numpy("end_s").max())


def _ends(runs: Sequence[Simulation]) -> list[Simulation]:
    """The first run and the last: what a reader compares by eye."""
    return [runs[0]] if len(runs) == 1 else [runs[0], runs[-1]]


def _series(run: Simulation, edges: Array) -> dict[str, Any]:
    jobs = run.jobs
    submit, start, end = (jobs.numpy(c) for c in ("submit_s", "start_s", "end_s"))
    procs = jobs.numpy("procs")
    queue = steps(submit, start, np.ones(len(jobs)))
    result = {
        "utilisation": mean_in(*steps(start, end, procs), edges) / run.machine.procs,
        "queue": mean_in(*queue, edges),
        "queue_peak": peak_in(*queue, edges),
    }
    energy = run.account
    if energy is None or not len(energy.times) or not np.isfinite(energy.watts).all():
        return result
    drawn = energy.times, energy.watts
    return result | {
        "power_w": mean_in(*drawn, edges),
        "peak_w": peak_in(*drawn, edges),
        "cap_exceeded_s": energy.cap_exceeded_s,
        "cap_excess_w": energy.cap_excess_w,
    }


def _cap(run: Simulation, edges: Array) -> Array | None:
    """(m,) mean of the power cap in each bin; None without one."""
    cap = run.machine.cap_w
    if cap is None:
        return None
    t = np.concatenate(([edges[0]], cap.changes(edges[0], edges[-1]), [edges[-1] + 1.0]))
    return mean_in(t, cap.at(t), edges)


def _occupancy(run: Simulation, edges: Array) -> dict[str, Any]:
    """Share of the machine that each of the largest users holds, or each size class."""
    jobs = run.jobs
    names, index = _rows_of(jobs, run.machine.procs)
    start, end, procs = (jobs.numpy(c) for c in ("start_s", "end_s", "procs"))
    share = [
        mean_in(*steps(start[hit], end[hit], procs[hit]), edges) / run.machine.procs
        for hit in (index == i for i in range(len(names)))
    ]
    return {"rows": names, "share": np.array(share)}


def _rows_of(jobs: JobTable, procs: int) -> tuple[list[str], Array]:
    """Names of the rows and the row of each job, largest first."""
    if "user" not in jobs.schema or jobs.frame["user"].null_count() == len(jobs):
        index = size_class(jobs.numpy("procs"), procs)
        return [n for i, n in enumerate(SIZES) if (index == i).any()], np.unique(
            index, return_inverse=True
        )[1]
    frame = jobs.frame.select("user", area=pl.col("procs") * pl.col("runtime_s"))
    known = frame.filter(pl.col("user").is_not_null())
    order = known.group_by("user").agg(pl.col("area").sum()).sort(
        ["area", "user"], descending=[True, False]
    )  # fmt: skip
    top = order["user"].head(ROWS).to_list()
    rank = {u: i for i, u in enumerate(top)}
    index = frame["user"].replace_strict(rank, default=len(top), return_dtype=pl.Int64).to_numpy()
    names = [f"user {u}" for u in top]
    return [*names, "all others"] if (index == len(top)).any() else names, index


def _close_ups(runs: Sequence[Simulation], begin: float) -> list[tuple[Simulation, dict[str, Any]]]:
    """Job by job, the same window for the first and the last run: where most is waited for."""
    base = runs[0].jobs
    submit, start = base.numpy("submit_s"), base.numpy("start_s")
    middle = _busiest(submit, start, base.numpy("procs"))
    near = np.sort(np.abs(start - middle))
    half = max(float(near[min(len(near) - 1, CLOSE_UP // 2)]), NARROWEST_S)
    return [(r, _close_up(r, (middle - half, middle + half), begin)) for r in _ends(runs)]


def _busiest(submit: Array, start: Array, procs: Array) -> float:
    """Middle of the day (or shorter bin of a short trace) on which most is waited for, s."""
    begin, end = float(submit.min()), float(start.max())
    bins = int(np.clip((end - begin) / 86_400, *DAYS))
    edges = even_edges(begin, end, bins)
    most = int(np.argmax(mean_in(*steps(submit, start, procs), edges)))
    return float(edges[most : most + 2].mean())


def _close_up(run: Simulation, window: tuple[float, float], begin: float) -> dict[str, Any]:
    jobs = run.jobs
    start, end = jobs.numpy("start_s"), jobs.numpy("end_s")
    seen = np.flatnonzero((start < window[1]) & (end > window[0]) & (end > start))
    left_out = max(0, len(seen) - 2 * CLOSE_UP)
    seen = seen[np.argsort(-jobs.numpy("procs")[seen], kind="stable")][: 2 * CLOSE_UP]
    seen = np.sort(seen)
    pieces = place(start[seen], end[seen], jobs.numpy("procs")[seen].astype(int))
    row = seen[[p[0] for p in pieces]] if pieces else seen[:0]
    low, high = np.maximum(start[row], window[0]), np.minimum(end[row], window[1])
    return {
        "day": (window[0] - begin) / 86_400,
        "hour": (low - window[0]) / 3600,
        "hours": (high - low) / 3600,
        "machine": run.machine.procs,
        "lowest": np.array([p[1] for p in pieces]),
        "procs": np.array([p[2] for p in pieces]),
        "job_id": jobs.frame["job_id"].gather(row).cast(pl.String).to_list(),
        "wait_s": jobs.numpy("wait_s")[row],
        "jobs": len(seen),
        "left_out": left_out,
    }


def changes(jobs: JobTable, base: JobTable) -> Array:
    """(7,) share of the jobs in each of `CHANGES` of their wait."""
    moved = jobs.numpy("wait_s") - base.numpy("wait_s")
    index = np.searchsorted(CHANGE_EDGES_S, moved, side="right")
    index[moved == CHANGE_EDGES_S[3]] = 3
    return np.bincount(index, minlength=len(CHANGES)) / max(1, len(jobs))


def wait_pairs(jobs: JobTable, base: JobTable) -> dict[str, Any]:
    """Numbers of jobs over (log wait in base, log wait now); waits below 1 s count as 1 s."""
    old, new = (np.log10(np.maximum(j.numpy("wait_s"), 1.0)) for j in (base, jobs))
    top = max(float(old.max()), float(new.max()), 1.0)
    count, edges, _ = np.histogram2d(new, old, bins=WAIT_CELLS, range=[[0, top], [0, top]])
    return {"log10_s": (edges[:-1] + edges[1:]) / 2, "jobs": count}
