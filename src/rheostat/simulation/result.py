"""What a simulation gives: a table of starts and ends, and an account of energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import VOCABULARY
from rheostat.simulation.policies.policy import Policy
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.power import Account, plain_account
from rheostat.simulation.workload import Workload

PROCS = Column("procs", "", Moment.SUBMIT, "processors the simulation gave the job")
ESTIMATE = Column("estimate_s", "s", Moment.SUBMIT, "run time the job was planned with")


@dataclass(frozen=True)
class Simulation:
    """One simulation: the schedule, what it took, and whether planning was clairvoyant."""

    jobs: JobTable
    policy: Policy
    machine: Machine
    passes: int
    cpu_s: float
    clairvoyant: bool
    account: Account | None = None

    @property
    def jobs_per_cpu_s(self) -> float:
        """Jobs per CPU-second of the engine alone, compilation left out."""
        return len(self.jobs) / self.cpu_s if self.cpu_s > 0 else float("nan")


def account_of(machine: Machine, jobs: JobTable) -> Account | None:
    """What was drawn, where any watts are known: of the machine, or of a job."""
    given = jobs.numpy("power_w") if "power_w" in jobs.schema else np.full(len(jobs), np.nan)
    if not np.isfinite([machine.idle_w, machine.busy_w, *given[np.isfinite(given)][:1]]).any():
        return None
    begin, end, submit = (jobs.numpy(c) for c in ("start_s", "end_s", "submit_s"))
    procs = jobs.frame["procs"].to_numpy()
    return plain_account(machine, np.arange(len(jobs)), procs, begin, end, submit, given)


def run_table(jobs: JobTable, load: Workload, plan: StartPlan) -> JobTable:
    """The jobs that ran, in the order of the trace, with the simulated times."""
    back = np.argsort(load.row, kind="stable")
    taken = jobs if len(load) == len(jobs) else jobs.rows(load.row[back])  # no second table
    begin, submit, run = plan.start_s[back], load.submit_s[back], load.run_s[back]
    names = ("start_s", "end_s", "wait_s")
    ran = taken.with_columns(
        [*(VOCABULARY[n] for n in names), PROCS, ESTIMATE],
        start_s=begin,
        end_s=begin + run,
        wait_s=begin - submit,
        procs=load.procs[back],
        estimate_s=plan.estimate_s[back],
    )
    if "job_id" not in ran.schema:
        ran = ran.with_columns([VOCABULARY["job_id"]], job_id=pl.Series(load.row[back]))
    return JobTable(ran.frame, ran.schema, (*jobs.notes, *load.notes, *plan.notes))
