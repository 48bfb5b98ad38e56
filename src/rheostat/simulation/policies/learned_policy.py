"""A learned priority as a policy."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

from rheostat.errors import DataError
from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.policies.policy import SchedulingProblem
from rheostat.simulation.policies.start_plan import StartPlan


@dataclass(frozen=True)
class LearnedPolicy:
    """A learned priority under EASY, as a policy of a machine of any size.

    >>> from rheostat.simulation.learned_priority.priority import SHIPPED
    >>> LearnedPolicy(LearnedPriority.load(SHIPPED), "ours").name
    'ours'
    """

    priority: LearnedPriority
    name: str = "learned"
    semantics: str = "textbook"
    ties: str = "event"
    overdue: str = "extend"
    in_shares: ClassVar[bool] = True

    def with_guard(self, limit: float) -> LearnedPolicy:
        """The same with another limit of its guard."""
        priority = replace(self.priority, limit=limit)
        return replace(self, priority=priority, name=f"{self.name}+{limit:g}x")

    def plan(self, problem: SchedulingProblem) -> StartPlan:
        """Starts of the jobs; run times are predicted here, so ``estimates`` are the user's."""
        if problem.estimates != "user":
            why = f"it predicts run times itself: expected user, got {problem.estimates}"
            raise DataError(self.name, [f"estimates: {why}"])
        load, true = problem.load, self.semantics == "cqsim"
        begin = time.process_time()
        start, passes = self.priority.starts(
            load, problem.users, problem.machine.procs, clairvoyant=true,
            batch=self.ties == "batch", overdue=self.overdue,
        )  # fmt: skip
        spent = time.process_time() - begin
        return StartPlan(start, load.ask_s, passes, spent, true or problem.clairvoyant)
