"""A batch policy: an order of the waiting jobs, how far it backfills, and what planning may know.

*Backfilling* lets a job start ahead of its turn.  ``none`` never; ``easy`` if that does not delay
the first job that cannot start yet; ``conservative`` if it delays none of those before it.

*Semantics* says which run time a waiting job is planned with: ``textbook`` its estimate;
``cqsim`` its true run time, as the simulator CQSim and the results published with it do.  No site
knows the true run time: such a plan is clairvoyant, and every result says so.

*Ties* says how often the queue is looked at when several events fall on one moment: after each
``event``, or once per time stamp (``batch``).  Ends come before submissions, submissions as the
trace has them, ends in the order of the starts; with ``ends="expected"`` of the expected ends.

*Overdue* says when a job that has outlived its estimate is expected to end: in the ``past``, where
the estimate left it, so that what waits for it could have started already and nothing may pass;
``now``; or later, as its estimate is made to ``extend`` step by step.  The default is ``past`` for
estimates that are given, and ``extend`` for learned ones.

References
----------
Mu'alem, Feitelson, "Utilization, predictability, workloads, and user runtime estimates in
scheduling the IBM SP2 with backfilling", IEEE TPDS 2001.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from rheostat.decision.policies.multifactor import Multifactor
from rheostat.decision.policies.priority_functions import PriorityFunction, Score, priority_function
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.errors import DataError

BACKFILLING = ("none", "easy", "conservative")
SEMANTICS = ("textbook", "cqsim")
TIES = ("event", "batch")
ENDS = ("start", "expected")
OVERDUE = ("past", "now", "extend")
LEAST_GUARD, MOST_GUARD = 1.0, 100.0
Plan_co = TypeVar("Plan_co", covariant=True)


class PriorityEngine(Protocol[Plan_co]):
    """What can run an order of the queue with its backfilling."""

    def by_priority(self, rule: BatchPolicy) -> Plan_co:
        """The plan that ``rule`` gives."""
        ...


@dataclass(frozen=True)
class BatchPolicy:
    """Made by `batch_policy`; ``name`` is what it is called in tables.

    Parameters
    ----------
    order : PriorityFunction
        Who is first.
    backfill : str
        "none", "easy" or "conservative".
    semantics : str
        "textbook" or "cqsim".
    ties : str
        Decisions after each "event", or after each "batch" of events at one moment.
    name : str
        For tables.
    ends : str
        Whether a shadow time counts from the "start" or from the "expected" end.
    overdue : str, optional
        What becomes of jobs beyond their estimate: "past", "now" or "extend".
    guard : float, optional
        The longest wait is to keep within so many times that of first come, first served under
        EASY: waiting jobs go first before theirs is longer.  Needs EASY.

    Raises
    ------
    DataError
        A word that is not one of these, or a guard that cannot be.
    """

    order: PriorityFunction
    backfill: str = "easy"
    semantics: str = "textbook"
    ties: str = "event"
    name: str = ""
    ends: str = "start"
    overdue: str | None = None
    guard: float | None = None

    def __post_init__(self) -> None:
        problems = [
            f"{what}: expected one of {', '.join(known)}, got {value!r}"
            for what, value, known in (
                ("backfill", self.backfill, BACKFILLING),
                ("semantics", self.semantics, SEMANTICS),
                ("ties", self.ties, TIES),
                ("ends", self.ends, ENDS),
                ("overdue", self.overdue, OVERDUE),
            )
            if value not in known and not (what == "overdue" and value is None)
        ]
        if self.guard is not None:
            problems += self._unguarded()
        if problems:
            raise DataError("policy", problems)

    def _unguarded(self) -> list[str]:
        """Why this order cannot be guarded so."""
        problems = []
        if not LEAST_GUARD <= (self.guard or 0.0) <= MOST_GUARD:
            span = f"{LEAST_GUARD:g} to {MOST_GUARD:g}"
            problems.append(f"guard: expected {span} times the wait under EASY, got {self.guard:g}")
        if self.backfill != "easy" or self.ends != "start":
            problems.append("guard: expected an order under EASY, as in sjf+easy, "
                            f"got backfill {self.backfill}, ends {self.ends}")  # fmt: skip
        return problems

    def plan(self, problem: PriorityEngine[Plan_co]) -> Plan_co:
        """Starts by the engines of ``problem``: `rheostat.simulation.policies.policy.Policy`."""
        return problem.by_priority(self)


def batch_policy(
    spec: str | BatchPolicy | PriorityFunction | Score | Multifactor | PriorityTree,
    *,
    backfill: str | None = None,
    semantics: str = "textbook",
    ties: str = "event",
    ends: str = "start",
    overdue: str | None = None,
) -> BatchPolicy:
    """From ``fcfs``, ``easy``, ``conservative``, ``ORDER``, ``ORDER+easy``, ``ORDER+conservative``.

    ``easy`` and ``conservative`` alone backfill behind first come, first served; an order alone
    does not backfill.  A callable, a `Multifactor` or a `PriorityTree` is an order under EASY.
    ``backfill`` says it for those and for the name of an order.  ``+1.5x`` at the end of a name is
    a `guarded_order`.

    Parameters
    ----------
    spec : str, callable or policy
        A name, or an order.
    backfill : str, optional
        "none", "easy" or "conservative", for an order.
    semantics, ties, ends, overdue
        As for `BatchPolicy`.

    Returns
    -------
    BatchPolicy
        Ready for `rheostat.simulate`.

    Raises
    ------
    DataError
        An unknown name, or a name that says already how far it backfills.

    Examples
    --------
    >>> batch_policy("sjf+easy").order.name, batch_policy("sjf").backfill
    ('sjf', 'none')
    >>> batch_policy("EASY").name, batch_policy("multifactor").name
    ('easy', 'multifactor')
    >>> batch_policy("sjf+easy+1.5x").guard
    1.5
    """
    if isinstance(spec, str) and (named := split_guard(spec))[1] is not None:
        plain = batch_policy(named[0], backfill=backfill, semantics=semantics, ties=ties,
                             ends=ends, overdue=overdue)  # fmt: skip
        return guarded_order(plain, named[1])
    settled = isinstance(spec, BatchPolicy) or (
        isinstance(spec, str) and ("+" in spec or spec.strip().lower() in BACKFILLING)
    )
    if settled and backfill is not None:
        name = spec.name if isinstance(spec, BatchPolicy) else spec
        problem = f"it says itself how far it backfills: expected no backfill, got {backfill!r}"
        raise DataError(f"policy {name}", [problem])
    if isinstance(spec, BatchPolicy):
        return spec
    if not isinstance(spec, str):
        made, far = priority_function(spec), backfill or "easy"
        name = made.name + f"+{far}" * (far != "none")
        return BatchPolicy(made, far, semantics, ties, name, ends, overdue)
    if backfill not in (None, "none"):
        spec = f"{spec.strip()}+{backfill}"
    first, plus, second = spec.strip().partition("+")
    if not plus and first.lower() in BACKFILLING[1:]:
        first, second = "fcfs", first
    elif not plus:
        second = "none"
    second = second.lower()
    if second not in BACKFILLING:
        raise DataError(
            f"policy {spec}", [f"after the + expected easy or conservative, got {second!r}"]
        )
    made = priority_function(first)
    spec = spec.strip()
    name = f"{made.name}{plus}{second * bool(plus)}" if made.factors or made.tree else spec.lower()
    return BatchPolicy(made, second, semantics, ties, name, ends, overdue)


def split_guard(name: str) -> tuple[str, float | None]:
    """The name of a policy without a guard at its end, and the guard.

    >>> split_guard("sjf+easy+1.5x"), split_guard("sjf+easy")
    (('sjf+easy', 1.5), ('sjf+easy', None))
    """
    parts = re.fullmatch(r"(.+)\+([0-9]+(?:\.[0-9]+)?)x", name.strip())
    return (parts[1], float(parts[2])) if parts else (name, None)


def guarded_order(rule: BatchPolicy, limit: float | None) -> BatchPolicy:
    """The order with its longest wait kept near ``limit`` times that of FCFS under EASY.

    FCFS under EASY is what a wait is measured by, and stays as it is.

    >>> guarded_order(batch_policy("sjf+easy"), 1.5).name
    'sjf+easy+1.5x'
    """
    if limit is None or (rule.order.name == "fcfs" and rule.backfill == "easy"):
        return rule
    return replace(rule, guard=limit, name=f"{rule.name}+{limit:g}x")
