"""Which jobs a site takes, in which ways, and what each waits for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.site.capacity_changes import capacity, demand, resources
from rheostat.simulation.site.moldable import JobOptions, counts, gpus_of, index_of, numbers
from rheostat.simulation.site.planning_estimates import planned_watts
from rheostat.simulation.workload import Array, Workload, workload

MOST_NAMED = 5
"""Names that a message lists."""
KEPT, CUT = "kept, planned with the request", "ended at the limit"


def partitions(jobs: JobTable, machine: Machine) -> Array:
    """The partition of each row: the first if it names none, -1 if the site has no such one.

    Of a machine with one partition numbers are no names: a column so called may count seconds.
    """
    one = len(machine.parts) == 1
    if (one and not machine.parts[0].name) or "partition" not in jobs.schema:
        return np.zeros(len(jobs), np.int64)
    names = {p.name: k for k, p in enumerate(machine.parts)}
    asked = jobs.frame["partition"].to_list()
    if one and not any(str(a) in names for a in asked) and all(map(_is_number, asked)):
        return np.zeros(len(jobs), np.int64)
    return np.array([0 if a is None else names.get(str(a), -1) for a in asked], np.int64)


def _is_number(value: object) -> bool:
    try:
        return value is None or math.isfinite(float(str(value)))
    except ValueError:
        return False


def _strange(jobs: JobTable, machine: Machine) -> str:
    """What is said of jobs for no partition: which they name, and which there are."""
    names = [p.name for p in machine.parts]
    asked = jobs.frame["partition"].cast(pl.String).drop_nulls().unique(maintain_order=True)
    odd = asked.filter(~asked.is_in(names)).to_list()
    meaning = jobs.schema["partition"].meaning
    column = meaning.removeprefix("from ") if meaning.startswith("from ") else "partition"
    said = ", ".join(odd[:MOST_NAMED]) + ", ..." * (len(odd) > MOST_NAMED)
    return (
        f"names a partition that the machine has not, {said} of column {column}; the machine has "
        f"{', '.join(names)}"
    )


def site_workload(jobs: JobTable, machine: Machine) -> Workload:
    """With notes that say what this site does."""
    load = workload(jobs, machine)
    if machine.rules.kill != "limit":
        return load
    notes = (replace(n, message=n.message.replace(KEPT, CUT)) for n in load.notes)
    return replace(load, notes=tuple(notes))


def placed(jobs: JobTable, load: Workload, machine: Machine, other: JobTable | None) -> Workload:
    """Leave out what no partition takes."""
    part = partitions(jobs, machine)[load.row]
    sizes = np.array([p.procs for p in machine.parts])
    gpus = np.array([p.gpus for p in machine.parts])
    wanted = counts(jobs, "gpus")[load.row]
    free = np.zeros(len(load), bool)
    if other is not None:
        free = index_of(other.frame["job_id"], jobs.frame["job_id"][load.row]) >= 0
    some = gpus.any()
    if (part < 0).any():
        load, kept = _without(load, part < 0, _strange(jobs, machine))
        part, wanted, free = part[kept], wanted[kept], free[kept]
    small = ~free & (load.procs > sizes[part])
    load, kept = _without(load, small, "more processors than its partition has")
    part, wanted, free = part[kept], wanted[kept], free[kept]
    return _without(load, ~free & some & (wanted > gpus[part]), "more GPUs than its partition")[0]


def _without(load: Workload, bad: Array, why: str) -> tuple[Workload, Array]:
    """The workload less some jobs, with a note on them; and which are kept."""
    keep = ~bad
    if keep.all():
        return load, keep
    rows = load.row[bad]
    note = Note(f"{why}: left out", tuple(int(r) for r in rows[:10]), len(rows), True)
    if not keep.any():
        raise DataError("simulate", ["no row of the trace can run", note.message])
    fields = ("submit_s", "run_s", "procs", "ask_s", "row")
    cut = {f: getattr(load, f)[keep] for f in fields}
    return replace(load, **cut, notes=(*load.notes, note)), keep


def possible(
    load: Workload, ways: JobOptions, part: Array, machine: Machine, believed: Array | None
) -> tuple[Workload, JobOptions, Array]:
    """Drop ways that no moment of the site allows, and then jobs without a way."""
    p = part[ways.job]
    ok = ways.procs <= np.array([q.procs for q in machine.parts])[p]
    gpus = np.array([q.gpus for q in machine.parts])
    ok &= (ways.gpus <= gpus[p]) | (not gpus.any())
    if machine.cap_w is not None:
        watts, _ = planned_watts(machine, load, ways, part, believed)
        need = demand(machine, p, ways.procs, gpus_of(machine, ways), watts)
        _, there = capacity(machine, load.submit_s[0], np.inf if not _repeats(machine) else
                               load.submit_s[0] + machine.cap_w.repeat_s)  # fmt: skip
        ok &= need <= there[:, resources(machine)[0, 2]].max()
    able = np.zeros(len(load), bool)
    able[ways.job[ok]] = True
    load, kept = _without(load, ~able, "needs more than the site ever has (size, GPUs or watts)")
    new = np.cumsum(kept) - 1
    ways = ways.only(ok)
    return load, replace(ways, job=new[ways.job]), part[kept]


def _repeats(machine: Machine) -> bool:
    return machine.cap_w is not None and machine.cap_w.repeat_s > 0


def parents(
    jobs: JobTable, load: Workload, machine: Machine
) -> tuple[Array, Array, tuple[Note, ...]]:
    """(job each waits for or -1, think time in s, notes)."""
    n = len(load)
    none = np.full(n, -1)
    if not machine.rules.dependencies or "preceding_job" not in jobs.schema:
        return none, np.zeros(n), ()
    jobs.require("job_id")
    wanted = jobs.frame["preceding_job"][load.row]
    parent = index_of(jobs.frame["job_id"][load.row], wanted)
    think = np.nan_to_num(np.maximum(numbers(jobs, "think_s")[load.row], 0.0))
    lost = (parent < 0) & wanted.is_not_null().to_numpy()
    what = "preceding job is not in the trace: not waited for"
    notes = (
        (Note(what, tuple(map(int, load.row[lost][:10])), int(lost.sum())),) if lost.any() else ()
    )
    at = parent.copy()
    for _ in range(int(np.log2(n + 1)) + 1):  # jump twice as far each time: only a circle stays
        at = np.where(at >= 0, at[at], -1)
    if (at >= 0).any():
        rows = load.row[at >= 0][:5].tolist()
        raise DataError(
            "preceding_job", [f"rows {rows}: jobs that wait for each other in a circle"]
        )
    return parent, think, notes


def arrays(jobs: JobTable, load: Workload, machine: Machine) -> tuple[Array, Array]:
    """(number of the job array or -1, how many tasks of each may run).

    The array is ``array_id``, or what stands before the underscore of a job_id like 123_4.
    """
    none = np.full(len(load), -1), np.zeros(1, np.int64)
    if not machine.rules.arrays or not {"array_id", "job_id"} & set(jobs.columns):
        return none
    if "array_id" in jobs.schema:
        names = jobs.frame["array_id"][load.row]
    else:
        names = jobs.frame["job_id"][load.row].cast(pl.String).str.extract(r"^(\d+)_\d+$")
    code = names.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    most = numbers(jobs, "array_limit")[load.row]
    most = np.where(most > 0, most, machine.rules.array_limit)
    limit = np.full(int(code.max()) + 2, np.iinfo(np.int64).max)
    has = (code >= 0) & (most > 0)
    np.minimum.at(limit, code[has], most[has].astype(np.int64))
    return code, limit
