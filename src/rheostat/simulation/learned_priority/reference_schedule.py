"""First come, first served with EASY, played beside the real schedule on the same jobs.

It says how long a wait is usual: the longest so far there, and that in prospect.  The reference
knows no more than a scheduler does.  A job runs there as long as its user's jobs ran relative to
their requests, longer if it is known to, until it has ended in the real schedule; then its run time
is known.

    Symbol   Shape   Meaning
    there    5 x (n,)  the jobs of this schedule; run times in it are guesses
    asked    (n,)    what they were booked for, s, however long they run
    ends_s   (n,)    ends of those that run there, s; else NaN
    real     (n,)    starts of the real schedule, s; ended (n,): those that have ended there
    clock    (1,)    longest wait so far, s
    count    (2,)    jobs submitted; all jobs before this one have started
    waiting          `sorted_blocks` of the jobs that wait, in order of arrival
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine import sorted_blocks
from rheostat.simulation.engine.profile import bound
from rheostat.simulation.engine.running_jobs import (
    END,
    EXTEND,
    end_at,
    listed,
    next_end,
    who_ends,
)
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    ITEM,
    TO,
    block_at,
    first_item,
    used,
)
from rheostat.simulation.engine.static_priority import next_able
from rheostat.simulation.learned_priority.compiled import lent, native
from rheostat.simulation.learned_priority.machine_state import (
    FREE,
    Floor,
    Jobs,
    begin,
    end,
    floor_of,
    postpone,
    time_free,
)

Array = np.ndarray
GuardState = tuple[Array, Array, Array, Array]
ReferenceSchedule = tuple[Jobs, tuple[Array, Array], Array, Floor, Array, GuardState]
CAME, OLDEST = 0, 1
NEARLY = 0.9  # as long as it is guessed to run: what still runs then is guessed to run longer,
LINGER, LEAST_S = 0.5, 60.0  # by this part of the time it ran, to this many seconds at least


@native
def reference_schedule(jobs: Jobs, size: int, real: Array) -> ReferenceSchedule:
    """It before its first event; ``real`` are the starts of the real schedule."""
    submit, _, procs, _, booked = jobs
    n, asked = len(submit), booked.copy()
    there = (submit, booked.copy(), procs, asked, booked.copy())
    state = (np.zeros(1), np.zeros(2, np.int64), np.zeros(n, np.bool_), real)
    waiting = sorted_blocks.blocks(n)
    return there, (asked, np.full(n, np.nan)), np.full(n, np.nan), floor_of(n, size), waiting, state


@lent
def record_end(other: ReferenceSchedule, j: int, now: float, run: float) -> None:
    """Job ``j`` has just ended in the real schedule: its run time is known from now on."""
    there, (_, ends_s), start, _, _, (_, _, ended, _) = other
    _play(other, np.nextafter(now, -np.inf))
    ended[j] = True
    there[1][j] = run
    if not np.isnan(ends_s[j]):
        _move(other, j, max(start[j] + run, now))


@lent
def _move(other: ReferenceSchedule, j: int, end_s: float) -> None:
    """Running job ``j`` ends then."""
    there, (_, ends_s), _, (few, ends, _, _, _), _, _ = other
    end_at(few, ends, j, ends_s[j], end_s, there[2])
    ends_s[j] = end_s


@lent
def beside(other: ReferenceSchedule, now: float) -> float:
    """Play up to ``now``, all of its events included; the longest wait so far, s."""
    there, _, start, _, _, (clock, count, _, _) = other
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
    there, _, _, (few, ends, _, (profile, who), _), waiting, _ = other
    submit, run, procs, _, _ = there
    work, longest = 0.0, 0.0
    for k in range(listed(few, ends, END, profile[:, 0], who)):
        work += (profile[k, 0] - now) * procs[who[k]]
    for place in range(used(waiting)):
        block = block_at(waiting, place)
        for k in range(int(waiting[block, FROM]), int(waiting[block, TO])):
            j = int(waiting[block, ITEM + k])
            longest = max(longest, now - submit[j] + work / size)
            work += run[j] * procs[j]
    return longest


@lent
def _goes_on(other: ReferenceSchedule, now: float) -> bool:
    """Let the next job to end run on if it has run for `NEARLY` as long in the real schedule."""
    there, _, start, (few, ends, _, _, _), _, (_, _, ended, real) = other
    j = who_ends(few, ends)
    if ended[j] or not now - real[j] >= NEARLY * there[1][j]:
        return False
    there[1][j] = max((1.0 + LINGER) * max(there[1][j], now - real[j]), LEAST_S)
    _move(other, j, start[j] + there[1][j])
    return True


@lent
def _play(other: ReferenceSchedule, until: float) -> None:
    """Handle all events up to ``until``, s."""
    there, (asked, ends_s), start, floor, waiting, (_, count, _, _) = other
    few, ends, _, _, state = floor
    submit, procs, n = there[0], there[2], len(start)
    while True:
        soon = next_end(few, ends)
        now = min(submit[count[CAME]] if count[CAME] < n else np.inf, soon)
        if now > until or now == np.inf:
            return
        if soon == now and _goes_on(other, until):
            continue
        j = end(now, floor, there, start)
        if j >= 0:
            ends_s[j] = np.nan
        else:
            j = count[CAME]
            sorted_blocks.insert(waiting, j, j, procs[j], asked[j])
            count[CAME] += 1
        if sorted_blocks.any_fits(waiting, state[FREE]):
            postpone(floor, now, EXTEND, asked, start, there)
            _start(now, other)


@lent
def _start(now: float, other: ReferenceSchedule) -> None:
    """Start the first jobs as long as they fit, and those that pass who does not."""
    there, (asked, ends_s), start, floor, waiting, _ = other
    (_, run, procs, _, _), state = there, floor[-1]
    while used(waiting) and procs[first_item(waiting)] <= state[FREE]:
        j = sorted_blocks.pop(waiting, False)
        begin(j, now, floor, there, start)
        ends_s[j] = now + run[j]
    if used(waiting) == 0 or state[FREE] == 0:
        return
    until, extra = time_free(procs[first_item(waiting)], floor, procs)
    place, k = 0, 1 + int(waiting[block_at(waiting, 0), FROM])
    slack = bound(until - now)
    while state[FREE] > 0:
        free = int(state[FREE])
        place, k = next_able(waiting, place, k, free, min(extra, free), slack)
        if place == used(waiting):
            return
        j = int(waiting[block_at(waiting, place), ITEM + k])
        before = now + asked[j] <= until
        if not (before or procs[j] <= extra):
            k += 1
            continue
        extra -= 0 if before else procs[j]
        if sorted_blocks.remove(waiting, place, k):
            k = 0
        begin(j, now, floor, there, start)
        ends_s[j] = now + run[j]
