"""The engine for sites: several resources, capacity that changes, and life's accidents.

A job starts only if what it needs is expected free for its whole planned length: what runs counts
until its expected end, planned changes of capacity count, and so do reservations.  Under EASY the
first job of each partition that cannot start holds one, under conservative backfilling all do.
With one partition and nothing else this gives the starts of the engines for processors alone.

Symbols as in `site_plan` and `site_state`.  Events at one moment: capacity changes, then ends,
failures, submissions, jobs whose predecessor is done; a pass over the queue after each, or all.
A pass after nothing but one arrival behind the others (``fresh``) looks at that job alone: time
only makes the others worse.  It is ``full`` if anything else happened, or if the plan of the pass
before was not what came of it (``stale``).
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine import site_heap as heaps
from rheostat.simulation.engine import site_plan as plans
from rheostat.simulation.engine.array_types import Floats, Ints, Score
from rheostat.simulation.engine.fair_share import Share
from rheostat.simulation.engine.jit import compiled
from rheostat.simulation.engine.running_jobs import EXTEND, NOW
from rheostat.simulation.engine.site_pass import run_pass
from rheostat.simulation.engine.site_plan import Capacity, FreeProfile
from rheostat.simulation.engine.site_state import (
    Jobs,
    QueueRule,
    State,
    Ways,
    close,
    enqueue,
    note,
    prolong,
    start,
    state,
    stop,
)


@compiled
def run_site(
    jobs: Jobs,
    ways: Ways,
    capacity: Capacity,
    procs: Ints,
    score: Score,
    rule: QueueRule,
    share: Share,
    logs: int,
) -> tuple[Floats, Floats, Floats, Ints, int]:
    """(log of runs, pieces of idle processors, eligible (n,), restarts (n,), passes)."""
    s = state(jobs, ways, capacity, procs, rule, share, logs)
    p = plans.plan(64 + len(capacity.when), capacity.when, capacity.there)
    now = jobs.submit[0] if len(jobs.submit) else 0.0
    while True:
        coming = _next(s)
        if coming == np.inf:
            break
        now = coming
        s.fresh, s.full, s.stale = -1, s.stale or s.moving or s.depth == 2, False
        while s.here + 1 < len(s.when) and s.when[s.here + 1] <= now:
            s.here += 1
            s.full = True
        while _event(now, s, p):
            if not s.batch:
                break
        late = s.running > 0 and s.expected[0] < now
        s.full = s.full or (late and s.overdue == NOW)  # more is left over than before
        if late and s.overdue == EXTEND:
            prolong(s, now)
            s.full = True
        s.passes += 1
        plans.widen(p, s.running + 3 * s.waiting + len(s.when) + 8)
        run_pass(now, s, p, score)
    close(s, now)
    return s.log[: s.logged], s.piece[: s.pieces], s.eligible, s.again, s.passes


@compiled
def _next(s: State) -> float:
    """The next moment at which anything happens; inf when nothing ever will."""
    i, f, h = s.next_job, s.next_fail, s.here + 1
    now = min(heaps.first(s.ends), heaps.first(s.later))
    if i < len(s.submit):
        now = min(now, s.submit[i])
    if s.waiting == 0 and now == np.inf:
        return now
    if f < len(s.fails):
        now = min(now, s.fails[f])
    if h < len(s.when):
        now = min(now, s.when[h])
    return now


@compiled
def _event(now: float, s: State, p: FreeProfile) -> bool:
    """Let the next thing of this moment happen; False if nothing is left."""
    i, f = s.next_job, s.next_fail
    if heaps.first(s.ends) == now:
        _end(now, s, p, heaps.pop(s.ends))
    elif f < len(s.fails) and s.fails[f] <= now:
        s.next_fail += 1
        _fail(s.fails[f], s, p, f)
    elif i < len(s.submit) and s.submit[i] == now:
        s.next_job += 1
        _submit(now, s, p, i)
    elif heaps.first(s.later) == now:
        _admit(now, s, p, heaps.pop(s.later))
    else:
        return False
    return True


@compiled
def _admit(now: float, s: State, p: FreeProfile, j: int) -> None:
    """Into the queue, unless no way fits what the site plans, even if nobody else were there."""
    s.eligible[j] = now
    hope = len(s.when) == 1
    if not hope:
        plans.begin(p, s.here, now, s.nothing)
        res, wake = s.res[s.part[j]], s.wake_s[s.part[j]]
        for way in range(s.first[j], s.first[j + 1]):
            s.never[way] = plans.earliest(p, s.planned[way] + wake, res, s.need[way]) < 0
            hope = hope or not s.never[way]
    if hope:
        enqueue(s, j)


@compiled
def _submit(now: float, s: State, p: FreeProfile, i: int) -> None:
    """A job arrives: into the queue, unless the one it waits for is not done."""
    k = s.parent[i]
    s.arrived[i] = True
    if k < 0 or (s.done[k] and s.end[k] + s.think[i] <= now):
        _admit(now, s, p, i)
    elif s.done[k]:
        heaps.push(s.later, s.end[k] + s.think[i], 0.0, i)


@compiled
def _end(now: float, s: State, p: FreeProfile, j: int) -> None:
    """A run is over, or nodes are repaired."""
    stop(s, j, now)
    if j < len(s.submit):
        note(s, j, now, 0)
        _settle(now, s, p, j)


@compiled
def _settle(now: float, s: State, p: FreeProfile, j: int) -> None:
    """The job will not run again; those that wait for it may."""
    s.done[j] = True
    s.end[j] = now
    for c in range(s.below[j], s.below[j + 1]):
        i = s.child[c]
        if s.arrived[i] and s.think[i] == 0:
            _admit(now, s, p, i)
        elif s.arrived[i]:
            heaps.push(s.later, now + s.think[i], 0.0, i)


@compiled
def _fail(now: float, s: State, p: FreeProfile, f: int) -> None:
    """Nodes fail: whoever is on them is killed, and they are gone until repaired.

    Processors are thought of in a row, running jobs in order of their start, then the idle ones;
    ``hit`` says where in the row the failing ones are.
    """
    n = len(s.submit)
    node, part = n + f, s.part[n + f]
    way = len(s.run) - len(s.fails) + f
    r = s.res[part, 0]
    up = s.there[0, r] - s.used[r]
    busy = np.empty(s.running, np.int64)
    m = 0
    for k in range(s.running):
        j = s.runs[k]
        if j < n and s.part[j] == part:
            up += s.need[s.way[j], 0]
            busy[m] = j
            m += 1
    s.need[way, 0] = min(s.need[way, 0], up)
    if s.need[way, 0] == 0:
        return
    low = int(s.hit[f] * (up - s.need[way, 0] + 1))
    high = low + s.need[way, 0]
    at = 0
    for k in np.argsort(s.alloc[busy[:m]] + 0.0, kind="mergesort"):
        j = busy[k]
        size = s.need[s.way[j], 0]
        if at < high and at + size > low:
            _kill(now, s, p, j)
        at += size
    start(now, s, node, way)
    s.full = True


@compiled
def _kill(now: float, s: State, p: FreeProfile, j: int) -> None:
    """End a run by force; the job queues again, as often as the rule allows."""
    heaps.discard(s.ends, j)
    stop(s, j, now)
    s.again[j] += 1
    over = s.again[j] > s.requeues
    note(s, j, now, 1)
    if over:
        _settle(now, s, p, j)
        return
    s.start[j], s.alloc[j], s.end[j] = np.nan, np.nan, np.nan
    enqueue(s, j)
