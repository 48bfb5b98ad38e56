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
from rheostat.core.outcome import Array, Outcome, Predictor
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
    from rheostat.simulation.sized_jobs import Advise

Estimates = str | Array | Predictor
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


def simulate(  # noqa: PLR0913 - what is known of jobs and site, all but three by keyword
    jobs: JobTable,
    policy: str | BatchPolicy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    backfill: str | None = None,
    estimates: Estimates = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
    alternatives: JobTable | None = None,
    sized_by: Advise | None = None,
    power_w: Array | Outcome | None = None,
    seed: int = 0,
) -> JobTable:
    """Run ``jobs`` through ``policy`` on ``machine``: the same jobs with the simulated times.

    Parameters
    ----------
    jobs : JobTable
        A trace with ``submit_s``, ``runtime_s``, a size and, if users gave one, ``time_limit_s``.
    policy : str, BatchPolicy or callable
        As in `rheostat.decision.policies.batch_policy`, or the file of one: "agent:FILE",
        "agent:ours".
    machine : Machine or int, optional
        A `Machine` or its number of processors; by default what the trace's header says.
    backfill : str, optional
        With a callable or an order: "none", "easy" or "conservative"; None leaves it to ``policy``.
    estimates : str, Predictor or array
        Run times that planning uses: "user", "perfect" (clairvoyant), "last2", "boost", the kind of
        a `Surrogate`, a predictor of ``runtime_s``, the file of a saved one, or seconds, one per
        row of ``jobs``.
    semantics, ties : str
        "textbook" or "cqsim"; decisions at each "event", or once per "batch" of events at a moment.
    overdue : str, optional
        What planning expects of jobs that outlive their estimate: "past", "now" or "extend".
    alternatives : JobTable, optional
        Other ways in which jobs may run (moldable jobs): ``job_id``, size and ``runtime_s``.
    sized_by : Advise, optional
        Chooses one of the alternatives at submission; see `rheostat.simulation.sized_jobs`.
    power_w : array or Outcome, optional
        Watts, one per row of ``jobs``, with which planning under a power cap works.
    seed : int
        Of policies that draw.

    Returns
    -------
    JobTable
        The rows that ran, in the order of the trace, with ``start_s``, ``end_s``, ``wait_s``,
        ``procs`` and ``estimate_s``; rows left out are in the notes.

    Raises
    ------
    DataError
        A column is missing, the machine is not known, or options do not go together.

    Examples
    --------
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
    run = simulate_run(
        jobs, policy, machine, backfill=backfill, estimates=estimates, semantics=semantics,
        ties=ties, overdue=overdue, alternatives=alternatives, sized_by=sized_by, power_w=power_w,
        seed=seed,
    )  # fmt: skip
    return run.jobs


def simulate_run(  # noqa: PLR0913 - as `simulate`
    jobs: JobTable,
    policy: str | BatchPolicy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    backfill: str | None = None,
    estimates: Estimates = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
    alternatives: JobTable | None = None,
    sized_by: Advise | None = None,
    power_w: Array | Outcome | None = None,
    seed: int = 0,
) -> Simulation:
    """`simulate`, with what the engine did; parameters and errors are the same.

    A machine with more than processors, or ``alternatives``, ``sized_by`` or ``power_w``, go to
    `rheostat.simulation.site.simulate_site`.

    Returns
    -------
    Simulation
        The schedule in ``jobs``, passes and CPU seconds of the engine, whether planning was
        clairvoyant, and, where any watts are known, the ``account`` of energy.
    """
    place = _place(jobs, machine)
    site = {"alternatives": alternatives, "sized_by": sized_by, "power_w": power_w}
    special = any(value is not None for value in site.values())
    if isinstance(policy, str) and plays(policy):
        asked = (semantics, ties, backfill, overdue)
        if asked != ("textbook", "event", None, None) or special:
            told = "expected textbook semantics, a decision at each event, and jobs as they are"
            raise DataError(policy, [told])
        return simulate_played(jobs, policy, place, estimates=estimates, seed=seed)
    rule = batch_policy(policy, backfill=backfill, semantics=semantics, ties=ties, overdue=overdue)
    if special or not place.plain:
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
