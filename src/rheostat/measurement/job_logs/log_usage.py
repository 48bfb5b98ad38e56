"""What a job log says was used: node-hours, energy and where it comes from, what did not complete.

Notation
--------
h  node-hours of a job, nodes received (else asked for) times run time; core-hours in a log that
   counts no nodes
lost  h of the runs that ended otherwise than completed, cancelled ones included, and of the earlier
      runs of jobs that were requeued
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.job_logs.node_sharing import SHARED, node_hours_in_use, shared_nodes

COMPLETED = ("COMPLETED", "PARTIAL_COMPLETED")
WAITING = ("PENDING", "PEND", "PD", "Q", "QUEUED")
UNFINISHED = (*WAITING, "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "COMPLETING",
              "RUN", "PSUSP", "USUSP", "SSUSP", "R", "H", "HELD")  # fmt: skip
"""Words of Slurm, LSF and PBS."""
SIZES = (("nodes_alloc", "node_h"), ("nodes", "node_h"), ("cores_alloc", "core_h"),
         ("cores", "core_h"))  # fmt: skip
GROUPS = (("app", ("app",)), ("user", ("user",)), ("account", ("account",)),
          ("partition", ("partition", "queue")))  # fmt: skip
UNKNOWN = "(not recorded)"
EARLIER = "REQUEUED, earlier runs"
REQUEUED_HOURS = {"node_h": "requeued_node_hours", "core_h": "requeued_core_hours"}
"""Columns: what earlier runs of a job used, which have no rows of their own."""
HELD_S = 60.0


@dataclass(frozen=True)
class LogUsage:
    """What `log_usage` found.

    Parameters
    ----------
    jobs : int
        Jobs that have begun, or of which nothing else is known.
    first_s, last_s : float
        First submission and last end, s; NaN where the log has none.  Of the calendar where
        ``calendar`` is true, else since the log's own zero.
    unit : str
        "node_h" or "core_h"; "" where the log has no sizes or no run times.
    hours, lost_hours : float
        Node-hours (core-hours) of all runs, and of those that did not complete.
    counted : int
        Jobs with a size and a run time: those in ``hours``.
    lost_jobs, ended_jobs : int
        Jobs that ended otherwise than completed, of those whose end is known.
    energy_j : float
        Of the ``energy_jobs`` whose energy is known, J; NaN where none is.
    energy_jobs : int
    energy_hours : float
        Share of ``hours`` that these jobs have.
    energy_source : str
        Where the joules come from, in words.
    states : tuple of mapping
        ``state``, ``jobs``, ``hours`` of each end, the most hours first.
    groups : mapping of str to tuple of mapping
        Of "app", "user", "account" and "partition", where recorded: ``name``, ``jobs``, ``hours``,
        ``core_hours`` (where jobs may share nodes, else NaN), ``energy_j``, ``ended_jobs``,
        ``lost_jobs``, ``lost_hours``, ``wait_s``, the most hours first.
    gpu_hours : float
        Of the ``gpu_jobs`` that had GPUs; NaN where the log knows of none.
    gpu_jobs : int
    part_node_jobs : int
        Jobs on one node with at most half of the GPUs (cores, where no job has GPUs) that another
        job of their partition had on one: they may have shared it, and have its whole hours here.
    shared_jobs : int or None
        Jobs of which the lists of nodes tell that another ran on one of theirs meanwhile; None
        where no job has such a list.
    core_hours : float
        Of all jobs that count node-hours, where some may share nodes; else NaN.
    hours_in_use : float
        Node-hours of the listed nodes during which any job was there; NaN where no job has a list.
    waiting_jobs : int
        Jobs that have not begun, which are in no other number.
    """

    jobs: int
    first_s: float
    last_s: float
    calendar: bool
    unit: str
    hours: float
    lost_hours: float
    counted: int
    lost_jobs: int
    ended_jobs: int
    energy_j: float
    energy_jobs: int
    energy_hours: float
    energy_source: str
    states: tuple[dict[str, Any], ...]
    groups: dict[str, tuple[dict[str, Any], ...]]
    gpu_hours: float
    gpu_jobs: int
    part_node_jobs: int
    shared_jobs: int | None
    hours_in_use: float
    core_hours: float
    waiting_jobs: int


def log_usage(jobs: JobTable) -> LogUsage:
    """What ``jobs`` used, what of it was lost, and by whom.

    Jobs that have not begun used nothing; they are counted apart.

    >>> from rheostat.core.vocabulary import table
    >>> found = log_usage(table({"nodes": [2, 4], "runtime_s": [3600.0, 1800.0],
    ...                          "state": ["COMPLETED", "FAILED"], "app": ["a", "b"]}))
    >>> found.unit, found.hours, found.lost_hours, found.energy_source
    ('node_h', 4.0, 2.0, 'no row has power or energy')
    >>> [g["name"] for g in found.groups["app"]]
    ['a', 'b']
    """
    waiting = np.zeros(len(jobs), dtype=bool)
    if "state" in jobs.columns:
        states = jobs.frame["state"].cast(pl.String)
        waiting = states.is_in(WAITING).fill_null(value=False).to_numpy()
        jobs = jobs.rows(~waiting)
    energy, source = _energy(jobs)
    hours, unit = _hours(jobs)
    zero = calendar_zero_s(jobs)
    names = {name: _names(jobs, columns) for name, columns in GROUPS}
    columns = {
        "hours": hours, "core_hours": _core_hours(jobs, hours, unit), "energy_j": energy,
        "wait_s": logged_waits(jobs),
        "lost": _lost(jobs), "state": _names(jobs, ("state",)), **names,
    }  # fmt: skip
    frame = pl.DataFrame(columns, schema_overrides={"lost": pl.Boolean}).fill_nan(None)
    frame = frame.with_columns(own=True)
    if unit:
        frame = _with_earlier(frame, np.nan_to_num(_column(jobs, REQUEUED_HOURS[unit])))
    own = frame.filter("own")
    known, total = frame["energy_j"].is_not_null(), _sum(frame["hours"])
    gpu_hours = _gpus(jobs) * _column(jobs, "runtime_s") / 3600.0
    return LogUsage(
        len(jobs),
        _least(jobs, ("submit_s", "start_s"), np.nanmin) + (zero or 0.0),
        _least(jobs, ("end_s", "start_s", "submit_s"), np.nanmax) + (zero or 0.0),
        zero is not None,
        unit,
        total,
        _lost_hours(frame),
        own["hours"].count(),
        int(own["lost"].sum() or 0),
        own["lost"].count(),
        _sum(frame["energy_j"]),
        int(known.sum()),
        _sum(frame.filter(known)["hours"]) / total if total else float("nan"),
        source,
        tuple(_by(frame, "state", ("state", "jobs", "hours"))),
        {name: tuple(_by(frame, name)) for name in names if own[name].count()},
        _sum(pl.Series(gpu_hours[gpu_hours > 0])),
        int((gpu_hours > 0).sum()),
        _part_nodes(jobs),
        *_company(jobs),
        _sum(frame["core_hours"]),
        int(waiting.sum()),
    )


def _core_hours(jobs: JobTable, hours: Array, unit: str) -> Array:
    """(n,) core-hours of jobs on nodes that some may share; NaN where none does, or cores lack."""
    cores, run = _column(jobs, "cores_alloc"), _column(jobs, "runtime_s")
    cores = np.where(cores > 0, cores, _column(jobs, "cores"))
    spent: Array = np.where(run >= 0, cores * run / 3600.0, np.nan)
    shared = unit == "node_h" and (_part_nodes(jobs) or _company(jobs)[0])
    whole = np.isfinite(spent) | ~np.isfinite(hours)
    return spent if shared and whole.all() else np.full(len(jobs), np.nan)


def _company(jobs: JobTable) -> tuple[int | None, float]:
    """How many jobs shared a node, and the hours in which nodes were in use; unknown: None, NaN."""
    if not {"node_list", "start_s", "end_s"} <= set(jobs.columns):
        return None, float("nan")
    there = jobs.frame.schema.get(SHARED.name) == pl.Boolean  # a reader has asked already
    try:
        shared = jobs.frame[SHARED.name] if there else shared_nodes(jobs.frame)
        hours = node_hours_in_use(jobs.frame)
    except DataError:  # names that cannot be read: the reader has said so
        return None, float("nan")
    return (int(shared.sum()), hours) if shared.count() else (None, float("nan"))


def _with_earlier(frame: pl.DataFrame, hours: Array) -> pl.DataFrame:
    """The rows of the jobs and, not their ``own``, those of their earlier runs: all lost."""
    before = frame.with_columns(hours=hours).filter(pl.col("hours") > 0)
    none = (pl.lit(None, pl.Float64).alias(c) for c in ("core_hours", "energy_j", "wait_s"))
    before = before.with_columns(*none, lost=True, own=False, state=pl.lit(EARLIER))
    return pl.concat([frame, before.select(frame.columns)])


def _gpus(jobs: JobTable) -> Array:
    """(n,) GPUs received, else asked for."""
    given = _column(jobs, "gpus_alloc")
    return np.where(np.isfinite(given), given, _column(jobs, "gpus"))


def _part_nodes(jobs: JobTable) -> int:
    """Jobs that had at most half of what others had on one node."""
    nodes = _column(jobs, "nodes_alloc")
    nodes = np.where(nodes > 0, nodes, _column(jobs, "nodes"))
    gpus = _column(jobs, "gpus_alloc")
    parts = gpus if (gpus > 0).any() else _column(jobs, "cores_alloc")
    places = _names(jobs, ("partition", "queue")).fill_null(UNKNOWN)
    frame = pl.DataFrame({"part": parts, "place": places})
    alone = frame.filter((nodes == 1) & (parts > 0))
    half = pl.col("part") <= pl.col("part").max().over("place") / 2
    return int(alone.select(half).to_series().sum())


def calendar_zero_s(jobs: JobTable) -> float | None:
    """Seconds since 1970 at the log's own zero: 0 for calendar times, an SWF header's start.

    None where the log does not say when it was.
    """
    first = _least(jobs, ("submit_s", "start_s", "end_s"), np.nanmin)
    if first > CALENDAR_S:
        return 0.0
    for note in jobs.notes:
        for part in note.message.removeprefix("header ").split("; "):
            key, _, value = part.partition(": ")
            if key == "UnixStartTime" and value.strip().split(" ")[0].isdigit():
                return float(value.split(" ")[0]) or None
    return None


def held_jobs(jobs: JobTable) -> int:
    """How many jobs could start only a minute or more after their submission, where a log says so.

    >>> from rheostat.core.vocabulary import table
    >>> held_jobs(table({"submit_s": [0.0, 5.0, 9.0], "eligible_s": [7200.0, 5.0, None]}))
    1
    """
    late = _column(jobs, "eligible_s") - _column(jobs, "submit_s")
    return int((late >= HELD_S).sum())


def logged_waits(jobs: JobTable) -> Array:
    """(n,) wait as the log has it, s: wait_s, else start less submission; NaN unknown.

    A job that was cancelled before it ran has not waited for its start.

    >>> from rheostat.core.vocabulary import table
    >>> logged_waits(table({"submit_s": [0.0, 5.0], "start_s": [60.0, None]})).tolist()
    [60.0, nan]
    """
    wait = _column(jobs, "wait_s")
    wait = np.where(np.isfinite(wait), wait, _column(jobs, "start_s") - _column(jobs, "submit_s"))
    if "state" in jobs.columns:
        cancelled = (jobs.frame["state"].cast(pl.String) == "CANCELLED").fill_null(value=False)
        wait = np.where(cancelled.to_numpy() & ~(_column(jobs, "runtime_s") > 0), np.nan, wait)
    result: Array = np.where(wait >= 0, wait, np.nan)
    return result


CALENDAR_S = 3e8
"""Seconds from here on (nine years) are a moment of the calendar, not since a log's start."""


