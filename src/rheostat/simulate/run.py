"""`simulate`: a trace, a policy and a machine become a table of starts and ends.

The result is a `JobTable` like the trace, so whatever reads a trace reads a simulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import VOCABULARY
from rheostat.decide.queue.policy import Policy, policy
from rheostat.errors import DataError
from rheostat.simulate.workload import Array, Workload, workload

PROCS = Column("procs", "", Moment.SUBMIT, "processors the simulation gave the job")
ESTIMATE = Column("estimate_s", "s", Moment.SUBMIT, "run time the job was planned with")


@dataclass(frozen=True)
class Run:
    """One simulation: the schedule, what it took, and whether planning was clairvoyant."""

    jobs: JobTable
    policy: Policy
    machine: Machine
    passes: int
    cpu_s: float
    clairvoyant: bool

    @property
    def jobs_per_cpu_s(self) -> float:
        """Jobs per CPU-second of the engine alone, compilation left out."""
        return len(self.jobs) / self.cpu_s if self.cpu_s > 0 else float("nan")


def simulate(
    jobs: JobTable,
    policy: str | Policy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    **options: Any,
) -> JobTable:
    """Run ``jobs`` through ``policy`` on ``machine``: the same jobs with the simulated times.

    Parameters
    ----------
    jobs
        A trace with ``submit_s``, ``runtime_s``, a size and, if users gave one, ``time_limit_s``.
    policy
        As in `rheostat.decide.queue.policy.policy`.
    machine
        A `Machine` or its number of processors.
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
    """
    return simulate_run(jobs, policy, machine, **options).jobs


def simulate_run(
    jobs: JobTable,
    policy_: str | Policy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    estimates: str | Array = "user",
    semantics: str = "textbook",
    ties: str = "event",
) -> Run:
    """The same with what it took.  ``estimates``: "user", "perfect", or seconds, one per row."""
    if machine is None:
        raise DataError("simulate", ["machine: expected a Machine or a number of processors"])
    place = machine if isinstance(machine, Machine) else Machine(machine)
    rule = policy(policy_, semantics=semantics, ties=ties)
    load = workload(jobs, place)
    asked, clairvoyant = _estimates(estimates, load, len(jobs))
    start, passes, cpu = schedule(load, rule, place.procs, asked)
    told = _table(jobs, load, start, asked)
    clairvoyant |= rule.semantics == "cqsim"
    return Run(told, rule, place, passes, cpu, clairvoyant)


def schedule(load: Workload, rule: Policy, size: int, estimate: Array) -> tuple[Array, int, float]:
    """(start (n,) in s, passes, CPU seconds) from the compiled engine that the policy needs."""
    planned = load.run_s if rule.semantics == "cqsim" else estimate
    common = (load.submit_s, load.run_s, load.procs, planned, estimate)
    engine, args = _engine(rule, load, estimate)
    _warm(engine, args, rule)
    begin = time.process_time()
    start, passes = _call(engine, common, args, size, rule)
    return start, int(passes), time.process_time() - begin


def _engine(rule: Policy, load: Workload, estimate: Array) -> tuple[Any, tuple[Any, ...]]:
    """The engine and what it takes besides the jobs."""
    from rheostat.simulate.engine import conservative, fixed, jit, moving

    score = rule.order.score
    if rule.backfill == "conservative":
        compiled = jit.compiled_score(_zero if rule.order.fixed else score)
        return conservative.run_conservative, (_rank(rule, load, estimate), compiled)
    if rule.order.fixed:
        return fixed.run_fixed, (_rank(rule, load, estimate),)
    return moving.run_moving, (jit.compiled_score(score),)


def _call(engine: Any, common: Any, args: Any, size: int, rule: Policy) -> Any:
    flag = not rule.order.fixed if rule.backfill == "conservative" else rule.backfill == "easy"
    ties = rule.ties == "batch", rule.ends == "expected"
    return engine(*common, *args, size, flag, ties)


def _warm(engine: Any, args: Any, rule: Policy) -> None:
    """Compile, or load from disk, outside the time that is reported."""
    one, whole = np.ones(1), np.ones(1, np.int64)
    short = tuple(a[:1] if isinstance(a, np.ndarray) else a for a in args)
    _call(engine, (one, one, whole, one, one), short, 1, rule)


def _zero(now: float, s: float, r: float, n: float) -> float:
    return 0.0


def _rank(rule: Policy, load: Workload, estimate: Array) -> Array:
    """Place of each job in a fixed order, ties as they arrived; zeros for an order that moves."""
    if not rule.order.fixed:
        return np.zeros(len(load))
    since = load.submit_s - load.submit_s[0]
    score = rule.order.score(0.0, since, np.maximum(estimate, 1.0), load.procs.astype(float))
    rank = np.empty(len(load))
    rank[np.argsort(score, kind="stable")] = np.arange(len(load))
    return rank


def _estimates(kind: str | Array, load: Workload, rows: int) -> tuple[Array, bool]:
    """(estimate (n,) in s, whether it knows what no site knows)."""
    if not isinstance(kind, str):
        given = np.asarray(kind, float)
        if given.shape != (rows,) or not (given[load.row] >= 0).all():
            raise DataError("estimates", [f"expected {rows} seconds >= 0, got shape {given.shape}"])
        return given[load.row], False
    if kind == "perfect":
        return load.run_s, True
    if kind == "user":
        return load.ask_s, load.unasked > 0
    raise DataError(f"estimates {kind}", ["expected user, perfect or an array of seconds"])


def _table(jobs: JobTable, load: Workload, start: Array, estimate: Array) -> JobTable:
    """The jobs that ran, in the order of the trace, with the simulated times."""
    back = np.argsort(load.row, kind="stable")
    taken = jobs.rows(load.row[back])
    begin, submit, run = start[back], load.submit_s[back], load.run_s[back]
    names = ("start_s", "end_s", "wait_s")
    told = taken.with_columns(
        [*(VOCABULARY[n] for n in names), PROCS, ESTIMATE],
        start_s=begin,
        end_s=begin + run,
        wait_s=begin - submit,
        procs=load.procs[back],
        estimate_s=estimate[back],
    )
    if "job_id" not in told.schema:
        told = told.with_columns([VOCABULARY["job_id"]], job_id=pl.Series(load.row[back]))
    kept: list[Note] = [n for n in jobs.notes]
    return JobTable(told.frame, told.schema, (*kept, *load.notes))
