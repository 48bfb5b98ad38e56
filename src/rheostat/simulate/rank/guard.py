"""A guard against starvation: the oldest waiting job goes first when its wait becomes unusual.

A learned order lowers the mean wait and may forget single jobs.  What wait is usual?  The guard
plays first come, first served with EASY beside the real schedule, on the same jobs, and remembers
the longest wait there so far.  A job that has waited ``limit`` times that is *due*.  The oldest due
job goes before all others: under EASY it starts at once or is promised its start.

Two kinds of job are passed over, for they would stop everybody else.  A user may flood the machine
with jobs that become due together: while those of a user that started as due hold half of the
machine (`PART`), no more of that user's do.  And behind a job that waits for overdue ones alone,
whose end nobody knows, nothing could be backfilled.

The game beside knows no more than a scheduler does.  There a job runs as long as its user's jobs
ran relative to their requests, until it has ended in the real schedule; then its run time is known.
The usual wait is an estimate, so how near the longest wait stays to that of first come, first
served is measured, not proven.  What is certain: while a job is the oldest due one and not passed
over, nothing starts that would, by requested run times, delay it.

    Symbol   Shape   Meaning
    there    5 x (n,)  the jobs of the game, as in `floor`; run times in it are guesses
    clock    (1,)    longest wait so far, s
    count    (3,)    jobs submitted; jobs waiting; all jobs before this one have started
"""

from __future__ import annotations

import numpy as np

from rheostat.simulate.rank.features import FITS, HOLD, USER
from rheostat.simulate.rank.floor import BUSY, FREE, cut, end, floor_of, leave, put, serve
from rheostat.simulate.rank.native import native

CAME, WAITING, OLDEST = 0, 1, 2
PART = 0.5


@native
def game(jobs, size):
    """The game before its first event."""
    submit, _, procs, _, booked = jobs
    n = len(submit)
    there = (submit, booked.copy(), procs, booked, booked)
    lists = (np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty((n, 0)))
    marks = (np.zeros(1), np.zeros(3, np.int64))
    return there, np.full(n, np.nan), floor_of(n, size), lists, marks


@native
def tell(other, j, now, run):
    """Job ``j`` has just ended in the real schedule: its run time is known from now on."""
    there, start, floor, _, _ = other
    _play(other, np.nextafter(now, -np.inf))
    ends, _, state = floor
    procs = there[2][j]
    there[1][j] = run
    if cut(ends, state[BUSY], j):
        put(ends, state[BUSY] - 1, max(start[j] + run, now), j, procs)


@native
def due(other, queue, x, now, limit, users):
    """Place in the queue of the oldest due job that is not passed over; -1 if none is.

    ``users`` is (table, processors that due jobs of each user may still take).
    """
    table, room = users
    least = limit * beside(other, now)
    for k in range(len(queue)):
        j = queue[k]
        if now - other[0][0][j] < least:  # those behind it have waited less
            return -1
        if room[int(table[j, USER])] > 0 and (x[k, FITS] > 0 or x[k, HOLD] > 0):
            return k
    return -1


@native
def beside(other, now):
    """Play up to ``now``, all of its events included; the longest wait so far, s."""
    there, start, _, _, (clock, count) = other
    _play(other, now)
    submit, n = there[0], len(start)
    while count[OLDEST] < n and start[count[OLDEST]] == start[count[OLDEST]]:
        j = count[OLDEST]  # whoever passed it waited less
        clock[0] = max(clock[0], start[j] - submit[j])
        count[OLDEST] += 1
    if count[OLDEST] < n:
        clock[0] = max(clock[0], now - submit[count[OLDEST]])
    return clock[0]


@native
def _play(other, until):
    there, start, floor, (queue, scores, chosen, none), (_, count) = other
    ends, _, state = floor
    submit, procs, n = there[0], there[2], len(start)
    while True:
        now = submit[count[CAME]] if count[CAME] < n else np.inf
        if state[BUSY] > 0:
            now = min(now, ends[0, 0])
        if now > until or now == np.inf:
            return
        if end(now, floor) < 0:
            queue[count[WAITING]] = count[CAME]
            count[CAME] += 1
            count[WAITING] += 1
        m = count[WAITING]
        able = False
        for k in range(m):
            scores[k] = k
            able = able or procs[queue[k]] <= state[FREE]
        if not able:
            continue
        picked = serve(queue[:m], scores, now, floor, there, start, True, chosen)
        if picked:
            count[WAITING] = leave(queue, m, chosen[:picked], none)