def _column(jobs: JobTable, name: str) -> Array:
    if name not in jobs.columns or not jobs.frame[name].dtype.is_numeric():
        return np.full(len(jobs), np.nan)
    return jobs.numpy(name).astype(float)


def _least(jobs: JobTable, names: tuple[str, ...], of: Any) -> float:
    """``of`` the first of the columns that has a value; NaN where none has."""
    for name in names:
        values = _column(jobs, name)
        if np.isfinite(values).any():
            return float(of(values))
    return float("nan")


def _hours(jobs: JobTable) -> tuple[Array, str]:
    """(n,) node-hours or core-hours of each job, NaN unknown, and which; units are never mixed."""
    run = _column(jobs, "runtime_s")
    for unit in ("node_h", "core_h"):
        size = np.full(len(jobs), np.nan)
        for name, of in SIZES:
            if of == unit:
                other = _column(jobs, name)
                size = np.where(size > 0, size, np.where(other > 0, other, np.nan))
        hours: Array = size * np.where(run >= 0, run, np.nan) / 3600.0
        if np.isfinite(hours).any():
            return hours, unit
    return np.full(len(jobs), np.nan), ""


def _energy(jobs: JobTable) -> tuple[Array, str]:
    """(n,) joules of each job, NaN unknown, and where they come from."""
    own, power = _column(jobs, "energy_j"), _column(jobs, "power_w")
    run = _column(jobs, "runtime_s")
    derived = np.where((power > 0) & (run >= 0), power * run, np.nan)
    energy: Array = np.where(own > 0, own, derived)
    if np.isfinite(own).any():
        notes = [n for n in jobs.notes if n.message.startswith("energy_j")]
        said = [
            f"{n.count:,} jobs: " * bool(n.rows) + n.message.partition(": ")[2].partition(";")[0]
            for n in sorted(notes, key=lambda n: bool(n.rows))  # of all jobs before some
        ]
        caution = f" ({said[0]})" if said else ""
        return energy, f"column energy_j of the log{caution}"
    if np.isfinite(derived).any():
        return energy, "column power_w of the log, mean power, times run time"
    return energy, "no row has power or energy"


