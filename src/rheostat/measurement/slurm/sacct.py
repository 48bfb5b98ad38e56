"""Read `sacct --parsable2`: one line per job and per step, any choice of fields.

Step lines (``123.batch``, ``123.extern``, ``123.0``) are folded into the job line above them: they
carry its energy.  Of a job that was requeued (``sacct -D``), or stands in two exports, the latest
run is kept, as sacct itself does; the others are noted, and what earlier runs used of the machine
is kept beside it.  Slurm does not escape the delimiter, so a job name that contains one shifts its
whole line; such a line is left out and noted, unless ``rejoin`` names the fields that hold free
text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.vocabulary import VOCABULARY, table
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs, note_rows
from rheostat.measurement.job_logs.node_sharing import SHARED, count_nodes, shared_nodes
from rheostat.measurement.lines import Records
from rheostat.measurement.runs.mapping import ColumnSource
from rheostat.measurement.slurm import spelling as slurm
from rheostat.measurement.slurm.components import one_job_each
from rheostat.measurement.slurm.fixed_width import BETWEEN, FixedWidth, cut_names
from rheostat.measurement.slurm.frequencies import by_reason, frequency_of
from rheostat.measurement.slurm.latest_runs import REQUEUED, latest_runs
from rheostat.measurement.slurm.own_columns import OWN, field_of_job, own_fields, with_own
from rheostat.measurement.slurm.sacct_clock import (
    CLOCK,
    DERIVED,
    DOUBT,
    NO_LENGTH,
    NO_SUBMIT,
    OFF,
    PUT_BACK,
    REPEATED,
    clocks_of,
    dated,
    length_s,
    put_back,
    time_zone,
)
from rheostat.measurement.slurm.sacct_lines import (
    CUT,
    JOINED,
    SHIFTED,
    UNENDED,
    Cells,
    JobRun,
    check_header,
    delimiter_of,
    elapsed_s,
    fold,
    job_id,
    number,
    times_runs,
)
from rheostat.measurement.slurm.step_energy import StepJoules, job_energy

ROUGH = 0.01
NUMBER = replace(VOCABULARY["job_id"], meaning="of sacct")
CLUSTER = Column("cluster", "", Moment.SUBMIT, "cluster of the job")
NODE_LIST = Column(
    "node_list", "", Moment.START, "names of the nodes received, as Slurm folds them"
)
RAW = Column("job_id_raw", "", Moment.START, "Slurm's number: tasks of an array have their own")
ARM = Column("trial_arm", "", Moment.SUBMIT, "drawn to run as advised, or as asked")
ASKED = Column("nodes_requested", "", Moment.SUBMIT, "nodes as submitted, before a trial")
NOTE = "note"
TRIAL = re.compile(r"rheostat trial=(advised|asked) nodes=(\d{1,9})\b")
"""What a trial notes of a job in its AdminComment."""
NO_NODES = ("", "None assigned", "None", "(null)")
TYPES: dict[str, Any] = {
    ROW: pl.Int64, "job_id": pl.String, "user": pl.String, "group": pl.String,
    "account": pl.String, "app": pl.String, "partition": pl.String, "qos": pl.String,
    "cluster": pl.String, "priority": pl.Float64, "submit_s": pl.Float64,
    "eligible_s": pl.Float64, "start_s": pl.Float64, "end_s": pl.Float64, "nodes": pl.Int64,
    "nodes_alloc": pl.Int64, "cores": pl.Int64, "cores_alloc": pl.Int64, "gpus": pl.Int64,
    "gpus_alloc": pl.Int64, "memory_b": pl.Float64, "frequency_hz": pl.Float64,
    "time_limit_s": pl.Float64, "runtime_s": pl.Float64, "state": pl.String,
    "exit_code": pl.String, "energy_j": pl.Float64, "power_w": pl.Float64, "censored": pl.Boolean,
    "node_list": pl.String, "job_id_raw": pl.String, "requeued_node_hours": pl.Float64,
    "trial_arm": pl.String, "nodes_requested": pl.Int64,
}  # fmt: skip
WHOLE_NODES = (
    "energy_j: Slurm counts whole nodes, so jobs that share a node each carry all its joules; "
    "power_w is energy_j over runtime_s"
)
TOGETHER = (
    "each carries all of its joules, so that a sum counts them more than once; "
    "power_w is energy_j over runtime_s"
)


def read_sacct(
    path: str | Path,
    *,
    delimiter: str = "",
    zone: str = "UTC",
    rejoin: str | Sequence[str] = "JobName",
    encoding: str = "utf-8",
    columns: Mapping[str, Any] | None = None,
) -> JobTable:
    """Read what ``sacct --parsable2 --format=...`` printed; the first line names the fields.

    Needs JobID (or JobIDRaw), State and Elapsed (or ElapsedRaw, or Start and End); more is better,
    Submit above all.  ``zone`` is the site's time zone: sacct prints local time without one.

    Parameters
    ----------
    path : path
        The file.
    delimiter : str
        Between fields; what the first line has there if not given.
    zone : str
        Time zone of the site.
    rejoin : str or sequence of str
        Fields whose values may hold the delimiter; a line is mended where one way alone fits.
    encoding : str
        Of the file.
    columns : mapping
        Ours to fields of the first line, as ``{"script": "WorkDir"}``; what is no field of sacct
        is a column under its own name without it.

    Returns
    -------
    JobTable
        A row per job, SI units, steps folded in, energy counted once.

    Raises
    ------
    DataError
        The file is cut, damaged, of another format, or lacks columns; all named at once.
    """
    jobs = read_piece(path, delimiter=delimiter, zone=zone, rejoin=rejoin, encoding=encoding,
                      columns=columns or {})  # fmt: skip
    if not len(jobs):
        said = (f"{n.count} x {n.message}" for n in jobs.notes if n.dropped)
        raise DataError(str(path), ["has a header but no job line", *said])
    return with_company(jobs)


def read_piece(
    path: str | Path,
    *,
    delimiter: str = "",
    zone: str = "UTC",
    rejoin: str | Sequence[str] = (),
    encoding: str = "utf-8",
    columns: Mapping[str, Any] | None = None,
) -> JobTable:
    """As `read_sacct`, of a part of an export: without what only all of its jobs can tell.

    Columns of a site's own are read where ``columns`` are given, be they none.
    """
    records = Records(path, encoding=encoding, header=1)
    lines = iter(records)
    first = next((text for _, text in lines), "")
    plain = FixedWidth(records, lines, first)
    delimiter = delimiter or (BETWEEN if plain.is_one else delimiter_of(first))
    header = plain.header.split(delimiter)
    check_header(path, header, delimiter)
    own = {} if columns is None else own_fields(header, columns)
    stand = time_zone(zone)
    names = (rejoin,) if isinstance(rejoin, str) else tuple(rejoin)
    try:
        runs, orphans, gone = fold(iter(plain), header, names, delimiter)
    except DataError as error:
        raise DataError(str(path), error.problems) from error
    cut = [] if records.ended else [gone[SHIFTED].pop()] if records.row in gone[SHIFTED] else []
    notes = [*records.notes, *(note_rows(w, r, dropped=w != JOINED) for w, r in gone.items() if r)]
    notes += [note_rows(CUT, cut, dropped=True)] if cut else []
    if not runs:
        none = pl.DataFrame(schema={"job_id": pl.String, "submit_s": pl.Float64})
        return table(none, notes=notes)
    if not records.ended and not cut:
        notes.append(note_rows(UNENDED, [records.row]))
    elsewhere = "; pass the zone of the site's clock if it is another" * (zone == "UTC")
    notes.append(Note(f"times read as {zone}{elsewhere}"))
    if orphans:
        notes.append(Note(f"steps without their job line: {', '.join(orphans[:10])}"))
    notes += cut_names(runs) if plain.is_one else []
    runs, said = dated(runs)
    notes += said if "Submit" in header else [*said, Note(NO_SUBMIT)]
    fields = {f for source in own.values() for f in source.columns if f in header}
    rows = [_job(run, stand) | {OWN: {f: field_of_job(run, f) for f in fields}} for run in runs]
    untimed = not times_runs(header)
    notes += [Note(DERIVED + OFF * (zone == "UTC"))] if untimed else []
    if doubtful := [row[ROW] for row in rows if row.pop(DOUBT)]:
        notes.append(note_rows(REPEATED + NO_LENGTH * untimed, doubtful))
    if zone == "UTC":
        rows, back = put_back(rows)
        notes += [note_rows(PUT_BACK, back)] if back else []
    notes += by_reason((run.row, frequency_of(run.cells, run.steps)[1]) for run in runs)
    notes += [*by_reason((run.row, _energy(run)[1]) for run in runs), *_rounded(runs)]
    return sacct_table(rows, notes, own)


def _rounded(runs: Sequence[JobRun]) -> list[Note]:
    """A note where joules were written with so few digits that they are off by more than 1 %."""
    off = {run.row: share for run in runs if (share := _rounding(run)) > ROUGH}
    if not off:
        return []
    most = "all of it" if max(off.values()) >= 1 else f"{100 * max(off.values()):.0f} %"
    said = f"energy_j is off by up to {most}: ConsumedEnergy is rounded, ConsumedEnergyRaw is not"
    return [note_rows(said, off)]


def _rounding(run: JobRun) -> float:
    """By what share the joules of a run may be off; infinite where all are rounded to nothing."""
    lines = [run.cells, *run.steps]
    if any(number(c.get("ConsumedEnergyRaw")) is not None for c in lines):
        return 0.0
    shares = [slurm.rounding(c.get("ConsumedEnergy", "")) for c in lines]
    return max((s for s in shares if s < math.inf), default=0.0) or max(shares)


def sacct_table(
    rows: list[dict[str, Any]], notes: list[Note], own: Mapping[str, ColumnSource] | None = None
) -> JobTable:
    """The table from one mapping per job; shared with the JSON reader."""
    rows, twice = latest_runs(_with_trial(rows))
    rows, joined = one_job_each(rows)
    rows = [finish(row) for row in rows] if joined else rows
    types = {k: v for k, v in TYPES.items() if k in rows[0]}
    try:
        frame = pl.DataFrame(rows, schema=types)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise DataError("sacct", [f"a value is of another type than its field: {error}"]) from error
    frame, sites, said = with_own(frame, [row.get(OWN, {}) for row in rows], own or {})
    columns = [NUMBER, CLUSTER, NODE_LIST, RAW, REQUEUED, ARM, ASKED, *sites]
    return as_jobs(frame, columns, [*notes, *twice, *joined, *said])


def _with_trial(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with their arm of a trial and the nodes that were asked for, where any was drawn.

    >>> _with_trial([{"nodes": 2, "note": "x rheostat trial=advised nodes=4"}, {"nodes": 8}])
    [{'nodes': 2, 'trial_arm': 'advised', 'nodes_requested': 4}, \
{'nodes': 8, 'trial_arm': None, 'nodes_requested': 8}]
    """
    drawn = [TRIAL.search(row.pop(NOTE, None) or "") for row in rows]
    if not any(drawn):
        return rows
    return [
        {**row, ARM.name: note and note[1],
         ASKED.name: int(note[2]) if note else row["nodes"]}
        for row, note in zip(rows, drawn, strict=True)
    ]  # fmt: skip


