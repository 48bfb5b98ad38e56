"""``qstat -x -f -F json`` of PBS Professional and OpenPBS: jobs that are there, and ended ones."""

from __future__ import annotations

from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import inner, moment_s
from rheostat.measurement.batch_systems.job_records import (
    PENDING,
    RUNNING,
    BatchSystem,
    Record,
    listed,
)
from rheostat.measurement.batch_systems.pbs import ended, resources

ABOUT = "what qstat -x -f -F json of PBS prints"
STATES = {"R": RUNNING, "E": RUNNING, "B": RUNNING, "Q": PENDING, "H": PENDING, "W": PENDING}


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    asked, used = inner(record, "Resource_List") or {}, inner(record, "resources_used") or {}
    if not isinstance(asked, dict) or not isinstance(used, dict) or "job_state" not in record:
        return None
    status, place = record.get("Exit_status"), record.get("exec_host")
    values = resources(asked, used, place)
    start, end = (moment_s(record.get(n), zone) for n in ("stime", "obittime"))
    if end is None and start is not None and status is not None and values["runtime_s"]:
        end = start + values["runtime_s"]
    by_status = ended(status, values["runtime_s"], values["time_limit_s"])
    return {
        "job_id": record.get("__name"), "user": str(record.get("Job_Owner") or "").split("@")[0],
        "group": record.get("egroup"), "account": record.get("Account_Name")
        or record.get("project"), "app": record.get("Job_Name"), "partition": record.get("queue"),
        "submit_s": moment_s(record.get("ctime"), zone), "start_s": start, "end_s": end,
        "state": STATES.get(str(record["job_state"]), by_status),
        "exit_code": None if status is None else str(status), **values,
    }  # fmt: skip


PBS_JSON = BatchSystem(
    "pbs-json", ABOUT, rb'\s*\{\s*("timestamp"\s*:\s*\d+\s*,\s*)?"pbs_version"',
    partial(listed, expected=ABOUT, key="Jobs"), _job, local=True,
)  # fmt: skip