def _lost(jobs: JobTable) -> pl.Series:
    """Whether each run ended otherwise than completed; null unknown, or not ended."""
    lost = pl.Series([None] * len(jobs), dtype=pl.Boolean)
    if "censored" in jobs.columns:
        lost = jobs.frame["censored"].cast(pl.Boolean)
    if "state" not in jobs.columns or not jobs.frame["state"].count():
        return lost
    state = jobs.frame["state"].cast(pl.String)
    # the reader knows the words of other sites, and which it does not
    stated = lost if "censored" in jobs.columns else ~state.is_in(COMPLETED)
    return pl.select(pl.when(~state.is_in(UNFINISHED)).then(stated)).to_series()


def _names(jobs: JobTable, columns: tuple[str, ...]) -> pl.Series:
    """The first of the columns that has a value, as text; nulls where none has."""
    for name in columns:
        if name in jobs.columns and jobs.frame[name].count():
            return jobs.frame[name].cast(pl.String)
    return pl.Series([None] * len(jobs), dtype=pl.String)


KEPT = ("name", "jobs", "hours", "core_hours", "energy_j", "ended_jobs", "lost_jobs", "lost_hours",
        "wait_s")  # fmt: skip


def _by(frame: pl.DataFrame, by: str, kept: tuple[str, ...] = KEPT) -> list[Any]:
    """A mapping per name, the most hours first; a sum without a known value is NaN."""
    lost = pl.col("hours").filter(pl.col("lost"))
    groups = frame.with_columns(name=pl.col(by).fill_null(UNKNOWN)).group_by("name").agg(
        pl.col("own").sum().alias("jobs"),
        *(pl.when(pl.col(c).count() > 0).then(pl.col(c).sum()).alias(c)
          for c in ("hours", "core_hours", "energy_j")),
        (pl.col("lost").is_not_null() & pl.col("own")).sum().alias("ended_jobs"),
        (pl.col("lost") & pl.col("own")).sum().alias("lost_jobs"),
        pl.when((lost.count() > 0) | (~pl.col("lost").any() & (pl.col("hours").count() > 0)))
        .then(lost.sum())
        .alias("lost_hours"),
        pl.col("wait_s").mean().alias("wait_s"),
    )  # fmt: skip
    numbers = pl.col("hours", "core_hours", "energy_j", "wait_s", "lost_hours")
    groups = groups.with_columns(numbers.fill_null(float("nan")))
    rows = groups.sort(
        [pl.col("hours").fill_nan(-1.0), pl.col("jobs"), pl.col("name")],
        descending=[True, True, False],
    )
    renamed = rows.with_columns(state=pl.col("name"))
    return renamed.select(kept).to_dicts()


def _lost_hours(frame: pl.DataFrame) -> float:
    """Hours of the runs that did not complete: none where all did, NaN where nobody knows."""
    lost = frame.filter("lost")
    if lost.is_empty() and frame["lost"].count() and frame["hours"].count():
        return 0.0
    return _sum(lost["hours"])


def _sum(values: pl.Series) -> float:
    return float(values.sum()) if values.count() else float("nan")
