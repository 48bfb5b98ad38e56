"""Columns of a site's own beside what sacct prints, and fields of sacct that a site maps.

Who joins a checksum of the job script, a problem's size or the arm of a trial to an export finds
them under their names; ``script=WorkDir`` takes a field of sacct for one of ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rheostat.core.jobs import Column, Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW
from rheostat.measurement.runs.cell_units import in_base_units
from rheostat.measurement.runs.delimited import typed_frame
from rheostat.measurement.runs.guess import guess_known, guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.mapping import ColumnSource, of_theirs, spelled
from rheostat.measurement.slurm import spelling as slurm
from rheostat.measurement.slurm.sacct_lines import JobRun

FIELDS = frozenset(
    re.findall(
        r"\w+",
        """
account admincomment alloccpus allocgres allocnodes alloctres associd avecpu avecpufreq
avediskread avediskwrite avepages averss avevmsize blockid cluster comment constraints
consumedenergy consumedenergyraw container cputime cputimeraw dbindex derivedexitcode elapsed
elapsedraw eligible end exitcode extra failednode flags gid group jobid jobidraw jobname layout
licenses maxdiskread maxdiskreadnode maxdiskreadtask maxdiskwrite maxdiskwritenode
maxdiskwritetask maxpages maxpagesnode maxpagestask maxrss maxrssnode maxrsstask maxvmsize
maxvmsizenode maxvmsizetask mcslabel mincpu mincpunode mincputask ncpus nnodes nodelist ntasks
partition planned plannedcpu plannedcpuraw priority qos qosraw qosreq reason reqcpufreq
reqcpufreqgov reqcpufreqmax reqcpufreqmin reqcpus reqgres reqmem reqnodes reqtres reservation
reservationid reserved restarts resvcpu resvcpuraw segmentsize sluid start state stderr stdin
stdout submit submitline suspended systemcomment systemcpu timelimit timelimitraw totalcpu
tresusageinave tresusageinmax tresusageinmaxnode tresusageinmaxtask tresusageinmin
tresusageinminnode tresusageinmintask tresusageintot tresusageoutave tresusageoutmax
tresusageoutmaxnode tresusageoutmaxtask tresusageoutmin tresusageoutminnode tresusageoutmintask
tresusageouttot uid user usercpu wckey wckeyid workdir
""",
    )
)
"""What ``sacct --helpformat`` lists, of Slurm 18 to 25, in small letters."""
AMOUNTS = ("B", "J", "W")
OF_A_TASK = ("maxrss", "averss", "maxvmsize", "avevmsize")
"""Fields of a step that are of one task of it."""
TASKS = "{}: {} is of one task, so times the tasks, or nodes where their number is not there"
OWN = "own"
"""Where a job's row keeps the texts of these columns."""


def own_fields(header: Sequence[str], columns: Mapping[str, Any]) -> dict[str, ColumnSource]:
    """Ours to theirs: what no sacct prints under its own name, and what ``columns`` say.

    >>> list(own_fields(["JobID", "script", ""], {"app": "JobID"}))
    ['app', 'script']
    """
    named = {k: ColumnSource.of(k, v) for k, v in spelled(columns, header).items()}
    theirs = [f for s in named.values() for f in s.columns if not f.startswith("=")]
    lost = [f for f in theirs if f not in header]
    if lost:
        said = [f"mapped column {f} is missing" for f in dict.fromkeys(lost)]
        raise DataError("sacct", [*said, f"present: {', '.join(header)}"])
    used = {f for s in named.values() for f in s.columns}
    own = [h for h in header if h.strip() and h.lower() not in FIELDS and h not in used]
    return named | {h: ColumnSource((h,)) for h in own if h not in named}


def field_of_job(run: JobRun, field: str) -> str:
    """What a field says of a job: where its own line is silent, the most that a step took.

    What is counted of one task (`OF_A_TASK`) is that of all tasks, or of all nodes where their
    number is not there.
    """
    amounts = [_of_tasks(step, field) for step in run.steps]
    known = [a for a in amounts if a is not None]
    return f"{max(known):.0f}" if known and not run.cells[field] else run.cells[field]


