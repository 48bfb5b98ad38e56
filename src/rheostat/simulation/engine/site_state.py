"""What the site engine is given and what it remembers: jobs, alternatives, running, idle.

Symbol    Shape   Meaning
n, a, q           jobs; alternatives of all jobs; partitions
F                 failures: the last F jobs and alternatives are no jobs but nodes under repair
K                 as in `site_plan`
submit    (n,)    submission, s, ascending
rank      (n,)    place in a fixed order, smallest first
part      (n+F,)  partition
first     (n+1,)  alternatives of job j are first[j] to first[j+1] - 1, the preferred one first
parent    (n,)    job that must have ended before, -1 for none
think     (n,)    s between that end and the moment from which the job may start
child     (..)    jobs that wait for job j: child[below[j]] to child[below[j+1] - 1]
array     (n+F,)  job array, -1 for none; limit (..) is how many of one may run
run       (a+F,)  true run time, s
planned   (a+F,)  run time that a waiting job is planned with, s
booked    (a+F,)  run time that a running job is expected to take, s
need      (a+F,K) processors, GPUs, microwatts above idle
least     (n,K)   of any alternative; shortest (n,) likewise of planned
res       (q, K)  resource numbers, -1 for none
fails     (F,)    moment at which processors fail, s; hit (F,) where, from 0 to 1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulation.engine.array_types import Bools, Floats, Ints
from rheostat.simulation.engine.fair_share import Share, spend
from rheostat.simulation.engine.jit import compiled
from rheostat.simulation.engine.running_jobs import longer
from rheostat.simulation.engine.site_heap import Heap, heap, push
from rheostat.simulation.engine.site_plan import Capacity
from rheostat.simulation.engine.site_struct import struct


class Jobs(NamedTuple):
    """Who comes when, and what waits for what."""

    submit: Floats
    rank: Floats
    part: Ints
    first: Ints
    parent: Ints
    think: Floats
    below: Ints
    child: Ints
    array: Ints
    limit: Ints
    fails: Floats
    hit: Floats


class Ways(NamedTuple):
    """The alternatives; a rigid job has one."""

    run: Floats
    planned: Floats
    booked: Floats
    need: Ints
    res: Ints
    least: Ints
    shortest: Floats


class QueueRule(NamedTuple):
    """depth 0: no reservation; 1: one per partition; 2: one per waiting job.

    ``wake_s`` > 0 or finite ``doze_s``: idle processors sleep after doze_s and take wake_s to wake.
    ``requeues``: how often a job killed by a failure is put back into the queue.
    ``overdue``: `busy.PAST`, `NOW` or `EXTEND`.
    """

    depth: int
    moving: bool
    batch: bool
    by_expected: bool
    doze_s: Floats
    wake_s: Floats
    requeues: int
    overdue: int


@struct
class State:
    """All of `Jobs`, `Ways`, `QueueRule` and capacity, and what changes:

    start, alloc, end, way (n+F,)   when the run began, its processors were taken, it ended; the way
    eligible, arrived, done, again  (n,) since when it may run, whether it came, is over, how often
                                    it was killed; awake (n+F,) processors woken for it
    used (R,), active               in use of each resource; tasks that run of each array
    nothing (R,), never (a,)        zeros; ways that what the site plans never leaves room for
    queue, waiting                  jobs that wait, and how many; turn: 0, 1, 2 ...
    runs, expected, running         what runs by expected end, and how many
    since, idle (q, d), height (q,) stacks of idle processors and since when
    piece, pieces                   partition, processors, from, to of what was idle, and how many
    log, logged                     see `note`
    ends, later                     heaps of ends and of jobs that think
    here, next_job, next_fail       steps of capacity, submissions and failures that were
    fresh, full, stale              see `site.run_site`
    share                           see `engine.share`; empty unless the order remembers use
    """

    submit: Floats
    rank: Floats
    part: Ints
    first: Ints
    parent: Ints
    think: Floats
    below: Ints
    child: Ints
    array: Ints
    limit: Ints
    fails: Floats
    hit: Floats
    run: Floats
    planned: Floats
    booked: Floats
    need: Ints
    res: Ints
    least: Ints
    shortest: Floats
    depth: int
    moving: bool
    batch: bool
    by_expected: bool
    doze_s: Floats
    wake_s: Floats
    requeues: int
    overdue: int
    when: Floats
    there: Ints
    start: Floats
    alloc: Floats
    end: Floats
    way: Ints
    eligible: Floats
    arrived: Bools
    done: Bools
    again: Ints
    awake: Ints
    used: Ints
    nothing: Ints
    active: Ints
    never: Bools
    queue: Ints
    waiting: int
    turn: Ints
    runs: Ints
    expected: Floats
    running: int
    since: Floats
    idle: Ints
    height: Ints
    piece: Floats
    pieces: int
    log: Floats
    logged: int
    ends: Heap
    later: Heap
    here: int
    next_job: int
    next_fail: int
    passes: int
    fresh: int
    full: bool
    stale: bool
    share: Share
    sharing: bool


@compiled
def state(
    jobs: Jobs,
    ways: Ways,
    capacity: Capacity,
    procs: Ints,
    rule: QueueRule,
    share: Share,
    logs: int,
) -> State:
    """Everything idle when the first job comes; ``procs`` (q,) of each partition."""
    n, m, q = len(jobs.submit), len(jobs.part), len(procs)
    most = min(procs.max(), logs) + 2
    since, idle = np.empty((q, most)), np.zeros((q, most), np.int64)
    for k in range(q):
        since[k, 0], idle[k, 0] = jobs.submit[0] if n else 0.0, procs[k]
    return State(
        jobs.submit, jobs.rank, jobs.part, jobs.first, jobs.parent, jobs.think, jobs.below,
        jobs.child, jobs.array, jobs.limit, jobs.fails, jobs.hit,
        ways.run, ways.planned, ways.booked, ways.need, ways.res, ways.least, ways.shortest,
        rule.depth, rule.moving, rule.batch, rule.by_expected, rule.doze_s, rule.wake_s,
        rule.requeues, rule.overdue, capacity.when, capacity.there,
        np.full(m, np.nan), np.full(m, np.nan), np.full(m, np.nan), np.full(m, -1),
        np.full(n, np.nan), np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.int64),
        np.zeros(m, np.int64), np.zeros(ways.res.max() + 1, np.int64),
        np.zeros(ways.res.max() + 1, np.int64), np.zeros(len(jobs.limit), np.int64),
        np.zeros(len(ways.run), np.bool_), np.empty(n + 1, np.int64), 0, np.arange(n + 1),
        np.empty(m + 1, np.int64), np.empty(m + 1), 0,
        since, idle, np.ones(q, np.int64),
        np.empty((2 * logs + 2 * q + 8, 4)), 0, np.empty((logs + 1, 7)), 0,
        heap(m), heap(n), 0, 0, 0, 0, -1, False, False, share, len(share.user) > 0,
    )  # fmt: skip


@compiled
def enqueue(s: State, j: int) -> None:
    """Put job j where the order has it; an order that moves takes them as they come."""
    queue, rank, k = s.queue, s.rank, s.waiting
    while not s.moving and k > 0 and rank[queue[k - 1]] > rank[j]:
        queue[k] = queue[k - 1]
        k -= 1
    queue[k] = j
    s.full = s.full or s.fresh >= 0 or k < s.waiting
    s.fresh = j
    s.waiting += 1


@compiled
def occupy(s: State, part: int, count: int, now: float, doze: float) -> int:
    """Take ``count`` idle processors, those that idled least first; how many of them slept."""
    woken = 0
    while count > 0:
        top = s.height[part] - 1
        here = min(count, s.idle[part, top])
        since = s.since[part, top]
        if since + doze <= now:
            woken += here
        _piece(s, part, here, since, now)
        s.idle[part, top] -= here
        if s.idle[part, top] == 0:
            s.height[part] -= 1
        count -= here
    return woken


@compiled
def _piece(s: State, part: int, count: int, since: float, now: float) -> None:
    if now > since:
        piece, k = s.piece, s.pieces
        piece[k, 0], piece[k, 1], piece[k, 2], piece[k, 3] = part, count, since, now
        s.pieces += 1


@compiled
def vacate(s: State, part: int, count: int, now: float) -> None:
    """Give ``count`` processors back."""
    top = s.height[part]
    if top > 0 and s.since[part, top - 1] == now:
        s.idle[part, top - 1] += count
        return
    s.since[part, top], s.idle[part, top] = now, count
    s.height[part] += 1


@compiled
def close(s: State, now: float) -> None:
    """Note all that is idle at the end."""
    for part in range(len(s.height)):
        for k in range(s.height[part]):
            _piece(s, part, s.idle[part, k], s.since[part, k], now)
        s.height[part] = 0


@compiled
def book(s: State, j: int, expected: float) -> None:
    """Add j to what runs, ordered by expected end."""
    ends, runs, k = s.expected, s.runs, s.running
    while k > 0 and ends[k - 1] > expected:
        ends[k], runs[k] = ends[k - 1], runs[k - 1]
        k -= 1
    ends[k], runs[k] = expected, j
    s.running += 1


@compiled
def prolong(s: State, now: float) -> None:
    """Give every overdue job the next longer estimate."""
    while s.running > 0 and s.expected[0] < now:
        j = s.runs[0]
        unbook(s, j)
        book(s, j, s.start[j] + longer(now - s.start[j], s.booked[s.way[j]]))


@compiled
def unbook(s: State, j: int) -> None:
    """Take j out of what runs."""
    ends, runs, k = s.expected, s.runs, 0
    while runs[k] != j:
        k += 1
    s.running -= 1
    for i in range(k, s.running):
        ends[i], runs[i] = ends[i + 1], runs[i + 1]


@compiled
def note(s: State, j: int, now: float, killed: int) -> None:
    """Log a run: job, way, allocated, begun, ended, processors woken, killed by a failure."""
    log, k = s.log, s.logged
    log[k, 0], log[k, 1], log[k, 2], log[k, 3], log[k, 4] = j, s.way[j], s.alloc[j], s.start[j], now
    log[k, 5], log[k, 6] = s.awake[j], killed
    s.logged += 1


@compiled
def stop(s: State, j: int, now: float) -> None:
    """Give back what j has."""
    part, way = s.part[j], s.way[j]
    for k in range(s.need.shape[1]):
        if s.res[part, k] >= 0:
            s.used[s.res[part, k]] -= s.need[way, k]
    vacate(s, part, s.need[way, 0], max(now, s.submit[0]))  # repaired before: idle from then on
    unbook(s, j)
    if s.array[j] >= 0:
        s.active[s.array[j]] -= 1
    if s.sharing and j < len(s.submit):
        spend(s.share, j, now, -s.need[way, 0])
    s.full = True


@compiled
def start(now: float, s: State, j: int, way: int) -> float:
    """Give j what it needs, from now on; when it is expected to end."""
    part = s.part[j]
    for k in range(s.need.shape[1]):
        if s.res[part, k] >= 0:
            s.used[s.res[part, k]] += s.need[way, k]
    s.way[j], s.alloc[j] = way, now
    woken = occupy(s, part, s.need[way, 0], now, s.doze_s[part])
    job = j < len(s.submit)
    delay = s.wake_s[part] if woken and job else 0.0
    s.awake[j] = woken if job else 0
    s.start[j] = now + delay
    s.end[j] = s.start[j] + s.run[way]
    expected = s.start[j] + s.booked[way]
    push(s.ends, s.end[j], expected if s.by_expected else 0.0, j)
    book(s, j, expected)
    if s.array[j] >= 0:
        s.active[s.array[j]] += 1
    if s.sharing and job:
        spend(s.share, j, now, s.need[way, 0])
    return expected
