"""One machine's jobs at work, and one pass of EASY over a queue that has scores.

Symbol   Shape   Meaning
floor            (few, ends, running) of `running_jobs`, (profile, who) and state, which is
(processors free, moment before which no end is expected, s)
profile  (r, 2)  expected ends, s, ascending; processors free from then on; its jobs are who
jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s; booked is
written for overdue jobs
line             (queue, scores) of the waiting jobs that are first of their `request_lines`,
and these lines
order            (score, rank, share) of who is next: ``rank`` (n,) of a fixed order, else a
share that is not empty, else the score
marked   (n,)    `SOFT`, `HARD` or 0: jobs that go before all others, oldest first
start    (n,)    written: start, s
shield   (3,)    a waiting job that later ones may not hold up; a moment, s: who is over by then
does not; processors that those may have who are not
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine import running_jobs
from rheostat.simulation.engine.array_types import Score
from rheostat.simulation.engine.fair_share import Share, priority, score_of
from rheostat.simulation.engine.lazy_scores import goes_before
from rheostat.simulation.engine.request_lines import RequestLines, step_up
from rheostat.simulation.engine.running_jobs import EXPECTED, NOW
from rheostat.simulation.learned_priority.compiled import lent, native

Array = np.ndarray
Floor = tuple[Array, Array, Array, tuple[Array, Array], Array]
Jobs = tuple[Array, Array, Array, Array, Array]
Line = tuple[Array, Array, RequestLines]
Order = tuple[Array, Share, Score]
FREE, LEAST = 0, 1
WHO, UNTIL, SPARE = 0, 1, 2
SOFT, HARD = 1, 2
FIRST = -1e300  # before every score; a step of `STEP` of it from one job to the next
STEP = 1e-9


@native
def floor_of(n: int, size: int) -> Floor:
    """An empty machine for ``n`` jobs."""
    most = min(n, size)
    few, ends, running = running_jobs.idle(most)
    profile = (np.empty((most + 1, 2)), np.empty(most + 1, np.int64))
    return few, ends, running, profile, np.array([size, -np.inf])


@lent
def look_ahead(floor: Floor, procs: Array) -> int:
    """Write the profile as of now; how many of its rows count."""
    few, _, running, (profile, who), state = floor
    count = running_jobs.listed(few, running, EXPECTED, profile[:, 0], who)
    free = state[FREE]
    for k in range(count):
        free += procs[who[k]]
        profile[k, 0], profile[k, 1] = max(profile[k, 0], state[LEAST]), free
    return count


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
def time_free(need: float, floor: Floor, procs: Array) -> tuple[float, int]:
    """The same without a profile, of more than are free now."""
    few, _, running, _, state = floor
    when, spare = running_jobs.shadow(
        few, running, procs, int(state[FREE]), int(need), state[LEAST]
    )
    return when, spare


@lent
def begin(job: int, now: float, floor: Floor, jobs: Jobs, start: Array) -> None:
    """Start a job."""
    few, ends, running, _, state = floor
    _, run, procs, _, booked = jobs
    start[job] = now
    running_jobs.begin(few, ends, running, job, now + run[job], now + booked[job], procs, False)
    state[FREE] -= procs[job]


@lent
def end(now: float, floor: Floor, jobs: Jobs, start: Array) -> int:
    """End the first job, which ends now; its number, -1 if there is none."""
    few, ends, running, _, state = floor
    if running_jobs.next_end(few, ends) != now:
        return -1
    job = running_jobs.finish(few, ends, running, start, jobs[4], False)
    state[FREE] += jobs[2][job]
    return job


@lent
def postpone(floor: Floor, now: float, late: int, asked: Array, start: Array, jobs: Jobs) -> None:
    """What ``late``, PAST, NOW or EXTEND, makes of overdue jobs, which ``asked`` for less."""
    few, _, running, _, state = floor
    if late == NOW:
        state[LEAST] = now
    running_jobs.extend(few, running, now, (late, asked, asked), start, jobs[4], jobs[2])


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
def place_of(j: int, now: float, jobs: Jobs, order: Order, marked: Array) -> float:
    """The score of a waiting job: smallest first."""
    submit, _, procs, _, booked = jobs
    rank, share, score = order
    if marked[j]:
        return (2.0 if marked[j] == HARD else 1.0) * FIRST * (1.0 - j * STEP)
    if len(rank):
        return float(rank[j])
    if len(share.user):
        return priority(share, j, now, submit[j], procs[j])
    return score_of(now, j, submit, procs, booked, score)


@lent
def serve(
    line: Line,
    now: float,
    floor: Floor,
    jobs: Jobs,
    start: Array,
    chosen: Array,
    shield: Array,
    order: Order,
    marked: Array,
) -> tuple[int, int]:
    """Start jobs, smallest score first and ties as they arrived, until one does not fit.

    What ``shield`` keeps back is passed over.

    The jobs go to ``chosen``; (how many there are, place of the one that does not fit or -1).
    """
    queue, scores, _ = line
    procs, picked = jobs[2], 0
    while True:
        head = -1
        for k in range(len(queue)):
            first = head < 0 or goes_before(queue, scores, k, head)
            if first and scores[k] < np.inf and may_start(queue[k], now, jobs, shield):
                head = k
        if head < 0 or procs[queue[head]] > floor[-1][FREE]:
            return picked, head
        chosen[picked] = queue[head]
        picked += 1
        _go(head, line, now, floor, jobs, start, shield, order, marked)


@lent
def _go(
    k: int,
    line: Line,
    now: float,
    floor: Floor,
    jobs: Jobs,
    start: Array,
    shield: Array,
    order: Order,
    marked: Array,
) -> None:
    """Start the job at ``k``; who stands behind it takes its place."""
    queue, scores, lines = line
    take(queue[k], now, jobs, shield)
    begin(queue[k], now, floor, jobs, start)
    following = step_up(queue[k], lines)
    scores[k] = np.inf
    if following >= 0:
        queue[k] = following
        scores[k] = place_of(following, now, jobs, order, marked)


@lent
def backfill(
    line: Line,
    now: float,
    floor: Floor,
    jobs: Jobs,
    start: Array,
    chosen: Array,
    served: tuple[int, int],
    shield: Array,
    order: Order,
    marked: Array,
) -> int:
    """Start what does not delay the head, as planned: smallest score first; all chosen by then.

    ``served`` is what `serve` returned.
    """
    queue, scores, _ = line
    state, (_, _, procs, planned, _) = floor[-1], jobs
    picked, head = served
    if head < 0 or state[FREE] == 0:
        return picked
    until, extra = time_free(procs[queue[head]], floor, procs)
    while True:  # what does not fit now will not fit later in this pass: nothing is freed
        best = -1
        for k in range(len(queue)):
            j = queue[k]
            p = procs[j]
            able = p <= state[FREE] and (p <= extra or now + planned[j] <= until)
            if not able or k == head or scores[k] == np.inf:
                continue
            if best < 0 or goes_before(queue, scores, k, best):
                best = k if may_start(j, now, jobs, shield) else best
        if best < 0:
            return picked
        j = queue[best]
        extra -= 0 if now + planned[j] <= until else procs[j]
        chosen[picked] = j
        picked += 1
        _go(best, line, now, floor, jobs, start, shield, order, marked)


@lent
def leave(queue: Array, waiting: int, start: Array, x: Array) -> int:
    """Close the gaps of jobs that have started in the queue and in rows ``x``; how many wait."""
    kept = 0
    for k in range(waiting):
        if np.isnan(start[queue[k]]):
            if kept < k:
                queue[kept] = queue[k]
                for c in range(x.shape[1]):
                    x[kept, c] = x[k, c]
            kept += 1
    return kept


@lent
def any_fits(queue: Array, procs: Array, free: float) -> bool:
    """Is a waiting job small enough for what is free?"""
    least = np.inf
    for j in queue:
        least = min(least, procs[j])
    return least <= free
