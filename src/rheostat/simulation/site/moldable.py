"""The ways in which jobs may run: one for a rigid job, several for a moldable one.

A *way* is a size with the run time, the watts and the time limit that go with it.  A job without
alternatives has the one way that the trace says; a job with alternatives has those and no other,
in the order of the table: the first is preferred, a later one is taken if it fits when the first
does not.  A table without a column ``gpus`` leaves the job its own.

    Symbol   Shape   Meaning
    job      (a,)    row of the workload, ascending
    procs    (a,)    processors
    gpus     (a,)    GPUs
    run_s    (a,)    true run time, cut where the site kills
    ask_s    (a,)    time limit; NaN for an alternative without
    watts    (a,)    mean power of the whole job as it is, NaN unknown
    row      (a,)    row of the alternatives' table, -1 for a rigid job
    cut      (a,)    is the run ended by the limit?
    expect   (a,)    _s, _w: run time and power that a model predicts, or expected_power_w of the
                     table; NaN where neither does
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.tables import read_table
from rheostat.simulation.workload import Array, Workload, sizes

LONGEST_S = 100 * 365.25 * 86_400.0
NUMBERS = ("cores", "nodes", "gpus", "runtime_s", "time_limit_s", "cap_w", "power_w")


@dataclass(frozen=True)
class JobOptions:
    """The arrays of the notation above."""

    job: Array
    procs: Array
    gpus: Array
    run_s: Array
    ask_s: Array
    watts: Array
    row: Array
    cut: Array
    expect_s: Array
    expect_w: Array

    def __len__(self) -> int:
        return len(self.job)

    def only(self, keep: Array) -> JobOptions:
        """These ways."""
        return JobOptions(*(getattr(self, f)[keep] for f in self.__dataclass_fields__))


def choices(
    jobs: JobTable, load: Workload, alternatives: JobTable | None, kill: bool
) -> JobOptions:
    """All ways of all jobs of ``load``; ``alternatives`` replace what the trace says."""
    rigid = JobOptions(
        np.arange(len(load)),
        load.procs,
        counts(jobs, "gpus")[load.row],
        load.run_s,
        load.ask_s,
        numbers(jobs, "power_w")[load.row],
        np.full(len(load), -1),
        np.zeros(len(load), bool),
        np.full(len(load), np.nan),
        np.full(len(load), np.nan),
    )
    if alternatives is not None:
        rigid = _merged(rigid, _given(jobs, load, alternatives))
    over = (rigid.run_s > rigid.ask_s) if kill else np.zeros(len(rigid), bool)
    return replace(rigid, run_s=np.where(over, rigid.ask_s, rigid.run_s), cut=over)


def read_alternatives(path: str | Path) -> JobTable:
    """A table of alternatives: CSV or parquet with job_id, a size, runtime_s and what else it has.

    Columns are those of the vocabulary: cores or nodes, gpus, cap_w, time_limit_s, power_w ...
    """
    result = table(read_table(path))
    try:
        result.require("job_id", "runtime_s")
        for name in (c for c in result.columns if c in NUMBERS):
            result.numpy(name)
    except DataError as error:
        raise DataError(str(path), [str(error)]) from error
    return result


def numbers(jobs: JobTable, name: str) -> Array:
    """A column, or NaN where there is none."""
    return jobs.numpy(name) if name in jobs.schema else np.full(len(jobs), np.nan)


def counts(jobs: JobTable, name: str) -> Array:
    """A column of counts, or zero where there is none."""
    result: Array = np.nan_to_num(np.maximum(numbers(jobs, name), 0.0))
    return result.astype(np.int64)


def _given(jobs: JobTable, load: Workload, alternatives: JobTable) -> JobOptions:
    """The rows of the table that belong to a job of the workload, in the table's order."""
    alternatives.require("job_id", "runtime_s")
    run, procs = alternatives.numpy("runtime_s"), sizes(alternatives)
    limit, power = (numbers(alternatives, name) for name in ("time_limit_s", "power_w"))
    wrong = {
        "runtime_s from 0 to a century": ~((run >= 0) & (run < LONGEST_S)),
        "a whole number of cores": ~((procs > 0) & (procs < 2**31)) | (procs != np.floor(procs)),
        "time_limit_s above 0, up to a century, or empty for none": ~np.isnan(limit)
        & ~((limit > 0) & (limit < LONGEST_S)),
        "power_w from 0 to a gigawatt, or empty": ~np.isnan(power)
        & ~((power >= 0) & (power < 1e9)),
    }
    problems = [
        f"rows {', '.join(map(str, np.flatnonzero(bad)[:5]))}: expected {what}"
        for what, bad in wrong.items()
        if bad.any()
    ]
    if problems:
        raise DataError("alternatives", problems)
    place = index_of(jobs.frame["job_id"][load.row], alternatives.frame["job_id"])
    own = counts(jobs, "gpus")[load.row][place]
    made = JobOptions(
        place,
        procs.astype(np.int64),
        counts(alternatives, "gpus") if "gpus" in alternatives.schema else own,
        run,
        limit,
        power,
        np.arange(len(alternatives)),
        np.zeros(len(alternatives), bool),
        np.full(len(alternatives), np.nan),
        numbers(alternatives, "expected_power_w"),
    )
    return made.only(place >= 0)


def unmatched(jobs: JobTable, alternatives: JobTable) -> tuple[Note, ...]:
    """A note on alternatives of jobs that the trace does not have."""
    ids = alternatives.frame["job_id"].filter(
        index_of(jobs.frame["job_id"], alternatives.frame["job_id"]) < 0
    )
    few = ", ".join(str(i)[:20] for i in ids.unique(maintain_order=True)[:3])
    note = Note(f"alternatives of jobs not in the trace ({few}): unused", (), len(ids))
    return (note,) if len(ids) else ()


def index_of(among: pl.Series, wanted: pl.Series) -> Array:
    """Where each of ``wanted`` is found in ``among``; -1 for nowhere and for null."""
    here = pl.DataFrame({"id": among.cast(pl.String), "at": np.arange(len(among))})
    sought = pl.DataFrame({"id": wanted.cast(pl.String)})
    result = sought.join(
        here.unique("id", keep="first"), on="id", how="left", maintain_order="left"
    )
    return result["at"].fill_null(-1).to_numpy().astype(np.int64)


def _merged(rigid: JobOptions, given: JobOptions) -> JobOptions:
    """A job that has alternatives loses the way of the trace; preferred order is kept."""
    rest = rigid.only(~np.isin(rigid.job, given.job))
    both = JobOptions(
        *(
            np.concatenate([getattr(rest, f), getattr(given, f)])
            for f in JobOptions.__dataclass_fields__
        )
    )
    return both.only(np.argsort(both.job, kind="stable"))


def gpus_of(machine: Machine, ways: JobOptions) -> Array:
    """GPUs asked for; none count on a machine that has none."""
    return ways.gpus if any(p.gpus for p in machine.parts) else np.zeros(len(ways), np.int64)
