"""A policy of your own: subclass `EventPolicy` and write `choose`.

At every moment at which jobs are submitted or end, `choose` is shown the jobs that wait and those
that run, as a scheduler sees them, and names the jobs that start.  This is plain Python: some ten
thousand decisions per second, where the compiled engines make a million.
"""

from __future__ import annotations

import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from rheostat.errors import DataError
from rheostat.simulation.engine.running_jobs import longer
from rheostat.simulation.policies.policy import SchedulingProblem
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.workload import Array


@dataclass(frozen=True)
class ClusterState:
    """What is known at one moment; w jobs wait, in the order of their submission, r run.

    Parameters
    ----------
    now_s
        The moment, s.
    free
        Processors that are free.
    submit_s, estimate_s, procs, user
        Of the waiting jobs, (w,): submission, run time asked for, processors, number of the user.
    end_s, held
        Of the running jobs, (r,): expected end, s, by the run time asked for and, of jobs that
        have outlived it, by the policy's ``overdue``; processors.
    """

    now_s: float
    free: int
    submit_s: Array
    estimate_s: Array
    procs: Array
    user: Array
    end_s: Array
    held: Array


@dataclass
class _Machine:
    """The waiting and the running jobs of a problem, by their numbers."""

    problem: SchedulingProblem
    free: int
    start: Array
    overdue: str = "past"
    waiting: list[int] = field(default_factory=list)
    ends: list[tuple[float, int]] = field(default_factory=list)

    def state(self, now: float) -> ClusterState:
        load, estimate = self.problem.load, self.problem.estimate_s
        waits = np.array(self.waiting, np.int64)
        runs = np.array(sorted(j for _, j in self.ends), np.int64)
        return ClusterState(
            now, self.free, load.submit_s[waits], estimate[waits], load.procs[waits],
            self.problem.users[waits], self._expected(runs, now), load.procs[runs],
        )  # fmt: skip

    def _expected(self, runs: Array, now: float) -> Array:
        """Expected ends of the running jobs, s; (r,)."""
        estimate = self.problem.estimate_s[runs]
        if self.overdue == "extend":
            for k in np.flatnonzero(self.start[runs] + estimate < now):
                estimate[k] = longer(now - self.start[runs[k]], estimate[k])
        ends: Array = self.start[runs] + estimate
        return np.maximum(ends, now) if self.overdue == "now" else ends

    def end_until(self, now: float) -> None:
        while self.ends and self.ends[0][0] <= now:
            self.free += int(self.problem.load.procs[heapq.heappop(self.ends)[1]])

    def begin(self, jobs: list[int], now: float) -> None:
        load = self.problem.load
        self.waiting = [j for j in self.waiting if j not in set(jobs)]
        for j in jobs:
            self.start[j] = now
            self.free -= int(load.procs[j])
            heapq.heappush(self.ends, (now + float(load.run_s[j]), j))


class EventPolicy(ABC):
    """Decides at each event which waiting jobs start.

    ``overdue`` says when jobs that outlived their request are expected to end: in the "past",
    "now", or later, as their estimates "extend".
    """

    name = "own"
    overdue = "past"

    @abstractmethod
    def choose(self, state: ClusterState) -> Iterable[int]:
        """The waiting jobs that start now, by their places in the arrays of ``state``.

        Together they need at most ``state.free`` processors.
        """

    def plan(self, problem: SchedulingProblem) -> StartPlan:
        """Starts of the jobs: events one after another, ends before submissions.

        Raises a `DataError` where `choose` names what does not wait or does not fit, or lets jobs
        wait for ever.
        """
        load, begin, passes, i = problem.load, time.process_time(), 0, 0
        start = np.full(len(load), np.nan)
        machine = _Machine(problem, problem.machine.procs, start, self.overdue)
        while i < len(load) or machine.ends:
            due = machine.ends[0][0] if machine.ends else np.inf
            now = min(due, float(load.submit_s[i]) if i < len(load) else np.inf)
            machine.end_until(now)
            while i < len(load) and load.submit_s[i] <= now:
                machine.waiting.append(i)
                i += 1
            if machine.waiting:
                machine.begin(self._chosen(machine, now), now)
                passes += 1
        if machine.waiting:
            never = f"jobs in rows {[int(load.row[j]) for j in machine.waiting[:5]]} never start"
            raise DataError(self.name, [f"{never}: expected a choice on an empty machine"])
        spent = time.process_time() - begin
        return StartPlan(
            machine.start, problem.estimate_s, passes, spent, clairvoyant=problem.clairvoyant
        )

    def _chosen(self, machine: _Machine, now: float) -> list[int]:
        places = [int(k) for k in self.choose(machine.state(now))]
        wait = len(machine.waiting)
        if len(set(places)) < len(places) or not all(0 <= k < wait for k in places):
            problem = f"expected different places from 0 to {wait - 1}, got {places[:10]}"
            raise DataError(f"{self.name} at {now:.10g} s", [problem])
        jobs = [machine.waiting[k] for k in places]
        need = int(machine.problem.load.procs[jobs].sum())
        if need > machine.free:
            problem = f"expected jobs of at most {machine.free} processors together, got {need}"
            raise DataError(f"{self.name} at {now:.10g} s", [problem])
        return jobs
