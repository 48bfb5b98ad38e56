"""One pass of the site engine over the queue: who starts now, and who holds a reservation.

Symbols as in `site_plan` and `site_state`.  Besides:

    turn    (m,)  places of the queue in the order in which they are looked at
    last    ()    the last turn that could start by what is free; nobody behind matters
    free    (R,)  free of each resource
    until   (q,)  when the first job of each partition that cannot start is expected to
    extra   (q,K) what is left over then of what the partition's jobs need
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine import site_plan as plans
from rheostat.simulation.engine.array_types import Bools, Floats, Ints, Score
from rheostat.simulation.engine.fair_share import priority
from rheostat.simulation.engine.jit import compiled
from rheostat.simulation.engine.running_jobs import NOW
from rheostat.simulation.engine.site_plan import FreeProfile
from rheostat.simulation.engine.site_state import State, start

Spare = tuple[Ints, Bools, Floats, Ints]


@compiled
def run_pass(now: float, s: State, p: FreeProfile, score: Score) -> None:
    """Start what may start."""
    if s.waiting == 0 or (s.fresh < 0 and not s.full):
        return
    free = s.there[s.here] - s.used
    turn, last = s.turn, s.waiting - 1
    last = _last(s, turn, last, free, 0 if s.full else last)
    if last < 0:
        return
    if s.moving:
        turn = _turns(now, s, score)
        last = _last(s, turn, s.waiting - 1, free, 0)
    plans.begin(p, s.here, now, s.used)
    ends, runs = s.expected[: s.running], s.runs[: s.running]
    least = now if s.overdue == NOW else -np.inf
    plans.release(p, ends, runs, s.way, s.part, s.need, s.res, least)
    q = len(s.res)
    until, extra = np.full(q, -np.inf), np.zeros(s.res.shape, np.int64)
    blocked = np.zeros(q, np.bool_)
    started, k = False, 0
    while True:
        k = _look(now, s, turn, k, last, (free, blocked, until, extra))
        if k > last:
            break
        j = s.queue[turn[k]]
        if _try(now, s, p, j, (free, blocked, until, extra)):
            s.queue[turn[k]] = -1
            started = True
            last = _last(s, turn, last, free, k + 1)
        k += 1
    if started:
        _close_ranks(s)


@compiled
def _close_ranks(s: State) -> None:
    """Take those out of the queue that have started."""
    queue, kept = s.queue, 0
    for k in range(s.waiting):
        if queue[k] >= 0:
            queue[kept] = queue[k]
            kept += 1
    s.waiting = kept


@compiled
def _turns(now: float, s: State, score: Score) -> Ints:
    """Places of the queue by score, smallest first."""
    m, queue, submit, booked, need, first = s.waiting, s.queue, s.submit, s.booked, s.need, s.first
    scores = np.empty(m)
    for k in range(m):
        j = queue[k]
        if s.sharing:
            scores[k] = priority(s.share, j, now, submit[j], need[first[j], 0])
        else:
            since, run = submit[j] - submit[0], max(booked[first[j]], 1.0)
            scores[k] = score(now - submit[0], since, run, float(need[first[j], 0]))
    return np.argsort(scores, kind="mergesort")


@compiled
def _able(j: int, free: Ints, res: Ints, least: Ints, first: Ints, need: Ints) -> bool:
    """Is what some way of the job needs free?  ``res`` is that of its partition."""
    for i in range(len(res)):
        if least[j, i] > 0 and free[res[i]] < least[j, i]:
            return False
    if first[j + 1] == first[j] + 1:
        return True
    for way in range(first[j], first[j + 1]):
        if plans.enough(free, res, need[way]):
            return True
    return False


@compiled
def _within(j: int, least: Ints, extra: Ints, q: int) -> bool:
    for i in range(least.shape[1]):
        if least[j, i] > 0 and least[j, i] > extra[q, i]:
            return False
    return True


@compiled
def _last(s: State, turn: Ints, last: int, free: Ints, least_turn: int) -> int:
    """The last turn from ``least_turn`` to ``last`` that what is free would do for, -1 for none."""
    queue, part, array, active, limit = s.queue, s.part, s.array, s.active, s.limit
    res, least, first, need = s.res, s.least, s.first, s.need
    for k in range(last, least_turn - 1, -1):
        j = queue[turn[k]]
        a = array[j]
        if a >= 0 and active[a] >= limit[a]:
            able = False
        else:
            able = _able(j, free, res[part[j]], least, first, need)
        if able:
            return k
    return -1


@compiled
def _look(now: float, s: State, turn: Ints, k: int, last: int, spare: Spare) -> int:
    """The first turn from k on that must be tried: it leads its partition, or could start."""
    free, blocked, until, extra = spare
    queue, part, array, active, limit = s.queue, s.part, s.array, s.active, s.limit
    res, least, first, need, shortest = s.res, s.least, s.first, s.need, s.shortest
    depth, all_blocked = s.depth, blocked.all()
    if all_blocked and depth == 0:
        return last + 1
    if all_blocked and depth == 1 and not s.full:
        k = max(k, last)
    while k <= last:
        j = queue[turn[k]]
        q, a = part[j], array[j]
        if a >= 0 and active[a] >= limit[a]:
            k += 1
            continue
        if depth == 2 or not blocked[q]:
            return k
        if depth == 1 and (now + shortest[j] <= until[q] or _within(j, least, extra, q)):
            if _able(j, free, res[q], least, first, need):
                return k
        k += 1
    return k


@compiled
def _try(now: float, s: State, p: FreeProfile, j: int, spare: Spare) -> bool:
    """Start j the first way that fits, True; or hold a reservation for the preferred way."""
    free, blocked, until, extra = spare
    part = s.part[j]
    res, wake = s.res[part], s.wake_s[part]
    for way in range(s.first[j], s.first[j + 1]):
        need, length = s.need[way], s.planned[way] + wake
        if s.never[way] or not plans.enough(free, res, need):
            continue
        if not plans.fits(p, length, res, need):
            continue
        leading = not blocked[part] and plans.enough(free, res, need)
        blocked[part] = blocked[part] or not leading
        taken = s.booked[way] + wake if leading else length
        plans.reserve(p, 0, taken, res, need, False)
        expected = start(now, s, j, way)
        for k in range(len(res)):
            if res[k] >= 0:
                free[res[k]] -= need[k]
        s.stale = s.stale or expected != now + taken
        return True
    if s.depth < 2 and blocked[part]:
        return False
    for way in range(s.first[j], s.first[j + 1]):
        if s.never[way]:
            continue
        need, length = s.need[way], s.planned[way] + wake
        at = plans.earliest(p, length, res, need)
        if at >= 0:  # a job that never fits holds up nobody
            blocked[part] = True
            s.stale = s.stale or (p.t[at] <= now and s.here + 1 < len(s.when))
            if s.depth:
                plans.reserve(p, at, length, res, need, s.depth == 1)
                until[part] = p.t[at]
                for k in range(len(res)):
                    extra[part, k] = p.f[at, res[k]]
            break
    return False
