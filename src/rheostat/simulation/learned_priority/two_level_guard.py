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
    marked   (m,)    `SOFT`, `HARD` or 0 of each waiting job
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.learned_priority.compiled import lent
from rheostat.simulation.learned_priority.machine_state import (
    BUSY,
    FREE,
    SPARE,
    UNTIL,
    WHO,
    Floor,
    Jobs,
    shadow_time,
)
from rheostat.simulation.learned_priority.reference_schedule import (
    ReferenceSchedule,
    beside,
    foreseen,
)

Array = np.ndarray
SOFT, HARD = 1, 2
FIRST = -1e300  # before every score; a step of `STEP` of it from one job to the next
STEP = 1e-9
SOFT_PART, FORESEEN_PART, HARD_PART, SHARE = 0.4, 0.2, 0.5, 0.5
HARD_LEVEL, AGEING = 2, 4
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
def levels(other: ReferenceSchedule, now: float, size: int, guard: Array) -> tuple[float, float]:
    """(wait from which a job is due, from which it is before all), s; infinite ones: no guard."""
    if guard[2] == np.inf:
        return np.inf, np.inf
    past = beside(other, now)
    soft = max(guard[0] * past, guard[1] * foreseen(other, now, size))
    return soft, guard[2] * past


@lent
def due(
    queue: Array,
    now: float,
    jobs: Jobs,
    level: tuple[float, float],
    floor: Floor,
    held: Array,
    marked: Array,
) -> int:
    """Mark the jobs that are due; place of the oldest of them, -1 without any.

    What those at the soft level would take is taken from ``held`` until `settle`.
    """
    submit, _, procs, _, _ = jobs
    _, _, profile, state = floor
    soft, hard = level
    marked[: len(queue)] = 0
    last = profile[state[BUSY] - 1, 0] if state[BUSY] > 0 else now
    first, least = -1, min(soft, hard)
    for k in range(len(queue)):
        j = queue[k]
        wait = now - submit[j]
        if wait + max(last - now, 0.0) < least:
            break  # and so do all that came later
        hold = 0.0
        if procs[j] > state[FREE]:
            hold = max(shadow_time(profile, state[BUSY], procs[j])[0] - now, 0.0)
        known = procs[j] <= state[FREE] or hold > 0
        if wait + hold >= hard and (known or wait >= hard):
            marked[k] = HARD
        elif wait + hold >= soft and known and held[0] > 0:
            marked[k] = SOFT
            held[0] -= procs[j]
        if marked[k] and first < 0:
            first = k
    return first


@lent
def protect(shield: Array, queue: Array, now: float, jobs: Jobs, hard: float, floor: Floor) -> None:
    """Put the widest waiting job under the ``shield``: nobody who came later may make it due.

    Who is over before it could start, or before it is due at the ``hard`` level, does not.
    """
    submit, _, procs, _, _ = jobs
    _, _, profile, state = floor
    widest = queue[0]
    for j in queue:
        widest = j if procs[j] > procs[widest] else widest
    when, spare = now, float(state[FREE] - procs[widest])
    if spare < 0:
        later, left = shadow_time(profile, state[BUSY], procs[widest])
        when, spare = later, float(left)
    shield[WHO], shield[UNTIL], shield[SPARE] = widest, max(when, submit[widest] + hard), spare


@lent
def promote(scores: Array, marked: Array) -> None:
    """Put due jobs before all others, oldest first."""
    for k in range(len(scores)):
        if marked[k] == HARD:
            scores[k] = 2 * FIRST * (1 - k * STEP)
        elif marked[k] == SOFT:
            scores[k] = FIRST * (1 - k * STEP)


@lent
def settle(
    queue: Array, start: Array, procs: Array, held: Array, marked: Array, promoted: Array
) -> None:
    """Give back what marked jobs that did not start would have taken; note what others took."""
    for k in range(len(queue)):
        j = queue[k]
        if np.isnan(start[j]):
            held[0] += procs[j] if marked[k] == SOFT else 0.0
        elif marked[k]:
            promoted[j] = procs[j] if marked[k] == SOFT else 0.0
            held[marked[k]] += 1