def _of_tasks(step: Mapping[str, str], field: str) -> float | None:
    amount = slurm.amount(step.get(field, ""))
    if amount is None or field.lower() not in OF_A_TASK:
        return amount
    counts = (step.get(c, "") for c in ("NTasks", "NNodes", "AllocNodes"))
    return amount * max(1.0, next((float(c) for c in counts if c.isdigit()), 1.0))


def with_own(
    frame: pl.DataFrame, texts: Sequence[Mapping[str, str]], sources: Mapping[str, ColumnSource]
) -> tuple[pl.DataFrame, list[Column], list[Note]]:
    """The table with these columns, typed; where sacct says one of ours, sacct's stays."""
    if not sources:
        return frame, [], []
    fields = dict.fromkeys(f for s in sources.values() for f in s.columns)
    texts_of = {f: [t.get(f, f[1:] if f.startswith("=") else "") for t in texts] for f in fields}
    typed, notes = typed_frame(texts_of, frame[ROW].to_list())
    typed, read_in = in_base_units(_amounts(typed, sources))
    made, columns, said = frame, list[Column](), list[str]()
    for name, source in sources.items():
        ours, scale = _meant(name, source, typed)
        if source == ColumnSource((name,)) and ours in made.columns and made[ours].count():
            ours, scale = name, 1.0
            if name in made.columns:
                said.append(name)
                continue
        made = made.with_columns(_values(typed, source, scale).alias(ours))
        known = guess_known(name, made[ours])
        meaning = f"from {' + '.join(source.columns)}"
        columns.append(of_theirs(ours, source.columns) if ours in VOCABULARY
                       else Column(ours, "", known, meaning))  # fmt: skip
    lost = [Note(f"not read, as fields of sacct say the same: {', '.join(said)}")] if said else []
    of_one = [Note(TASKS.format(ours, c)) for ours, s in sources.items() for c in s.columns
              if c.lower() in OF_A_TASK]  # fmt: skip
    read = [*of_one, Note(f"columns beside those of sacct: {', '.join(c.name for c in columns)}")]
    return made, columns, [*notes, *read_in, *read, *lost]


def _amounts(typed: pl.DataFrame, sources: Mapping[str, ColumnSource]) -> pl.DataFrame:
    """Texts such as ``4000000K`` as numbers where they are mapped to an amount.

    Raises
    ------
    DataError
        A text is none.
    """
    wrong: list[str] = []
    for ours, source in sources.items():
        if ours not in VOCABULARY or VOCABULARY[ours].unit not in AMOUNTS:
            continue
        for theirs in (c for c in source.columns if typed[c].dtype == pl.String):
            read = typed[theirs].map_elements(slurm.amount, return_dtype=pl.Float64)
            odd = typed[theirs].filter(read.is_null() & typed[theirs].is_not_null())
            wrong += [f"{ours}: {odd[0]!r} in {theirs} is no amount"] if len(odd) else []
            typed = typed.with_columns(read.alias(theirs))
    if wrong:
        raise DataError("sacct", wrong)
    return typed


def _meant(name: str, source: ColumnSource, typed: pl.DataFrame) -> tuple[str, float]:
    """Our name of a column, and what its unit is worth."""
    if source != ColumnSource((name,)):
        return name, source.scale
    ours = guess_name(name)
    if ours is None or ours not in VOCABULARY or not typed[name].dtype.is_numeric():
        return name, 1.0
    _, suffix, _, scale = split_unit(name)
    return ours, scale if suffix and ours.endswith(suffix) else 1.0


def _values(typed: pl.DataFrame, source: ColumnSource, scale: float) -> pl.Series:
    first, *others = (typed[f] for f in source.columns)
    for more in others:
        first = first + more
    if source.inverse:
        return source.scale / first.cast(pl.Float64)
    return first if scale == 1.0 else first.cast(pl.Float64) * scale
