"""First come, first served with EASY, played beside the real schedule on the same jobs.

It says how long a wait is usual: the longest so far there, and that in prospect.  The reference
knows no more than a scheduler does.  A job runs there as long as its user's jobs ran relative to
their requests, longer if it is known to, until it has ended in the real schedule; then its run time
is known.

    Symbol   Shape   Meaning
    there    5 x (n,)  the jobs of this schedule, as in `floor`; run times in it are guesses
    real     (n,)    starts of the real schedule, s; ended (n,): those that have ended there
    clock    (1,)    longest wait so far, s
    count    (3,)    jobs submitted; jobs waiting; all jobs before this one have started
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.learned_priority.compiled import lent, native
from rheostat.simulation.learned_priority.machine_state import (
    BUSY,
    FREE,
    Floor,
    Jobs,
    backfill,
    cut,
    end,
    floor_of,
    leave,
    no_shield,
    postpone,
    put,
    serve,
)

Array = np.ndarray
Queue = tuple[Array, Array, Array, Array, Array]
GuardState = tuple[Array, Array, Array, Array]
ReferenceSchedule = tuple[Jobs, Array, Floor, Queue, GuardState]
CAME, WAITING, OLDEST = 0, 1, 2
NEARLY = 0.9  # as long as it is guessed to run: what still runs then is guessed to run longer,
LINGER, LEAST_S = 0.5, 60.0  # by this part of the time it ran, to this many seconds at least


@native
def reference_schedule(jobs: Jobs, size: int, real: Array) -> ReferenceSchedule:
    """It before its first event; ``real`` are the starts of the real schedule."""
    submit, _, procs, _, booked = jobs
    n = len(submit)
    there = (submit, booked.copy(), procs, booked, booked)
    lists = (np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty((n, 0)),
             no_shield())  # fmt: skip
    state = (np.zeros(1), np.zeros(3, np.int64), np.zeros(n, np.bool_), real)
    return there, np.full(n, np.nan), floor_of(n, size), lists, state


@lent
def record_end(other: ReferenceSchedule, j: int, now: float, run: float) -> None:
    """Job ``j`` has just ended in the real schedule: its run time is known from now on."""
    there, start, floor, _, (_, _, ended, _) = other
    _play(other, np.nextafter(now, -np.inf))
    ended[j] = True
    ends, _, _, state = floor
    procs = there[2][j]
    there[1][j] = run
    if cut(ends, state[BUSY], j):
        put(ends, state[BUSY] - 1, max(start[j] + run, now), j, procs)


@lent
def beside(other: ReferenceSchedule, now: float) -> float:
    """Play up to ``now``, all of its events included; the longest wait so far, s."""
    there, start, _, _, (clock, count, _, _) = other
    _play(other, now)
    submit, n = there[0], len(start)
    while count[OLDEST] < n and start[count[OLDEST]] == start[count[OLDEST]]:
        j = count[OLDEST]  # whoever passed it waited less
        clock[0] = max(clock[0], start[j] - submit[j])
        count[OLDEST] += 1
    if count[OLDEST] < n:
        clock[0] = max(clock[0], now - submit[count[OLDEST]])
    longest: float = clock[0]
    return longest


@lent
def foreseen(other: ReferenceSchedule, now: float, size: int) -> float:
    """The longest wait of those who wait there, if no processor idles from now on, s."""
    there, _, (ends, _, _, state), (queue, _, _, _, _), (_, count, _, _) = other
    submit, run, procs, _, _ = there
    work, longest = 0.0, 0.0
    for k in range(state[BUSY]):
        work += (ends[k, 0] - now) * ends[k, 2]
    for k in range(count[WAITING]):
        j = queue[k]
        longest = max(longest, now - submit[j] + work / size)
        work += run[j] * procs[j]
    return longest


@lent
def _goes_on(other: ReferenceSchedule, until: float) -> bool:
    """Let the next job to end run on if it has run for `NEARLY` as long in the real schedule."""
    there, start, (ends, _, _, state), _, (_, _, ended, real) = other
    j = int(ends[0, 1])
    if ended[j] or not until - real[j] >= NEARLY * there[1][j]:
        return False
    there[1][j] = max((1.0 + LINGER) * max(there[1][j], until - real[j]), LEAST_S)
    cut(ends, state[BUSY], j)
    put(ends, state[BUSY] - 1, start[j] + there[1][j], j, there[2][j])
    return True


@lent
def _play(other: ReferenceSchedule, until: float) -> None:
    there, start, floor, (queue, scores, chosen, none, shield), (_, count, _, _) = other
    ends, _, _, state = floor
    submit, procs, n = there[0], there[2], len(start)
    while True:
        now = submit[count[CAME]] if count[CAME] < n else np.inf
        if state[BUSY] > 0:
            now = min(now, ends[0, 0])
        if now > until or now == np.inf:
            return
        if state[BUSY] > 0 and now == ends[0, 0] and _goes_on(other, until):
            continue
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
        postpone(floor, now, start, there[4])
        served = serve(queue[:m], scores, now, floor, there, start, chosen, shield)
        picked = backfill(queue[:m], scores, now, floor, there, start, chosen, served, shield)
        if picked:
            count[WAITING] = leave(queue, m, chosen[:picked], none)
