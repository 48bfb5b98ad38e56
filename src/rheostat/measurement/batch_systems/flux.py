"""``flux jobs -a --json`` of Flux; moments are seconds since 1970."""

from __future__ import annotations

from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import count, length_s, moment_s
from rheostat.measurement.batch_systems.job_records import (
    CANCELLED,
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    TIMEOUT,
    BatchSystem,
    Record,
    listed,
)

ABOUT = "what flux jobs -a --json prints"
RESULTS = {"COMPLETED": COMPLETED, "FAILED": FAILED, "CANCELED": CANCELLED, "TIMEOUT": TIMEOUT}
STATES = {"RUN": RUNNING, "CLEANUP": RUNNING}


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    if "t_submit" not in record:
        return None
    started, state = moment_s(record.get("t_run"), zone), str(record.get("state"))
    over = state == "INACTIVE" and started is not None
    status = record.get("waitstatus")
    return {
        "job_id": str(record.get("id") or ""), "user": str(record.get("username") or "") or None,
        "account": record.get("bank"), "app": record.get("name"), "partition": record.get("queue"),
        "submit_s": moment_s(record["t_submit"], zone), "start_s": started,
        "end_s": moment_s(record.get("t_cleanup") or record.get("t_inactive"), zone)
        if over else None,
        "runtime_s": length_s(record.get("runtime") or "") if over else None,
        "nodes": count(record.get("nnodes")), "cores": count(record.get("ncores")),
        "gpus": count(record.get("ngpus")), "time_limit_s": length_s(record.get("duration") or "")
        or None, "exit_code": None if status is None else str(status),
        "state": RESULTS.get(str(record.get("result")), STATES.get(state, PENDING)),
    }  # fmt: skip


FLUX = BatchSystem(
    "flux", ABOUT, rb'(?s)\s*\{\s*"jobs"\s*:\s*\[\s*\{.{0,20000}?"t_(submit|depend)"\s*:',
    partial(listed, expected=ABOUT, key="jobs"), _job,
)  # fmt: skip
