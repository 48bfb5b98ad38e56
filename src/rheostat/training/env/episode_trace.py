"""The rules of the episode, and the trace it is played on, as the compiled core wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import (
    ASK,
    BOUND_S,
    DAY_S,
    INVERSE,
    JOB_COLUMNS,
    LOG_ASK,
    NEED,
    PAST,
    PLAN,
    RUN,
    SIZE,
    SUBMIT,
    URGENT,
    WATTS,
)
from rheostat.simulation.simulate import simulate_run
from rheostat.training.env.bill import NOTHING, Bill, bill_of, watts_of
from rheostat.training.env.rewards import weights

LONG_S = 30 * DAY_S
BACKFILLS, PROMISES = ("window", "queue"), ("held", "first", "first_held")


@dataclass(frozen=True)
class EpisodeRules:
    """How the episode is played.

    Parameters
    ----------
    window
        Waiting jobs that can be chosen from, first come first.
    may_wait
        May a selection choose nothing, until the next event?  A backfill always may.
    reward
        A name of `rheostat.training.env.rewards.REWARDS`, or weights by name.
    episode_jobs
        Submissions of an episode, which ends when all jobs have started; None: to the trace's end.
    episode_decisions
        Decisions after which an episode is cut (truncated); None: never.
    warm
        Begin on the machine as first come, first served with EASY left it at that moment of the
        trace; else on an empty machine.
    backfill
        Which jobs may be backfilled: those of the "window", or any of the "queue".
    promise
        "held": the job chosen, if it does not fit, is promised its start and keeps the promise.
        "first": the choice is dropped; the first job of the queue is promised its start, and at the
        next event the agent is asked anew.  "first_held": the same, but the first job keeps the
        promise until it starts, at the next event or later.
    """

    window: int = 50
    may_wait: bool = False
    reward: str | Mapping[str, float] = "wait"
    episode_jobs: int | None = 256
    episode_decisions: int | None = None
    warm: bool = True
    backfill: str = "window"
    promise: str = "held"
    weights: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected a whole number above 0{also}, got {value!r}"
            for name, value, also in (
                ("window", self.window, ""),
                ("episode_jobs", self.episode_jobs, " or None"),
                ("episode_decisions", self.episode_decisions, " or None"),
            )
            if not (value is None and also) and not _count(value)
        ]
        problems += [
            f"{name}: expected {' or '.join(known)}, got {getattr(self, name)!r}"
            for name, known in (("backfill", BACKFILLS), ("promise", PROMISES))
            if getattr(self, name) not in known
        ]
        if problems:
            raise DataError("rules", problems)
        object.__setattr__(self, "weights", weights(self.reward))

    def of(self, size: int) -> tuple[int, bool, int, bool, int, bool, bool, bool]:
        """What the core takes, on a machine of ``size`` processors."""
        cut, count = self.episode_decisions or 0, self.episode_jobs or 0
        queue, first, anew = self.backfill == "queue", self.promise != "held", self._anew
        return size, bool(self.may_wait), cut, bool(self.warm), count, queue, first, anew

    @property
    def recorded(self) -> bool:
        """Must starts be kept, to know which jobs behind the window wait?"""
        return self.backfill == "queue" or self._anew

    @property
    def _anew(self) -> bool:
        return self.promise == "first"


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


@dataclass(frozen=True)
class EpisodeTrace:
    """A trace that was run once under EASY, so that an episode can begin anywhere in it.

    ``jobs`` (n, 11) and ``low`` (n,) are the core's; ``low[i]`` is the first job that has not ended
    when job ``i`` arrives.  ``clairvoyant``: are some jobs planned with true run times?
    ``bill`` has the prices of what is drawn.
    """

    jobs: np.ndarray
    low: np.ndarray
    size: int
    clairvoyant: bool
    bill: Bill = NOTHING

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def most_running(self) -> int:
        """More jobs can never run at once."""
        return min(len(self), int(self.size // self.jobs[:, NEED].min()))

    def last_first(self, rules: EpisodeRules) -> int:
        """The last job an episode can begin with."""
        ahead = rules.episode_jobs or rules.episode_decisions or 1
        return max(0, len(self) - ahead)


def trace(
    jobs: JobTable, machine: Machine | int, estimates: str | np.ndarray = "user"
) -> EpisodeTrace:
    """Run ``jobs`` under first come, first served with EASY; rows that cannot run are left out."""
    run = simulate_run(jobs, "easy", machine, estimates=estimates)
    table, size = run.jobs, run.machine.procs
    order = np.argsort(table.numpy("submit_s"), kind="stable")
    names = {
        SUBMIT: "submit_s",
        RUN: "runtime_s",
        NEED: "procs",
        ASK: "estimate_s",
        PAST: "start_s",
    }
    columns = np.zeros((len(order), JOB_COLUMNS))
    for column, name in names.items():
        columns[:, column] = table.numpy(name)[order]
    ask = columns[:, ASK]
    columns[:, SIZE] = columns[:, NEED] / size
    columns[:, LOG_ASK] = np.minimum(np.log1p(np.maximum(ask, 0)) / np.log1p(LONG_S), 1.0)
    columns[:, INVERSE] = 1 / np.maximum(columns[:, RUN], BOUND_S)
    columns[:, PLAN] = ask
    columns[:, WATTS] = watts_of(table, run.machine)[order]
    if "priority" in table.schema and table.frame["priority"].dtype.is_numeric():
        columns[:, URGENT] = table.numpy("priority")[order] > 0
    return EpisodeTrace(columns, _low(columns), size, run.clairvoyant, bill_of(run.machine))


def _low(jobs: np.ndarray) -> np.ndarray:
    """For each job the first one that has not ended when it arrives."""
    # the longest any job before has been known to last: ends that only rise can be searched
    ends = np.maximum.accumulate(jobs[:, PAST] + jobs[:, RUN])
    return np.minimum(np.searchsorted(ends, jobs[:, SUBMIT], side="right"), np.arange(len(jobs)))
