"""``condor_history -json``, or ``-af:h``, of HTCondor: a job has CPUs of one machine, so no nodes.

Of a job that was started anew the last run counts, and ``requeued_core_hours`` has what those
before it used: its wall-clock time is of all runs together.  Where nothing says when a job left, it
ran for that time, if it was started once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import count, moment_s, number
from rheostat.measurement.batch_systems.job_records import (
    CANCELLED,
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    BatchSystem,
    Record,
    listed,
)
from rheostat.measurement.lines import beginning, raw_lines

ABOUT = (
    "what condor_history -json (or condor_q -json) of HTCondor prints, or -af:h with ClusterId, "
    "ProcId, QDate, JobCurrentStartDate, CompletionDate, JobStatus and RequestCpus"
)
HEADINGS = (
    rb"(?=[^\n]*\bClusterId\b)(?=[^\n]*\b(?:QDate|RemoteWallClockTime)\b)"
    rb"[ \t]*[A-Za-z_]\w*(?:[ \t,]+\w+)*[ \t\r]*\n"
)
"""The first line of ``condor_history -af:h``: names of attributes."""
STATES = {1: PENDING, 2: RUNNING, 3: CANCELLED, 4: COMPLETED, 5: PENDING}
MIB = 2.0**20
TRUE = ("True", "true")
LAST_RUN = (
    "runtime_s is that of a job's last run, where it was started anew; what the runs before used "
    "is in requeued_core_hours"
)
NO_TOTAL = (
    "was started anew, and no RemoteWallClockTime tells for how long it ran before: those "
    "core-hours are in no figure; condor_history -json has it"
)


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    if "ClusterId" not in record or "QDate" not in record:
        return None
    start = moment_s(record.get("JobCurrentStartDate") or record.get("JobStartDate"), zone)
    status = count(record.get("JobStatus"))
    done = moment_s(record.get("CompletionDate"), zone) or moment_s(
        record.get("EnteredCurrentStatus"), zone
    )
    over = status in (3, 4) and start is not None
    if over and start and done is None and (count(record.get("NumJobStarts")) or 1) == 1:
        took = number(record.get("RemoteWallClockTime"))
        done = start + took if took else None
    cores = count(record.get("RequestCpus")) or count(record.get("CpusProvisioned"))
    failed = bool(number(record.get("ExitCode"))) or str(record.get("ExitBySignal")) in TRUE
    memory = number(record.get("RequestMemory"))
    name = str(record.get("JobBatchName") or PurePosixPath(str(record.get("Cmd") or "")).name)
    state = STATES.get(status) if status is not None else None
    return {
        "job_id": _id(record), "user": record.get("Owner"),
        "account": record.get("AccountingGroup"), "app": name or None,
        "submit_s": moment_s(record["QDate"], zone), "start_s": start,
        "end_s": done if over else None,
        "cores": cores, "requeued_core_hours": _core_hours_before(record, start, done, cores),
        "gpus": count(record.get("RequestGpus") or record.get("RequestGPUs")),
        "memory_b": memory * MIB if memory else None,
        "state": FAILED if state == COMPLETED and failed else state,
        "exit_code": str(record["ExitCode"]) if "ExitCode" in record else None,
    }  # fmt: skip


def _started_anew(record: Record) -> bool:
    first, last = (record.get(n) for n in ("JobStartDate", "JobCurrentStartDate"))
    return (count(record.get("NumJobStarts")) or 1) > 1 or (
        bool(last) and first not in (None, last)
    )


def _core_hours_before(
    record: Record, start: float | None, done: float | None, cores: int | None
) -> float | None:
    """What a job's runs before its last one used; None where nothing tells, or there were none."""
    total = number(record.get("RemoteWallClockTime"))
    if not _started_anew(record) or total is None or start is None or done is None or not cores:
        return None
    return cores * max(0.0, total - (done - start)) / 3600.0


def _unread(record: Record) -> str:
    """What is lacking of a job that was started anew."""
    known = number(record.get("RemoteWallClockTime")) is not None
    return NO_TOTAL if _started_anew(record) and not known else ""


def _id(record: Record) -> str:
    """Cluster and process, behind the access point that counts them where the record names it."""
    number = f"{record['ClusterId']}.{record.get('ProcId', 0)}"
    at, _, rest = str(record.get("GlobalJobId") or "").partition("#")
    return f"{at}#{number}" if rest else number


def _records(path: Path) -> Iterator[tuple[int, Record]]:
    """Records of JSON, or of lines under a heading; what is not defined is left out of a line."""
    if not re.match(HEADINGS, beginning(path, 4096)):
        yield from listed(path, expected=ABOUT)
        return
    names: list[str] = []
    for row, raw in enumerate(raw_lines(path)):
        line = raw.decode("utf-8", "replace").strip("\r\n ")
        between = next((mark for mark in "\t," if mark in line), None)
        cells = [cell.strip(' "') for cell in line.split(between)]
        if not names:
            names = cells
        elif line:
            fits = len(cells) == len(names)  # else a value has blanks, and nothing says which
            given = zip(names, cells, strict=True) if fits else ()
            yield row - 1, {n: c for n, c in given if c not in ("undefined", "[?]", "")}


HTCONDOR = BatchSystem(
    "htcondor", ABOUT, rb'\s*\[\s*\{[^{}]{0,20000}?"(ClusterId|QDate|GlobalJobId)"\s*:|' + HEADINGS,
    _records, _job, notes=(LAST_RUN,), unread=_unread,
)  # fmt: skip
