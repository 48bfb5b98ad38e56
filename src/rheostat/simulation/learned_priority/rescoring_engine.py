"""The engine of learned orders: at each event all waiting jobs are looked at and scored anew.

EASY around a table of features, a memory of ended jobs, and a score.  A pass in which no waiting
job is small enough for what is free is skipped, which loses nothing.

    Symbol   Shape   Meaning
    known    2       table and memory of `features.table`; the memory is written
    jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s
    planned  (n,)    run time a waiting job is planned with, s; booked: a running one, s
    score    cfunc   (x (m, F), weights, scores (m,)): smallest goes first, ties as they arrived
    trust    (T,)    how waiting jobs are planned, see `trust`; empty: as given, textbook EASY
    held     (3,)    of the guard: limit, part, late; a limit of inf is no guard
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.simulation.engine.running_jobs import EXTEND, NOW
from rheostat.simulation.learned_priority.compiled import native
from rheostat.simulation.learned_priority.machine_state import (
    BUSY,
    FREE,
    Jobs,
    any_fits,
    backfill,
    catch_up,
    end,
    floor_of,
    leave,
    look_ahead,
    no_shield,
    postpone,
    serve,
)
from rheostat.simulation.learned_priority.planning_weights import plan
from rheostat.simulation.learned_priority.queue_features import (
    USER,
    F,
    enter,
    expect,
    look,
    recall,
    remember,
)
from rheostat.simulation.learned_priority.reference_schedule import (
    beside,
    record_end,
    reference_schedule,
)
from rheostat.simulation.learned_priority.starvation_guard import due, settle, usual

Array = np.ndarray
Score = Callable[[Array, Array, Array], None]
FIRST = -1e12
LIMIT, PART, LATE = range(3)


@native
def play(
    known: tuple[Array, Array],
    jobs: Jobs,
    score: Score,
    weights: Array,
    rules: tuple[Array, Array],
    how: tuple[int, bool, bool, bool, int],
) -> tuple[Array, int, int, float]:
    """(start (n,) s, passes, passes in which jobs were scored, the guard's longest wait, s).

    ``rules`` is (trust, held), ``how`` (processors, EASY or no backfilling, one pass per time stamp
    or per event, may run times of ended jobs be known, PAST, NOW or EXTEND of `running_jobs`).
    """
    table, memory = known
    submit, run, procs, planned, booked = jobs
    trust, held = rules
    n, limit = len(submit), held[LIMIT]
    size, easy, batch, history, late = how
    if len(trust):
        planned = booked.copy()
        jobs = (submit, run, procs, planned, booked)
    start, floor, queue = np.full(n, np.nan), floor_of(n, size), np.empty(n, np.int64)
    ends, _, _, state = floor
    other, x, scores = reference_schedule(jobs, size, start), np.empty((n, F)), np.empty(n)
    chosen, marked = np.empty(n, np.int64), np.zeros(n, np.bool_)
    mine = np.zeros(int(table[:, USER].max()) + 1)
    room, promoted = np.full(len(mine), held[PART] * size), np.zeros(n)
    shield = no_shield()
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
                    record_end(other, j, now, run[j])
                if history:
                    remember(memory, table[j])
                for k in range(waiting):
                    if table[queue[k], USER] == table[j, USER]:
                        recall(x[k], memory, table[queue[k]])
            elif i < n and submit[i] == now:
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
        if late == EXTEND:
            postpone(floor, now, start, booked)
        elif late == NOW:
            catch_up(floor, now)
        line = queue[:waiting]
        if not any_fits(line, procs, state[FREE]):
            continue
        look_ahead(floor)
        place = (state[FREE], size, floor[2], state[BUSY])
        look(x, line, table, mine, now, place)
        score(x[:waiting], weights, scores[:waiting])
        looks += 1
        first, longest = -1, np.inf
        if limit < np.inf:
            longest = usual(other, now, size, limit)
            first = due(line, x, now, submit, longest, (table, room), marked)
            for k in range(waiting if first >= 0 else 0):
                scores[k] = FIRST + k if marked[k] else scores[k]
        served = serve(line, scores, now, floor, jobs, start, chosen, shield)
        picked, head = served
        if easy and head >= 0 and state[FREE] > 0:
            is_due = first >= 0 and marked[head]
            if len(trust) and is_due and now - submit[line[head]] >= held[LATE] * longest:
                planned[line] = booked[line]
            elif len(trust):
                plan(planned, line, x, head, booked, trust)
            picked = backfill(line, scores, now, floor, jobs, start, chosen, served, shield)
        if first >= 0:
            settle(line, start, (table, room), marked, promoted)
        for k in chosen[:picked]:
            mine[int(table[queue[k], USER])] -= 1
        if picked:
            waiting = leave(queue, waiting, chosen[:picked], x)
    return start, passes, looks, beside(other, submit[0])
