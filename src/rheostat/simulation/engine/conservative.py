"""Conservative backfilling: every waiting job holds a reservation, all rebuilt at every pass.

The plan is a `profile`.  Jobs are placed in order, each as early as it fits for its whole planned
length; those that fit on what is free in truth start.  Every expected end is a step of the plan,
also one that is due or overdue: a job planned there waits until the processors are free, and is
planned to take its length from now on.

Most of a deep queue need not be placed to know who starts.  A *wall* is a step at which fewer are
free than any waiting job needs: no job runs across it.  What is free before the wall is then left
to jobs that are over before it, few of which wait; the others start behind it and are passed over.
A pass looks for the next job that could start as the plan stands, places what of those before it
could be over before the wall, and looks again.  After nothing but an arrival behind them the plan
of the pass before still stands, and only what came can start.

    Symbol  Shape   Meaning
    plan            the running jobs and those of rank below ``done`` that start before the wall
    done    ()      rank, in order
    look    ()      rank from which on jobs may start
    sizes   (d,)    the sizes of jobs, ascending; which (n,) the place of a job's own among them
    left    (d,)    waiting jobs of each size; low () the place of the smallest that waits

Other symbols as in `static_priority`.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine import profile as plans
from rheostat.simulation.engine.array_types import Busy, Floats, Ints, Overdue, Score
from rheostat.simulation.engine.dynamic_priority import still_waiting
from rheostat.simulation.engine.fair_share import Share, score_all, spend
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.queue_index import DEEP, Index, enter, next_deep, rebuild
from rheostat.simulation.engine.running_jobs import (
    EXPECTED,
    HEAD,
    NOW,
    WHOSE,
    begin,
    extend,
    finish,
    first_expected,
    idle,
    next_end,
)
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    ITEM,
    KEY,
    LENGTH,
    SHORT,
    TO,
    block_at,
    blocks,
    clear,
    first_item,
    insert,
    remove,
    seek,
    used,
)

FREE, WAITS, LOW, DONE, LOOK, KNOWN, DEPTH = range(7)

Queue = tuple[Floats, Index, Ints, Ints, Floats, Floats]
"""waiting, index, sizes, left, limit, near as in `run_conservative`."""

PlannedJobs = tuple[Floats, Floats, Ints, Floats, Floats, Floats, Ints]
"""submit, run, procs, planned, booked, rank, which, each (n,)."""


@compiled
def run_conservative(
    job: PlannedJobs,
    size: int,
    sizes: Ints,
    index: Index,
    score: Score,
    share: Share,
    moving: bool,
    ties: tuple[bool, bool],
    late: Overdue,
) -> tuple[Floats, int]:
    """(start (n,), scheduling passes); ``rank`` counts unless ``moving``, then `Share` or score.

    ``job`` is (submit, run, procs, planned, booked, rank, which); ``late`` as in
    `running_jobs.extend`.
    """
    submit, _, procs, planned, booked, rank, which = job
    batch, by_expected = ties
    n, i, passes, came = len(submit), 0, 0, 0
    start, at = np.full(n, np.nan), np.zeros(7)
    few, ends, running = idle(min(n, size))
    busy, plan = (few, ends, running, by_expected), plans.profile(n + 2)
    waiting, left = blocks(n), np.zeros(len(sizes), np.int64)
    limit, near = np.empty(len(index.sizes)), np.empty(len(index.sizes))
    queue = (waiting, index, sizes, left, limit, near)
    arrived, scores = np.empty(n, np.int64), np.empty(n)  # as they came, for orders that move
    at[FREE] = size
    while i < n or next_end(few, ends) < np.inf:
        now = min(next_end(few, ends), submit[i] if i < n else np.inf)
        at[LOOK] = np.inf
        while True:
            if next_end(few, ends) == now:
                j = finish(few, ends, running, start, booked, by_expected)
                at[FREE], at[KNOWN] = at[FREE] + procs[j], 0
                spend(share, j, now, -procs[j])
            elif i < n and submit[i] == now:
                if moving:
                    arrived[came] = i
                    came += 1
                else:
                    _enter(at, queue, i, rank[i], procs[i], planned[i])
                _count(at, left, which[i])
                i += 1
            else:
                break
            if not batch:
                break
        passes += 1
        if extend(few, running, now, late, start, booked, procs):
            at[KNOWN] = 0
        if at[WAITS] == 0 or sizes[int(at[LOW])] > at[FREE]:
            continue
        if moving:
            at[KNOWN], came = 0, still_waiting(arrived, came, start)
            score_all(now, arrived[:came], submit, procs, booked, score, share, scores)
            turn = np.argsort(scores[:came], kind="mergesort")
            _line_up(waiting, arrived, turn, procs, planned)
        else:
            _dig(at, queue)
        while at[WAITS] > 0 and procs[first_item(waiting)] <= at[FREE]:
            _begin(
                now, at, queue, 0, int(waiting[block_at(waiting, 0), FROM]), job, start, busy, share
            )
            at[KNOWN] = 0
        if at[WAITS] == 0 or sizes[int(at[LOW])] > at[FREE]:
            continue
        if at[KNOWN] == 0 or first_expected(few, running) <= now:
            least = now if late[0] == NOW else -np.inf
            near[:] = np.inf
            _begin_plan(at, plan, few, running, procs, least)
        _start(now, at, plan, queue, job, start, busy, share)
    return start, passes


@borrowed
def _enter(at: Floats, queue: Queue, j: int, rank: float, procs: int, planned: float) -> None:
    """Job ``j`` waits from now on; a job before those in the plan makes it void."""
    waiting, index = queue[0], queue[1]
    insert(waiting, rank, j, procs, planned)
    if at[DEPTH]:
        enter(index, rank, j, procs, planned)
    at[LOOK] = min(at[LOOK], rank)
    if rank < at[DONE]:
        at[KNOWN] = 0


@borrowed
def _count(at: Floats, left: Ints, which: int) -> None:
    """One more job of a size; one that is smaller than all may run across the wall."""
    left[which] += 1
    if at[WAITS] == 0 or which < at[LOW]:
        at[LOW], at[KNOWN] = which, 0
    at[WAITS] += 1


@borrowed
def _line_up(waiting: Floats, arrived: Ints, turn: Ints, procs: Ints, planned: Floats) -> None:
    """The queue in the order of ``turn``."""
    clear(waiting)
    for k in range(len(turn)):
        j = arrived[turn[k]]
        insert(waiting, k, j, procs[j], planned[j])


@borrowed
def _dig(at: Floats, queue: Queue) -> None:
    """Keep the index while the queue is deep."""
    waiting, index = queue[0], queue[1]
    deep = used(waiting) > (DEEP // 2 if at[DEPTH] else DEEP)
    if deep and not at[DEPTH]:
        rebuild(index, waiting)
    at[DEPTH] = deep


@borrowed
def _begin_plan(
    at: Floats, plan: Floats, few: Floats, running: Floats, procs: Ints, least: float
) -> None:
    """What runs, and nothing that waits; no end is expected before ``least``."""
    plans.clear(plan)
    at[DONE], at[LOOK], at[KNOWN] = -1, -1, 1
    when, free = -np.inf, at[FREE]
    if few[HEAD, 1] == 0:
        for k in range(int(few[HEAD, 0]) - 1, -1, -1):
            end = max(few[EXPECTED, k], least)
            if end > when > -np.inf:
                plans.append(plan, when, free)
            when, free = end, free + procs[int(few[WHOSE, k])]
    for place in range(used(running)):
        block = block_at(running, place)
        for k in range(int(running[block, FROM]), int(running[block, TO])):
            end = max(running[block, KEY + k], least)
            if end > when > -np.inf:
                plans.append(plan, when, free)
            when, free = end, free + procs[int(running[block, ITEM + k])]
    if when > -np.inf:
        plans.append(plan, when, free)


@borrowed
def _next(at: Floats, queue: Queue, place: int, k: int, slack: Floats) -> tuple[int, int]:
    """(place, k) of the next job that is shorter than the ``slack`` of its class; may be past."""
    waiting, index = queue[0], queue[1]
    if at[DEPTH]:
        return next_deep(index, waiting, place, k, np.inf, -1, slack)
    while place < used(waiting):
        block = block_at(waiting, place)
        if waiting[block, SHORT] < slack[0]:  # no class is allowed more
            for m in range(max(k, int(waiting[block, FROM])), int(waiting[block, TO])):
                c = index.kind[int(waiting[block, ITEM + m])]
                if waiting[block, LENGTH + m] < slack[c]:
                    return place, m
        place, k = place + 1, 0
    return place, 0


@borrowed
def _start(
    now: float,
    at: Floats,
    plan: Floats,
    queue: Queue,
    job: PlannedJobs,
    start: Floats,
    busy: Busy,
    share: Share,
) -> None:
    """Start whoever is planned to on what is free in truth, the first job that waits left out."""
    waiting, index, sizes, _, limit, _ = queue
    procs, planned, booked = job[2], job[3], job[4]
    changed = True
    while at[WAITS] > 0 and sizes[int(at[LOW])] <= at[FREE]:
        if changed:
            plans.limits(plan, at[FREE], now, index.sizes, limit)
        place, k = seek(waiting, at[LOOK])
        place, k = _next(at, queue, place, k, limit)
        if place == used(waiting):
            break
        block = block_at(waiting, place)
        j, key = int(waiting[block, ITEM + k]), waiting[block, KEY + k]
        at[LOOK] = key + 0.5
        changed = _fits(now, at, plan, procs[j], planned[j])
        if changed and _fill(now, at, plan, queue, job, key, j):
            plans.reserve(plan, 0, 0, now + planned[j], procs[j], at[FREE], 0, 0)
            _begin(now, at, queue, place, k, job, start, busy, share)
            if planned[j] != booked[j]:
                at[KNOWN] = 0


@borrowed
def _begin(
    now: float,
    at: Floats,
    queue: Queue,
    place: int,
    k: int,
    job: PlannedJobs,
    start: Floats,
    busy: Busy,
    share: Share,
) -> None:
    """A job runs from now on."""
    waiting, _, _, left, _, _ = queue
    _, run, procs, _, booked, _, which = job
    few, ends, running, by_expected = busy
    j = int(waiting[block_at(waiting, place), ITEM + k])
    remove(waiting, place, k)
    at[FREE] -= procs[j]
    at[WAITS] -= 1
    left[which[j]] -= 1
    while at[WAITS] > 0 and left[int(at[LOW])] == 0:
        at[LOW] += 1
    start[j] = now
    begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)
    spend(share, j, now, procs[j])


@borrowed
def _fits(now: float, at: Floats, plan: Floats, need: int, length: float) -> bool:
    """Could such a job start, as the plan stands?"""
    return need <= at[FREE] and now + length <= plans.first_below(plan, need)


@borrowed
def _fill(
    now: float, at: Floats, plan: Floats, queue: Queue, job: PlannedJobs, key: float, last: int
) -> bool:
    """Place those before rank ``key`` that start before the wall; may job ``last`` start then?"""
    waiting, index, sizes, _, _, near = queue
    procs, planned = job[2], job[3]
    low = sizes[int(at[LOW])]
    wall, known = plans.first_below(plan, low), np.inf
    over = now + planned[last]
    place, k = seek(waiting, at[DONE])
    while at[DONE] < key:
        if wall < known:
            known = wall
            plans.before(plan, at[FREE], wall, now, index.sizes, near)
        if wall < np.inf or _gone(waiting, place, k):
            place, k = _next(at, queue, place, k, near)
        block = block_at(waiting, place)
        if place == used(waiting) or waiting[block, KEY + k] >= key:
            at[DONE] = key
            break
        j = int(waiting[block, ITEM + k])
        at[DONE] = waiting[block, KEY + k] + 0.5
        k += 1
        to, m = plans.earliest(plan, procs[j], planned[j], now, wall)
        if to < 0:
            _too_long(now, at, plan, wall, index, near, index.kind[j])
            continue
        until = plans.end(plan, to, m, now, planned[j])
        below, short = plans.reserve(plan, to, m, until, procs[j], 0, low, procs[last])
        if short < over:
            return False
        wall = min(wall, below)
    return True


@borrowed(forceinline=True)
def _gone(waiting: Floats, place: int, k: int) -> bool:
    """Is there no entry ``k`` in the block at ``place``?"""
    return place == used(waiting) or k >= waiting[block_at(waiting, place), TO]


@borrowed
def _too_long(
    now: float, at: Floats, plan: Floats, wall: float, index: Index, near: Floats, c: int
) -> None:
    """A job of class ``c`` has no place before the wall: lower what is near for it and larger ones.

    That stays so, for what is taken is never given back, and a start makes no place that is not
    within one that was there.
    """
    longest = plans.bound(plans.longest(plan, at[FREE], index.sizes[c], now, wall))
    while c < len(near) and near[c] > longest:
        near[c] = longest
        c += 1
