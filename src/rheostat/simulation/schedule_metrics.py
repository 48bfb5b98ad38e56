"""How good a schedule is: waits, slowdowns, utilisation, fairness, and for whom.

A mean alone hides who pays: an order that serves small jobs first shortens the mean and lets a few
jobs wait for months.  So every quantity comes with its p95, p99 and maximum, with a starvation
rate, and broken down by size, length and user.

    Symbol  Unit  Meaning
    w       s     wait, start less submission
    r       s     run time
    n             processors of a job, of P in the machine
    e       s     run time the job was planned with
    bsld          bounded slowdown max(1, (w + r) / max(r, 10 s))
    x_u           mean bounded slowdown of the jobs of user u

References
----------
Feitelson, Rudolph, Schwiegelshohn, Sevcik, Wong, "Theory and practice in parallel job scheduling",
JSSPP 1997 (bounded slowdown).  Jain, Chiu, Hawe, DEC TR-301, 1984 (fairness index).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable

BOUND_S = 10.0
STARVED_S = 86_400.0
STARVED_TIMES = 10.0
SIZES = ("one processor", "up to 5 %", "5 to 25 %", "25 to 50 %", "above 50 %")
SIZE_EDGES = (0.05, 0.25, 0.5)
LENGTHS = ("under 1 min", "1 to 10 min", "10 min to 1 h", "1 to 6 h", "6 to 24 h", "over 24 h")
LENGTH_EDGES_S = (60.0, 600.0, 3600.0, 21_600.0, 86_400.0)
Array = np.ndarray


def bounded_slowdown(wait_s: Array, run_s: Array) -> Array:
    """max(1, (w + r) / max(r, 10 s)).

    >>> bounded_slowdown(np.array([0.0, 90.0]), np.array([5.0, 10.0])).tolist()
    [1.0, 10.0]
    """
    result: Array = np.maximum(1.0, (wait_s + run_s) / np.maximum(run_s, BOUND_S))
    return result


def spread(values: Array) -> dict[str, float]:
    """Mean, p50, p95, p99 and max; NaN for no values."""
    if not len(values):
        return dict.fromkeys(("mean", "p50", "p95", "p99", "max"), float("nan"))
    p50, p95, p99 = np.percentile(values, (50, 95, 99))
    return {
        "mean": float(values.mean()),
        "p50": float(p50),
        "p95": float(p95),
        "p99": float(p99),
        "max": float(values.max()),
    }


def metrics(jobs: JobTable, procs: int) -> dict[str, Any]:
    """Of a simulated table on a machine of ``procs`` processors.

    ``utilisation`` is processor-seconds used over those there from the first submission to the
    last end; ``starvation_rate`` as in `starved`.

    Parameters
    ----------
    jobs : JobTable
        What `rheostat.simulate` returned: submit_s, wait_s, runtime_s, end_s, procs, estimate_s.
    procs : int
        Processors of the machine.

    Returns
    -------
    dict
        jobs, wait_s, bounded_slowdown and response_s (mean, quantiles, max), utilisation,
        makespan_s, throughput_per_h, starvation_rate, fairness_jain.
    """
    wait, run, size = jobs.numpy("wait_s"), jobs.numpy("runtime_s"), jobs.numpy("procs")
    begin, end = jobs.numpy("submit_s").min(), jobs.numpy("end_s").max()
    makespan = float(end - begin)
    area = float((run * size).sum())
    slow = bounded_slowdown(wait, run)
    return {
        "jobs": len(jobs),
        "wait_s": spread(wait),
        "bounded_slowdown": spread(slow),
        "response_s": spread(wait + run),
        "utilisation": area / (procs * makespan) if makespan > 0 else float("nan"),
        "makespan_s": makespan,
        "throughput_per_h": 3600 * len(jobs) / makespan if makespan > 0 else float("nan"),
        "starvation_rate": float(starved(wait, jobs.numpy("estimate_s")).mean()),
        "fairness_jain": _fairness(jobs, slow),
    }


def starved(wait_s: Array, estimate_s: Array) -> Array:
    """Mask of the jobs that starved: w above one day *and* above ten times e.

    The day leaves out short jobs that wait long in proportion only, the factor long jobs for which
    a day is nothing unusual.

    >>> starved(np.array([90000.0, 90000.0, 600.0]), np.array([60.0, 86400.0, 1.0])).tolist()
    [True, False, False]
    """
    return (wait_s > STARVED_S) & (wait_s > STARVED_TIMES * estimate_s)


def jain(values: Array) -> float:
    """Jain's index (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has everything.

    >>> jain(np.array([3.0, 3.0])), jain(np.array([4.0, 0.0])), jain(np.array([]))
    (1.0, 0.5, nan)
    """
    squares = float((values**2).sum())
    return float(values.sum() ** 2 / (len(values) * squares)) if squares > 0 else float("nan")


def size_class(procs: Array, machine: int) -> Array:
    """Index into `SIZES`: one processor, then the share of the machine asked for."""
    index = 1 + np.searchsorted(np.asarray(SIZE_EDGES) * machine, procs, side="left")
    return np.where(procs == 1, 0, index)


def length_class(run_s: Array) -> Array:
    """Index into `LENGTHS`, by the true run time; an edge belongs to the longer class."""
    return np.searchsorted(LENGTH_EDGES_S, run_s, side="right")


def breakdown(jobs: JobTable, procs: int) -> dict[str, list[dict[str, Any]]]:
    """Waits and slowdowns ``by_size``, ``by_length`` and ``by_user`` (largest users first).

    Each group has its number of ``jobs``, its ``share`` of the processor-seconds, the spreads
    of `metrics` and its starvation rate.  Jobs of no known user are in no user's group; a table
    without users gives an empty list.
    """
    frame = _judged(jobs, procs)
    sizes = _groups(frame, "size").sort("size").to_dicts()
    lengths = _groups(frame, "length").sort("length").to_dicts()
    return {
        "by_size": [_nested(g, SIZES[g["size"]]) for g in sizes],
        "by_length": [_nested(g, LENGTHS[g["length"]]) for g in lengths],
        "by_user": [_nested(g, g["user"]) for g in _users(frame)],
    }


def _judged(jobs: JobTable, procs: int) -> pl.DataFrame:
    wait, run, size = jobs.numpy("wait_s"), jobs.numpy("runtime_s"), jobs.numpy("procs")
    columns = {
        "wait_s": wait,
        "bounded_slowdown": bounded_slowdown(wait, run),
        "response_s": wait + run,
        "area": run * size,
        "starved": starved(wait, jobs.numpy("estimate_s")),
        "size": size_class(size, procs),
        "length": length_class(run),
    }
    frame = pl.DataFrame(columns)
    return frame.with_columns(jobs.frame["user"]) if "user" in jobs.schema else frame


def _users(frame: pl.DataFrame) -> list[dict[str, Any]]:
    if "user" not in frame.columns:
        return []
    known = frame.filter(pl.col("user").is_not_null())
    return _groups(known, "user").sort(["share", "user"], descending=[True, False]).to_dicts()


def _groups(frame: pl.DataFrame, by: str) -> pl.DataFrame:
    total = max(float(frame["area"].sum()), np.finfo(float).tiny)
    spreads = [
        e.alias(f"{q}|{name}")
        for q in ("wait_s", "bounded_slowdown", "response_s")
        for name, e in _spread_of(pl.col(q)).items()
    ]
    share = pl.col("area").sum() / total
    starving = pl.col("starved").mean()
    return frame.group_by(by).agg(
        pl.len().alias("jobs"), share.alias("share"), starving.alias("starvation_rate"), *spreads
    )


def _spread_of(column: pl.Expr) -> dict[str, pl.Expr]:
    at = {f"p{q}": column.quantile(q / 100, "linear") for q in (50, 95, 99)}
    return {"mean": column.mean(), **at, "max": column.max()}


def _nested(group: dict[str, Any], name: str) -> dict[str, Any]:
    """One flat row of `_groups` as nested facts."""
    result: dict[str, Any] = {"name": name}
    for key in ("jobs", "share", "starvation_rate"):
        result[key] = group[key]
    for key, value in group.items():
        quantity, bar, part = key.partition("|")
        if bar:
            result.setdefault(quantity, {})[part] = value
    return result


def _fairness(jobs: JobTable, slowdown: Array) -> float:
    """Jain's index of the users' mean bounded slowdowns; NaN where no user is known."""
    if "user" not in jobs.schema:
        return float("nan")
    frame = pl.DataFrame({"user": jobs.frame["user"], "x": slowdown})
    known = frame.filter(pl.col("user").is_not_null())
    return jain(known.group_by("user").agg(pl.col("x").mean())["x"].sort().to_numpy())
