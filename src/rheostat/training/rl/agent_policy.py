"""A trained agent as a policy beside the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rheostat.simulation.policies.policy import SchedulingProblem
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.workload import Array
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.episode_trace import trace as prepare

Progress = Callable[[int, int, dict[str, Any]], None]


class ScheduledTrace(Protocol):
    """What an agent gives back: starts, facts with ``decisions``, and whether it knew too much."""

    @property
    def starts(self) -> Array:
        """Start of each job, s; (n,)."""
        ...

    @property
    def clairvoyant(self) -> bool:
        """Were some jobs planned with their true run times?"""
        ...

    def metrics(self) -> dict[str, float]:
        """Waits, slowdowns and decisions."""
        ...


class TraceScheduler(Protocol):
    """An agent: it schedules a whole trace; one that is given ``progress`` takes it here."""

    def play(self, trace: EpisodeTrace, *, seed: int = 0) -> ScheduledTrace:
        """Schedule ``trace`` from an empty machine."""
        ...


@dataclass(frozen=True)
class AgentPolicy:
    """An agent that decides at each event, as a policy; one pass is counted per decision.

    Parameters
    ----------
    agent
        An `Agent`, an `Actor`, or a tree of an agent's values (`Student`).
    name
        What it is called in tables.
    progress
        Called with (jobs started, jobs, {}); not by a tree.
    """

    agent: TraceScheduler
    name: str = "agent"
    progress: Progress | None = None

    def plan(self, problem: SchedulingProblem) -> StartPlan:
        """Starts of the jobs; an agent that draws draws with the seed of ``problem``."""
        known = "perfect" if problem.estimates == "perfect" else "user"
        trace = prepare(problem.jobs, problem.machine, known)
        further: dict[str, Any] = {} if self.progress is None else {"progress": self.progress}
        begin = time.process_time()
        played = self.agent.play(trace, seed=problem.seed, **further)
        spent = time.process_time() - begin
        passes = int(played.metrics()["decisions"])
        return StartPlan(played.starts, problem.estimate_s, passes, spent, played.clairvoyant)
