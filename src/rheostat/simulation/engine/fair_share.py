"""Priorities that remember: decayed use per user, advanced exactly, event by event.

Between two events a user's rate of use is constant, so the decayed use has a closed form and no
clock ticks: u(t) = u(t0) d + rate (h / ln 2) (1 - d), with d = 2^(-(t - t0) / h).

    Symbol   Shape  Meaning
    user     (n,)   number of the job's user; empty where the order needs no memory
    level    (n,)   quality of service, 0 to 1
    part     (k,)   the users' shares, sum 1
    use      (k+1,) decayed processor-seconds at ``since``, of each user and of all
    since    (k+1,) time at which ``use`` was right, s
    rate     (k+1,) processors in use
    fixed    (8,)   weights of age, size, fairshare and QOS; longest age, half-life, s; P; small?
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Ints, Score
from rheostat.simulation.engine.jit import borrowed, compiled


class Share(NamedTuple):
    """The arrays of the notation above."""

    user: Ints
    level: Floats
    part: Floats
    use: Floats
    since: Floats
    rate: Floats
    fixed: Floats


@compiled
def share(user: Ints, level: Floats, part: Floats, fixed: Floats) -> Share:
    """Nobody has used anything yet."""
    k = len(part) + 1
    return Share(user, level, part, np.zeros(k), np.zeros(k), np.zeros(k), fixed)


@compiled
def no_share() -> Share:
    """For orders without memory."""
    return share(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(8))


@borrowed
def use_at(s: Share, u: int, now: float) -> float:
    """Decayed processor-seconds of user ``u`` at ``now``."""
    half, past = s.fixed[5], now - s.since[u]
    if half == 0:
        return s.use[u] + s.rate[u] * past
    left = 2.0 ** (-past / half)
    return s.use[u] * left + s.rate[u] * half / np.log(2.0) * (1.0 - left)


@borrowed
def spend(s: Share, j: int, now: float, procs: int) -> None:
    """From now on the user of job ``j`` uses ``procs`` more processors (or fewer)."""
    if len(s.user) == 0:
        return
    for u in (s.user[j], len(s.part)):
        s.use[u] = use_at(s, u, now)
        s.since[u] = now
        s.rate[u] += procs


@borrowed
def priority(s: Share, j: int, now: float, submit: float, procs: int) -> float:
    """Minus the priority of waiting job ``j``, so that the smallest goes first."""
    age, size, fair, qos, longest, _, machine, small = s.fixed
    u = s.user[j]
    total = use_at(s, len(s.part), now)
    taken = use_at(s, u, now) / total if total > 0 else 0.0
    big = procs / machine
    weighted = age * min((now - submit) / longest, 1.0) + size * (1.0 - big if small > 0 else big)
    weighted += fair * 2.0 ** (-taken / s.part[u]) if s.part[u] > 0 else 0.0
    return -(weighted + qos * s.level[j])


@borrowed(forceinline=True)
def score_of(
    now: float, j: int, submit: Floats, procs: Ints, booked: Floats, score: Score
) -> float:
    """The score of job ``j`` by an order without memory; an estimate counts as 1 s at least."""
    since, run = submit[j] - submit[0], max(booked[j], 1.0)
    return score(now - submit[0], since, run, float(procs[j]))


@borrowed
def score_all(
    now: float,
    queue: Ints,
    submit: Floats,
    procs: Ints,
    booked: Floats,
    score: Score,
    share: Share,
    scores: Floats,
) -> None:
    """Write the scores of the jobs in ``queue``; a share that is not empty replaces ``score``."""
    for k in range(len(queue)):
        j = queue[k]
        if len(share.user):
            scores[k] = priority(share, j, now, submit[j], procs[j])
        else:
            scores[k] = score_of(now, j, submit, procs, booked, score)
