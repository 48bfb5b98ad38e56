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
from rheostat.simulation.engine.fair_share import score_of
from rheostat.simulation.engine.jit import compiled_score
from rheostat.simulation.engine.running_jobs import EXTEND, NOW
from rheostat.simulation.learned_priority.compiled import lent, native
from rheostat.simulation.learned_priority.machine_state import (
    BUSY,
    FREE,
    Floor,
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
    ReferenceSchedule,
    beside,
    record_end,
    reference_schedule,
)
from rheostat.simulation.learned_priority.two_level_guard import (
    AGEING,
    HARD_LEVEL,
    due,
    levels,
    promote,
    protect,
    settle,
)

Array = np.ndarray
Score = Callable[[Array, Array, Array], None]
Known = tuple[Array, Array]
Waiting = tuple[Array, Array, Array, Array, Array]
Held = tuple[Array, Array, Array, Array]
Live = tuple[Known, Jobs, Array, Floor, ReferenceSchedule, Waiting, Held, Array]
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
    submit, run, procs, _, booked = jobs
    trust, guard = rules
    n = len(submit)
    if len(trust):
        jobs = (submit, run, procs, booked.copy(), booked)
    start = np.full(n, np.nan)
    other = reference_schedule(jobs, size, start)
    other[4][0][0] = longest_s
    line = (np.empty(n, np.int64), np.empty((n, F)), np.empty(n), np.empty(n, np.int64),
            np.zeros(int(table[:, USER].max()) + 1))  # fmt: skip
    held = np.array([guard[3] * size, 0.0, 0.0])
    guarding = (np.zeros(n, np.int64), np.zeros(n), held, no_shield())
    return known, jobs, start, floor_of(n, size), other, line, guarding, np.zeros(4, np.int64)


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
    _, (submit, _, _, _, booked), start, floor, _, (queue, _, _, _, _), _, at = live
    ends, _, _, state = floor
    n, late, guarded = len(submit), how[4], rules[1][HARD_LEVEL] < np.inf
    while at[CAME] < n or state[BUSY] > 0:
        now = submit[at[CAME]] if at[CAME] < n else np.inf
        if state[BUSY] > 0:
            now = min(now, ends[0, 0])
        if now >= until:
            return
        while _happens(live, now, how, guarded):
            if not how[2]:
                break
        at[PASSES] += 1
        if late == EXTEND:
            postpone(floor, now, start, booked)
        elif late == NOW:
            catch_up(floor, now)
        if any_fits(queue[: at[WAITING]], live[1][2], state[FREE]):
            look_ahead(floor)
            _decide(live, score, weights, rules, simple, is_simple, how, now)


@lent
def _happens(live: Live, now: float, how: tuple[int, bool, bool, bool, int], guarded: bool) -> bool:
    """Take in the next event of this moment; was there one?"""
    (table, memory), (submit, run, _, _, _), _, floor, other, line, guarding, at = live
    queue, x, _, _, mine = line
    size, _, _, history, _ = how
    j = end(now, floor)
    if j >= 0:
        user = table[j, USER]
        guarding[2][0] += guarding[1][j]
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
    (trust, guard), (size, easy), state = rules, how[:2], floor[3]
    marked, promoted, held, shield = guarding
    queue, scores, chosen = line[0][: at[WAITING]], line[2][: at[WAITING]], line[3]
    if is_simple:
        _score_simply(live, simple, now)
    else:
        _score(live, score, weights, size, now)
    at[LOOKS] += 1
    first, usual_s = -1, np.inf
    if guard[HARD_LEVEL] < np.inf:
        level = levels(other, now, size, guard)
        usual_s = max(level[1] / guard[HARD_LEVEL], LEAST_USUAL_S)
        first = due(queue, now, jobs, level, floor, held, marked)
        protect(shield, queue, now, jobs, level[1], floor)
        for k in range(len(queue)):
            scores[k] -= guard[AGEING] * (now - submit[queue[k]]) / usual_s
    if first >= 0:
        promote(scores, marked)
    served = serve(queue, scores, now, floor, jobs, start, chosen, shield)
    picked, head = served
    if easy and head >= 0 and state[FREE] > 0:
        if len(trust) and now - submit[queue[head]] >= PREDICTED_PART * usual_s:
            for j in queue:
                planned[j] = booked[j]
        elif len(trust):
            plan(planned, queue, line[1], head, booked, trust)
        picked = backfill(queue, scores, now, floor, jobs, start, chosen, served, shield)
    if first >= 0:
        settle(queue, start, procs, held, marked, promoted)
    for k in chosen[:picked]:
        line[4][int(table[queue[k], USER])] -= 1
    if picked:
        at[WAITING] = leave(queue, at[WAITING], chosen[:picked], line[1])


@lent
def _score_simply(live: Live, simple: SimpleScore, now: float) -> None:
    """Write the scores of the waiting jobs, by an order of the request and the clock."""
    _, (submit, _, procs, _, booked), _, _, _, line, _, at = live
    for k in range(at[WAITING]):
        line[2][k] = score_of(now, line[0][k], submit, procs, booked, simple)


@lent
def _score(live: Live, score: Score, weights: Array, size: int, now: float) -> None:
    """Write the scores of the waiting jobs, by their features."""
    (table, _), _, _, floor, _, (queue, x, scores, _, mine), _, at = live
    waiting, state = at[WAITING], floor[3]
    look(x, queue[:waiting], table, mine, now, (state[FREE], size, floor[2], state[BUSY]))
    score(x[:waiting], weights, scores[:waiting])
