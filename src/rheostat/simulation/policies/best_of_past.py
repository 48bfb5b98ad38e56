"""Every night the last day is replayed under each order, and the one with the best past runs next.

No order is best at all sites, nor in all months of one.  So each night the machine as it stood the
night before is copied, and what came since is played under every candidate, all of them guarded
(`rheostat.simulation.learned_priority.live_replay`).  Their slowdowns add up, older nights count
less, and another order takes over where it was better by more than `BETTER`: without that, chance
would change the order every night.

Only what is known is played: jobs that have not ended run for as long as is predicted, and nobody
comes after the night.

    Symbol   Shape   Meaning
    total    (c,)    discounted sum of the bounded slowdowns of each of c candidates
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rheostat.core.jobs import Note
from rheostat.decision.policies.batch_policy import OVERDUE
from rheostat.decision.policies.priority_functions import priority_function
from rheostat.errors import DataError
from rheostat.simulation.learned_priority.priority import LIMIT, LearnedPriority
from rheostat.simulation.policies.policy import SchedulingProblem
from rheostat.simulation.policies.start_plan import StartPlan
from rheostat.simulation.schedule_metrics import bounded_slowdown

Array = np.ndarray
ORDERS = ("sjf", "saf", "sqf", "lxf", "wfp3", "unicef", "f1", "f2", "f3", "f4")
DAY_S = 86_400.0
HALF_LIFE_S = 28 * DAY_S
BETTER = 0.05
SAID = 5


@dataclass(frozen=True)
class BestOfPast:
    """The order that did best in replays of the site's own past, chosen anew each night.

    Parameters
    ----------
    learned
        The candidate that runs first; None begins with the first of ``orders``.
    orders
        Simple orders that are the other candidates.
    limit
        Of the guard around all of them, see `rheostat.simulation.policies.policy.guarded`.
    every_s
        Time between two choices, s.
    half_life_s
        After which a night counts half, s.
    better
        Share by which another order must have been better to take over.
    ties, overdue
        As of `rheostat.decision.policies.batch_policy`.
    """

    learned: LearnedPriority | None = None
    orders: tuple[str, ...] = ORDERS
    limit: float = LIMIT
    every_s: float = DAY_S
    half_life_s: float = HALF_LIFE_S
    better: float = BETTER
    name: str = "best-of-past"
    ties: str = "event"
    overdue: str = "extend"

    def with_guard(self, limit: float) -> BestOfPast:
        """The same with another limit of the guard."""
        return replace(self, limit=limit, name=f"{self.name}+{limit:g}x")

    def plan(self, problem: SchedulingProblem) -> StartPlan:
        """Starts of the jobs; the notes say which order ran since when, and why."""
        if problem.estimates != "user":
            why = f"it predicts run times itself: expected user, got {problem.estimates}"
            raise DataError(self.name, [f"estimates: {why}"])
        begin = time.process_time()
        site = _Site(self, problem)
        choices = site.play()
        spent = time.process_time() - begin
        start, passes = site.live[2], int(site.live[7][2])
        notes = (_explained(choices, problem.load.submit_s[0]),)
        return StartPlan(
            start, problem.load.ask_s, passes, spent, problem.clairvoyant, notes
        )  # fmt: skip


@dataclass(frozen=True)
class OrderChoice:
    """From ``at_s`` on ``order`` runs: its mean slowdown in the replays, and of the one before."""

    at_s: float
    order: str
    slowdown: float = float("nan")
    before: str = ""
    slowdown_before: float = float("nan")


@dataclass
class _Site:
    """A site on which time passes."""

    policy: BestOfPast
    problem: SchedulingProblem
    live: Any = None
    names: list[str] = field(default_factory=list)
    orders: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        from rheostat.simulation.learned_priority.queue_features import table
        from rheostat.simulation.learned_priority.rescoring_engine import fresh

        load, size = self.problem.load, self.problem.machine.procs
        late = OVERDUE.index(self.policy.overdue)
        self.how = (size, True, self.policy.ties == "batch", True, late)
        self.names, self.orders = _candidates(self.policy)
        columns = (load.submit_s, load.run_s, load.procs, load.ask_s)
        self.known = table(*columns, self.problem.users)
        self.jobs = (*columns, load.ask_s)
        own = (*columns[:3], load.ask_s.copy(), load.ask_s)
        self.live = fresh(self.known, own, self.orders[0][2], size, 0.0)

    def play(self) -> list[OrderChoice]:
        """Let all time pass; what was chosen when."""
        from rheostat.simulation.learned_priority.rescoring_engine import advance

        policy, current = self.policy, 0
        total, weight = np.zeros(len(self.names)), 0.0
        keep = 0.5 ** (policy.every_s / policy.half_life_s)
        choices = [OrderChoice(float(self.jobs[0][0]), self.names[0])]
        before, then = self._branch(self.live, self.jobs[1], 0, -np.inf), -np.inf
        for night, came in _nights(self.jobs[0], policy.every_s):
            advance(self.live, *self.orders[current], self.how, night)
            sums, count = self._replayed(before, then, night, came)
            total, weight = keep * total + sums, keep * weight + count
            before, then = self._branch(self.live, self.jobs[1], came, night), night
            best = int(np.argmin(total))
            if total[best] < (1 - policy.better) * total[current]:
                means = total[[best, current]] / weight
                choices.append(OrderChoice(night, self.names[best], means[0],
                                           self.names[current], means[1]))  # fmt: skip
                current = best
                self.live[1][3][:] = self.live[1][4]  # planned as asked, until trusted again
        advance(self.live, *self.orders[current], self.how, np.inf)
        return choices

    def _branch(self, live: Any, run_s: Array, came: int, now: float) -> Any:
        """A copy of a machine as of ``now``, with the first ``came`` jobs and these run times."""
        from rheostat.simulation.learned_priority.live_replay import branch

        known = self.known[0][:came].copy()
        known[:, 1] = run_s[:came]
        submit, _, procs, planned, booked = (c[:came] for c in self.jobs)
        return branch(live, known, (submit, known[:, 1].copy(), procs, planned, booked), now)

    def _replayed(self, before: Any, then: float, now: float, came: int) -> tuple[Array, int]:
        """Sum of each candidate's slowdowns of what did not run ``then``; how many jobs that is."""
        from rheostat.simulation.learned_priority.rescoring_engine import advance

        run_s = self._known_run_s(now, came)
        which = np.ones(came, bool)
        which[: len(before[2])] = np.isnan(before[2])
        sums = []
        for order in self.orders:
            copy = self._branch(before, run_s, came, then)
            advance(copy, *order, self.how, np.inf)
            wait = copy[2] - self.jobs[0][:came]
            sums.append(bounded_slowdown(wait[which], run_s[which]).sum())
        return np.array(sums), int(which.sum())

    def _known_run_s(self, now: float, came: int) -> Array:
        """(came,) run times of jobs that have ended; of others what is predicted, s."""
        start, run_s, guess = self.live[2][:came], self.jobs[1][:came], self.live[4][0][1][:came]
        guess = np.fmax(guess, now - start)  # as long as it has run, if it runs
        return np.where(start + run_s < now, run_s, guess)


