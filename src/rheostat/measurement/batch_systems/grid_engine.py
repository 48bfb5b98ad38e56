"""``qacct -j`` of Grid Engine (SGE, Univa, Altair, Open Cluster): a block of lines a job.

Grid Engine counts slots and names the first host alone: how many nodes a job had is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from rheostat.measurement.batch_systems.cells import count, length_s, moment_s, number
from rheostat.measurement.batch_systems.job_records import (
    COMPLETED,
    FAILED,
    TIMEOUT,
    BatchSystem,
    Record,
)
from rheostat.measurement.lines import raw_lines

NONE = ("NONE", "undefined", "none", "-/-", "")
LIMIT = re.compile(r"(?:^|[\s,])h_rt=([\d:]+)")
OVER_LIMIT, KILLED = 37, (37, 100)
"""Codes of ``failed``: the master enforced a limit; the same, or the job died by a signal."""
PARTS = "lines of a job's parts on other hosts are passed over: its first one has the whole job"


def records(path: Path) -> Iterator[tuple[int, Record]]:
    """Blocks between lines of equality signs; those of tasks on other hosts are passed over."""
    block: dict[str, str] = {}
    row = 0
    for raw in raw_lines(path):
        line = raw.decode("utf-8", "replace").rstrip()
        if not line.startswith("="):
            name, _, value = line.partition(" ")
            block |= {name: value.strip()} if name else {}
            continue
        if block and not _part(block):
            yield row, block
            row += 1
        block = {}
    if block and not _part(block):
        yield row, block


def _part(block: Record) -> bool:
    return block.get("pe_taskid", "NONE") not in NONE


def _job(record: Record, zone: ZoneInfo) -> dict[str, Any] | None:
    cells = {k: v for k, v in record.items() if v not in NONE}
    if "jobnumber" not in cells:
        return None
    first = {k: number(str(cells.get(k) or "").split(" ")[0]) for k in ("failed", "exit_status")}
    start, slots = moment_s(cells.get("start_time"), zone), count(cells.get("slots"))
    limit = LIMIT.search(str(cells.get("category") or ""))
    limit_s = length_s(limit[1]) if limit else None
    ran = length_s(cells.get("ru_wallclock") or cells.get("wallclock") or "")
    task = cells.get("taskid")
    return {
        "job_id": cells["jobnumber"] + f".{task}" * (task is not None), "user": cells.get("owner"),
        "group": cells.get("group"), "account": cells.get("project") or cells.get("account"),
        "app": cells.get("jobname"), "partition": cells.get("qname"),
        "submit_s": moment_s(cells.get("qsub_time"), zone), "start_s": start,
        "end_s": moment_s(cells.get("end_time"), zone) if start is not None else None,
        "runtime_s": ran if start is not None else None, "time_limit_s": limit_s,
        "cores": slots, "exit_code": cells.get("exit_status"),
        "state": _ended(first["failed"], first["exit_status"], ran, limit_s),
    }  # fmt: skip


def _ended(
    failed: float | None, status: float | None, ran: float | None, limit_s: float | None
) -> str | None:
    """How a job ended: at its time limit if it was killed then, or by a limit and none is named."""
    if status is None:
        return None
    if not failed and not status:
        return COMPLETED
    if limit_s is None or ran is None:
        return TIMEOUT if failed == OVER_LIMIT else FAILED
    return TIMEOUT if failed in KILLED and ran >= limit_s else FAILED


GRID_ENGINE = BatchSystem(
    "grid-engine", "what qacct -j of Grid Engine prints", rb"={20,}\s*\n\s*qname\s", records, _job,
    local=True, notes=("a slot of Grid Engine is taken for a core", PARTS),
)  # fmt: skip
