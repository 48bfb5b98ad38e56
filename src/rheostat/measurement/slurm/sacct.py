"""Read `sacct --parsable2`: one line per job and per step, any choice of fields.

Step lines (``123.batch``, ``123.extern``, ``123.0``) are folded into their job: they carry its
energy.  Slurm does not escape the delimiter, so a job name that contains one shifts its whole line;
such a line is left out and noted, unless ``rejoin`` names the fields that hold free text.

Notation
--------
a line is (row, cells); cells maps a field of the header to its text
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs, note_rows
from rheostat.measurement.lines import Records
from rheostat.measurement.slurm import spelling as slurm

Cells = Mapping[str, str]
ID = re.compile(r"\d+(_(\d+|\[.*\]))?(\+\d+)?(\..+)?")
STATE = re.compile(r"[A-Z_]+\+?( by \d+)?")
WHEN = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+|\d+|Unknown|None")
SHIFTED = "field count differs from the header: a delimiter inside a field? (rejoin= names it)"
NO_ID = "has no job id such as 123, 123_4 or 123.batch"
FOLDED = "step line, folded into its job"
HEADER = "the header again: outputs of sacct one after the other"
TWICE = "the job is there already (requeued, or listed twice)"
CLUSTER = Column("cluster", "", Moment.SUBMIT, "cluster of the job")
TYPES: dict[str, Any] = {
    ROW: pl.Int64, "job_id": pl.String, "user": pl.String, "group": pl.String,
    "account": pl.String, "app": pl.String, "partition": pl.String, "qos": pl.String,
    "cluster": pl.String, "priority": pl.Float64, "submit_s": pl.Float64,
    "eligible_s": pl.Float64, "start_s": pl.Float64, "end_s": pl.Float64, "nodes": pl.Int64,
    "nodes_alloc": pl.Int64, "cores": pl.Int64, "cores_alloc": pl.Int64, "gpus": pl.Int64,
    "gpus_alloc": pl.Int64, "memory_b": pl.Float64, "frequency_hz": pl.Float64,
    "time_limit_s": pl.Float64, "runtime_s": pl.Float64, "state": pl.String,
    "exit_code": pl.String, "energy_j": pl.Float64, "power_w": pl.Float64, "censored": pl.Boolean,
}  # fmt: skip
SHARED = Note(
    "energy_j: Slurm counts whole nodes, so jobs that share a node each carry all its joules; "
    "power_w is energy_j over runtime_s"
)


def read_sacct(
    path: str | Path,
    *,
    delimiter: str = "|",
    zone: str = "UTC",
    rejoin: str | Sequence[str] = (),
    encoding: str = "utf-8",
) -> JobTable:
    """Read what ``sacct --parsable2 --format=...`` printed; the first line names the fields.

    Needs JobID (or JobIDRaw), State, Submit and Elapsed (or ElapsedRaw); more is better.  ``zone``
    is the site's time zone: sacct prints local time without one.

    Parameters
    ----------
    path : path
        The file.
    delimiter : str
        Between fields.
    zone : str
        Time zone of the site.
    rejoin : str or sequence of str
        Fields whose values may hold the delimiter.
    encoding : str
        Of the file.

    Returns
    -------
    JobTable
        A row per job, SI units, steps folded in, energy counted once.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    records = Records(path, encoding=encoding, header=1)
    lines = iter(records)
    header = next((text.split(delimiter) for _, text in lines), [])
    _check_header(path, header, delimiter)
    stand = _zone(zone)
    names = (rejoin,) if isinstance(rejoin, str) else tuple(rejoin)
    try:
        jobs, steps, notes = _fold(lines, header, names, delimiter)
    except DataError as error:
        raise DataError(str(path), error.problems) from error
    notes = [*records.notes, *notes, Note(f"times read as {zone}")]
    if not jobs:
        raise DataError(
            str(path),
            ["has a header but no job line", *(f"{n.count} x {n.message}" for n in notes[:-1])],
        )
    orphans = sorted(set(steps) - set(jobs))
    if orphans:
        notes.append(Note(f"steps without their job line: {', '.join(orphans[:10])}"))
    rows = [_job(row, key, c, steps.get(key, []), stand) for key, (row, c) in jobs.items()]
    return sacct_table(rows, notes)


