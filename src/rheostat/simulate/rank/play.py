"""The engine of learned orders: at each event all waiting jobs are looked at and scored anew.

Textbook EASY around a table of features, a memory of ended jobs, and a score.  A pass in which no
waiting job is small enough for what is free is skipped, which loses nothing.

    Symbol   Shape   Meaning
    known    2       table and memory of `features.table`; the memory is written
    jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s
    planned  (n,)    run time a waiting job is planned with, s; booked: a running one, s
    score    cfunc   (x (m, F), weights, scores (m,)): smallest goes first, ties as they arrived
    limit    ()      of the guard, see `guard`; inf: none
"""

from __future__ import annotations

import numpy as np

from rheostat.simulate.rank.features import USER, F, enter, expect, look, recall, remember
from rheostat.simulate.rank.floor import BUSY, FREE, end, floor_of, leave, serve
from rheostat.simulate.rank.guard import PART, beside, due, game, tell
from rheostat.simulate.rank.native import native

FIRST = -1e300


@native
def play(known, jobs, score, weights, how):
    """(start (n,) s, passes, passes in which jobs were scored, the guard's longest wait, s).

    ``how`` is (processors, EASY or no backfilling, limit, one pass per time stamp or per event,
    may run times of ended jobs be known).
    """
    table, memory = known
    submit, run, procs, _, _ = jobs
    n = len(submit)
    size, easy, limit, batch, history = how
    start, floor, queue = np.full(n, np.nan), floor_of(n, size), np.empty(n, np.int64)
    ends, expected, state = floor
    other, rows = game(jobs, size), 256
    x, scores, chosen = np.empty((rows, F)), np.empty(rows), np.empty(rows, np.int64)
    profile = np.empty((len(ends), 2))
    mine = np.zeros(int(table[:, USER].max()) + 1)
    room, promoted = np.full(len(mine), PART * size), np.zeros(n, np.int64)
    waiting, i, passes, looks = 0, 0, 0, 0
    while i < n or state[BUSY] > 0:
        now = submit[i] if i < n else np.inf
        if state[BUSY] > 0:
            now = min(now, ends[0, 0])
        while True:
            j = end(now, floor)
            if j >= 0:
                room[int(table[j, USER])] += promoted[j]
                if limit < np.inf:
                    tell(other, j, now, run[j])
                if history:
                    remember(memory, table[j])
                for k in range(waiting):
                    if table[queue[k], USER] == table[j, USER]:
                        recall(x[k], memory, table[queue[k]])
            elif i < n and submit[i] == now:
                if waiting == rows:
                    old = x
                    rows *= 2
                    x, scores = np.empty((rows, F)), np.empty(rows)
                    chosen = np.empty(rows, np.int64)
                    x[:waiting] = old
                queue[waiting] = i
                mine[int(table[i, USER])] += 1
                enter(x[waiting], memory, table[i], size)
                waiting += 1
                other[0][1][i] = expect(memory, table[i])  # until it has ended
                i += 1
            else:
                break
            if not batch:
                break
        passes += 1
        if not _any_fits(queue[:waiting], procs, state[FREE]):
            continue
        free = state[FREE]
        for k in range(state[BUSY]):
            free += int(expected[k, 2])
            profile[k, 0], profile[k, 1] = expected[k, 0], free
        place = (state[FREE], size, profile[: state[BUSY]])
        look(x, queue[:waiting], table, mine, now, place)
        score(x[:waiting], weights, scores[:waiting])
        looks += 1
        first = -1
        if limit < np.inf:
            first = due(other, queue[:waiting], x, now, limit, (table, room))
            if first >= 0:
                scores[first] = FIRST
        picked = serve(queue[:waiting], scores, now, floor, jobs, start, easy, chosen)
        for k in chosen[:picked]:
            if k == first:
                promoted[queue[k]] = procs[queue[k]]
                room[int(table[queue[k], USER])] -= procs[queue[k]]
            mine[int(table[queue[k], USER])] -= 1
        if picked:
            waiting = leave(queue, waiting, chosen[:picked], x)
    return start, passes, looks, beside(other, submit[0])


@native
def _any_fits(queue, procs, free):
    least = free + 1
    for j in queue:
        least = min(least, procs[j])
    return least <= free
