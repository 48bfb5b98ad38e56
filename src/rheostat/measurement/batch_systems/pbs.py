"""Accounting logs of PBS Professional, OpenPBS and Torque: a line per event of a job.

A line is ``date;type;job;key=value ...``; the line of type E has all of an ended job.  Jobs that
were deleted or aborted before they ran have no such line, and of a rerun the last run counts; what
a run before it used is told by its line of type R.  Jobs without a line of their end are noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import (
    count,
    hosts,
    length_s,
    memory_b,
    moment_s,
    number,
)
from rheostat.measurement.batch_systems.job_records import (
    CANCELLED,
    COMPLETED,
    FAILED,
    TIMEOUT,
    BatchSystem,
    Record,
)
from rheostat.measurement.lines import raw_lines

PAIR = re.compile(r"(?:^| )([A-Za-z_][\w.]*)=")
J_PER_KWH = 3.6e6
OVER_TIME = ("-29", "-11")
"""Exit status of a job that the server ended at its limit: PBS Professional's, Torque's."""
NOT_ENDED = (
    "job has no line of its end (E): it waits, runs, was deleted before it ran, or ended in the "
    "log of a later day"
)
TERMINATED = 271
"""256 and SIGTERM, 15."""


def records(path: Path) -> Iterator[tuple[int, Record | str]]:
    """Lines of ended jobs, then the last ones of jobs that were queued or started alone."""
    begun, ended_jobs = dict[str, int](), set[str]()
    again: list[tuple[int, dict[str, Any]]] = []
    for row, raw in enumerate(raw_lines(path)):
        parts = raw.decode("utf-8", "replace").strip().split(";", 3)
        if len(parts) < 4 or "[]" in parts[2]:
            continue
        if parts[1] == "E":
            ended_jobs.add(parts[2])
            yield row, {"__name": parts[2], **pairs(parts[3])}
        elif parts[1] == "R" and "resources_used.walltime" in parts[3]:
            again.append((row, {"__name": parts[2], **pairs(parts[3])}))
        elif parts[1] in "QS":
            begun[parts[2]] = row
    yield from ((row, run) for row, run in again if run["__name"] in ended_jobs)
    yield from ((row, NOT_ENDED) for job, row in begun.items() if job not in ended_jobs)


def pairs(text: str) -> dict[str, str]:
    """Values by key, which may hold blanks.

    >>> pairs("user=ana jobname=my run queue=work Resource_List.select=2:ncpus=4")["jobname"]
    'my run'
    """
    keys = list(PAIR.finditer(text))
    ends = [m.start() for m in keys[1:]] + [len(text)]
    return {m[1]: text[m.end() : end].strip() for m, end in zip(keys, ends, strict=True)}


def resources(asked: Mapping[str, Any], used: Mapping[str, Any], place: Any) -> dict[str, Any]:
    """What a job asked for and used, in our names; PBS counts energy in kWh."""
    cores = count(asked.get("ncpus")) or count(used.get("ncpus"))
    chunks = str(asked.get("nodes") or "").partition(":")[0]
    energy = number(used.get("energy"))
    return {
        "nodes": count(asked.get("nodect")) or hosts(place) or count(chunks),
        "cores": cores, "gpus": count(asked.get("ngpus")), "memory_b": memory_b(asked.get("mem")),
        "time_limit_s": length_s(asked.get("walltime")),
        "runtime_s": length_s(used.get("walltime")),
        "energy_j": energy * J_PER_KWH if energy else None,
    }  # fmt: skip


def ended(status: Any, runtime_s: float | None = None, limit_s: float | None = None) -> str | None:
    """In Slurm's words, by the exit status: 256 and more is a signal, below 0 the server's.

    The server ends by the same signal what a user deletes and what has run to its limit.

    >>> ended(0), ended("271"), ended("1"), ended("-29"), ended(None)
    ('COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', None)
    >>> ended("271", 3607.0, 3600.0), ended("271", 3000.0, 3600.0)
    ('TIMEOUT', 'CANCELLED')
    """
    code = number(status)
    if code is None:
        return None
    if str(int(code)) in OVER_TIME:
        return TIMEOUT
    if code == TERMINATED:
        return TIMEOUT if runtime_s and limit_s and runtime_s >= limit_s else CANCELLED
    return COMPLETED if code == 0 else FAILED


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any]:
    def below(name: str) -> dict[str, Any]:
        return {k.removeprefix(name): v for k, v in record.items() if k.startswith(name)}

    used = resources(below("Resource_List."), below("resources_used."), record.get("exec_host"))
    state = ended(record.get("Exit_status"), used["runtime_s"], used["time_limit_s"])
    return {
        "job_id": record["__name"], "user": record.get("user"), "group": record.get("group"),
        "account": record.get("account") or record.get("project"), "app": record.get("jobname"),
        "partition": record.get("queue"), "submit_s": moment_s(record.get("ctime"), zone),
        "start_s": moment_s(record.get("start"), zone), "end_s": moment_s(record.get("end"), zone),
        "state": state, "exit_code": record.get("Exit_status"), **used,
    }  # fmt: skip


PBS = BatchSystem(
    "pbs", "an accounting log of PBS Professional, OpenPBS or Torque, with lines of ended jobs (E)",
    rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];", records, _job,
)  # fmt: skip
