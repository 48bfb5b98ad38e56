"""`simulate`: a trace, a policy and a machine become a table of starts and ends.

The result is a `JobTable` like the trace, so whatever reads a trace reads a simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import VOCABULARY
from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
from rheostat.errors import DataError
from rheostat.simulation.dispatch import StartPlan
from rheostat.simulation.estimates import scheduled
from rheostat.simulation.policy_files import plays, simulate_played
from rheostat.simulation.trace_header import machine_of
from rheostat.simulation.workload import Workload, workload

if TYPE_CHECKING:
    from rheostat.simulation.power import Account

PROCS = Column("procs", "", Moment.SUBMIT, "processors the simulation gave the job")
ESTIMATE = Column("estimate_s", "s", Moment.SUBMIT, "run time the job was planned with")


@dataclass(frozen=True)
class Simulation:
    """One simulation: the schedule, what it took, and whether planning was clairvoyant."""

    jobs: JobTable
    policy: BatchPolicy
    machine: Machine
    passes: int
    cpu_s: float
    clairvoyant: bool
    account: Account | None = None

    @property
    def jobs_per_cpu_s(self) -> float:
        """Jobs per CPU-second of the engine alone, compilation left out."""
        return len(self.jobs) / self.cpu_s if self.cpu_s > 0 else float("nan")


def simulate(
    jobs: JobTable,
    policy: str | BatchPolicy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    backfill: str | None = None,
    **options: Any,
) -> JobTable:
    """Run ``jobs`` through ``policy`` on ``machine``: the same jobs with the simulated times.

    Parameters
    ----------
    jobs
        A trace with ``submit_s``, ``runtime_s``, a size and, if users gave one, ``time_limit_s``.
    policy
        As in `rheostat.decision.policies.batch_policy`, or the file of one: "agent:FILE",
        "agent:ours".
    machine
        A `Machine` or its number of processors; by default what the trace's header says.
    backfill
        With a callable or an order: "none", "easy" or "conservative"; None leaves it to ``policy``.
    **options
        Of `simulate_run`, which also returns what the engine did.

    Returns
    -------
    The rows that ran, in the order of the trace, with ``start_s``, ``end_s``, ``wait_s``, ``procs``
    and ``estimate_s``; rows left out are in the notes.

    >>> from rheostat.core.vocabulary import table
    >>> trace = table({"job_id": [1, 2, 3], "submit_s": [0.0, 1.0, 2.0], "cores": [3, 4, 1],
    ...                "runtime_s": [10.0, 5.0, 4.0], "time_limit_s": [10.0, 5.0, 4.0]})
    >>> simulate(trace, "fcfs", 4).frame["start_s"].to_list()   # the small job waits its turn
    [0.0, 10.0, 15.0]
    >>> simulate(trace, "easy", 4).frame["start_s"].to_list()   # or fills the hole
    [0.0, 10.0, 2.0]
    >>> def largest(now, submit_s, estimate_s, procs):   # the smallest score goes first
    ...     return -procs
    >>> simulate(trace, largest, 4, backfill="none").frame["start_s"].to_list()
    [0.0, 10.0, 15.0]
    """
    return simulate_run(jobs, policy, machine, backfill=backfill, **options).jobs


def simulate_run(
    jobs: JobTable,
    policy_: str | BatchPolicy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    backfill: str | None = None,
    estimates: Any = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
    **site: Any,
) -> Simulation:
    """The same with what it took.  ``estimates``: see `rheostat.simulation.estimates.scheduled`.

    ``semantics``, ``ties`` and ``overdue`` are those of `rheostat.decision.policies.batch_policy`.
    A machine with more than processors, or ``site`` options (``alternatives``, ``sized_by``,
    ``power_w``), go to `rheostat.simulation.site.simulate_site`.  Where any watts are known, the
    run has an ``account`` of energy.
    """
    place = _place(jobs, machine)
    if isinstance(policy_, str) and plays(policy_):
        asked = (semantics, ties, backfill, overdue)
        if asked != ("textbook", "event", None, None) or set(site) - {"seed"}:
            told = "expected textbook semantics, a decision at each event, and jobs as they are"
            raise DataError(policy_, [told])
        return simulate_played(jobs, policy_, place, estimates=estimates, **site)
    rule = batch_policy(policy_, backfill=backfill, semantics=semantics, ties=ties, overdue=overdue)
    if site or not place.plain:
        from rheostat.simulation.site import simulate_site

        return simulate_site(jobs, rule, place, estimates=estimates, **site)
    load = workload(jobs, place)
    plan = scheduled(jobs, load, rule, place.procs, estimates)
    told = run_table(jobs, load, plan)
    books = account_of(place, told)
    return Simulation(told, rule, place, plan.passes, plan.cpu_s, plan.clairvoyant, books)


def _place(jobs: JobTable, machine: Machine | int | None) -> Machine:
    if machine is None:
        return machine_of(jobs)
    return machine if isinstance(machine, Machine) else Machine(machine)


def account_of(place: Machine, told: JobTable) -> Account | None:
    """What was drawn, where any watts are known: of the machine, or of a job."""
    given = told.numpy("power_w") if "power_w" in told.schema else np.full(len(told), np.nan)
    if not np.isfinite([place.idle_w, place.busy_w, *given[np.isfinite(given)][:1]]).any():
        return None
    from rheostat.simulation.power import plain_account

    begin, end, submit = (told.numpy(c) for c in ("start_s", "end_s", "submit_s"))
    procs = told.frame["procs"].to_numpy()
    return plain_account(place, np.arange(len(told)), procs, begin, end, submit, given)


def run_table(jobs: JobTable, load: Workload, plan: StartPlan) -> JobTable:
    """The jobs that ran, in the order of the trace, with the simulated times."""
    back = np.argsort(load.row, kind="stable")
    taken = jobs.rows(load.row[back])
    begin, submit, run = plan.start_s[back], load.submit_s[back], load.run_s[back]
    names = ("start_s", "end_s", "wait_s")
    told = taken.with_columns(
        [*(VOCABULARY[n] for n in names), PROCS, ESTIMATE],
        start_s=begin,
        end_s=begin + run,
        wait_s=begin - submit,
        procs=load.procs[back],
        estimate_s=plan.estimate_s[back],
    )
    if "job_id" not in told.schema:
        told = told.with_columns([VOCABULARY["job_id"]], job_id=pl.Series(load.row[back]))
    return JobTable(told.frame, told.schema, (*jobs.notes, *load.notes, *plan.notes))
