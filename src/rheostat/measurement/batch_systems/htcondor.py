"""``condor_history -json`` of HTCondor: a job has CPUs of one machine, so no nodes of its own."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
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

ABOUT = "what condor_history -json (or condor_q -json) of HTCondor prints"
STATES = {1: PENDING, 2: RUNNING, 3: CANCELLED, 4: COMPLETED, 5: PENDING}
MIB = 2.0**20
LAST_RUN = "runtime_s is that of a job's last run, where it was started anew"


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    if "ClusterId" not in record or "QDate" not in record:
        return None
    start = moment_s(record.get("JobCurrentStartDate") or record.get("JobStartDate"), zone)
    status = count(record.get("JobStatus"))
    done = record.get("CompletionDate") or record.get("EnteredCurrentStatus")
    over = status in (3, 4) and start is not None
    failed = bool(number(record.get("ExitCode"))) or record.get("ExitBySignal") is True
    memory = number(record.get("RequestMemory"))
    name = str(record.get("JobBatchName") or PurePosixPath(str(record.get("Cmd") or "")).name)
    state = STATES.get(status) if status is not None else None
    return {
        "job_id": _id(record), "user": record.get("Owner"),
        "account": record.get("AccountingGroup"), "app": name or None,
        "submit_s": moment_s(record["QDate"], zone), "start_s": start,
        "end_s": moment_s(done, zone) if over else None,
        "cores": count(record.get("RequestCpus")) or count(record.get("CpusProvisioned")),
        "gpus": count(record.get("RequestGpus") or record.get("RequestGPUs")),
        "memory_b": memory * MIB if memory else None,
        "state": FAILED if state == COMPLETED and failed else state,
        "exit_code": str(record["ExitCode"]) if "ExitCode" in record else None,
    }  # fmt: skip


def _id(record: Record) -> str:
    """Cluster and process, behind the access point that counts them where the record names it."""
    number = f"{record['ClusterId']}.{record.get('ProcId', 0)}"
    at, _, rest = str(record.get("GlobalJobId") or "").partition("#")
    return f"{at}#{number}" if rest else number


HTCONDOR = BatchSystem(
    "htcondor", ABOUT, rb'\s*\[\s*\{[^{}]{0,20000}?"(ClusterId|QDate|GlobalJobId)"\s*:',
    partial(listed, expected=ABOUT), _job, notes=(LAST_RUN,),
)  # fmt: skip
