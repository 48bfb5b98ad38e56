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

from rheostat.simulate.engine.blocks import (
    USED,
    aggregate,
    blocks,
    discard,
    first_key,
    insert,
    least_procs,
    pop,
    remove,
    shadow,
)
from rheostat.simulate.engine.jit import compiled


@compiled(forceinline=True)
def _begin(now, j, job, start, running, ends):
    run, procs, booked = job
    start[j] = now
    insert(ends, now + run[j], j, procs[j], now + booked[j])
    insert(running, now + booked[j], j, procs[j], 0.0)


@compiled
def run_fixed(submit, run, procs, planned, booked, rank, size, easy, ties):
    """(start (n,), number of scheduling passes); ``easy`` False is no backfilling.

    ``ties``: one pass per time stamp?  Jobs that end together: in order of their expected end?
    """
    batch, by_expected = ties
    n = len(submit)
    start = np.full(n, np.nan)
    waiting, running = blocks(n), blocks(min(n, size))
    ends = blocks(min(n, size))
    free, i, passes = size, 0, 0
    known, stale = False, False
    until, extra = np.inf, 0
    while i < n or first_key(ends) < np.inf:
        now = min(first_key(ends), submit[i] if i < n else np.inf)
        passes += 1
        full, arrived = stale, -1
        stale = False
        while True:
            if first_key(ends) == now:
                j = pop(ends, by_expected)
                free += procs[j]
                discard(running, start[j] + booked[j], j)
                full, known = True, False
            elif i < n and submit[i] == now:
                if arrived >= 0:  # a second arrival in one pass: no short cut
                    insert(waiting, rank[arrived], arrived, procs[arrived], planned[arrived])
                    full = True
                arrived = i
                i += 1
            else:
                break
            if not batch:
                break
        if arrived >= 0:
            j = arrived
            alone = waiting.meta[USED] == 0
            if full or alone or rank[j] < waiting.key[waiting.order[0], 0]:
                full = True
            elif easy and procs[j] <= free:
                if not known:
                    head = waiting.item[waiting.order[0], 0]
                    until, extra = shadow(running, free, procs[head])
                    known = True
                before = now + planned[j] <= until
                if before or procs[j] <= extra:
                    _begin(now, j, (run, procs, booked), start, running, ends)
                    free -= procs[j]
                    extra -= 0 if before else procs[j]
                    stale = before != (now + booked[j] <= until)
                    continue
            if alone and procs[j] <= free:
                _begin(now, j, (run, procs, booked), start, running, ends)
                free -= procs[j]
                known = False
                continue
            insert(waiting, rank[j], j, procs[j], planned[j])
        if not full or free == 0:
            continue
        known = False
        while waiting.meta[USED]:
            j = waiting.item[waiting.order[0], 0]
            if procs[j] > free:
                break
            remove(waiting, 0, 0)
            _begin(now, j, (run, procs, booked), start, running, ends)
            free -= procs[j]
        if not easy or waiting.meta[USED] == 0 or free == 0 or least_procs(waiting) > free:
            continue
        until, extra = shadow(running, free, procs[waiting.item[waiting.order[0], 0]])
        known = True
        place, k = 0, 1
        while place < waiting.meta[USED] and free > 0:
            block = waiting.order[place]
            if waiting.least[block] > free or (
                waiting.least[block] > extra and now + waiting.short[block] > until
            ):
                place += 1
                k = 0
                continue
            gone = False
            while k < waiting.count[block]:
                p = waiting.procs[block, k]
                before = now + waiting.length[block, k] <= until
                if p <= free and (before or p <= extra):
                    j = waiting.item[block, k]
                    gone = remove(waiting, place, k)
                    _begin(now, j, (run, procs, booked), start, running, ends)
                    free -= p
                    extra -= 0 if before else p
                    stale = stale or before != (now + booked[j] <= until)
                    if gone:
                        break
                else:
                    k += 1
            if not gone:
                aggregate(waiting, block)
                place += 1
            k = 0
    return start, passes
