"""One machine's jobs at work, and one pass of EASY over a queue that has scores.

Lists are short arrays kept sorted by moving entries: a machine runs hundreds of jobs, not 200,000.

    Symbol   Shape   Meaning
    line     (r, 3)  moment s, job, processors, by moment; equal moments as they were put in
    ends     line    by true end: the clock of the simulation
    expected line    by expected end: what a scheduler knows
    profile  (r, 2)  expected ends, s, ascending; processors free from then on
    floor            (ends, expected, profile, state); state is (processors free, entries in use)
    jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s
    start    (n,)    written: start, s
    shield   (3,)    a waiting job that later ones may not hold up; a moment, s: who is over by then
                     does not; processors that those may have who are not
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.running_jobs import longer
from rheostat.simulation.learned_priority.compiled import lent, native

Array = np.ndarray
Floor = tuple[Array, Array, Array, Array]
Jobs = tuple[Array, Array, Array, Array, Array]
FREE, BUSY = 0, 1
WHO, UNTIL, SPARE = 0, 1, 2


@native
def floor_of(n: int, size: int) -> Floor:
    """An empty machine for ``n`` jobs."""
    most = min(n, size) + 1
    state = np.zeros(2, np.int64)
    state[FREE] = size
    return np.empty((most, 3)), np.empty((most, 3)), np.empty((most, 2)), state


@lent
def put(line: Array, count: int, moment: float, job: int, procs: int) -> None:
    """Put an entry behind all of the same moment."""
    k = count
    while k > 0 and line[k - 1, 0] > moment:
        line[k, 0], line[k, 1], line[k, 2] = line[k - 1, 0], line[k - 1, 1], line[k - 1, 2]
        k -= 1
    line[k, 0], line[k, 1], line[k, 2] = moment, job, procs


@lent
def cut(line: Array, count: int, job: int) -> bool:
    """Take out the entry of a job; was there one?"""
    k = 0
    while k < count and line[k, 1] != job:
        k += 1
    for m in range(k, count - 1):
        line[m, 0], line[m, 1], line[m, 2] = line[m + 1, 0], line[m + 1, 1], line[m + 1, 2]
    return k < count


@lent
def look_ahead(floor: Floor) -> None:
    """Write the profile as of now; its first ``state[BUSY]`` rows count."""
    _, expected, profile, state = floor
    free = state[FREE]
    for k in range(state[BUSY]):
        free += int(expected[k, 2])
        profile[k, 0], profile[k, 1] = expected[k, 0], free


@lent
def shadow_time(profile: Array, count: int, need: float) -> tuple[float, int]:
    """(when ``need`` processors are expected free, how many are left over then).

    All jobs expected to end at that moment count.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if profile[middle, 1] >= need:
            high = middle
        else:
            low = middle + 1
    if low == count:
        return np.inf, 0
    when = profile[low, 0]
    while low + 1 < count and profile[low + 1, 0] == when:
        low += 1
    return when, int(profile[low, 1]) - int(need)


@lent
def begin(job: int, now: float, floor: Floor, jobs: Jobs, start: Array) -> None:
    """Start a job."""
    ends, expected, _, state = floor
    _, run, procs, _, booked = jobs
    start[job] = now
    put(ends, state[BUSY], now + run[job], job, procs[job])
    put(expected, state[BUSY], now + booked[job], job, procs[job])
    state[FREE] -= procs[job]
    state[BUSY] += 1


@lent
def end(now: float, floor: Floor) -> int:
    """End the first job, which ends now; its number, -1 if there is none."""
    ends, expected, _, state = floor
    if state[BUSY] == 0 or ends[0, 0] != now:
        return -1
    job = int(ends[0, 1])
    state[FREE] += int(ends[0, 2])
    cut(ends, state[BUSY], job)
    cut(expected, state[BUSY], job)
    state[BUSY] -= 1
    return job


@lent
def postpone(floor: Floor, now: float, start: Array, booked: Array) -> None:
    """Give every overdue job the next longer estimate, as `running_jobs.extend` does."""
    _, expected, _, state = floor
    while state[BUSY] > 0 and expected[0, 0] < now:
        job, procs = int(expected[0, 1]), int(expected[0, 2])
        later = start[job] + longer(now - start[job], booked[job])
        cut(expected, state[BUSY], job)
        put(expected, state[BUSY] - 1, later, job, procs)


