"""Components of heterogeneous jobs (``123+0``, ``123+1``) start and end together: one job."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

COMPONENT = re.compile(r"(\d+(?:_\d+)?)\+\d+")
ONE_JOB = (
    "component (123+1) of a heterogeneous job, whose components are one job: nodes, cores, GPUs, "
    "memory and joules are added"
)
ADDED = ("nodes", "nodes_requested", "nodes_alloc", "cores", "cores_alloc", "memory_b", "energy_j",
         "requeued_node_hours")  # fmt: skip
COUNTED = ("gpus", "gpus_alloc")
EARLIEST, LATEST = ("submit_s", "eligible_s", "start_s"), ("end_s", "runtime_s", "time_limit_s")
Run = Mapping[str, Any]


def one_job_each(rows: Sequence[Run]) -> tuple[list[dict[str, Any]], list[Note]]:
    """The rows with the components of each job joined, in the place of its first; and a note.

    A sum of which one component is not known is not known; a component may have no GPUs.

    >>> part = {"cluster": None, "state": "COMPLETED", "gpus": None, "runtime_s": 60.0}
    >>> rows = [{**part, "__row": i, "job_id": f"7+{i}", "nodes": 1 + i} for i in range(2)]
    >>> joined, notes = one_job_each(rows)
    >>> [(r["job_id"], r["nodes"], r["runtime_s"], r["gpus"]) for r in joined], notes[0].count
    ([('7', 3, 60.0, None)], 1)
    """
    parts: dict[tuple[Any, str, int], list[Run]] = {}
    for row in rows:
        match = COMPONENT.fullmatch(row["job_id"])
        key, of = (match.group(1), -1) if match else (row["job_id"], row[ROW])
        parts.setdefault((row["cluster"], key, of), []).append(row)
    jobs = [_job(key, each) for (_, key, _), each in parts.items()]
    added = sorted(part[ROW] for each in parts.values() for part in each[1:])
    return jobs, [note_rows(ONE_JOB, added, dropped=True)] if added else []


def _job(key: str, parts: Sequence[Run]) -> dict[str, Any]:
    first = dict(parts[0])
    if len(parts) == 1:
        return first | {"job_id": key}
    joined: dict[str, Any] = {
        **{name: _whole(parts, name, sum) for name in ADDED},
        **{name: sum(known) if (known := _known(parts, name)) else None for name in COUNTED},
        **{name: _whole(parts, name, min) for name in EARLIEST},
        **{name: _whole(parts, name, max) for name in LATEST},
        "node_list": _whole(parts, "node_list", ",".join),
    }
    ended = next((p for p in parts if p["state"] != "COMPLETED"), first)
    said = {name: ended.get(name) for name in ("state", "exit_code")}
    joined = {name: value for name, value in (joined | said).items() if name in first}
    return first | joined | {"job_id": key}


def _known(parts: Sequence[Run], name: str) -> list[Any]:
    return [part[name] for part in parts if part.get(name) is not None]


def _whole(parts: Sequence[Run], name: str, of: Callable[[list[Any]], Any]) -> Any:
    known = _known(parts, name)
    return of(known) if len(known) == len(parts) else None