def with_company(jobs: JobTable) -> JobTable:
    """The table with who shared a node, where lists of nodes tell, and what joules mean then."""
    counted = jobs.frame["energy_j"].is_not_null()
    unknown = jobs.noted(Note(WHOLE_NODES)) if counted.any() else jobs
    try:
        shared = shared_nodes(jobs.frame)
    except DataError as error:
        return unknown.noted(Note(f"who shared a node is not known: {error}"))
    if not shared.count():
        return unknown
    both = int((shared & counted).sum())
    said = f"energy_j: {both:,} jobs shared a node (column shared): {TOGETHER}"
    marked = jobs.with_columns([SHARED], shared=shared)
    return marked.noted(Note(said, (), both)) if both else marked


def finish(job: dict[str, Any]) -> dict[str, Any]:
    """Add what follows from the rest: mean power, and whether the run was cut."""
    runtime, energy = job["runtime_s"], job["energy_j"]
    job["power_w"] = energy / runtime if energy and runtime else None
    job["censored"] = None if job["state"] is None else job["state"] != slurm.COMPLETED
    return job


def _job(run: JobRun, zone: ZoneInfo) -> dict[str, Any]:
    cells, get = run.cells, run.cells.get
    asked, given = slurm.tres(get("ReqTRES", "")), slurm.tres(get("AllocTRES", ""))
    nodes = _int(get("ReqNodes")) or _int(asked.get("node")) or _int(get("NNodes"))
    cores, cores_alloc = _cores(cells, asked, given)
    memory = slurm.amount(asked["mem"]) if "mem" in asked else None
    clocks = clocks_of(cells, zone, _limit(cells))
    return finish({
        ROW: run.row, "job_id": job_id(cells), "user": get("User") or None,
        "group": get("Group") or None, "account": get("Account") or None,
        "app": get("JobName") or None,
        "partition": get("Partition") or None, "qos": get("QOS") or None,
        "cluster": get("Cluster") or None, "priority": number(get("Priority")),
        **dict(zip(CLOCK, clocks[0], strict=True)), DOUBT: len(clocks) > 1,
        "nodes": nodes, "nodes_alloc": _nodes_alloc(cells, given),
        "cores": cores, "cores_alloc": cores_alloc,
        "gpus": slurm.gpus(asked), "gpus_alloc": slurm.gpus(given),
        "memory_b": memory or slurm.memory_b(get("ReqMem", ""), cores or cores_alloc, nodes),
        "frequency_hz": frequency_of(cells, run.steps)[0],
        "time_limit_s": _limit(cells), "runtime_s": length_s(cells, clocks),
        "state": slurm.state(get("State", "")), "exit_code": get("ExitCode") or None,
        "energy_j": _energy(run)[0],
        **({"node_list": assigned(cells["NodeList"])} if "NodeList" in cells else {}),
        **({"job_id_raw": cells["JobIDRaw"] or None} if "JobIDRaw" in cells else {}),
        NOTE: get("AdminComment"),
    })  # fmt: skip


