"""Scores that never rise while a job waits, computed only for jobs that could have the smallest.

Until a moment in the future, the horizon, no score falls below what it will be then.  The jobs lie
in the order of these bounds.  Whoever reads them in that order has seen the smallest score as soon
as the next bound lies above it: of 20,000 jobs some dozens are read.  Bounds are made anew, for a
later horizon, when that moment has passed, and for an earlier one when more was read than it takes.

    Symbol   Shape  Meaning
    bound    (n,)   score at the horizon, or a little less; the key of ``waiting``
    seen     (n,)   jobs read in this pass that have not started
    scores   (n,)   and their scores now
    horizon  ()     s
    span     ()     from when the bounds were made to the horizon, s
    read     ()     jobs read since

Other symbols as in `static_priority`.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.fair_share import score_of
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.profile import bound as loosened
from rheostat.simulation.engine.queue_index import enter, next_deep, rebuild
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

HORIZON, SPAN, READ = range(3)
COST = 2
"""Jobs that are read in the time in which one is put in order anew."""
MANY = 256
"""Waiting jobs above which scores are computed lazily; below half of them all are."""


@compiled
def lazy(n, index):
    """(waiting, index, bound, seen, scores, scalars) before the first job."""
    at = np.zeros(3)
    at[SPAN] = 600.0
    return blocks(n), index, np.empty(n), np.empty(n, np.int64), np.empty(n), at


@compiled
def reorder(now, queue, lists, job, score):
    """Bounds for all jobs of ``queue``, and the order of them; written to it for the next time.

    An order that is nearly right already is sorted several times faster than another.
    """
    waiting, index, bound, _, _, at = lists
    procs, planned = job[2], job[3]
    at[SPAN] *= 0.5 if at[READ] > COST * len(queue) else 2.0
    at[HORIZON], at[READ] = now + at[SPAN], 0
    for j in queue:
        bound[j] = _bound(j, at, job, score)
    queue[:] = queue[np.argsort(bound[queue], kind="mergesort")]
    groups, m = len(index.edge) - 1, len(queue)
    for g in range(1, groups):
        index.edge[g] = bound[queue[g * m // groups]]
    clear(waiting)
    for j in queue:
        append(waiting, bound[j], j, procs[j], planned[j])
    rebuild(index, waiting)


@compiled
def outdated(now, waits, lists):
    """Must the bounds be made anew?"""
    at = lists[-1]
    return now > at[HORIZON] or at[READ] > COST * waits


@compiled
def arrive(j, lists, job, score):
    """Job ``j`` waits from now on."""
    waiting, index, bound, _, _, at = lists
    procs, planned = job[2], job[3]
    bound[j] = _bound(j, at, job, score)
    insert(waiting, bound[j], j, procs[j], planned[j])
    enter(index, bound[j], j, procs[j], planned[j])


@compiled
def _bound(j, at, job, score):
    """No score of job ``j`` is below this until the horizon; rounding must not hide a job."""
    submit, _, procs, _, booked = job
    lowest = score_of(at[HORIZON], j, submit, procs, booked, score)
    return lowest - 1e-12 * abs(lowest)


@borrowed
def none_fits(free, lists):
    """Is it plain that every waiting job is larger than what is free?"""
    small = lists[1].small
    for c in range(small.shape[1]):
        if small[1, c] <= free:
            return False
    return True


@compiled
def pick(now, free, lists, job, score, busy, easy, least, chosen):
    """As `dynamic_priority.pick`, of the jobs with bounds; ``chosen`` are jobs."""
    picked, head, free = _lead(now, free, lists, job, score, busy, chosen)
    _take_out(lists, chosen[:picked])
    if not easy or head < 0 or free == 0:
        return picked
    more = _pass(now, free, lists, job, score, busy, head, least, chosen[picked:])
    _take_out(lists, chosen[picked : picked + more])
    return picked + more


@compiled
def _lead(now, free, lists, job, score, busy, chosen):
    """Start jobs from the head on; (how many, the head that does not fit or -1, still free)."""
    waiting, _, _, seen, scores, _ = lists
    picked, count, place, k = 0, 0, 0, 0
    while True:
        best = _smallest(seen, scores, count)
        while place < used(waiting):
            block = block_at(waiting, place)
            k = max(k, int(waiting[block, FROM]))
            if k >= int(waiting[block, TO]):
                place, k = place + 1, 0
                continue
            if best >= 0 and waiting[block, KEY + k] > scores[best]:
                break
            best = _see(now, int(waiting[block, ITEM + k]), lists, count, best, job, score)
            count, k = count + 1, k + 1
        if best < 0:
            return picked, -1, free
        j = seen[best]
        if job[2][j] > free:
            return picked, j, free
        free -= job[2][j]
        _begin(now, j, job, busy)
        chosen[picked] = j
        picked, count = picked + 1, count - 1
        seen[best], scores[best] = seen[count], scores[count]


@compiled
def _pass(now, free, lists, job, score, busy, head, least, chosen):
    """Start jobs that do not delay the head; how many."""
    waiting, index, _, seen, scores, _ = lists
    procs, planned = job[2], job[3]
    few, _, running, _ = busy
    until, extra = shadow(few, running, procs, free, procs[head], least)
    index.slack[:] = loosened(until - now)
    picked, count, place, k = 0, 0, 0, 0
    while free > 0:
        best = _smallest(seen, scores, count)
        while place < used(waiting):
            room = (free, min(extra, free), index.slack)
            place, k = next_deep(index, waiting, place, k, *room)
            if place == used(waiting):
                break
            block = block_at(waiting, place)
            if best >= 0 and waiting[block, KEY + k] > scores[best]:
                break
            j, k = int(waiting[block, ITEM + k]), k + 1
            if j != head and (procs[j] <= extra or now + planned[j] <= until):
                best = _see(now, j, lists, count, best, job, score)
                count += 1
        if best < 0:
            break
        j, count = seen[best], count - 1
        seen[best], scores[best] = seen[count], scores[count]
        before = now + planned[j] <= until
        if procs[j] <= free and (before or procs[j] <= extra):
            free -= procs[j]
            extra -= 0 if before else procs[j]
            _begin(now, j, job, busy)
            chosen[picked] = j
            picked += 1
    return picked


@compiled
def _see(now, j, lists, count, best, job, score):
    """Note the score of job ``j``; the place of the smallest in ``seen`` then."""
    _, _, _, seen, scores, at = lists
    submit, _, procs, _, booked = job
    seen[count], scores[count] = j, score_of(now, j, submit, procs, booked, score)
    at[READ] += 1
    return count if best < 0 or _before(seen, scores, count, best) else best


@borrowed(forceinline=True)
def _before(seen, scores, a, b):
    """Does the job at ``a`` go before that at ``b``?  Of equal scores, who came first."""
    return scores[a] < scores[b] or (scores[a] == scores[b] and seen[a] < seen[b])


@borrowed
def _smallest(seen, scores, count):
    """Place of the job that goes first; -1 if there is none."""
    best = count - 1
    for k in range(count - 1):
        if _before(seen, scores, k, best):
            best = k
    return best


@borrowed(forceinline=True)
def _begin(now, j, job, busy):
    """Job ``j`` runs from now on."""
    _, run, procs, _, booked = job
    few, ends, running, by_expected = busy
    begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)


@borrowed
def _take_out(lists, jobs):
    waiting, _, bound, _, _, _ = lists
    for j in jobs:
        discard(waiting, bound[j], j)
