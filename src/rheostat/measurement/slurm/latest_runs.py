"""One row per job: the latest of its runs, with the node-hours of those before (``sacct -D``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.jobs import Column, Moment, Note
from rheostat.measurement.checks import ROW, note_rows

TWICE = "the job is there already (requeued, or listed twice): its latest run stands"
ANEW = (
    "the number of a job of another user, or of one that had ended over a day before: numbers "
    "begin anew, each is a job of its own"
)
HALVES = (
    "the job stands in two exports that cut it where one ends and the other begins (sacct -T): "
    "its parts were put together"
)
FORGOTTEN_S = 86_400.0
"""Slurm forgets a job minutes after its end (``MinJobAge``): later nobody can requeue it."""
REQUEUED = Column(
    "requeued_node_hours", "node_h", Moment.END, "node-hours of the job's earlier runs"
)


Run = dict[str, Any]


def latest_runs(rows: Sequence[Run]) -> tuple[list[Run], list[Note]]:
    """The latest run of each job of a cluster with the hours of those before, and notes.

    >>> run = {"cluster": None, "job_id": "7", "state": "NODE_FAIL", "submit_s": 0.0, "__row": 0,
    ...     "user": "ann", "start_s": 9.0, "end_s": 3609.0, "runtime_s": 3600.0, "nodes": 2,
    ...     "nodes_alloc": 2}
    >>> again = {**run, "__row": 1, "start_s": 8000.0, "state": "COMPLETED"}
    >>> latest, notes = latest_runs([run, again, {**again, "user": "bob", "__row": 2}])
    >>> [(r["user"], r["requeued_node_hours"]) for r in latest], [n.count for n in notes]
    ([('ann', 2.0), ('bob', 0.0)], [1, 1])
    """
    numbered: dict[tuple[Any, ...], list[Run]] = {}
    for row in rows:
        numbered.setdefault((row["cluster"], row["job_id"]), []).append(row)
    sharing = [jobs_apart(sorted(reversed(each), key=_recency)) for each in numbered.values()]
    jobs = [job for of_number in sharing for job in of_number]
    halves = sorted(half for job in jobs for half in join_halves(job))
    latest = sorted((job[-1] for job in jobs), key=lambda run: run[ROW])
    gone = sorted(run[ROW] for job in jobs for run in job[:-1])
    anew = sorted(job[-1][ROW] for of_number in sharing for job in of_number[1:])
    hours = {job[-1][ROW]: used for job in jobs if (used := _hours_before(job))}
    if hours:
        latest = [{**run, REQUEUED.name: hours.get(run[ROW], 0.0)} for run in latest]
    said = ((TWICE, gone, True), (ANEW, anew, False), (HALVES, halves, True))
    return latest, [note_rows(what, at, dropped=left) for what, at, left in said if at]


def join_halves(runs: list[Run]) -> list[int]:
    """Put together what ``sacct -T`` cut at the end of its window; the rows that are no run then.

    The later half begins in the second in which the first ended, with the same submit and state:
    a requeued run has another state, and starts later.  Each half carries all of the energy.

    >>> half = {ROW: 0, "submit_s": 1.0, "start_s": 5.0, "end_s": 9.0, "runtime_s": 4.0,
    ...     "state": "COMPLETED", "energy_j": 400.0}
    >>> runs = [half, {**half, ROW: 1, "start_s": 9.0, "end_s": 15.0, "runtime_s": 6.0}]
    >>> join_halves(runs), [(r["start_s"], r["runtime_s"], r["power_w"]) for r in runs]
    ([0], [(5.0, 10.0, 40.0)])
    """
    joined = []
    for at in range(len(runs) - 1, 0, -1):
        before, run = runs[at - 1 : at + 1]
        same = all(before[c] == run[c] for c in ("submit_s", "state"))
        times = (before["start_s"], before["end_s"], before["runtime_s"], run["runtime_s"])
        if same and None not in times and before["end_s"] == run["start_s"] > before["start_s"]:
            took = before["runtime_s"] + run["runtime_s"]
            power_w = run["energy_j"] / took if run["energy_j"] else None
            whole = {"start_s": before["start_s"], "runtime_s": took, "power_w": power_w}
            runs[at - 1 : at + 1] = [run | whole]
            joined.append(before[ROW])
    return joined


def jobs_apart(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of one number, the oldest first, as jobs: a requeued run is the user's, and comes soon.

    >>> run = {"user": "ann", "submit_s": 0.0, "end_s": 60.0}
    >>> [len(job) for job in jobs_apart([run, {**run, "submit_s": 60.0}, {**run, "submit_s": 1e6}])]
    [2, 1]
    """
    jobs = [[runs[0]]]
    for run in runs[1:]:
        before = jobs[-1][-1]
        known = None not in (run["submit_s"], before["end_s"])
        late = known and run["submit_s"] > before["end_s"] + FORGOTTEN_S
        if late or run["user"] != before["user"]:
            jobs.append([])
        jobs[-1].append(run)
    return jobs


def _hours_before(runs: Sequence[Mapping[str, Any]]) -> float:
    """Node-hours of all runs but the last; one that two exports hold has one start.

    >>> run = {"start_s": 1.7e9, "runtime_s": 1800.0, "nodes": 2, "nodes_alloc": 2}
    >>> _hours_before([run, run, {**run, "start_s": 1.8e9}])
    1.0
    """
    used = {run["start_s"]: (run["nodes_alloc"] or run["nodes"] or 0) * (run["runtime_s"] or 0.0)
            for run in runs if run["start_s"]}  # fmt: skip
    used.pop(runs[-1]["start_s"], None)
    return sum(used.values()) / 3600.0


def _recency(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Of two runs of a user's job the later has more; so has the later export of a running job."""
    return (row["user"] or "", *(row[n] or 0.0 for n in ("submit_s", "start_s", "runtime_s")))
