"""``bjobs -a -o "..." -json`` of IBM Spectrum LSF: the fields that were asked for, as texts."""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import count, hosts, length_s, moment_s, number
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

FIELDS = ("jobid user proj_name queue job_name stat submit_time start_time finish_time run_time "
          "runtimelimit nalloc_slot nexec_host exit_code exit_reason")  # fmt: skip
ABOUT = f'bjobs -a -json -o "{FIELDS}" of LSF with LSB_DISPLAY_YEAR=Y'
NO_YEAR = re.compile(r"[A-Z][a-z]{2}\s+\d{1,2}\s+\d\d:\d\d(:\d\d)?(\s+[A-Z])?")
WITHOUT_YEAR = "times without a year are not read: with LSB_DISPLAY_YEAR=Y bjobs prints it"
OVER_TIME, BY_PERSON = ("RUNLIMIT",), ("OWNER", "ADMIN", "FORCE")
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
        "app": re.sub(r"\[[\d,:-]*\]$", "", str(cells.get("JOB_NAME") or "")) or None,
        "partition": cells.get("QUEUE"),
        "submit_s": moment("SUBMIT_TIME"), "start_s": moment("START_TIME"),
        "end_s": moment("FINISH_TIME") if state in ("DONE", "EXIT") else None,
        "runtime_s": length_s(cells.get("RUN_TIME")) if "START_TIME" in cells else None,
        "nodes": count(cells.get("NEXEC_HOST")) or hosts(cells.get("EXEC_HOST")),
        "cores": count(slots), "gpus": count(cells.get("GPU_NUM")),
        "time_limit_s": None if limit is None else 60.0 * limit, "state": _ended(cells, state),
        "exit_code": cells.get("EXIT_CODE"),
    }  # fmt: skip


def _ended(cells: Record, state: str) -> str | None:
    """In Slurm's words: what ended a job tells apart its limit and a person."""
    why = str(cells.get("EXIT_REASON") or "")
    if state == "EXIT" and any(word in why for word in OVER_TIME):
        return TIMEOUT
    if state == "EXIT" and any(word in why for word in BY_PERSON):
        return CANCELLED
    return STATES.get(state)


def _unread(record: Record) -> str:
    times = (str(record.get(n) or "") for n in ("SUBMIT_TIME", "START_TIME", "FINISH_TIME"))
    return WITHOUT_YEAR if any(NO_YEAR.fullmatch(t.strip()) for t in times) else ""


LSF = BatchSystem(
    "lsf", ABOUT, rb'\s*\{\s*"COMMAND"\s*:\s*"bjobs"',
    partial(listed, expected=ABOUT, key="RECORDS"), _job, local=True,
    notes=("a slot of LSF is taken for a core",), unread=_unread,
)  # fmt: skip
