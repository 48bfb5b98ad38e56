"""A guard against starvation: the oldest waiting job goes first when its wait becomes unusual.

A learned order lowers the mean wait and may forget single jobs.  What wait is usual?  The guard
plays first come, first served with EASY beside the real schedule, on the same jobs, and remembers
the longest wait there so far; or the request that one job in a hundred makes, if that is longer: a
machine that serves such jobs lets anyone wait as long.  A job is *due* when its wait, and the time
until enough processors are expected free for it, reach ``limit`` times that.  The oldest due job
goes before all others; under EASY it starts at once or is promised its start.

The game beside knows no more than a scheduler does.  There a job runs as long as its user's jobs
ran relative to their requests, until it has ended in the real schedule; then its run time is known.
The usual wait is therefore an estimate, and so is what the guard promises: how near the longest
wait stays to that of first come, first served is measured, not proven.  What is certain: from the
moment a job is the oldest due job, nothing starts that would, by requested run times, delay it.

    Symbol   Shape   Meaning
    there    5 x (n,)  the jobs of the game, as in `floor`; run times in it are guesses
    clock    (1,)    longest wait so far, s
    count    (3,)    jobs submitted; jobs waiting; all jobs before this one have started
    asked    (128,)  requests so far, by their logarithm, four to an octave
"""

from __future__ import annotations

import numpy as np

from rheostat.simulate.rank.features import HOLD
from rheostat.simulate.rank.floor import BUSY, FREE, cut, end, floor_of, leave, put, serve
from rheostat.simulate.rank.native import native

CAME, WAITING, OLDEST = 0, 1, 2
RARE = 0.01
OCTAVE = 4


@native
def game(jobs, size):
    """The game before its first event."""
    submit, _, procs, _, booked = jobs
    n = len(submit)
    there = (submit, booked.copy(), procs, booked, booked)
    lists = (np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty((n, 0)))
    marks = (np.zeros(1), np.zeros(3, np.int64), np.zeros(128))
    return there, np.full(n, np.nan), floor_of(n, size), lists, marks


@native
def come(other, j, ask, expected):
    """A job is submitted that asked for ``ask`` seconds and is expected to run ``expected``."""
    there, _, _, _, (_, _, asked) = other
    there[1][j] = expected
    asked[min(max(int(OCTAVE * np.log2(ask)), 0), len(asked) - 1)] += 1


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
def due(other, queue, x, now, limit):
    """Place in the queue of the oldest due job; -1 if none is."""
    submit = other[0][0]
    most = limit * max(beside(other, now), _long(other[4][2]))
    for k in range(len(queue)):
        if now - submit[queue[k]] + 60.0 * np.expm1(x[k, HOLD]) >= most:
            return k
    return -1


@native
def beside(other, now):
    """Play up to ``now``, all of its events included; the longest wait so far, s."""
    there, start, _, _, (clock, count, _) = other
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
def _long(asked):
    """The request that one job in a hundred so far reaches, s, rounded down."""
    rest = RARE * asked.sum()
    b = len(asked) - 1
    while b > 0 and rest > asked[b]:
        rest -= asked[b]
        b -= 1
    return 2.0 ** (b / OCTAVE)


@native
def _play(other, until):
    there, start, floor, (queue, scores, chosen, none), (_, count, _) = other
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
