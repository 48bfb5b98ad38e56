"""What a policy is: a name, and a start for each job of a problem.

A simple order with or without backfilling, a learned priority, an agent, a tree, your own class:
each is a `Policy`.  A `BatchPolicy` leaves the starts to the compiled engines
(`SchedulingProblem.by_priority`) and runs on any site; every other policy makes them itself, on a
machine of processors alone.  One with ``in_shares`` sees of sizes what share of the machine they
are, so that it can plan under a constant power cap, too (`rheostat.simulation.site.cap_shares`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import (
    LEAST_GUARD,
    MOST_GUARD,
    BatchPolicy,
    batch_policy,
    guarded_order,
)
from rheostat.errors import DataError
from rheostat.simulation.policies.estimates import scheduled
from rheostat.simulation.policies.overdue import under
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.workload import Array, Estimates, Workload, users

KNOWN = ("user", "perfect")


@runtime_checkable
class Policy(Protocol):
    """Decides when jobs start; `rheostat.testing.policies.check_policy` says what it must keep."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...

    def plan(self, problem: SchedulingProblem) -> StartPlan:
        """A start for each job of ``problem.load``."""
        ...


@runtime_checkable
class Guardable(Protocol):
    """A policy that has a guard of its own, with a limit of the longest wait."""

    def with_guard(self, limit: float) -> Policy:
        """The same policy with this limit, see `guarded`."""
        ...


@dataclass(frozen=True)
class SchedulingProblem:
    """A trace on an empty machine, to be scheduled.

    Parameters
    ----------
    jobs
        The trace as it was read.
    load
        Its jobs that can run, as arrays (n,) in order of submission.
    machine
        Processors; whatever else a machine may say, only the engines of a `BatchPolicy` know it.
    estimates
        Run times to plan with, see `rheostat.simulation.policies.estimates.scheduled`.
    seed
        Of a policy that draws.
    """

    jobs: JobTable
    load: Workload
    machine: Machine
    estimates: Estimates = "user"
    seed: int = 0

    @cached_property
    def users(self) -> Array:
        """A number per user, (n,)."""
        return users(self.jobs, self.load)

    @property
    def estimate_s(self) -> Array:
        """What was asked for, or with ``estimates="perfect"`` the true run time, s; (n,)."""
        return self.load.run_s if self.estimates == "perfect" else self.load.ask_s

    @property
    def clairvoyant(self) -> bool:
        """Has ``estimate_s`` true run times?"""
        return self.estimates == "perfect" or self.load.unasked > 0

    def by_priority(self, rule: BatchPolicy) -> StartPlan:
        """Starts under an order of the queue and its backfilling, by the compiled engines."""
        return scheduled(self.jobs, self.load, rule, self.machine.procs, self.estimates)


def as_policy(
    policy: str | Policy | Callable[..., Any],
    *,
    backfill: str | None = None,
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
) -> Policy:
    """A `Policy` as it is; from a name, an order or a callable a `BatchPolicy` with these options.

    Raises a `DataError` where options are given that this policy does not have.

    >>> as_policy("sjf+easy", ties="batch").name
    'sjf+easy'
    """
    if isinstance(policy, BatchPolicy) or not isinstance(policy, Policy):
        return batch_policy(
            policy, backfill=backfill, semantics=semantics, ties=ties, overdue=overdue
        )
    asked = {"semantics": (semantics, "textbook"), "ties": (ties, "event"),
             "backfill": (backfill, None)}  # fmt: skip
    problems = [
        f"{option}: with this policy expected {usual or 'none given'}, got {given}"
        for option, (given, usual) in asked.items()
        if given != usual
    ]
    if problems:
        raise DataError(policy.name, problems)
    return policy if overdue is None else under(policy, overdue)


def limit_of(guard: float | str | None) -> float | None:
    """A guard as a number: 1.5, "1.5" and "1.5x" are the same; "" and None are none.

    >>> limit_of("1.5x"), limit_of(2), limit_of("")
    (1.5, 2.0, None)
    """
    text = str("" if guard is None else guard).strip()
    if not text:
        return None
    try:
        limit = float(text.removesuffix("x"))
    except ValueError:
        limit = float("nan")
    if not LEAST_GUARD <= limit <= MOST_GUARD:
        span = f"expected {LEAST_GUARD:g}x to {MOST_GUARD:g}x, as in 1.5x, got {text}"
        raise DataError("guard", [span])
    return limit


def guarded(policy: Policy, limit: float | None) -> Policy:
    """``policy`` with its longest wait kept near ``limit`` times that of FCFS under EASY.

    Raises a `DataError` where it cannot be guarded; None leaves it as it is.

    >>> guarded(as_policy("sjf+easy"), 1.5).name
    'sjf+easy+1.5x'
    """
    if limit is None:
        return policy
    if isinstance(policy, BatchPolicy):
        return guarded_order(policy, limit)
    if not isinstance(policy, Guardable):
        wanted = "guard: expected an order under EASY, as in sjf+easy, or a learned order"
        raise DataError(policy.name, [wanted])
    return policy.with_guard(limit)


def cannot(
    policy: Policy, machine: Machine, estimates: Estimates, further: Iterable[str]
) -> list[str]:
    """Why ``policy`` cannot be run so: what it needs, got; none for an order without guard.

    ``further`` are names of options that only sites have.
    """
    if isinstance(policy, BatchPolicy) and policy.guard is None:
        return []
    problems: list[str] = []
    shares, wanted = getattr(policy, "in_shares", False), "processors alone"
    if shares and machine.capped_alone:
        further = [name for name in further if not name.startswith("power")]
    elif not machine.plain:
        wanted += ", or with a power cap that does not change" if shares else ""
        problems = [f"machine: with this policy expected {wanted}"]
    if not (isinstance(estimates, str) and estimates in KNOWN):
        given = estimates if isinstance(estimates, str) else "something else"
        problems.append(f"estimates: with this policy expected user or perfect, got {given}")
    problems += [f"{name}: this policy cannot plan with it" for name in sorted(further)]
    return problems
