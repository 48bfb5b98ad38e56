"""Stepping many scheduling episodes in one compiled call: act, let time pass, stop at a decision.

At each event (a job ends, a job arrives; ends first) the queue is looked at.  Without a reservation
the next decision is which job of the window comes next: it starts if it fits, else it is promised
the earliest time at which enough processors are expected free (*select*).  While that promise is
held, jobs that delay it in no way may start in between (*backfill*).  The promised job starts as
soon as it fits.  Planning knows requested run times; true ones only move the clock.

The symbols are those of `env_layout`; ``rule`` is (processors of the machine, may a selection wait,
decisions until an episode is cut or 0, warm start, jobs per episode or 0, may any job that waits be
backfilled or those of the window alone, is the promise the first job's or the chosen one's, is it
asked for anew at each event or held until the job starts), ``bill`` that of `env_bill`.

References
----------
Fan, Lan, Childers, Rich, Allcock, Papka, "Deep reinforcement agent for scheduling in HPC",
IPDPS 2021 (two levels, window, rewards).  Mu'alem, Feitelson, IEEE TPDS 2001 (EASY).
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Bools, Floats, Ints, Singles
from rheostat.simulation.engine.env_bill import Bill, charge
from rheostat.simulation.engine.env_layout import (
    BACKFILL,
    BUSY,
    CAPABILITY,
    CAPACITY,
    DECISIONS,
    DONE,
    ENERGY,
    EXTRA,
    FIRST,
    FREE,
    GAINS,
    HELD,
    HORIZON,
    HOUR_S,
    IDLE,
    INSIDE,
    KNOWN,
    LAST,
    LOOK,
    NEED,
    NEXT,
    NOW,
    PASS,
    PAST,
    PHASE,
    PLAN,
    RUN,
    SELECT,
    SINCE,
    SIZE,
    SLOWDOWN,
    SUBMIT,
    TAIL,
    UNTIL,
    URGENCY,
    WAIT,
    WAITING,
    Rule,
)
from rheostat.simulation.engine.env_view import may_pass, may_start, write_view
from rheostat.simulation.engine.env_window import (
    begin,
    behind_waits,
    book,
    fill_window,
    leave,
    let_go,
    wait,
)
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.sorted_blocks import (
    BACK,
    FRESH,
    FROM,
    LENGTH,
    USED,
    block_at,
    discard,
    first_key,
    pop,
    shadow,
)

FLOOR_S = 6 * HOUR_S  # the capability reward counts waits in units of at least this


@borrowed(forceinline=True)
def _pass_time(
    jobs: Floats,
    whole: Ints,
    real: Floats,
    window: Ints,
    ends: Floats,
    running: Floats,
    starts: Floats,
    gain: Floats,
    rule: Rule,
) -> None:
    """Go to the next event: a job ends or, if none ends by then, a job arrives."""
    job, now = whole[NEXT], first_key(ends)
    arrives = job < whole[LAST] and jobs[job, SUBMIT] < now
    if arrives:
        now = jobs[job, SUBMIT]
    if whole[WAITING]:
        hours = (now - real[NOW]) / HOUR_S
        gain[WAIT] -= whole[WAITING] * hours
        gain[SLOWDOWN] -= real[URGENCY] * (now - real[NOW])
        gain[IDLE] -= whole[FREE] / rule[0] * hours
    real[NOW] = now
    if rule[7] and whole[HELD] >= 0:
        let_go(whole, window)
    if arrives:
        whole[NEXT] += 1
        wait(jobs, whole, real, job)
        fill_window(jobs, whole, real, window, starts)
        return
    block = block_at(ends, 0)
    expected = ends[block, LENGTH + int(ends[block, FROM])]
    job = pop(ends, False)
    discard(running, expected, job)
    whole[FREE] += int(jobs[job, NEED])
    whole[BUSY] -= 1
    whole[KNOWN] = 0


@borrowed(forceinline=True)
def _praise(
    jobs: Floats, whole: Ints, real: Floats, window: Ints, gain: Floats, job: int, size: int
) -> None:
    """The capability reward of choosing ``job``: large, waited long, the machine is full."""
    need, free = jobs[job, NEED], whole[FREE]
    oldest = min(job, whole[HELD] if whole[HELD] >= 0 else job)
    if whole[INSIDE]:
        oldest = min(oldest, window[0])
    busy = size - free + (need if need <= free else 0.0)
    share = (real[NOW] - jobs[job, SUBMIT]) / max(FLOOR_S, real[NOW] - jobs[oldest, SUBMIT])
    gain[CAPABILITY] += (busy / size + share + jobs[job, SIZE]) / 3


@borrowed(forceinline=True)
def _place(whole: Ints, window: Ints, job: int) -> int:
    """Where in the window a job waits; -1: behind it."""
    for k in range(whole[INSIDE]):
        if window[k] == job:
            return k
    return -1


@borrowed(forceinline=True)
def _act(
    jobs: Floats,
    whole: Ints,
    real: Floats,
    window: Ints,
    starts: Floats,
    gain: Floats,
    action: int,
    rule: Rule,
) -> int:
    """Carry out an action as far as it does not start a job; the job to start, or -1.

    An action is a place in the window or, below -1, a job: -2 less its number.
    """
    backfill = whole[PHASE] == BACKFILL
    whole[PHASE] = PASS
    named = action < -1
    place = _place(whole, window, -2 - action) if named else action
    if backfill:
        if not named and not 0 <= place < whole[INSIDE]:
            return -1
        job = -2 - action if named else window[place]
        if not may_start(jobs, whole, real, job):
            return -1
    else:
        if place == len(window) and rule[1] and may_pass(whole):
            return -1
        if not 0 <= place < whole[INSIDE]:
            place = 0
        job = window[place]
    _praise(jobs, whole, real, window, gain, job, rule[0])
    whole[PHASE] = LOOK
    if backfill:
        if place >= 0:
            leave(jobs, whole, real, window, starts, place)
        if real[NOW] + jobs[job, PLAN] > real[UNTIL]:
            whole[EXTRA] -= int(jobs[job, NEED])
        return job
    fits = jobs[job, NEED] <= whole[FREE]
    if rule[6] and not fits:  # the choice is dropped, and the promise is the first job's
        place, job = 0, window[0]
    leave(jobs, whole, real, window, starts, place)
    if fits:
        return job
    whole[HELD], whole[KNOWN] = job, 0
    return -1


@borrowed(forceinline=True)
def _any_backfill(
    jobs: Floats, whole: Ints, real: Floats, window: Ints, starts: Floats, anywhere: bool
) -> bool:
    """Could any job of the window, or any that waits, start now without delaying the promise?"""
    if whole[FREE] > 0:
        for k in range(whole[INSIDE]):
            if may_start(jobs, whole, real, window[k]):
                return True
        if anywhere:
            for job in range(whole[TAIL], whole[NEXT]):
                if behind_waits(jobs, whole, real, starts, job) and may_start(
                    jobs, whole, real, job
                ):
                    return True
    return False


@borrowed(forceinline=True)
def _promise(whole: Ints, real: Floats, running: Floats, need: int) -> None:
    """The earliest start expected of the promised job, and what is left over then."""
    if need <= whole[FREE]:
        real[UNTIL], whole[EXTRA] = real[NOW], whole[FREE] - need
    else:
        real[UNTIL], whole[EXTRA] = shadow(running, whole[FREE], need, -np.inf)
    whole[KNOWN] = 1


@borrowed(forceinline=True)
def _look(
    jobs: Floats,
    whole: Ints,
    real: Floats,
    window: Ints,
    running: Floats,
    starts: Floats,
    passed: bool,
    rule: Rule,
) -> int:
    """What is to be decided now; the promised job if it starts, or -1.

    A job that fits may be promised a start, if another was chosen: it starts once time has passed.
    """
    held = whole[HELD]
    if held < 0:
        whole[PHASE] = SELECT if whole[INSIDE] else PASS
        return -1
    if jobs[held, NEED] <= whole[FREE] and passed:
        whole[HELD] = -1
        return held
    if not whole[KNOWN]:
        _promise(whole, real, running, int(jobs[held, NEED]))
    more = _any_backfill(jobs, whole, real, window, starts, rule[5])
    whole[PHASE] = BACKFILL if more else PASS
    return -1


@compiled
def _restart(
    jobs: Floats,
    low: Ints,
    whole: Ints,
    real: Floats,
    window: Ints,
    ends: Floats,
    running: Floats,
    starts: Floats,
    first: int,
    rule: Rule,
) -> None:
    """Put an episode at the arrival of job ``first``: on an empty machine, or as EASY left it.

    Warm, the jobs before are where first come, first served with EASY has them at that moment:
    running, waiting or gone.  No reservation is held.
    """
    size, warm, count = rule[0], rule[3], rule[4]
    starts[:] = np.nan
    whole[:], real[:] = 0, 0.0
    ends[0, USED], ends[0, BACK], ends[0, FRESH] = 0, 0, 0
    running[0, USED], running[0, BACK], running[0, FRESH] = 0, 0, 0
    whole[FREE], whole[HELD], whole[PHASE] = size, -1, PASS
    whole[FIRST], whole[NEXT], whole[TAIL] = first, first, low[first] if warm else first
    whole[LAST] = min(len(jobs), first + count) if count else len(jobs)
    real[NOW] = real[SINCE] = real[HORIZON] = jobs[first, SUBMIT]
    held = np.empty(size, np.int64)
    for job in range(whole[TAIL], first):
        if jobs[job, PAST] > real[NOW]:
            wait(jobs, whole, real, job)
        elif jobs[job, PAST] + jobs[job, RUN] > real[NOW]:
            held[whole[BUSY]] = job
            whole[BUSY] += 1
            whole[FREE] -= int(jobs[job, NEED])
            real[HORIZON] = max(real[HORIZON], jobs[job, PAST] + jobs[job, RUN])
    held = held[: whole[BUSY]]
    # of jobs that end together the engines let go first the one that started first
    for k in np.argsort(jobs[held, PAST], kind="mergesort"):
        book(jobs, jobs[held[k], PAST], held[k], ends, running)
    fill_window(jobs, whole, real, window, starts)


@compiled
def step_all(
    jobs: Floats,
    low: Ints,
    rule: Rule,
    weights: Floats,
    bill: Bill,
    states: tuple[Ints, Floats, Ints, Floats, Floats, Floats],
    actions: Ints,
    first: Ints,
    outs: tuple[Singles, Bools, Floats, Bools],
) -> None:
    """Step every episode to its next decision; where ``first`` is not -1 begin at that job instead.

    Writes ``outs``: observation (e, d), mask (e, w + 1), reward (e,), ended (e, 2).
    """
    wholes, reals, windows, all_ends, all_running, all_starts = states
    views, masks, rewards, ended = outs
    gain = np.empty(GAINS)
    billed = np.any(weights[ENERGY:] != 0.0)
    for e in range(len(wholes)):
        whole, real, window = wholes[e], reals[e], windows[e]
        ends, running, starts = all_ends[e], all_running[e], all_starts[e]
        gain[:] = 0.0
        job, passed = -1, False
        if first[e] >= 0:
            _restart(jobs, low, whole, real, window, ends, running, starts, first[e], rule)
        elif whole[PHASE] != DONE:
            whole[DECISIONS] += 1
            job = _act(jobs, whole, real, window, starts, gain, actions[e], rule)
        while whole[PHASE] >= LOOK:
            if job >= 0:
                begin(jobs, whole, real, ends, running, starts, job)
                if billed:
                    charge(jobs, real, gain, job, rule[0], bill)
            elif whole[PHASE] == PASS:
                if whole[WAITING] == 0 and whole[NEXT] == whole[LAST]:
                    whole[PHASE] = DONE
                    break
                _pass_time(jobs, whole, real, window, ends, running, starts, gain, rule)
                whole[PHASE], passed = LOOK, True
            job = _look(jobs, whole, real, window, running, starts, passed, rule)
        gain[CAPACITY] = -real[URGENCY]
        reward = 0.0
        for k in range(GAINS):
            reward += weights[k] * gain[k]
        rewards[e] = 0.0 if first[e] >= 0 else reward
        ended[e, 0] = whole[PHASE] == DONE
        ended[e, 1] = not ended[e, 0] and 0 < rule[2] <= whole[DECISIONS]
        write_view(jobs, whole, real, window, running, views[e], masks[e], rule)