def _fold(
    lines: Iterator[tuple[int, str]], header: list[str], rejoin: tuple[str, ...], delimiter: str
) -> tuple[dict[str, tuple[int, Cells]], dict[str, list[Cells]], list[Note]]:
    """Job lines by id, their step lines, and notes on the lines that are not rows of their own."""
    jobs: dict[str, tuple[int, Cells]] = {}
    steps: dict[str, list[Cells]] = {}
    gone: dict[str, list[int]] = {}
    for row, text in lines:
        split = text.split(delimiter)
        if {"JobID", "JobIDRaw"} & set(split) and "State" in split:
            if split != header:
                message = f"row {row} is another header: read outputs of other fields one by one"
                raise DataError("sacct", [message, f"it reads: {text[:200]}"])
            gone.setdefault(HEADER, []).append(row)
            continue
        parts = _fit(split, header, rejoin, delimiter)
        if parts is None:
            gone.setdefault(SHIFTED, []).append(row)
            continue
        cells = dict(zip(header, parts, strict=True))
        key, _, step = _id(cells).partition(".")
        if not ID.fullmatch(_id(cells)):
            gone.setdefault(NO_ID, []).append(row)
        elif step:
            steps.setdefault(key, []).append(cells | {"step": step})
            gone.setdefault(FOLDED, []).append(row)
        elif key in jobs:
            gone.setdefault(TWICE, []).append(row)
        else:
            jobs[key] = (row, cells)
    return jobs, steps, [note_rows(why, rows, dropped=True) for why, rows in gone.items()]


def sacct_table(rows: list[dict[str, Any]], notes: list[Note]) -> JobTable:
    """The table from one mapping per job; shared with the JSON reader."""
    types = {k: v for k, v in TYPES.items() if k in rows[0]}
    try:
        frame = pl.DataFrame(rows, schema=types)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise DataError("sacct", [f"a value is of another type than its field: {error}"]) from error
    if frame["energy_j"].is_not_null().any():
        notes = [*notes, SHARED]
    return as_jobs(frame, [CLUSTER], notes)


def finish(job: dict[str, Any]) -> dict[str, Any]:
    """Add what follows from the rest: mean power, and whether the run was cut."""
    runtime, energy = job["runtime_s"], job["energy_j"]
    job["power_w"] = energy / runtime if energy and runtime else None
    job["censored"] = None if job["state"] is None else job["state"] != slurm.COMPLETED
    return job


def _job(row: int, key: str, cells: Cells, steps: list[Cells], zone: ZoneInfo) -> dict[str, Any]:
    get = cells.get
    asked, given = slurm.tres(get("ReqTRES", "")), slurm.tres(get("AllocTRES", ""))
    nodes = _int(get("ReqNodes")) or _int(asked.get("node")) or _int(get("NNodes"))
    cores = _int(get("ReqCPUS")) or _int(asked.get("cpu")) or _int(get("NCPUS"))
    memory = slurm.amount(asked["mem"]) if "mem" in asked else None
    clock = {
        name: _instant(get(field, ""), zone)
        for name, field in {"submit_s": "Submit", "eligible_s": "Eligible", "start_s": "Start",
                            "end_s": "End"}.items()
    }  # fmt: skip
    khz = slurm.amount(get("ReqCPUFreqMax", ""), base=1000)
    return finish({
        ROW: row, "job_id": key, "user": get("User") or None, "group": get("Group") or None,
        "account": get("Account") or None, "app": get("JobName") or None,
        "partition": get("Partition") or None, "qos": get("QOS") or None,
        "cluster": get("Cluster") or None, "priority": _float(get("Priority")), **clock,
        "nodes": nodes, "nodes_alloc": _int(get("AllocNodes")) or _int(given.get("node")),
        "cores": cores, "cores_alloc": _int(get("AllocCPUS")) or _int(given.get("cpu")),
        "gpus": slurm.gpus(asked), "gpus_alloc": slurm.gpus(given),
        "memory_b": memory or slurm.memory_b(get("ReqMem", ""), cores, nodes),
        "frequency_hz": khz * 1e3 if khz else None,
        "time_limit_s": _limit(cells), "runtime_s": _elapsed(cells),
        "state": slurm.state(get("State", "")), "exit_code": get("ExitCode") or None,
        "energy_j": _energy(cells, steps),
    })  # fmt: skip