def _nights(submit_s: Array, every_s: float) -> Iterator[tuple[float, int]]:
    """(moment, s; jobs that have come before it) of each night after a day on which some came."""
    days = np.unique(np.floor((submit_s - submit_s[0]) / every_s))
    for night in submit_s[0] + (days[:-1] + 1) * every_s:
        yield float(night), int(np.searchsorted(submit_s, night, side="left"))


def _candidates(policy: BestOfPast) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names, and of each what `rescoring_engine.advance` wants to know."""
    from rheostat.simulation.engine.jit import compiled_score
    from rheostat.simulation.learned_priority.rescoring_engine import no_simple_order
    from rheostat.simulation.learned_priority.scoring_network import length, network
    from rheostat.simulation.learned_priority.two_level_guard import constants

    names, orders = [], []
    if policy.learned is not None:
        learned = replace(policy.learned, limit=policy.limit)
        names.append("agent:ours")
        weights = np.array(learned.weights)
        orders.append((network(), weights, learned.rules(), *no_simple_order()))
    for name in policy.orders:
        names.append(f"{name}+easy")
        simple = compiled_score(priority_function(name).score)
        rules = np.zeros(0), constants(policy.limit)
        orders.append((network(), np.zeros(length(0)), rules, simple, True))
    return names, orders


def _explained(choices: list[OrderChoice], begin_s: float) -> Note:
    """What ran since when, and why; of many changes the last."""
    words = [
        f"since day {(c.at_s - begin_s) / DAY_S:.0f} {c.order}, because in replays of the days "
        f"before it has a mean slowdown of {c.slowdown:.3g}, {c.before} {c.slowdown_before:.3g}"
        for c in choices[1:][-SAID:]
    ]
    changes = len(choices) - 1
    first = f"begins with {choices[0].order}; {changes} change{'' if changes == 1 else 's'}"
    return Note("; ".join([", ".join([first, *words[:1]]), *words[1:]]))
