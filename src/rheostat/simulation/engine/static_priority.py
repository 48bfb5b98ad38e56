"""The engine for orders that do not change while a job waits: FCFS, SJF, SAF, F1 to F4.

A pass over the queue is needed only when something can have changed.  After an arrival the old
candidates stay refused - time only makes them worse, nothing was freed - so the new job alone is
tested against the cached reservation.  After an end, a queue none of whose jobs fits is left alone.
Both rest on the reservation being what a fresh computation would give; a job booked for longer than
it was planned (`planned` and `booked` differ) breaks that and forces a full pass at the next event.

    Symbol    Shape  Meaning
    submit    (n,)   submission, s, ascending
    run       (n,)   true run time, s; seen by the event clock only
    procs     (n,)   processors
    planned   (n,)   run time that a waiting job is planned with, s
    booked    (n,)   run time that a running job is expected to take, s
    rank      (n,)   place of the job in the order, smallest first
    start     (n,)   result: start, s
    until     ()     shadow time: when the head is expected to start, s
    extra     ()     processors left over at the shadow time
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Learning, OrderedJobs, Overdue
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.profile import bound
from rheostat.simulation.engine.queue_index import DEEP, Index, enter, next_deep, rebuild
from rheostat.simulation.engine.running_jobs import (
    NOW,
    begin,
    extend,
    finish,
    idle,
    next_end,
    shadow,
)
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    ITEM,
    LEAST,
    LENGTH,
    PROCS,
    SHORT,
    TO,
    block_at,
    blocks,
    first_item,
    first_key,
    insert,
    least_procs,
    pop,
    remove,
    tighten,
    used,
)

FREE, NEXT, PASSES, KNOWN, STALE, UNTIL, EXTRA, INDEXED = range(8)

Lists = tuple[Floats, Floats, Floats, Floats]
"""waiting, few, ends, running."""


@compiled
def fresh(n: int, size: int) -> tuple[tuple[Floats, Floats, Floats, Floats], Floats]:
    """(lists, scalars) of an empty machine before the first event."""
    most = min(n, size)
    at = np.zeros(8)
    at[FREE], at[UNTIL] = size, np.inf
    return (blocks(n), *idle(most)), at


@borrowed
def run_fixed(
    job: OrderedJobs,
    start: Floats,
    lists: Lists,
    index: Index,
    at: Floats,
    stop: float,
    easy: bool,
    ties: tuple[bool, bool],
    late: Overdue,
    learn: Learning | None,
) -> None:
    """Handle all events before ``stop``; ``start`` fills, ``lists`` and ``at`` carry the state.

    ``job`` is (submit, run, procs, planned, booked, rank).  ``easy`` False is no backfilling.
    ``ties``: one pass per time stamp?  Jobs that end together: in order of their expected end?
    ``late`` as in `busy.extend`, which writes ``booked``.
    ``learn`` is None, or (user, recent, ask, score, last_two): with ``last_two`` estimates are made
    on arrival as the mean of the user's last two run times that have ended; ``planned``,
    ``booked`` and ``rank`` are written.
    """
    submit, run, procs, planned, booked, rank = job
    waiting, few, ends, running = lists
    batch, by_expected = ties
    n = len(submit)
    free, i, passes = int(at[FREE]), int(at[NEXT]), int(at[PASSES])
    known, stale = at[KNOWN] > 0, at[STALE] > 0  # reservation known; next pass must be a full one
    until, extra, deep = at[UNTIL], int(at[EXTRA]), at[INDEXED] > 0
    soon = next_end(few, ends)  # kept at hand
    while i < n or soon < np.inf:
        now = min(soon, submit[i] if i < n else np.inf)
        if now >= stop:
            break
        passes += 1
        full, arrived = stale, -1
        stale = False
        while True:
            if soon == now:
                j = finish(few, ends, running, start, booked, by_expected)
                soon = next_end(few, ends)
                free += procs[j]
                full, known = True, False
                if learn is not None:
                    _remember(learn, j, run[j])
            elif i < n and submit[i] == now:
                if arrived >= 0:  # a second arrival in one pass: no short cut
                    insert(waiting, rank[arrived], arrived, procs[arrived], planned[arrived])
                    if deep:
                        enter(index, rank[arrived], arrived, procs[arrived], planned[arrived])
                    full = True
                arrived = i
                if learn is not None:
                    _estimate(learn, i, submit[i] - submit[0], procs[i], planned, booked, rank)
                i += 1
            else:
                break
            if not batch:
                break
        if extend(few, running, now, late, start, booked, procs):
            full, known = True, False
        least = now if late[0] == NOW else -np.inf
        full = full or (known and until < least)  # more has become overdue: more is left over
        if arrived >= 0:
            j, p = arrived, procs[arrived]
            alone = used(waiting) == 0
            full = full or alone or rank[j] < first_key(waiting)
            begins = alone and p <= free
            if easy and not full and p <= free:
                if not known:
                    need = procs[first_item(waiting)]
                    until, extra = shadow(few, running, procs, free, need, least)
                    known = True
                before = now + planned[j] <= until
                begins = before or p <= extra
                if begins:
                    extra -= 0 if before else p
                    stale = before != (now + booked[j] <= until)
            if begins:
                start[j] = now
                free -= p
                end, due = now + run[j], now + booked[j]
                begin(few, ends, running, j, end, due, procs, by_expected)
                soon = min(soon, end)
                continue
            insert(waiting, rank[j], j, p, planned[j])
            if deep:
                enter(index, rank[j], j, p, planned[j])
        if not full or free == 0:
            continue
        known = False
        while used(waiting) and procs[first_item(waiting)] <= free:
            j = pop(waiting, False)
            start[j] = now
            free -= procs[j]
            end, due = now + run[j], now + booked[j]
            begin(few, ends, running, j, end, due, procs, by_expected)
            soon = min(soon, end)
        if not easy or used(waiting) == 0 or free == 0:
            continue
        if deep != (used(waiting) > (DEEP // 2 if deep else DEEP)):
            deep = not deep
            if deep:
                rebuild(index, waiting)
        if not deep and least_procs(waiting) > free:
            continue
        need = procs[first_item(waiting)]
        until, extra = shadow(few, running, procs, free, need, least)
        known = True
        place, k = 0, 1 + int(waiting[block_at(waiting, 0), FROM])  # behind the head
        slack = bound(until - now)
        index.slack[:] = slack
        while free > 0:
            if deep:
                place, k = next_deep(index, waiting, place, k, free, min(extra, free), index.slack)
            else:
                place, k = next_able(waiting, place, k, free, min(extra, free), slack)
            if place == used(waiting):
                break
            block = block_at(waiting, place)
            j, p = int(waiting[block, ITEM + k]), int(waiting[block, PROCS + k])
            before = now + planned[j] <= until
            if p <= free and (before or p <= extra):
                if remove(waiting, place, k):
                    k = 0
                start[j] = now
                free -= p
                extra -= 0 if before else p
                stale = stale or before != (now + booked[j] <= until)
                end, due = now + run[j], now + booked[j]
                begin(few, ends, running, j, end, due, procs, by_expected)
                soon = min(soon, end)
            else:
                k += 1
    at[FREE], at[NEXT], at[PASSES], at[UNTIL], at[EXTRA] = free, i, passes, until, extra
    at[KNOWN], at[STALE], at[INDEXED] = 1.0 * known, 1.0 * stale, 1.0 * deep


@borrowed
def _remember(learn: Learning, j: int, seconds: float) -> None:
    """The run time of an ended job is known from now on."""
    user, recent, _, _, _ = learn
    recent[user[j], 0] = recent[user[j], 1]
    recent[user[j], 1] = seconds


@borrowed
def _estimate(
    learn: Learning, j: int, since: float, procs: int, planned: Floats, booked: Floats, rank: Floats
) -> None:
    """Mean of the user's last two run times, at most what was asked for; without two, that."""
    user, recent, ask, score, last_two = learn
    if not last_two:
        return
    mean = 0.5 * (recent[user[j], 0] + recent[user[j], 1])
    planned[j] = ask[j] if np.isnan(mean) else max(1.0, min(mean, ask[j]))
    booked[j] = planned[j]
    rank[j] = score(since, since, max(booked[j], 1.0), float(procs))


@borrowed
def next_able(
    waiting: Floats, place: int, k: int, free: int, extra: int, slack: float
) -> tuple[int, int]:
    """(place, k) of the next entry to look at, from here on; past the end if there is none."""
    while place < used(waiting):
        block = block_at(waiting, place)
        if waiting[block, LEAST] <= extra or (
            waiting[block, LEAST] <= free and waiting[block, SHORT] <= slack
        ):
            for m in range(max(k, int(waiting[block, FROM])), int(waiting[block, TO])):
                p = waiting[block, PROCS + m]
                if p <= extra or (p <= free and waiting[block, LENGTH + m] <= slack):
                    return place, m
            if k <= waiting[block, FROM]:
                tighten(waiting, block)
        place += 1
        k = 0
    return place, 0
