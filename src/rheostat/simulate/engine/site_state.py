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
res       (q, K)  resource numbers, -1 for none
fails     (F,)    moment at which processors fail, s; hit (F,) where, from 0 to 1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulate.engine.jit import compiled
from rheostat.simulate.engine.site_heap import Heap, heap

WAITING, RUNNING, HERE, NEXT_JOB, NEXT_FAIL, PASSES, LOGGED, PIECES = range(8)


class Jobs(NamedTuple):
    """Who comes when, and what waits for what."""

    submit: np.ndarray
    rank: np.ndarray
    part: np.ndarray
    first: np.ndarray
    parent: np.ndarray
    think: np.ndarray
    below: np.ndarray
    child: np.ndarray
    array: np.ndarray
    limit: np.ndarray
    fails: np.ndarray
    hit: np.ndarray


class Ways(NamedTuple):
    """The alternatives; a rigid job has one."""

    run: np.ndarray
    planned: np.ndarray
    booked: np.ndarray
    need: np.ndarray
    res: np.ndarray


class Rule(NamedTuple):
    """depth 0: no reservation; 1: one per partition; 2: one per waiting job.

    ``wake_s`` > 0 or finite ``doze_s``: idle processors sleep after doze_s and take wake_s to wake.
    ``tries``: how often a job killed by a failure is put back into the queue.
    """

    depth: int
    moving: bool
    batch: bool
    by_expected: bool
    doze_s: np.ndarray
    wake_s: np.ndarray
    tries: int


class State(NamedTuple):
    """What changes.

    start, alloc, end, way (n+F,): when the run began, its processors were taken, it ended; the
    alternative.  eligible, arrived, done, again (n,): since when it may run, whether it came, is
    over, how often it was killed.  used (R,); active: tasks running of each array.  queue: waiting
    jobs.  runs, expected: what runs by expected end.  awake (n+F,): processors woken for it.
    since, idle (q, d), depth, debt (q,): stacks of idle processors and since when.
    piece: partition, processors, from, to of what was idle.  log: see `note`.
    """

    start: np.ndarray
    alloc: np.ndarray
    end: np.ndarray
    way: np.ndarray
    eligible: np.ndarray
    arrived: np.ndarray
    done: np.ndarray
    again: np.ndarray
    used: np.ndarray
    active: np.ndarray
    queue: np.ndarray
    runs: np.ndarray
    expected: np.ndarray
    awake: np.ndarray
    since: np.ndarray
    idle: np.ndarray
    depth: np.ndarray
    debt: np.ndarray
    piece: np.ndarray
    log: np.ndarray
    meta: np.ndarray
    ends: Heap
    later: Heap


@compiled
def state(jobs, ways, procs, logs, begin):
    """Everything idle at ``begin``; ``procs`` (q,) of each partition, room for ``logs`` runs."""
    n, m, q = len(jobs.submit), len(jobs.part), len(procs)
    most = min(procs.max(), logs) + 2
    s = State(
        np.full(m, np.nan),
        np.full(m, np.nan),
        np.full(m, np.nan),
        np.full(m, -1),
        np.full(n, np.nan),
        np.zeros(n, np.bool_),
        np.zeros(n, np.bool_),
        np.zeros(n, np.int64),
        np.zeros(ways.res.max() + 1, np.int64),
        np.zeros(len(jobs.limit), np.int64),
        np.empty(n + 1, np.int64),
        np.empty(m + 1, np.int64),
        np.empty(m + 1),
        np.zeros(m, np.int64),
        np.empty((q, most)),
        np.zeros((q, most), np.int64),
        np.ones(q, np.int64),
        np.zeros(q, np.int64),
        np.empty((2 * logs + 2 * q + 8, 4)),
        np.empty((logs + 1, 7)),
        np.zeros(8, np.int64),
        heap(m),
        heap(n),
    )
    for k in range(q):
        s.since[k, 0], s.idle[k, 0] = begin, procs[k]
    return s


@compiled
def enqueue(s, jobs, j, moving):
    """Put job j where the order has it; an order that moves takes them as they come."""
    k = s.meta[WAITING]
    while not moving and k > 0 and jobs.rank[s.queue[k - 1]] > jobs.rank[j]:
        s.queue[k] = s.queue[k - 1]
        k -= 1
    s.queue[k] = j
    s.meta[WAITING] += 1


@compiled
def occupy(s, part, count, now, doze):
    """Take ``count`` idle processors, those that idled least first; how many of them slept."""
    woken = 0
    while count > 0:
        if s.depth[part] == 0:  # taken from what ends at this moment, its event still to come
            s.debt[part] += count
            break
        top = s.depth[part] - 1
        here = min(count, s.idle[part, top])
        since = s.since[part, top]
        if since + doze <= now:
            woken += here
        _piece(s, part, here, since, now)
        s.idle[part, top] -= here
        if s.idle[part, top] == 0:
            s.depth[part] -= 1
        count -= here
    return woken


@compiled
def _piece(s, part, count, since, now):
    if now > since:
        row = s.piece[s.meta[PIECES]]
        row[0], row[1], row[2], row[3] = part, count, since, now
        s.meta[PIECES] += 1


@compiled
def vacate(s, part, count, now):
    """Give ``count`` processors back."""
    owed = min(count, s.debt[part])
    s.debt[part] -= owed
    count -= owed
    if count == 0:
        return
    top = s.depth[part]
    if top > 0 and s.since[part, top - 1] == now:
        s.idle[part, top - 1] += count
        return
    s.since[part, top], s.idle[part, top] = now, count
    s.depth[part] += 1


@compiled
def close(s, now):
    """Note all that is idle at the end."""
    for part in range(len(s.depth)):
        for k in range(s.depth[part]):
            _piece(s, part, s.idle[part, k], s.since[part, k], now)
        s.depth[part] = 0


@compiled
def book(s, j, expected):
    """Add j to what runs, ordered by expected end."""
    k = s.meta[RUNNING]
    while k > 0 and s.expected[k - 1] > expected:
        s.expected[k], s.runs[k] = s.expected[k - 1], s.runs[k - 1]
        k -= 1
    s.expected[k], s.runs[k] = expected, j
    s.meta[RUNNING] += 1


@compiled
def unbook(s, j):
    """Take j out of what runs."""
    k = 0
    while s.runs[k] != j:
        k += 1
    s.meta[RUNNING] -= 1
    for i in range(k, s.meta[RUNNING]):
        s.expected[i], s.runs[i] = s.expected[i + 1], s.runs[i + 1]


@compiled
def note(s, j, now, killed):
    """Log a run: job, way, allocated, begun, ended, processors woken, killed by a failure."""
    row = s.log[s.meta[LOGGED]]
    row[0], row[1], row[2], row[3], row[4] = j, s.way[j], s.alloc[j], s.start[j], now
    row[5], row[6] = s.awake[j], killed
    s.meta[LOGGED] += 1
