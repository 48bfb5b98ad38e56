"""The engine of learned orders: at each event all waiting jobs are looked at and scored anew.

EASY around a table of features, a memory of ended jobs, and a score.  A pass in which no waiting
job is small enough for what is free is skipped, which loses nothing.  It can be stopped at any
moment and goes on from there, under another order if that is wanted (`best_of_past`).

    Symbol   Shape   Meaning
    known    2       table and memory of `features.table`; the memory is written
    jobs     5 x (n,)  submission s, run time s, processors, planned with s, booked for s
    planned  (n,)    run time a waiting job is planned with, s; booked: a running one, s
    score    cfunc   (x (m, F), weights, scores (m,)): smallest goes first, ties as they arrived
    trust    (T,)    how waiting jobs are planned, see `trust`; empty: as given, textbook EASY
    guard    (5,)    `two_level_guard.constants`, and the ageing: what a wait as long as the usual
                     one is worth to a job, in the score; infinite: no guard
    simple           a score of the request and the clock, which orders the queue if ``is_simple``
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.simulation.engine.array_types import Score as SimpleScore
from rheostat.simulation.engine.fair_share import Share, no_share, score_of
from rheostat.simulation.engine.jit import compiled_score
from rheostat.simulation.engine.request_lines import RequestLines, request_lines
from rheostat.simulation.engine.running_jobs import next_end
from rheostat.simulation.learned_priority.compiled import lent, native
from rheostat.simulation.learned_priority.machine_state import (
    FREE,
    Floor,
    Jobs,
    any_fits,
    backfill,
    end,
    floor_of,
    leave,
    look_ahead,
    place_of,
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
    ReferenceSchedule,
    beside,
    record_end,
    reference_schedule,
)
from rheostat.simulation.learned_priority.two_level_guard import (
    AGEING,
    HARD_LEVEL,
    Guarding,
    due,
    guarding_of,
    protect,
    settle,
    usual_wait,
)

Array = np.ndarray
Score = Callable[[Array, Array, Array], None]
Known = tuple[Array, Array]
Waiting = tuple[Array, Array, Array, Array, Array, RequestLines, Share]
Live = tuple[Known, Jobs, Array, Floor, ReferenceSchedule, Waiting, Guarding, Array]
Rules = tuple[Array, Array]
WAITING, CAME, PASSES, LOOKS = range(4)
LEAST_USUAL_S = 600.0
PREDICTED_PART = 0.6  # of the longest usual wait: beyond, who passes the head is planned as asked


def no_simple_order() -> tuple[SimpleScore, bool]:
    """(simple, is_simple) of an order that is learned."""
    return compiled_score(_nothing), False


def _nothing(now: float, s: float, r: float, n: float) -> float:
    return 0.0


@native
def play(
    known: Known,
    jobs: Jobs,
    score: Score,
    weights: Array,
    rules: Rules,
    simple: SimpleScore,
    is_simple: bool,
    how: tuple[int, bool, bool, bool, int],
) -> tuple[Array, int, int, float]:
    """(start (n,) s, passes, passes in which jobs were scored, the guard's longest wait, s).

    ``rules`` is (trust, guard), ``how`` (processors, EASY or no backfilling, one pass per
    time stamp or per event, may run times of ended jobs be known, PAST, NOW or EXTEND of
    `running_jobs`).
    """
    live = fresh(known, jobs, rules, how[0], 0.0)
    advance(live, score, weights, rules, simple, is_simple, how, np.inf)
    _, _, start, _, other, _, _, at = live
    return start, at[PASSES], at[LOOKS], beside(other, jobs[0][0])


@native
def fresh(known: Known, jobs: Jobs, rules: Rules, size: int, longest_s: float) -> Live:
    """A machine before its first job; somebody has waited ``longest_s`` there before, if above 0.

    Last come the jobs that wait, those that came, passes, and passes in which jobs were scored.
    """
    table, _ = known
    submit, run, procs, planned, booked = jobs
    trust, guard = rules
    n = len(submit)
    jobs = (submit, run, procs, booked.copy() if len(trust) else planned, booked.copy())
    start = np.full(n, np.nan)
    other = reference_schedule(jobs, size, start)
    other[5][0][0] = longest_s
    mine = np.zeros(int(table[:, USER].max()) + 1)
    line = (np.empty(n, np.int64), np.empty((n, F)), np.empty(n), np.empty(n, np.int64), mine,
            request_lines(n, False), no_share())  # fmt: skip
    held, at = guarding_of(n, size, guard), np.zeros(4, np.int64)
    return known, jobs, start, floor_of(n, size), other, line, held, at


@native
def advance(
    live: Live,
    score: Score,
    weights: Array,
    rules: Rules,
    simple: SimpleScore,
    is_simple: bool,
    how: tuple[int, bool, bool, bool, int],
    until: float,
) -> None:
    """Let time pass, with all events before ``until``, s; arguments as of `play`."""
    _, jobs, start, floor, other, (queue, _, _, _, _, _, _), _, at = live
    few, ends, _, _, state = floor
    submit, n, late, guarded = jobs[0], len(start), how[4], rules[1][HARD_LEVEL] < np.inf
    while at[CAME] < n or next_end(few, ends) < np.inf:
        now = min(submit[at[CAME]] if at[CAME] < n else np.inf, next_end(few, ends))
        if now >= until:
            return
        while _happens(live, now, how, guarded):
            if not how[2]:
                break
        at[PASSES] += 1
        postpone(floor, now, late, other[1][0], start, jobs)
        if any_fits(queue[: at[WAITING]], jobs[2], state[FREE]):
            _decide(live, score, weights, rules, simple, is_simple, how, now)


@lent
def _happens(live: Live, now: float, how: tuple[int, bool, bool, bool, int], guarded: bool) -> bool:
    """Take in the next event of this moment; was there one?"""
    (table, memory), jobs, start, floor, other, line, guarding, at = live
    queue, x, _, _, mine, _, _ = line
    (size, _, _, history, _), (submit, run, _, _, _) = how, jobs
    j = end(now, floor, jobs, start)
    if j >= 0:
        user = table[j, USER]
        guarding[3][0] += guarding[2][j]
        if guarded:
            record_end(other, j, now, run[j])
        if history:
            remember(memory, table[j])
        for k in range(at[WAITING]):
            if table[queue[k], USER] == user:
                recall(x[k], memory, table[queue[k]])
        return True
    i = at[CAME]
    if i == len(submit) or submit[i] != now:
        return False
    queue[at[WAITING]] = i
    mine[int(table[i, USER])] += 1
    enter(x[at[WAITING]], memory, table[i], size)
    other[0][1][i] = expect(memory, table[i])  # until it has ended
    at[WAITING] += 1
    at[CAME] += 1
    return True


@lent
def _decide(
    live: Live,
    score: Score,
    weights: Array,
    rules: Rules,
    simple: SimpleScore,
    is_simple: bool,
    how: tuple[int, bool, bool, bool, int],
    now: float,
) -> None:
    """Start what starts now."""
    (table, _), jobs, start, floor, other, line, guarding, at = live
    submit, _, procs, planned, booked = jobs
    (trust, guard), (size, easy), state = rules, how[:2], floor[-1]
    marked, _, _, _, shield, _ = guarding
    queue, scores, chosen = line[0][: at[WAITING]], line[2][: at[WAITING]], line[3]
    if is_simple:
        _score_simply(live, simple, now)
    else:
        _score(live, score, weights, size, now)
    at[LOOKS] += 1
    count, usual_s, order = 0, np.inf, (scores[:0], line[6], simple)
    if guard[HARD_LEVEL] < np.inf:
        usual = usual_wait(other, now, guard)
        usual_s = max(usual, LEAST_USUAL_S)
        longest = protect(shield, queue, now, jobs, guard[HARD_LEVEL] * usual, floor)
        level = (size, guard, usual, longest, at[LOOKS])
        count = due(queue, now, jobs, start, floor, other, guarding, level)
        for k in range(len(queue)):
            scores[k] -= guard[AGEING] * (now - submit[queue[k]]) / usual_s
            if marked[queue[k]]:
                scores[k] = place_of(queue[k], now, jobs, order, marked)
    waiting = (queue, scores, line[5])
    served = serve(waiting, now, floor, jobs, start, chosen, shield, order, marked)
    picked, head = served
    if easy and head >= 0 and state[FREE] > 0:
        if len(trust) and now - submit[queue[head]] >= PREDICTED_PART * usual_s:
            for j in queue:
                planned[j] = booked[j]
        elif len(trust):
            plan(planned, queue, line[1], head, booked, trust)
        picked = backfill(waiting, now, floor, jobs, start, chosen, served, shield, order, marked)
    settle(count, start, procs, guarding)
    for j in chosen[:picked]:
        line[4][int(table[j, USER])] -= 1
    if picked:
        at[WAITING] = leave(queue, at[WAITING], start, line[1])


@lent
def _score_simply(live: Live, simple: SimpleScore, now: float) -> None:
    """Write the scores of the waiting jobs, by an order of the request and the clock."""
    _, (submit, _, procs, _, booked), _, _, _, line, _, at = live
    for k in range(at[WAITING]):
        line[2][k] = score_of(now, line[0][k], submit, procs, booked, simple)


@lent
def _score(live: Live, score: Score, weights: Array, size: int, now: float) -> None:
    """Write the scores of the waiting jobs, by their features."""
    (table, _), jobs, _, floor, _, (queue, x, scores, _, mine, _, _), _, at = live
    waiting, running = at[WAITING], look_ahead(floor, jobs[2])
    place = (int(floor[-1][FREE]), size, floor[3][0], running)
    look(x, queue[:waiting], table, mine, now, place)
    score(x[:waiting], weights, scores[:waiting])
