"""The rules of the game, and the trace it is played on, as the compiled core wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulate.engine.env_layout import (
    ASK,
    BOUND_S,
    DAY_S,
    INVERSE,
    JOB_COLUMNS,
    LOG_ASK,
    NEED,
    PAST,
    RUN,
    SIZE,
    SUBMIT,
)
from rheostat.simulate.env.rewards import weights
from rheostat.simulate.run import simulate_run

LONG_S = 30 * DAY_S


@dataclass(frozen=True)
class Rules:
    """How the game is played.

    Parameters
    ----------
    window
        Waiting jobs that can be chosen from, first come first.
    may_wait
        May a selection choose nothing, until the next event?  A backfill always may.
    reward
        A name of `rheostat.simulate.env.rewards.REWARDS`, or weights by name.
    episode_jobs
        Submissions of an episode, which ends when all jobs have started; None: to the trace's end.
    episode_decisions
        Decisions after which an episode is cut (truncated); None: never.
    warm
        Begin on the machine as first come, first served with EASY left it at that moment of the
        trace; else on an empty machine.
    """

    window: int = 50
    may_wait: bool = False
    reward: str | Mapping[str, float] = "wait"
    episode_jobs: int | None = 256
    episode_decisions: int | None = None
    warm: bool = True
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
        if problems:
            raise DataError("rules", problems)
        object.__setattr__(self, "weights", weights(self.reward))

    def of(self, size: int) -> tuple[int, bool, int, bool, int]:
        """What the core takes, on a machine of ``size`` processors."""
        cut, count = self.episode_decisions or 0, self.episode_jobs or 0
        return size, bool(self.may_wait), cut, bool(self.warm), count


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


@dataclass(frozen=True)
class Trace:
    """A trace that was run once under EASY, so that an episode can begin anywhere in it.

    ``jobs`` (n, 8) and ``low`` (n,) are the core's; ``low[i]`` is the first job that has not ended
    when job ``i`` arrives.  ``clairvoyant``: are some jobs planned with true run times?
    """

    jobs: np.ndarray
    low: np.ndarray
    size: int
    clairvoyant: bool

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def most_running(self) -> int:
        """More jobs can never run at once."""
        return min(len(self), int(self.size // self.jobs[:, NEED].min()))

    def last_first(self, rules: Rules) -> int:
        """The last job an episode can begin with."""
        ahead = rules.episode_jobs or rules.episode_decisions or 1
        return max(0, len(self) - ahead)


def trace(jobs: JobTable, machine: Machine | int, estimates: str | np.ndarray = "user") -> Trace:
    """Run ``jobs`` under first come, first served with EASY; rows that cannot run are left out."""
    run = simulate_run(jobs, "easy", machine, estimates=estimates)
    told, size = run.jobs, run.machine.procs
    order = np.argsort(told.numpy("submit_s"), kind="stable")
    names = {
        SUBMIT: "submit_s",
        RUN: "runtime_s",
        NEED: "procs",
        ASK: "estimate_s",
        PAST: "start_s",
    }
    columns = np.zeros((len(order), JOB_COLUMNS))
    for column, name in names.items():
        columns[:, column] = told.numpy(name)[order]
    ask = columns[:, ASK]
    columns[:, SIZE] = columns[:, NEED] / size
    columns[:, LOG_ASK] = np.minimum(np.log1p(np.maximum(ask, 0)) / np.log1p(LONG_S), 1.0)
    columns[:, INVERSE] = 1 / np.maximum(columns[:, RUN], BOUND_S)
    return Trace(columns, _low(columns), size, run.clairvoyant)


def _low(jobs: np.ndarray) -> np.ndarray:
    """For each job the first one that has not ended when it arrives."""
    # the longest any job before has been known to last: ends that only rise can be searched
    ends = np.maximum.accumulate(jobs[:, PAST] + jobs[:, RUN])
    return np.minimum(np.searchsorted(ends, jobs[:, SUBMIT], side="right"), np.arange(len(jobs)))
