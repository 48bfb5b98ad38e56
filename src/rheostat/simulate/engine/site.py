"""The engine for sites: several resources, capacity that changes, and life's accidents.

A job starts only if what it needs is expected free for its whole planned length: what runs counts
until its expected end, planned changes of capacity count, and so do reservations.  Under EASY the
first job of each partition that cannot start holds one, under conservative backfilling all do.
With one partition and nothing else this gives the starts of the engines for processors alone.

Symbols as in `site_plan` and `site_state`.  Events at one moment: capacity changes, then ends,
failures, submissions, jobs whose predecessor is done; a pass over the queue after each, or all.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulate.engine import site_heap as heaps
from rheostat.simulate.engine import site_plan as plans
from rheostat.simulate.engine.jit import compiled
from rheostat.simulate.engine.site_state import (
    HERE,
    NEXT_FAIL,
    NEXT_JOB,
    PASSES,
    RUNNING,
    WAITING,
    book,
    close,
    enqueue,
    note,
    occupy,
    state,
    unbook,
    vacate,
)


@compiled
def run_site(jobs, ways, capacity, procs, score, rule, logs):
    """The last `State`: starts, ends, ways taken, and the logs of runs and of idle processors."""
    n = len(jobs.submit)
    begin = jobs.submit[0] if n else 0.0
    s = state(jobs, ways, procs, logs, begin)
    p = plans.plan(64, capacity.there.shape[1])
    now = begin
    while True:
        coming = _next(s, jobs, capacity)
        if coming == np.inf:
            break
        now = coming
        while s.meta[HERE] + 1 < len(capacity.when) and capacity.when[s.meta[HERE] + 1] <= now:
            s.meta[HERE] += 1
        while _event(now, s, jobs, ways, capacity, rule):
            if not rule.batch:
                break
        s.meta[PASSES] += 1
        room = s.meta[RUNNING] + 3 * s.meta[WAITING] + len(capacity.when) + 8
        if len(p.t) < room:
            p = plans.plan(2 * room, capacity.there.shape[1])
        _pass(now, s, jobs, ways, capacity, p, score, rule)
    close(s, now)
    return s


@compiled
def _next(s, jobs, capacity):
    """The next moment at which anything happens; inf when nothing ever will."""
    i, f, h = s.meta[NEXT_JOB], s.meta[NEXT_FAIL], s.meta[HERE] + 1
    now = min(heaps.first(s.ends), heaps.first(s.later))
    if i < len(jobs.submit):
        now = min(now, jobs.submit[i])
    if s.meta[WAITING] == 0 and now == np.inf:
        return now
    if f < len(jobs.fails):
        now = min(now, jobs.fails[f])
    if h < len(capacity.when):
        now = min(now, capacity.when[h])
    return now


@compiled
def _event(now, s, jobs, ways, capacity, rule):
    """Let the next thing of this moment happen; False if nothing is left."""
    i, f = s.meta[NEXT_JOB], s.meta[NEXT_FAIL]
    if heaps.first(s.ends) == now:
        _end(now, s, heaps.pop(s.ends), jobs, ways, rule)
    elif f < len(jobs.fails) and jobs.fails[f] <= now:
        s.meta[NEXT_FAIL] += 1
        _fail(jobs.fails[f], s, f, jobs, ways, capacity, rule)
    elif i < len(jobs.submit) and jobs.submit[i] == now:
        s.meta[NEXT_JOB] += 1
        _submit(now, s, i, jobs, rule)
    elif heaps.first(s.later) == now:
        _admit(now, s, heaps.pop(s.later), jobs, rule)
    else:
        return False
    return True


@compiled
def _admit(now, s, j, jobs, rule):
    s.eligible[j] = now
    enqueue(s, jobs, j, rule.moving)


@compiled
def _submit(now, s, i, jobs, rule):
    """A job arrives: into the queue, unless the one it waits for is not done."""
    k = jobs.parent[i]
    s.arrived[i] = True
    if k < 0 or (s.done[k] and s.end[k] + jobs.think[i] <= now):
        _admit(now, s, i, jobs, rule)
    elif s.done[k]:
        heaps.push(s.later, s.end[k] + jobs.think[i], 0.0, i)


@compiled
def _end(now, s, j, jobs, ways, rule):
    """A run is over, or nodes are repaired."""
    _stop(s, j, now, jobs, ways)
    if j >= len(jobs.submit):
        return
    note(s, j, now, 0)
    _settle(now, s, j, jobs, rule)


@compiled
def _settle(now, s, j, jobs, rule):
    """The job will not run again; those that wait for it may."""
    s.done[j] = True
    s.end[j] = now
    for c in range(jobs.below[j], jobs.below[j + 1]):
        i = jobs.child[c]
        if s.arrived[i] and jobs.think[i] == 0:
            _admit(now, s, i, jobs, rule)
        elif s.arrived[i]:
            heaps.push(s.later, now + jobs.think[i], 0.0, i)


@compiled
def _stop(s, j, now, jobs, ways):
    """Give back what j has."""
    part, way = jobs.part[j], s.way[j]
    for k in range(ways.need.shape[1]):
        if ways.res[part, k] >= 0:
            s.used[ways.res[part, k]] -= ways.need[way, k]
    vacate(s, part, ways.need[way, 0], now)
    unbook(s, j)
    if jobs.array[j] >= 0:
        s.active[jobs.array[j]] -= 1


@compiled
def _start(now, s, j, way, jobs, ways, rule):
    """Give j what it needs, from now on."""
    part = jobs.part[j]
    for k in range(ways.need.shape[1]):
        if ways.res[part, k] >= 0:
            s.used[ways.res[part, k]] += ways.need[way, k]
    s.way[j], s.alloc[j] = way, now
    woken = occupy(s, part, ways.need[way, 0], now, rule.doze_s[part])
    job = j < len(jobs.submit)
    delay = rule.wake_s[part] if woken and job else 0.0
    s.awake[j] = woken if job else 0
    s.start[j] = now + delay
    s.end[j] = s.start[j] + ways.run[way]
    expected = s.start[j] + ways.booked[way]
    heaps.push(s.ends, s.end[j], expected if rule.by_expected else 0.0, j)
    book(s, j, expected)
    if jobs.array[j] >= 0:
        s.active[jobs.array[j]] += 1


@compiled
def _fail(now, s, f, jobs, ways, capacity, rule):
    """Nodes fail: whoever is on them is killed, and they are gone until repaired.

    Processors are thought of in a row, running jobs in order of their start, then the idle ones;
    ``hit`` says where in the row the failing ones are.
    """
    n = len(jobs.submit)
    node, part = n + f, jobs.part[n + f]
    way = len(ways.run) - len(jobs.fails) + f
    r = ways.res[part, 0]
    up = capacity.there[0, r] - s.used[r]
    busy = np.empty(s.meta[RUNNING], np.int64)
    m = 0
    for k in range(s.meta[RUNNING]):
        j = s.runs[k]
        if j < n and jobs.part[j] == part:
            up += ways.need[s.way[j], 0]
            busy[m] = j
            m += 1
    ways.need[way, 0] = min(ways.need[way, 0], up)
    if ways.need[way, 0] == 0:
        return
    low = int(jobs.hit[f] * (up - ways.need[way, 0] + 1))
    high = low + ways.need[way, 0]
    at = 0
    for k in np.argsort(s.alloc[busy[:m]] + 0.0, kind="mergesort"):
        j = busy[k]
        size = ways.need[s.way[j], 0]
        if at < high and at + size > low:
            _kill(now, s, j, jobs, ways, rule)
        at += size
    _start(now, s, node, way, jobs, ways, rule)


@compiled
def _kill(now, s, j, jobs, ways, rule):
    """End a run by force; the job queues again, as often as the rule allows."""
    heaps.discard(s.ends, j)
    _stop(s, j, now, jobs, ways)
    s.again[j] += 1
    over = s.again[j] > rule.tries
    note(s, j, now, 1)
    if over:
        _settle(now, s, j, jobs, rule)
        return
    s.start[j], s.alloc[j], s.end[j] = np.nan, np.nan, np.nan
    enqueue(s, jobs, j, rule.moving)


@compiled
def _spare(now, s, jobs, ways, capacity, due):
    """What is really free; ``due``: with what ends at this moment, its event still to come."""
    free = capacity.there[s.meta[HERE]] - s.used
    if due:
        for k in range(s.meta[RUNNING]):
            j = s.runs[k]
            if s.end[j] == now:
                part = jobs.part[j]
                for i in range(ways.need.shape[1]):
                    if ways.res[part, i] >= 0:
                        free[ways.res[part, i]] += ways.need[s.way[j], i]
    return free


@compiled
def _able(j, s, jobs, ways, free):
    """Is what any way of the job needs free right now?"""
    a = jobs.array[j]
    if a >= 0 and s.active[a] >= jobs.limit[a]:
        return False
    for way in range(jobs.first[j], jobs.first[j + 1]):
        if plans.enough(free, ways.res[jobs.part[j]], ways.need[way]):
            return True
    return False


@compiled
def _turns(now, s, jobs, ways, score, rule):
    """Places of the queue in the order in which they are looked at."""
    m = s.meta[WAITING]
    if not rule.moving:
        return np.arange(m)
    scores = np.empty(m)
    for k in range(m):
        j = s.queue[k]
        way = jobs.first[j]
        scores[k] = score(now, jobs.submit[j], ways.booked[way], float(ways.need[way, 0]))
    return np.argsort(scores, kind="mergesort")


@compiled
def _outline(now, s, jobs, ways, capacity, p, rule):
    """The plan of what runs."""
    plans.begin(p, capacity, s.meta[HERE], now)
    for k in range(s.meta[RUNNING]):
        j = s.runs[k]
        res, need = ways.res[jobs.part[j]], ways.need[s.way[j]]
        for i in range(len(res)):
            if res[i] >= 0:
                p.f[0, res[i]] -= need[i]
    for k in range(s.meta[RUNNING]):
        j = s.runs[k]
        res, need = ways.res[jobs.part[j]], ways.need[s.way[j]]
        plans.release(p, capacity, s.expected[k], now, res, need, rule.depth < 2)


@compiled
def _pass(now, s, jobs, ways, capacity, p, score, rule):
    """Start what may start.  Nobody behind the last that fits what is free can change that."""
    if s.meta[WAITING] == 0:
        return
    real = _spare(now, s, jobs, ways, capacity, False)
    free = _spare(now, s, jobs, ways, capacity, rule.depth == 2)
    hope = False
    for k in range(s.meta[WAITING]):
        if _able(s.queue[k], s, jobs, ways, free):
            hope = True
            break
    if not hope:
        return
    turn = _turns(now, s, jobs, ways, score, rule)
    last = s.meta[WAITING] - 1
    while not _able(s.queue[turn[last]], s, jobs, ways, free):
        last -= 1
    _outline(now, s, jobs, ways, capacity, p, rule)
    blocked = np.zeros(len(ways.res), np.bool_)
    for k in range(last + 1):
        j = s.queue[turn[k]]
        a = jobs.array[j]
        if a >= 0 and s.active[a] >= jobs.limit[a]:
            continue
        if rule.depth < 2 and blocked[jobs.part[j]]:
            if rule.depth == 0 or not _able(j, s, jobs, ways, free):
                continue
        if _try(now, s, j, blocked, (real, free), jobs, ways, capacity, p, rule):
            s.queue[turn[k]] = -1
    kept = 0
    for k in range(s.meta[WAITING]):
        if s.queue[k] >= 0:
            s.queue[kept] = s.queue[k]
            kept += 1
    s.meta[WAITING] = kept


@compiled
def _try(now, s, j, blocked, spare, jobs, ways, capacity, p, rule):
    """Start j the first way that fits, True; or hold a reservation for the preferred way."""
    real, free = spare
    part = jobs.part[j]
    res = ways.res[part]
    wake = rule.wake_s[part]
    for way in range(jobs.first[j], jobs.first[j + 1]):
        need, length = ways.need[way], ways.planned[way] + wake
        if not plans.enough(free, res, need) or not plans.fits(p, capacity, length, res, need):
            continue
        leading = not blocked[part] and plans.enough(real, res, need)
        blocked[part] = blocked[part] or not leading
        taken = ways.booked[way] + wake if leading else length
        plans.reserve(p, capacity, 0, taken, res, need, rule.depth < 2)
        for k in range(len(res)):
            if res[k] >= 0:
                real[res[k]] -= need[k]
                free[res[k]] -= need[k]
        _start(now, s, j, way, jobs, ways, rule)
        return True
    if rule.depth < 2 and blocked[part]:
        return False
    for way in range(jobs.first[j], jobs.first[j + 1]):
        need, length = ways.need[way], ways.planned[way] + wake
        at = plans.earliest(p, capacity, length, res, need)
        if at >= 0:  # a job that never fits holds up nobody
            blocked[part] = True
            if rule.depth:
                plans.reserve(p, capacity, at, length, res, need, rule.depth == 1)
            break
    return False
