"""A guard against starvation around any order: jobs that would wait unusually long go first.

What wait is usual?  First come, first served with EASY is played beside the real schedule
(`reference_schedule`); U is the longest wait there so far, of those who wait there now included.
A job's prospect is its wait so far and the time until enough processors are free by the requests of
those that run.  Two levels, both proportional to the ``limit`` that the longest wait is to keep
within, in times U:

- a job whose prospect reaches `SOFT_PART` of ``limit`` U, or of ``limit`` times what is foreseen
  there, goes before those that are not due; all such jobs together hold `SHARE` of the machine at
  most, since a flood of equal jobs becomes due together;
- a job whose prospect reaches `HARD_PART` of ``limit`` U goes before all, however many there are.

A wide job needs most of the machine, and is held up for long by whoever starts before it is due.
So no job that came after the widest that waits may start if that would make the widest due at the
second level, by its request: it must leave enough for it.

Within a level the oldest is first; the first of all that does not fit is promised its start, as
under EASY, and others pass it if they end before that or leave it enough.

U is an estimate, since run times there are guessed, and jobs that become due together wait for each
other.  So how near the longest wait stays to that of first come, first served is measured, not
proven; that nobody waits for ever is certain: U stands still while nobody is submitted, so every
waiting job becomes due at the hard level, oldest first.

    Symbol   Shape   Meaning
    U        s       longest wait so far in the reference schedule
    guard    (5,)    `constants`: U times the first is the soft level, what is foreseen times the
                     second; U times the third the hard level; the fourth is a share of the machine;
                     the fifth what a wait of U is worth in the score of a learned order
    held     (3,)    processors that jobs due at the soft level may still take; jobs started so far
                     as due at the soft and at the hard level
    marked   (n,)    `SOFT`, `HARD` or 0 of each job
    named    (n,)    the jobs marked now, oldest first
    promoted (n,)    processors of running jobs that were started as due at the soft level
    holds    (P + 1, 3)  time until some processors are free, s, as of which ``look``, how many
    shield   (3,)    as in `machine_state`
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.learned_priority.compiled import lent, native
from rheostat.simulation.learned_priority.machine_state import (
    FREE,
    HARD,
    SOFT,
    SPARE,
    UNTIL,
    WHO,
    Floor,
    Jobs,
    no_shield,
    time_free,
)
from rheostat.simulation.learned_priority.reference_schedule import (
    ReferenceSchedule,
    beside,
    foreseen,
)

Array = np.ndarray
Guarding = tuple[Array, Array, Array, Array, Array, Array]
"""marked, named, promoted, held, shield, holds as above."""
SOFT_PART, FORESEEN_PART, HARD_PART, SHARE = 0.4, 0.2, 0.5, 0.5
HARD_LEVEL, AGEING = 2, 4
HOLD, LOOK, OF = 0, 1, 2
MOST_HOLDS = 65_536  # shares of a cap make a machine of a billion; what does not fit is made anew
LATER = 2.0  # times as long: a learned order lets few come near, as a wait counts in its score


def constants(limit: float) -> Array:
    """``guard`` for a longest wait of ``limit`` times that of first come, first served with EASY.

    >>> constants(1.5).round(3).tolist()
    [0.6, 0.3, 0.75, 0.5, 0.0]
    """
    return np.array([SOFT_PART * limit, FORESEEN_PART * limit, HARD_PART * limit, SHARE, 0.0])


def constants_learned(limit: float, ageing: float) -> Array:
    """The same for a learned order, in the score of which a wait of U is worth ``ageing``."""
    guard = constants(LATER * limit)
    guard[AGEING] = ageing
    return guard


@lent
def usual_wait(other: ReferenceSchedule, now: float, guard: Array) -> float:
    """U, s; infinite without a guard."""
    return np.inf if guard[HARD_LEVEL] == np.inf else beside(other, now)


@native
def guarding_of(n: int, size: int, guard: Array) -> Guarding:
    """Nobody is due yet."""
    held = np.array([guard[3] * size, 0.0, 0.0])
    holds = np.zeros((min(size + 1, MOST_HOLDS), 3))
    marked, named = np.zeros(n, np.int64), np.empty(n, np.int64)
    return marked, named, np.zeros(n), held, no_shield(), holds


@lent
def protect(
    shield: Array, queue: Array, now: float, jobs: Jobs, hard: float, floor: Floor
) -> float:
    """Put the widest waiting job under the ``shield``: nobody who came later may make it due.

    Who is over before it could start, or before it is due at the ``hard`` level, does not.
    Of ``queue`` the order does not matter.  How long the widest has to wait at least, s.
    """
    submit, _, procs, _, _ = jobs
    state = floor[-1]
    widest = queue[0]
    for j in queue:
        if procs[j] > procs[widest] or (procs[j] == procs[widest] and j < widest):
            widest = j
    when, spare = now, state[FREE] - procs[widest]
    if spare < 0:
        when, spare = time_free(procs[widest], floor, procs)
    shield[WHO], shield[UNTIL], shield[SPARE] = widest, max(when, submit[widest] + hard), spare
    return max(when - now, 0.0)


@lent
def due(
    queue: Array,
    now: float,
    jobs: Jobs,
    start: Array,
    floor: Floor,
    other: ReferenceSchedule,
    guarding: Guarding,
    level: tuple[int, Array, float, float, int],
) -> int:
    """Mark the jobs of ``queue`` that are due; how many are.

    They lie in order of arrival, those that have started among them.  ``level`` is (processors,
    guard, U, the longest hold of all, number of this look).  What those at the soft level would
    take is taken from ``held`` until `settle`.  What is foreseen is asked for only if it matters.
    """
    marked, named, _, held, _, holds = guarding
    size, guard, usual, longest, look = level
    submit, _, procs, _, _ = jobs
    count, soft, hard = 0, -1.0, guard[2] * usual
    least, free = min(guard[0] * usual, hard), floor[-1][FREE]
    if held[0] <= 0:
        soft = least = hard
    for j in queue:
        if not np.isnan(start[j]):
            continue
        wait = now - submit[j]
        if wait + longest < least:
            break  # and so do all that came later
        if soft < 0:
            soft = max(guard[0] * usual, guard[1] * foreseen(other, now, size))
            least = min(soft, hard)
        p, fits = procs[j], procs[j] <= free
        at = int(p) % len(holds)
        if not fits and (holds[at, LOOK] != look or holds[at, OF] != p):
            holds[at, LOOK], holds[at, OF] = look, p
            holds[at, HOLD] = max(time_free(p, floor, procs)[0] - now, 0.0)
        hold = 0.0 if fits else holds[at, HOLD]
        known = fits or hold > 0
        if wait + hold >= hard and (known or wait >= hard):
            marked[j] = HARD
        elif wait + hold >= soft and known and held[0] > 0:
            marked[j] = SOFT
            held[0] -= p
            least = hard if held[0] <= 0 else least
        if marked[j]:
            named[count] = j
            count += 1
    return count


@lent
def settle(count: int, start: Array, procs: Array, guarding: Guarding) -> None:
    """Give back what marked jobs that did not start would have taken; note what others took."""
    marked, named, promoted, held, _, _ = guarding
    for j in named[:count]:
        if np.isnan(start[j]):
            held[0] += procs[j] if marked[j] == SOFT else 0.0
        else:
            promoted[j] = procs[j] if marked[j] == SOFT else 0.0
            held[marked[j]] += 1
        marked[j] = 0
