"""Read `sacct --json` of Slurm 22.05 to 24.11, whose shapes differ, through one unwrap helper.

Newer releases wrap numbers (``{"set": true, "infinite": false, "number": 5}``) and states (a list)
that older ones write plainly; times are epoch seconds in both, limits minutes, memory MiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.json_files import read_document
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.slurm import spelling as slurm
from rheostat.measurement.slurm.frequencies import GOVERNOR, by_reason, frequency_of
from rheostat.measurement.slurm.sacct import (
    NOTE,
    assigned,
    finish,
    sacct_table,
    with_company,
)
from rheostat.measurement.slurm.step_energy import StepJoules, job_energy

MIB = 2.0**20
ODD_ENERGY, ODD_CLOCK = "__odd_energy", "__odd_clock"


def unwrap(value: Any) -> Any:
    """The number in a wrapped number, the first of a list of states, None for "not set".

    >>> unwrap({"set": True, "infinite": False, "number": 5}), unwrap(["RUNNING"]), unwrap(7)
    (5, 'RUNNING', 7)
    >>> unwrap({"set": False, "infinite": False, "number": 0}), unwrap({"infinite": True})
    (None, None)
    """
    if isinstance(value, Mapping):
        known = value.get("set", True) and not value.get("infinite", False)
        return value.get("number") if known else None
    if isinstance(value, list):
        return unwrap(value[0]) if value else None
    return None if value == "" else value


def read_sacct_json(path: str | Path) -> JobTable:
    """Read ``sacct --json``; jobs whose record is not an object are noted and left out.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    JobTable
        A row per job, SI units, steps folded in.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    document = read_document(path, "complete JSON of sacct --json")
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise other_kind(path, 'a "jobs" list, as in the output of sacct --json')
    rows, odd = [], []
    for row, job in enumerate(jobs):
        try:
            rows.append(_job(row, job))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            odd.append(row)  # any shape but a job's: noted below, with its row
    if not rows:
        raise DataError(str(path), ["has no job: the list is empty or holds something else"])
    notes = by_reason((r[ROW], r.pop(said)) for said in (ODD_ENERGY, ODD_CLOCK) for r in rows)
    notes += [note_rows("record is not a job of a known shape", odd, dropped=True)] if odd else []
    version = _version(document.get("meta", {}))
    notes += [Note(f"Slurm {version}")] if version else []
    return with_company(sacct_table(rows, notes))


def _job(row: int, job: Mapping[str, Any]) -> dict[str, Any]:
    time, tres = job["time"], job.get("tres", {})
    asked, given = _counts(tres.get("requested", [])), _counts(tres.get("allocated", []))
    array, limit = job.get("array") or {}, unwrap(time.get("limit"))
    task = unwrap(array.get("task_id"))
    key = f"{array['job_id']}_{task}" if array.get("job_id") and task is not None else job["job_id"]
    whole = job.get("het") or {}
    if lead := unwrap(whole.get("job_id")):
        key = f"{lead}+{unwrap(whole.get('job_offset')) or 0}"
    clock = {n: unwrap(time.get(k)) or None for n, k in
             (("submit_s", "submission"), ("eligible_s", "eligible"), ("start_s", "start"),
              ("end_s", "end"))}  # fmt: skip
    code = job.get("exit_code") or {}
    memory, nodes, steps = asked.get("mem"), given.get("node"), job.get("steps") or []
    joules, odd_energy = job_energy(
        _number(given.get("energy")), [_energy(step) for step in steps], nodes
    )
    hz, odd_clock = frequency_of({}, [_clock(step) for step in steps])
    return finish({
        ROW: row, "job_id": str(key), "user": unwrap(job.get("user")),
        "group": unwrap(job.get("group")), "account": unwrap(job.get("account")),
        "app": unwrap(job.get("name")), "partition": unwrap(job.get("partition")),
        "qos": unwrap(job.get("qos")), "cluster": unwrap(job.get("cluster")),
        "priority": _number(unwrap(job.get("priority"))), **clock,
        "nodes": asked.get("node"), "nodes_alloc": given.get("node"),
        "cores": asked.get("cpu"), "cores_alloc": given.get("cpu"),
        "gpus": asked.get("gres/gpu"), "gpus_alloc": given.get("gres/gpu"),
        "memory_b": memory * MIB if memory else None,
        "frequency_hz": hz, ODD_CLOCK: odd_clock,
        "time_limit_s": limit * 60.0 if limit is not None else None,
        "runtime_s": _number(unwrap(time.get("elapsed"))),
        "state": unwrap((job.get("state") or {}).get("current")),
        "exit_code": None if unwrap(code.get("return_code")) is None
        else str(unwrap(code["return_code"])),
        "energy_j": joules, ODD_ENERGY: odd_energy,
        **({"node_list": assigned(str(job["nodes"] or ""))} if "nodes" in job else {}),
        "job_id_raw": str(job["job_id"]),
        NOTE: _note(job.get("comment")),
    })  # fmt: skip


def _energy(step: Mapping[str, Any]) -> StepJoules:
    joules = unwrap(step.get("statistics", {}).get("energy", {}).get("consumed"))
    took = unwrap(step.get("time", {}).get("elapsed"))
    nodes = unwrap(step["nodes"].get("count")) if isinstance(step.get("nodes"), Mapping) else None
    return StepJoules(_step_of(step), _number(joules), _number(took), _number(nodes))


def _clock(step: Mapping[str, Any]) -> dict[str, str]:
    """A step as `frequency_of` reads it; a governor is a number beyond `GOVERNOR`."""
    asked = unwrap((step.get("CPU", {}).get("requested_frequency") or {}).get("max")) or 0
    took = unwrap(step.get("time", {}).get("elapsed")) or 0
    clock = "governor" if asked >= GOVERNOR else str(asked)
    return {"step": _step_of(step), "ReqCPUFreqMax": clock, "ElapsedRaw": str(took)}


def _step_of(step: Mapping[str, Any]) -> str:
    """A step's id: it is a number, a name, or ``job.step``."""
    return str(unwrap(step.get("step", {}).get("id"))).rpartition(".")[2]


def _counts(resources: list[Mapping[str, Any]]) -> dict[str, int]:
    """TRES by name, ``gres/gpu`` for a named generic resource; typed GPUs are summed if alone."""
    plain = {
        f"{r['type']}/{r['name']}" if r.get("name") else str(r["type"]): slurm.count(
            unwrap(r["count"]) or 0
        )
        for r in resources
    }
    typed = [v for k, v in plain.items() if k.startswith("gres/gpu:")]
    return plain if "gres/gpu" in plain or not typed else plain | {"gres/gpu": sum(typed)}


def _note(comments: Any) -> str | None:
    """What administrators, or their scripts, noted of a job."""
    note = comments.get("administrator") if isinstance(comments, Mapping) else None
    return note if isinstance(note, str) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _version(meta: Mapping[str, Any]) -> str:
    plain = meta.get("slurm") or meta.get("Slurm") or {}
    return str(plain.get("release", "")) if isinstance(plain, Mapping) else ""
