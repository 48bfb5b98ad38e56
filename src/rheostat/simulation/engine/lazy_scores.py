"""Scores that never rise while a job waits, computed only for jobs that could have the smallest.

Until a moment in the future, the horizon, no score falls below what it will be then.  The jobs lie
in the order of these bounds.  Whoever reads them in that order has seen the smallest score as soon
as the next bound lies above it: of 20,000 jobs some dozens are read.  Bounds are made anew, for a
later horizon, when that moment has passed, and for an earlier one when more was read than it takes.

There are two horizons.  All jobs lie in the order of bounds at a far one.  The first of them, which
hold whoever is at the head of the queue, lie in a second list as well, by bounds at a near one:
these are tighter, and a few hundred are soon put in order anew.  Who may pass the head is looked
for in the far list, which has an index.

    Symbol   Shape  Meaning
    far             all jobs that wait, by ``bound``
    near            those with a bound below EDGE, by ``closer``
    bound    (n,)   score at the far horizon, or a little less
    closer   (n,)   and at the near one, for jobs of that list
    seen     (n,)   jobs read in this pass that have not started
    scores   (n,)   and their scores now
    at       (2, 5) a row for FAR and NEAR each
      HORIZON       s
      SPAN          from when the bounds were made to the horizon, s
      READ          jobs read since
      SIZE          jobs put in order then
      EDGE          row NEAR alone

Other symbols as in `static_priority`.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Busy, Floats, Ints, Score, WaitingJobs
from rheostat.simulation.engine.fair_share import score_of
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.profile import bound as loosened
from rheostat.simulation.engine.queue_index import Index, enter, next_deep, rebuild
from rheostat.simulation.engine.running_jobs import begin, shadow
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    ITEM,
    KEY,
    TO,
    append,
    block_at,
    blocks,
    clear,
    discard,
    insert,
    used,
)

Lists = tuple[Floats, Index, Floats, Floats, Floats, Ints, Floats, Floats]

FAR, NEAR = range(2)
HORIZON, SPAN, READ, SIZE, EDGE = range(5)
COSTS = (0.25, 2.0)
"""Jobs that are read in the time in which one is put in order anew, far and near."""
MANY = 256
"""Waiting jobs above which scores are computed lazily; below half of them all are."""
SPARE = 128
"""Jobs of the near list beyond those that could be at the head when it is made."""


@compiled
def lazy(n: int, index: Index) -> Lists:
    """(far, index, bound, near, closer, seen, scores, at) before the first job."""
    at = np.zeros((2, 5))
    at[:, SPAN] = 600.0
    at[NEAR, EDGE] = -np.inf
    bound, closer = np.empty(n), np.empty(n)
    return blocks(n), index, bound, blocks(n), closer, np.empty(n, np.int64), np.empty(n), at


@compiled
def reorder(now: float, queue: Ints, lists: Lists, job: WaitingJobs, score: Score) -> None:
    """Bounds for all jobs of ``queue``, and the order of them; written to it for the next time.

    An order that is nearly right already is sorted several times faster than another.
    """
    bound = lists[2]
    _look_ahead(now, queue, lists, job, score)
    queue[:] = queue[np.argsort(bound[queue], kind="mergesort")]
    _line_up(queue, lists, job)


@borrowed
def _look_ahead(now: float, queue: Ints, lists: Lists, job: WaitingJobs, score: Score) -> None:
    """Bounds at a new horizon."""
    bound, at = lists[2], lists[-1]
    _set_horizon(now, at, FAR)
    at[FAR, SIZE] = len(queue)
    for j in queue:
        bound[j] = _bound(j, at[FAR, HORIZON], job, score)


@borrowed
def _set_horizon(now: float, at: Floats, row: int) -> None:
    """A later horizon; an earlier one where more was read than putting in order costs."""
    if at[row, READ] > COSTS[row] * at[row, SIZE]:
        at[row, SPAN] *= 0.5
    elif now > at[row, HORIZON]:
        at[row, SPAN] *= 2.0
    at[row, HORIZON], at[row, READ], at[row, SIZE] = now + at[row, SPAN], 0, 0


@borrowed(forceinline=True)
def outdated(now: float, at: Floats, row: int) -> bool:
    """Must these bounds be made anew?"""
    return now > at[row, HORIZON] or at[row, READ] > COSTS[row] * at[row, SIZE]


@borrowed
def _line_up(queue: Ints, lists: Lists, job: WaitingJobs) -> None:
    """The far list and its index; the near one has to be drawn anew."""
    far, index, bound, near, _, _, _, at = lists
    procs, planned = job[2], job[3]
    groups, m = len(index.edge) - 1, len(queue)
    for g in range(1, groups):
        index.edge[g] = bound[queue[g * m // groups]]
    clear(far)
    for j in queue:
        append(far, bound[j], j, procs[j], planned[j])
    rebuild(index, far)
    clear(near)
    at[NEAR, EDGE] = -np.inf


@borrowed
def _draw(now: float, lists: Lists, job: WaitingJobs, score: Score) -> None:
    """The near list: all that could be at the head now, and `SPARE` behind them."""
    far, _, _, near, closer, _, _, at = lists
    submit, _, procs, planned, booked = job
    _set_horizon(now, at, NEAR)
    clear(near)
    at[NEAR, EDGE], least, spare = np.inf, np.inf, SPARE
    for place in range(used(far)):
        block = block_at(far, place)
        for k in range(int(far[block, FROM]), int(far[block, TO])):
            if far[block, KEY + k] > least:
                spare -= 1
            else:
                at[FAR, READ] += 1
            if spare < 0:
                at[NEAR, EDGE] = far[block, KEY + k]
                return
            j = int(far[block, ITEM + k])
            least = min(least, score_of(now, j, submit, procs, booked, score))
            closer[j] = _bound(j, at[NEAR, HORIZON], job, score)
            insert(near, closer[j], j, procs[j], planned[j])
            at[NEAR, SIZE] += 1


@borrowed
def arrive(j: int, lists: Lists, job: WaitingJobs, score: Score) -> None:
    """Job ``j`` waits from now on."""
    far, index, bound, near, closer, _, _, at = lists
    procs, planned = job[2], job[3]
    bound[j] = _bound(j, at[FAR, HORIZON], job, score)
    insert(far, bound[j], j, procs[j], planned[j])
    enter(index, bound[j], j, procs[j], planned[j])
    if bound[j] < at[NEAR, EDGE]:
        closer[j] = _bound(j, at[NEAR, HORIZON], job, score)
        insert(near, closer[j], j, procs[j], planned[j])


@borrowed(forceinline=True)
def _bound(j: int, horizon: float, job: WaitingJobs, score: Score) -> float:
    """No score of job ``j`` is below this until the horizon; rounding must not hide a job."""
    submit, _, procs, _, booked = job
    lowest = score_of(horizon, j, submit, procs, booked, score)
    return lowest - 1e-12 * abs(lowest)


@borrowed
def none_fits(free: int, lists: Lists) -> bool:
    """Is it plain that every waiting job is larger than what is free?"""
    small = lists[1].small
    for c in range(small.shape[1]):
        if small[1, c] <= free:
            return False
    return True


@borrowed
def pick(
    now: float, free: int, lists: Lists, behind: Ints, job: WaitingJobs, score: Score, busy: Busy,
    easy: bool, least: float, chosen: Ints,
) -> int:  # fmt: skip
    """As `dynamic_priority._pick`, of the jobs with bounds; ``behind`` as in `request_lines`."""
    at = lists[-1]
    picked, head, short = 0, -1, outdated(now, at, NEAR)
    while True:
        if short:
            _draw(now, lists, job, score)
        more, head, free, short = _lead(now, free, lists, behind, job, score, busy, chosen[picked:])
        _take_out(lists, behind, job, score, chosen[picked : picked + more])
        picked += more
        if not short:
            break
    if not easy or head < 0 or free == 0:
        return picked
    more = _pass(now, free, lists, behind, job, score, busy, head, least, chosen[picked:])
    _take_out(lists, behind, job, score, chosen[picked : picked + more])
    return picked + more


@borrowed
def _lead(
    now: float, free: int, lists: Lists, behind: Ints, job: WaitingJobs, score: Score, busy: Busy,
    chosen: Ints,
) -> tuple[int, int, int, bool]:  # fmt: skip
    """Start jobs from the head on; (how many, the head that does not fit or -1, still free, short).

    ``short``: who is next is not in the near list.
    """
    near, seen, scores, at = lists[3], lists[5], lists[6], lists[7]
    picked, count, place, k = 0, 0, 0, 0
    while True:
        best = _smallest(seen, scores, count)
        while place < used(near):
            block = block_at(near, place)
            k = max(k, int(near[block, FROM]))
            if k >= int(near[block, TO]):
                place, k = place + 1, 0
                continue
            if best >= 0 and near[block, KEY + k] > scores[best]:
                break
            best = _see(now, int(near[block, ITEM + k]), lists, NEAR, count, best, job, score)
            count, k = count + 1, k + 1
        if at[NEAR, EDGE] < np.inf and (best < 0 or scores[best] >= at[NEAR, EDGE]):
            return picked, -1, free, True
        if best < 0:
            return picked, -1, free, False
        j = seen[best]
        if job[2][j] > free:
            return picked, j, free, False
        free -= job[2][j]
        _begin(now, j, job, busy)
        chosen[picked] = j
        picked, count = picked + 1, _next_in_line(now, best, count, lists, behind, job, score)


@borrowed
def _pass(
    now: float, free: int, lists: Lists, behind: Ints, job: WaitingJobs, score: Score, busy: Busy,
    head: int, least: float, chosen: Ints,
) -> int:  # fmt: skip
    """Start jobs that do not delay the head; how many."""
    far, index, seen, scores = lists[0], lists[1], lists[5], lists[6]
    procs, planned = job[2], job[3]
    few, _, running, _ = busy
    until, extra = shadow(few, running, procs, free, procs[head], least)
    index.slack[:] = loosened(until - now)
    picked, count, place, k = 0, 0, 0, 0
    while free > 0:
        best = _smallest(seen, scores, count)
        while place < used(far):
            room = (free, min(extra, free), index.slack)
            place, k = next_deep(index, far, place, k, *room)
            if place == used(far):
                break
            block = block_at(far, place)
            if best >= 0 and far[block, KEY + k] > scores[best]:
                break
            j, k = int(far[block, ITEM + k]), k + 1
            if j != head and (procs[j] <= extra or now + planned[j] <= until):
                best = _see(now, j, lists, FAR, count, best, job, score)
                count += 1
        if best < 0:
            break
        j = seen[best]
        before = now + planned[j] <= until
        if procs[j] <= free and (before or procs[j] <= extra):
            free -= procs[j]
            extra -= 0 if before else procs[j]
            _begin(now, j, job, busy)
            chosen[picked] = j
            picked, count = picked + 1, _next_in_line(now, best, count, lists, behind, job, score)
        else:
            count -= 1
            seen[best], scores[best] = seen[count], scores[count]
    return picked


@borrowed(forceinline=True)
def _see(
    now: float,
    j: int,
    lists: Lists,
    row: int,
    count: int,
    best: int,
    job: WaitingJobs,
    score: Score,
) -> int:
    """Note the score of job ``j``; the place of the smallest in ``seen`` then."""
    seen, scores, at = lists[5], lists[6], lists[7]
    submit, _, procs, _, booked = job
    seen[count], scores[count] = j, score_of(now, j, submit, procs, booked, score)
    at[row, READ] += 1
    return count if best < 0 or goes_before(seen, scores, count, best) else best


@borrowed(forceinline=True)
def _next_in_line(
    now: float, k: int, count: int, lists: Lists, behind: Ints, job: WaitingJobs, score: Score
) -> int:
    """Who stands behind the job at ``k``, which starts, takes its place; how many are seen then."""
    seen, scores = lists[5], lists[6]
    submit, _, procs, _, booked = job
    following = behind[seen[k]]
    if following < 0:
        seen[k], scores[k] = seen[count - 1], scores[count - 1]
        return count - 1
    seen[k], scores[k] = following, score_of(now, following, submit, procs, booked, score)
    return count


@borrowed(forceinline=True)
def goes_before(seen: Ints, scores: Floats, a: int, b: int) -> bool:
    """Does the job at ``a`` go before that at ``b``?  Of equal scores, who came first."""
    return scores[a] < scores[b] or (scores[a] == scores[b] and seen[a] < seen[b])


@borrowed
def _smallest(seen: Ints, scores: Floats, count: int) -> int:
    """Place of the job that goes first; -1 if there is none."""
    best = count - 1
    for k in range(count - 1):
        if goes_before(seen, scores, k, best):
            best = k
    return best


@borrowed(forceinline=True)
def _begin(now: float, j: int, job: WaitingJobs, busy: Busy) -> None:
    """Job ``j`` runs from now on."""
    _, run, procs, _, booked = job
    few, ends, running, by_expected = busy
    begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)


@borrowed
def _take_out(lists: Lists, behind: Ints, job: WaitingJobs, score: Score, jobs: Ints) -> None:
    """These start: who stands behind one of them is the first of the line."""
    far, _, bound, near, closer, _, _, at = lists
    for j in jobs:
        discard(far, bound[j], j)
        if bound[j] <= at[NEAR, EDGE]:
            discard(near, closer[j], j)
        if behind[j] >= 0:
            arrive(behind[j], lists, job, score)
