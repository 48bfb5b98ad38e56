"""The logs of the site engine as a table of jobs and an account of energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.simulation.power import Account, RunIntervals, account, job_watts
from rheostat.simulation.result import ESTIMATE, PROCS
from rheostat.simulation.site.moldable import gpus_of, numbers
from rheostat.simulation.workload import Array

if TYPE_CHECKING:
    from rheostat.simulation.site.site_run import EngineResult, SiteProblem

COLUMNS = {
    c.name: c
    for c in (
        *(VOCABULARY[n] for n in ("start_s", "end_s", "wait_s", "runtime_s", "eligible_s")),
        *(VOCABULARY[n] for n in ("job_id", "state", "cores", "gpus", "cap_w", "power_w")),
        VOCABULARY["energy_j"],
        PROCS,
        ESTIMATE,
        Column("restarts", "", Moment.END, "how often a failure ended the job and it queued again"),
        Column("lost_s", "s", Moment.END, "run time lost to failures"),
        Column("alternative", "", Moment.START, "row of the alternatives' table that was taken"),
    )
}


def result(
    jobs: JobTable,
    site: SiteProblem,
    simulated: EngineResult,
    notes: tuple[Note, ...],
    other: JobTable | None,
) -> tuple[JobTable, Account]:
    """The table of what ran, and the account of what was drawn."""
    log = simulated.log
    job, way = log[:, 0].astype(np.int64), log[:, 1].astype(np.int64)
    ways, machine, part = site.ways, site.machine, site.part[job]
    procs, gpus = ways.procs[way], gpus_of(machine, ways)[way]
    watts = job_watts(machine, part, procs, gpus, ways.watts[way])
    times = log[:, 2], log[:, 3], log[:, 4]
    runs = RunIntervals(job, part, procs, gpus, *times, log[:, 5], watts, log[:, 6] > 0)
    energy = account(machine, runs, simulated.piece, site.load.submit_s[0])
    return _table(jobs, site, simulated, runs, way, notes, other), energy


def _table(
    jobs: JobTable,
    site: SiteProblem,
    simulated: EngineResult,
    runs: RunIntervals,
    way: Array,
    notes: Any,
    other: Any,
) -> JobTable:
    """The jobs that ran, in the order of the trace, with the simulated times."""
    load = site.load
    last = np.full(len(load), -1)
    last[runs.job] = np.arange(len(runs.job))  # the log is in order of time: the last run stays
    ran = np.flatnonzero(last >= 0)
    back = ran[np.argsort(load.row[ran], kind="stable")]
    at = last[back]
    begin, end, took = runs.start_s[at], runs.end_s[at], way[at]
    span = np.where(runs.killed[at], end - begin, site.ways.run_s[took])
    made: dict[str, Any] = {
        "start_s": begin,
        "end_s": end,
        "wait_s": begin - load.submit_s[back],
        "runtime_s": np.maximum(span, 0.0),
        "procs": runs.procs[at],
        "estimate_s": site.booked[took],
        **_extra(jobs, site, simulated, runs, took, back, at, other),
    }
    taken = jobs.rows(load.row[back])
    if "job_id" not in taken.schema:
        made["job_id"] = pl.Series(load.row[back])
    table = taken.with_columns([COLUMNS[n] for n in made], **made)
    never = np.setdiff1d(np.arange(len(load)), ran)
    if len(never):
        rows = load.row[never]
        why = "never fits between what the site plans (windows, cap): left out"
        notes = (*notes, Note(why, tuple(map(int, rows[:10])), len(rows), True))
    return JobTable(table.frame, table.schema, (*jobs.notes, *load.notes, *notes))


def _extra(
    jobs: JobTable,
    site: SiteProblem,
    simulated: EngineResult,
    runs: RunIntervals,
    took: Array,
    back: Array,
    at: Array,
    other: Any,
) -> dict[str, Any]:
    """Columns of the features that are on."""
    rules, machine, n = site.machine.rules, site.machine, len(site.load)
    made: dict[str, Any] = {}
    watts = runs.watts[at]
    if np.isfinite(watts).any():
        made["power_w"] = pl.Series(watts).fill_nan(None)
        spent = pl.Series(watts * np.maximum(runs.end_s[at] - runs.start_s[at], 0.0))
        made["energy_j"] = spent.fill_nan(None)
    if rules.dependencies:
        made["eligible_s"] = simulated.eligible[back]
    if machine.failures or machine.random_failures is not None:
        lost = np.zeros(n)
        np.add.at(lost, runs.job, runs.killed * (runs.end_s - runs.start_s).clip(0.0))
        made["lost_s"], made["restarts"] = lost[back], simulated.again[back]
    if rules.kill == "limit" or "lost_s" in made:
        as_it_was = jobs.frame["state"] if "state" in jobs.schema else None
        made["state"] = _states(as_it_was, site, back, took, runs.killed[at])
    if other is not None:
        row = site.ways.row[took]
        made["alternative"] = pl.Series(np.where(row < 0, -1, row)).replace(-1, None)
        made["cores"] = runs.procs[at]
        if "gpus" in other.schema:
            made["gpus"] = site.ways.gpus[took]
        if "cap_w" in other.schema:
            of = other.numpy("cap_w")[np.maximum(row, 0)]
            own = numbers(jobs, "cap_w")[site.load.row[back]]
            made["cap_w"] = pl.Series(np.where(row < 0, own, of)).fill_nan(None)
    return made


def _states(
    given: pl.Series | None, site: SiteProblem, back: Array, took: Array, failed: Array
) -> Any:
    """TIMEOUT and NODE_FAIL where the simulation ended the run; else as the trace has it."""
    base = ["COMPLETED"] * len(back)
    if given is not None:
        base = given[site.load.row[back]].cast(pl.String).to_list()
    cut = site.ways.cut[took]
    return pl.Series(
        [
            "NODE_FAIL" if f else "TIMEOUT" if c else b
            for b, c, f in zip(base, cut, failed, strict=True)
        ]
    )
