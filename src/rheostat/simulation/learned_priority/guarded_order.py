"""The engine of any order of the queue under the guard against starvation.

EASY as `rheostat.simulation.engine.dynamic_priority` plays it, with `two_level_guard` before the
order: without jobs that are due the starts are the same.  All waiting jobs are looked at wherever
one of them fits, so that deep queues take longer than without the guard.

    Symbol   Shape   Meaning
    known    2       table and memory of `queue_features.table`; the memory is written
    jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s
    rank     (n,)    places in a fixed order; empty where the score changes while jobs wait
    guard    (5,)    `two_level_guard.constants`
"""

from __future__ import annotations

import numpy as np

from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.simulation.engine.array_types import Score
from rheostat.simulation.engine.fair_share import Share, score_all, spend
from rheostat.simulation.engine.jit import checked, compiled_score
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
from rheostat.simulation.learned_priority.queue_features import expect, remember
from rheostat.simulation.learned_priority.queue_features import table as queue_table
from rheostat.simulation.learned_priority.reference_schedule import record_end, reference_schedule
from rheostat.simulation.learned_priority.two_level_guard import (
    constants,
    due,
    levels,
    promote,
    protect,
    settle,
)
from rheostat.simulation.workload import Workload

Array = np.ndarray


@native
def play_guarded(
    known: tuple[Array, Array],
    jobs: Jobs,
    score: Score,
    rank: Array,
    share: Share,
    guard: Array,
    how: tuple[int, bool, int],
) -> tuple[Array, int, Array]:
    """(start (n,) s, scheduling passes, ``held`` of `two_level_guard` at the end).

    ``how`` is (processors, one pass per time stamp or per event, PAST, NOW or EXTEND).
    """
    table, memory = known
    submit, run, procs, _, booked = jobs
    n, (size, batch, late) = len(submit), how
    start, floor, queue = np.full(n, np.nan), floor_of(n, size), np.empty(n, np.int64)
    ends, _, _, state = floor
    other, scores, none = reference_schedule(jobs, size, start), np.empty(n), np.empty((n, 0))
    chosen, marked, promoted = np.empty(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    held = np.array([guard[3] * size, 0.0, 0.0])
    shield = no_shield()
    waiting, i, passes = 0, 0, 0
    while i < n or state[BUSY] > 0:
        now = submit[i] if i < n else np.inf
        if state[BUSY] > 0:
            now = min(now, ends[0, 0])
        while True:
            j = end(now, floor)
            if j >= 0:
                held[0] += promoted[j]
                record_end(other, j, now, run[j])
                remember(memory, table[j])
                spend(share, j, now, -procs[j])
            elif i < n and submit[i] == now:
                queue[waiting] = i
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
        if len(rank):
            scores[:waiting] = rank[line]
        else:
            score_all(now, line, submit, procs, booked, score, share, scores)
        look_ahead(floor)
        level = levels(other, now, size, guard)
        first = due(line, now, jobs, level, floor, held, marked)
        protect(shield, line, now, jobs, level[1], floor)
        if first >= 0:
            promote(scores[:waiting], marked)
        served = serve(line, scores, now, floor, jobs, start, chosen, shield)
        picked = backfill(line, scores, now, floor, jobs, start, chosen, served, shield)
        for k in chosen[:picked]:
            spend(share, queue[k], now, procs[queue[k]])
        if first >= 0:
            settle(line, start, procs, held, marked, promoted)
        if picked:
            waiting = leave(queue, waiting, chosen[:picked], none)
    return start, passes, held


def _nothing(now: float, s: float, r: float, n: float) -> float:
    return 0.0


def schedule_guarded(
    load: Workload, user: Array, rule: BatchPolicy, size: int, estimate: Array, rank: Array,
    share: Share,
) -> tuple[Array, int, Array]:  # fmt: skip
    """As `play_guarded`, for an order of the queue; ``rank`` (n,) of a fixed one."""
    assert rule.guard is not None
    score = compiled_score(_nothing if rule.order.fixed or rule.order.factors else rule.order.score)
    planned = load.run_s if rule.semantics == "cqsim" else estimate
    known = queue_table(load.submit_s, load.run_s, load.procs, estimate, user)
    jobs = (load.submit_s, load.run_s, load.procs, planned, estimate.copy())
    late = OVERDUE.index(rule.overdue or "past")
    fixed = rank if rule.order.fixed else rank[:0]
    how = (size, rule.ties == "batch", late)
    played: tuple[Array, int, Array] = checked(
        score, play_guarded(known, jobs, score, fixed, share, constants(rule.guard), how)
    )
    return played