def assigned(text: str | None) -> str | None:
    """A list of nodes, where a job has got some.

    >>> assigned("n[1-2]"), assigned("None assigned")
    ('n[1-2]', None)
    """
    return None if text is None or text in NO_NODES else text


def _cores(
    cells: Cells, asked: Mapping[str, str], given: Mapping[str, str]
) -> tuple[int | None, int | None]:
    """Cores asked for and received: NCPUS is received once a job has run, as AllocCPUS is.

    Where no field says what was asked for, of nodes neither, NCPUS stands for it.
    """
    cores = _int(cells.get("ReqCPUS")) or _int(asked.get("cpu"))
    count = _int(cells.get("NCPUS"))
    said = cores is not None or cells.get("ReqNodes") or "node" in asked
    alloc = _int(cells.get("AllocCPUS")) or _int(given.get("cpu"))
    alloc = alloc or (count if said and _ran(cells) else None)
    return cores or (None if alloc and said else count), alloc


def _ran(cells: Cells) -> bool:
    """Whether a job has run, so that what it holds was received."""
    return bool(elapsed_s(cells)) or (not times_runs(cells) and cells["End"][:1].isdigit())


def _nodes_alloc(cells: Cells, given: Mapping[str, str]) -> int | None:
    """Nodes received: beside ReqNodes, NNodes are those once a job has run."""
    ran = cells.get("NNodes") if cells.get("ReqNodes") and _ran(cells) else None
    return _int(cells.get("AllocNodes")) or _int(given.get("node")) or _int(ran)