@lent
def catch_up(floor: Floor, now: float) -> None:
    """Expect overdue jobs to end now."""
    _, expected, _, state = floor
    for k in range(state[BUSY]):
        if expected[k, 0] >= now:
            break
        expected[k, 0] = now


@native
def no_shield() -> Array:
    """A ``shield`` that keeps nobody back."""
    return np.array([np.inf, np.inf, np.inf])


@lent
def may_start(job: int, now: float, jobs: Jobs, shield: Array) -> bool:
    """May a job start beside the one under the ``shield``?

    It may if it came before that one, is over in time, or leaves enough.
    """
    _, _, procs, _, booked = jobs
    early = job <= shield[WHO] or now + booked[job] <= shield[UNTIL]
    able: bool = early or procs[job] <= shield[SPARE]
    return able


@lent
def take(job: int, now: float, jobs: Jobs, shield: Array) -> None:
    """A job starts: what it leaves to others beside the one under the ``shield``."""
    _, _, procs, _, booked = jobs
    if job > shield[WHO] and now + booked[job] > shield[UNTIL]:
        shield[SPARE] -= procs[job]


@lent
def serve(
    queue: Array,
    scores: Array,
    now: float,
    floor: Floor,
    jobs: Jobs,
    start: Array,
    chosen: Array,
    shield: Array,
) -> tuple[int, int]:
    """Start jobs, smallest score first and ties as they arrived, until one does not fit.

    What ``shield`` keeps back is passed over.

    The places in the queue go to ``chosen``; (how many there are, place of the one that does not
    fit or -1).  Scores of the chosen become inf.
    """
    state = floor[-1]
    procs, picked = jobs[2], 0
    while picked < len(queue):
        head = -1
        for k in range(len(queue)):
            if scores[k] < np.inf and (head < 0 or scores[k] < scores[head]):
                head = k if may_start(queue[k], now, jobs, shield) else head
        if head < 0 or procs[queue[head]] > state[FREE]:
            return picked, head
        take(queue[head], now, jobs, shield)
        begin(queue[head], now, floor, jobs, start)
        scores[head] = np.inf
        chosen[picked] = head
        picked += 1
    return picked, -1


@lent
def backfill(
    queue: Array,
    scores: Array,
    now: float,
    floor: Floor,
    jobs: Jobs,
    start: Array,
    chosen: Array,
    served: tuple[int, int],
    shield: Array,
) -> int:
    """Start what does not delay the head, as planned: smallest score first; all chosen by then.

    ``served`` is what `serve` returned.
    """
    state, (_, _, procs, planned, _) = floor[-1], jobs
    picked, head = served
    if head < 0 or state[FREE] == 0:
        return picked
    look_ahead(floor)
    until, extra = shadow_time(floor[2], state[BUSY], procs[queue[head]])
    while True:  # what does not fit now will not fit later in this pass: nothing is freed
        best = -1
        for k in range(len(queue)):
            p = procs[queue[k]]
            able = p <= state[FREE] and (p <= extra or now + planned[queue[k]] <= until)
            if able and k != head and scores[k] < np.inf and (best < 0 or scores[k] < scores[best]):
                best = k if may_start(queue[k], now, jobs, shield) else best
        if best < 0:
            return picked
        j = queue[best]
        extra -= 0 if now + planned[j] <= until else procs[j]
        take(j, now, jobs, shield)
        begin(j, now, floor, jobs, start)
        scores[best] = np.inf
        chosen[picked] = best
        picked += 1


@lent
def leave(queue: Array, waiting: int, chosen: Array, x: Array) -> int:
    """Close the gaps that the ``chosen`` leave in the queue and in rows ``x``; how many wait."""
    for k in chosen:
        queue[k] = -1
    kept = 0
    for k in range(waiting):
        if queue[k] >= 0:
            if kept < k:
                queue[kept] = queue[k]
                for c in range(x.shape[1]):
                    x[kept, c] = x[k, c]
            kept += 1
    return kept


@lent
def any_fits(queue: Array, procs: Array, free: int) -> bool:
    """Is a waiting job small enough for what is free?"""
    least = free + 1
    for j in queue:
        least = min(least, procs[j])
    return least <= free
