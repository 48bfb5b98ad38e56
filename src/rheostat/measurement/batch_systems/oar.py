"""``oarstat -J`` of OAR: an object by the number of the job; moments are seconds since 1970."""

from __future__ import annotations

from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import hosts, length_s, moment_s, number
from rheostat.measurement.batch_systems.job_records import (
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    TIMEOUT,
    BatchSystem,
    Record,
    listed,
)

ABOUT = "what oarstat -J of OAR prints"
STATES = {"Terminated": COMPLETED, "Error": FAILED, "Running": RUNNING, "Finishing": RUNNING}


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    if "submissionTime" not in record:
        return None
    start, state = moment_s(record.get("startTime"), zone), str(record.get("state"))
    code = str(record.get("exit_code") or "") or None
    done = STATES.get(state, PENDING)
    failed = done == COMPLETED and bool(number((code or "0").split(" ")[0]))
    end = moment_s(record.get("stopTime"), zone) if done in (COMPLETED, FAILED) else None
    limit_s = length_s(record.get("walltime") or "") or None
    if failed or done == FAILED:
        done = TIMEOUT if _over(record, start, end, limit_s) else FAILED
    key = record.get("Job_Id") or record.get("job_id") or record.get("__name")
    return {
        "job_id": str(key), "user": record.get("owner"), "account": record.get("project"),
        "app": record.get("name") or record.get("command"), "partition": record.get("queue"),
        "submit_s": moment_s(record["submissionTime"], zone), "start_s": start,
        "end_s": end,
        "nodes": hosts(record.get("assigned_network_address") or []),
        "time_limit_s": limit_s, "state": done, "exit_code": code,
    }  # fmt: skip


def _over(record: Record, start: float | None, end: float | None, limit_s: float | None) -> bool:
    """Whether a job that was killed had reached its wall time, as OAR says or by its length."""
    events = record.get("events")
    kinds = [e.get("type") for e in events if isinstance(e, dict)] if isinstance(
        events, list) else []  # fmt: skip
    long = None not in (start, end, limit_s) and end - start >= limit_s  # type: ignore[operator]
    return "WALLTIME" in kinds or long


OAR = BatchSystem(
    "oar", ABOUT, rb'\s*\{\s*"\d+"\s*:\s*\{[^{}]{0,20000}?"submissionTime"\s*:',
    partial(listed, expected=ABOUT), _job,
)  # fmt: skip
