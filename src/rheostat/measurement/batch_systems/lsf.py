"""``bjobs -a -o "..." -json`` of IBM Spectrum LSF: the fields that were asked for, as texts."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import count, hosts, length_s, moment_s, number
from rheostat.measurement.batch_systems.job_records import (
    COMPLETED,
    FAILED,
    PENDING,
    RUNNING,
    BatchSystem,
    Record,
    listed,
)

FIELDS = ("jobid user proj_name queue job_name stat submit_time start_time finish_time run_time "
          "runtimelimit nalloc_slot nexec_host exit_code")  # fmt: skip
ABOUT = f'bjobs -a -json -o "{FIELDS}" of LSF with LSB_DISPLAY_YEAR=Y'
STATES = {"DONE": COMPLETED, "EXIT": FAILED, "RUN": RUNNING, "PEND": PENDING}


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    cells = {k: v for k, v in record.items() if v not in ("", "-")}
    if "JOBID" not in cells:
        return None
    state = str(cells.get("STAT"))

    def moment(name: str) -> float | None:  # L, E or X behind a moment: by limit, estimated
        text = re.sub(r"\s+[A-Z]$", "", str(cells.get(name) or ""))
        return moment_s(text, zone)

    limit = number(str(cells.get("RUNTIMELIMIT") or "").split("/")[0])
    slots = cells.get("NALLOC_SLOT") or cells.get("SLOTS") or cells.get("NREQ_SLOT")
    task = f"[{index}]" if (index := count(cells.get("JOBINDEX"))) else ""
    return {
        "job_id": f"{cells['JOBID']}{task}", "user": cells.get("USER"),
        "group": cells.get("USER_GROUP"), "account": cells.get("PROJ_NAME"),
        "app": cells.get("JOB_NAME"), "partition": cells.get("QUEUE"),
        "submit_s": moment("SUBMIT_TIME"), "start_s": moment("START_TIME"),
        "end_s": moment("FINISH_TIME") if state in ("DONE", "EXIT") else None,
        "runtime_s": length_s(cells.get("RUN_TIME")) if "START_TIME" in cells else None,
        "nodes": count(cells.get("NEXEC_HOST")) or hosts(cells.get("EXEC_HOST")),
        "cores": count(slots), "gpus": count(cells.get("GPU_NUM")),
        "time_limit_s": None if limit is None else 60.0 * limit, "state": STATES.get(state),
        "exit_code": cells.get("EXIT_CODE"),
    }  # fmt: skip


LSF = BatchSystem(
    "lsf", ABOUT, rb'\s*\{\s*"COMMAND"\s*:\s*"bjobs"',
    partial(listed, expected=ABOUT, key="RECORDS"), _job, local=True,
    notes=("a slot of LSF is taken for a core",),
)  # fmt: skip