def _energy(cells: Cells, steps: list[Cells]) -> float | None:
    batch = [_joules(s) for s in steps if s["step"] == "batch"]
    numbered = [_joules(s) for s in steps if s["step"].isdigit()]
    return slurm.energy_j(
        _joules(cells), next(iter(batch), None), [e for e in numbered if e is not None]
    )


def _joules(cells: Cells) -> float | None:
    raw = _float(cells.get("ConsumedEnergyRaw"))
    if raw is None:
        raw = slurm.amount(cells.get("ConsumedEnergy", ""), base=1000)
    if raw is None:
        raw = slurm.amount(slurm.tres(cells.get("TRESUsageInTot", "")).get("energy", ""))
    return raw


def _elapsed(cells: Cells) -> float | None:
    raw = _float(cells.get("ElapsedRaw"))
    return raw if raw is not None else slurm.seconds(cells.get("Elapsed", ""))


def _limit(cells: Cells) -> float | None:
    raw = _float(cells.get("TimelimitRaw"))
    return raw * 60 if raw is not None else slurm.seconds(cells.get("Timelimit", ""))


def _instant(text: str, zone: ZoneInfo) -> float | None:
    if text.isdigit():
        return float(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=zone)).timestamp()


def _fit(
    parts: list[str], header: list[str], rejoin: tuple[str, ...], delimiter: str
) -> list[str] | None:
    """The line's cells; None where their number differs and ``rejoin`` cannot mend it.

    All ways to give the extra pieces to the ``rejoin`` fields are tried; the line is mended only if
    exactly one of them leaves an id, a state and times where the header says they are.
    """
    extra = len(parts) - len(header)
    places = sorted(header.index(f) for f in rejoin if f in header)
    if extra <= 0 or not places:
        return parts if extra == 0 else None
    splits = []
    for cuts in combinations_with_replacement(range(extra + 1), len(places) - 1):
        shares = [b - a for a, b in pairwise((0, *cuts, extra))]
        cells = _joined(parts, dict(zip(places, shares, strict=True)), len(header), delimiter)
        if _sane(dict(zip(header, cells, strict=True))):
            splits.append(cells)
    return splits[0] if len(splits) == 1 else None


def _joined(parts: list[str], shares: dict[int, int], width: int, delimiter: str) -> list[str]:
    """``width`` cells: cell i takes ``shares[i]`` pieces more than one."""
    cells, at = [], 0
    for i in range(width):
        take = 1 + shares.get(i, 0)
        cells.append(delimiter.join(parts[at : at + take]))
        at += take
    return cells


def _sane(cells: Cells) -> bool:
    """Whether the cells of fixed shape have it: ids, states, instants."""
    shapes = {"JobID": ID, "JobIDRaw": ID, "State": STATE, "Submit": WHEN, "End": WHEN}
    return all(shape.fullmatch(cells[k]) for k, shape in shapes.items() if k in cells)


def _check_header(path: str | Path, header: list[str], delimiter: str) -> None:
    have, problems = set(header), []
    for choice in (("JobID", "JobIDRaw"), ("State",), ("Submit",), ("Elapsed", "ElapsedRaw")):
        if not have & set(choice):
            problems.append(f"field {' or '.join(choice)} is missing")
    if problems:
        shown = ", ".join(header)[:200]
        raise DataError(
            str(path), [*problems, f"the first line, split at {delimiter!r}, reads: {shown}"]
        )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise DataError("zone", [f"expected a name like Europe/Paris, got {name!r}"]) from error


def _id(cells: Cells) -> str:
    return cells.get("JobID") or cells.get("JobIDRaw", "")


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _int(text: str | None) -> int | None:
    number = slurm.amount(text) if text else None
    return int(number) if number is not None else None