def _energy(run: JobRun) -> tuple[float | None, str]:
    """Joules of a run, and what there is to say of them."""
    return job_energy(_joules(run.cells), [_step(s) for s in run.steps], _nodes_of(run.cells))


def _step(cells: Cells) -> StepJoules:
    nodes = _nodes_alloc(cells, slurm.tres(cells.get("AllocTRES", ""))) or _int(cells.get("NNodes"))
    return StepJoules(cells["step"], _joules(cells), elapsed_s(cells), nodes)


def _nodes_of(cells: Cells) -> int | None:
    """Nodes that a job ran on, by any of its fields."""
    given = slurm.tres(cells.get("AllocTRES", ""))
    listed = assigned(cells.get("NodeList"))
    try:
        named = count_nodes(listed) if listed else None
    except DataError:
        named = None
    return _nodes_alloc(cells, given) or named or _int(cells.get("NNodes"))


def _joules(cells: Cells) -> float | None:
    raw = number(cells.get("ConsumedEnergyRaw"))
    if raw is None:
        raw = slurm.amount(cells.get("ConsumedEnergy", ""), base=1000)
    for name in ("TRESUsageInTot", "AllocTRES"):
        if raw is None:
            raw = slurm.amount(slurm.tres(cells.get(name, "")).get("energy", ""))
    return raw


def _limit(cells: Cells) -> float | None:
    raw = number(cells.get("TimelimitRaw"))
    return raw * 60 if raw is not None else slurm.seconds(cells.get("Timelimit", ""))


def _int(text: str | None) -> int | None:
    number = slurm.amount(text) if text else None
    return slurm.count(number) if number is not None else None
