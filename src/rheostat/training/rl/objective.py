"""What an administrator wants, as a reward: a name, or several with weights.

Waits are counted in hours, energy in kilowatt-hours: a weight between them would depend on the
size of the machine.  Several objectives are therefore compared by what first come, first served
with EASY makes of the same jobs.  With ``slowdown=1,energy=0.2`` a policy is rewarded as well for
one per cent less slowdown as for five per cent less energy.

    Symbol  Meaning
    M_k     sum of term k over all jobs under FCFS with EASY (`rheostat.training.env.rewards`)
    n       jobs
    c_k     the weight given; that of the reward is c_k n / M_k, so that EASY's reward is -1 per job
            and unit of weight
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import (
    HOUR_S,
    INVERSE,
    NEED,
    PAST,
    RUN,
    SUBMIT,
    WATTS,
)
from rheostat.simulation.power import plain_account
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.rewards import REWARDS, parsed, weights

OBJECTIVES = ("wait", "slowdown", "utilisation", "energy", "cost", "carbon")


def reward_of(objective: str, traces: Sequence[EpisodeTrace], machine: Machine) -> str:
    """The reward of `rheostat.training.env` for an objective; one name is a reward already.

    Raises `DataError` where watts or prices are missing, or where EASY leaves nothing to gain.
    """
    given = parsed(objective)
    known = weights(objective)
    for trace in traces:
        trace.bill.check(dict(zip(REWARDS, known, strict=True)), trace.jobs[:, WATTS])
    if len(given) == 1:
        return next(iter(given))
    problems = [
        f"{name}: expected one of {', '.join(OBJECTIVES)} in a weighted sum"
        for name in given
        if name not in OBJECTIVES
    ]
    problems += [f"{name}: expected a weight above 0, got {c}" for name, c in given.items()
                 if not c > 0]  # fmt: skip
    if not problems:
        sums = {
            name: sum(total(name, trace, trace.jobs[:, PAST], machine) for trace in traces)
            for name in given
        }
        problems = [
            f"{name}: FCFS with EASY has none of it on this trace: leave it out"
            for name, amount in sums.items()
            if not amount > 0
        ]
    if problems:
        raise DataError(f"objective {objective}", problems)
    jobs = sum(map(len, traces))
    return ",".join(f"{name}={c * jobs / sums[name]!r}" for name, c in given.items())


def judged(objective: str, trace: EpisodeTrace, starts: np.ndarray, machine: Machine) -> float:
    """A schedule's objective over that of FCFS with EASY: 1 is as good, less is better.

    Several objectives are weighted; rewards of DRAS are none of a schedule and count as slowdown.
    """
    given = {k: c for k, c in parsed(objective).items() if k in OBJECTIVES} or {"slowdown": 1.0}
    parts = []
    for name, c in given.items():
        ours, theirs = (total(name, trace, s, machine) for s in (starts, trace.jobs[:, PAST]))
        parts.append(c * (ours / theirs if theirs else 1.0 if not ours else np.inf))
    return float(sum(parts) / sum(given.values()))


def total(name: str, trace: EpisodeTrace, starts: np.ndarray, machine: Machine) -> float:
    """The sum of one term over a schedule."""
    jobs = trace.jobs
    wait = starts - jobs[:, SUBMIT]
    if name == "wait":
        return float(wait.sum() / HOUR_S)
    if name == "slowdown":
        return float((wait * jobs[:, INVERSE]).sum())
    if name == "utilisation":
        return idle_hours(trace, starts)
    bill = bill_of_starts(trace, starts, machine)
    return {"energy": bill[0] / 3.6e6, "cost": bill[1], "carbon": bill[2] / 1e3}[name]


def bill_of_starts(
    trace: EpisodeTrace, starts: np.ndarray, machine: Machine
) -> tuple[float, float, float]:
    """(J, cost, g) of the site under a schedule, as `simulate` accounts for it."""
    jobs, ids = trace.jobs, np.arange(len(trace))
    procs, ends = jobs[:, NEED].astype(np.int64), starts + jobs[:, RUN]
    bill = plain_account(machine, ids, procs, starts, ends, jobs[:, SUBMIT], jobs[:, WATTS])
    return bill.total_j, bill.cost, bill.carbon_g


def idle_hours(trace: EpisodeTrace, starts: np.ndarray) -> float:
    """Hours that the whole machine idles while jobs wait; an idle half counts half."""
    jobs = trace.jobs
    ends = starts + jobs[:, RUN]
    moments = np.unique(np.concatenate([jobs[:, SUBMIT], starts, ends]))

    def count(begin: np.ndarray, end: np.ndarray, what: np.ndarray) -> np.ndarray:
        change = np.zeros(len(moments))
        np.add.at(change, np.searchsorted(moments, begin), what)
        np.add.at(change, np.searchsorted(moments, end), -what)
        return change.cumsum()[:-1]

    free = 1 - count(starts, ends, jobs[:, NEED]) / trace.size
    queue = count(jobs[:, SUBMIT], starts, np.ones(len(jobs))) > 0
    return float((free * queue * np.diff(moments)).sum() / HOUR_S)
