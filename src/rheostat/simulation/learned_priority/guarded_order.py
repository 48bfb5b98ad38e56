"""The engine of any order of the queue under the guard against starvation.

EASY as `rheostat.simulation.engine.dynamic_priority` plays it, with `two_level_guard` before the
order: without jobs that are due the starts are the same.  Of jobs that ask for the same the first
alone is looked at (`request_lines`), wherever one of them fits; which are due is seen from the
oldest.

    Symbol   Shape   Meaning
    known    2       table and memory of `queue_features.table`; the memory is written
    jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s
    order            as in `machine_state`
    joined           do jobs that ask for the same go in order of arrival?
    guard    (5,)    `two_level_guard.constants`
"""

from __future__ import annotations

import numpy as np

from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.simulation.engine.dynamic_priority import still_waiting
from rheostat.simulation.engine.fair_share import Share, score_all, spend
from rheostat.simulation.engine.jit import checked, compiled_score
from rheostat.simulation.engine.request_lines import join, request_lines
from rheostat.simulation.engine.running_jobs import next_end
from rheostat.simulation.learned_priority.compiled import native
from rheostat.simulation.learned_priority.machine_state import (
    FREE,
    Jobs,
    Order,
    any_fits,
    backfill,
    end,
    floor_of,
    place_of,
    postpone,
    serve,
)
from rheostat.simulation.learned_priority.queue_features import expect, remember
from rheostat.simulation.learned_priority.queue_features import table as queue_table
from rheostat.simulation.learned_priority.reference_schedule import record_end, reference_schedule
from rheostat.simulation.learned_priority.two_level_guard import (
    HARD_LEVEL,
    constants,
    due,
    guarding_of,
    protect,
    settle,
    usual_wait,
)
from rheostat.simulation.workload import Workload

Array = np.ndarray


@native
def play_guarded(
    known: tuple[Array, Array],
    jobs: Jobs,
    order: Order,
    joined: bool,
    guard: Array,
    how: tuple[int, bool, int],
) -> tuple[Array, int, Array]:
    """(start (n,) s, scheduling passes, ``held`` of `two_level_guard` at the end).

    ``how`` is (processors, one pass per time stamp or per event, PAST, NOW or EXTEND).
    """
    table, memory = known
    submit, run, procs, _, booked = jobs
    n, (size, batch, late), (rank, share, score) = len(submit), how, order
    start, floor, asked = np.full(n, np.nan), floor_of(n, size), booked.copy()
    few, ends, _, _, state = floor
    other, lines = reference_schedule(jobs, size, start), request_lines(n, joined)
    queue, scores, came = np.empty(n, np.int64), np.empty(n), 0  # first of their lines
    arrived, waiting, first = np.empty(n, np.int64), 0, 0  # all, and some that have started
    chosen, guarding, i, passes = np.empty(n, np.int64), guarding_of(n, size, guard), 0, 0
    marked, _, promoted, held, shield, _ = guarding
    while i < n or next_end(few, ends) < np.inf:
        now = min(submit[i] if i < n else np.inf, next_end(few, ends))
        while True:
            j = end(now, floor, jobs, start)
            if j >= 0:
                held[0] += promoted[j]
                record_end(other, j, now, run[j])
                remember(memory, table[j])
                spend(share, j, now, -procs[j])
            elif i < n and submit[i] == now:
                if join(i, lines, jobs):
                    queue[came] = i
                    came += 1
                arrived[waiting] = i
                waiting += 1
                other[0][1][i] = expect(memory, table[i])  # until it has ended
                i += 1
            else:
                break
            if not batch:
                break
        passes += 1
        postpone(floor, now, late, asked, start, jobs)
        if not any_fits(queue[:came], procs, state[FREE]):
            continue
        usual = usual_wait(other, now, guard)
        longest = protect(shield, queue[:came], now, jobs, guard[HARD_LEVEL] * usual, floor)
        while first < waiting and not np.isnan(start[arrived[first]]):
            first += 1
        if 2 * first > waiting:
            waiting, first = still_waiting(arrived, waiting, start), 0
        level = (size, guard, usual, longest, passes)
        count = due(arrived[first:waiting], now, jobs, start, floor, other, guarding, level)
        if len(rank):
            scores[:came] = rank[queue[:came]]
        else:
            score_all(now, queue[:came], submit, procs, booked, score, share, scores)
        for k in range(came if count else 0):
            if marked[queue[k]]:
                scores[k] = place_of(queue[k], now, jobs, order, marked)
        line = (queue[:came], scores[:came], lines)
        served = serve(line, now, floor, jobs, start, chosen, shield, order, marked)
        picked = backfill(line, now, floor, jobs, start, chosen, served, shield, order, marked)
        for j in chosen[:picked]:
            spend(share, j, now, procs[j])
        settle(count, start, procs, guarding)
        if picked:
            came = still_waiting(queue, came, start)
    return start, passes, held


def in_order(load: Workload, planned: Array, booked: Array, rank: Array) -> bool:
    """Does a fixed order rank jobs that ask for the same as they arrive?"""
    alike = np.lexsort((np.arange(len(load)), load.procs, planned, booked))
    same = np.ones(len(load) - 1, bool)
    for asked in (load.procs, planned, booked):
        same &= asked[alike[1:]] == asked[alike[:-1]]
    return bool((rank[alike[1:]] > rank[alike[:-1]])[same].all())


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
    order = (rank if rule.order.fixed else rank[:0], share, score)
    joined = in_order(load, planned, estimate, rank) if rule.order.fixed else rule.order.falling
    how = (size, rule.ties == "batch", late)
    played: tuple[Array, int, Array] = checked(
        score, play_guarded(known, jobs, order, joined, constants(rule.guard), how)
    )
    return played
