"""What an agent sees: numbers from 0 to 1, as many for a machine of 100 processors as of 100,000.

Times are squashed, t / (t + c); requested run times are on a log scale up to 30 days; processors
are shares of the machine.  Requested, never true, run times are used.  With a window of w jobs an
observation has 8 w + 32 numbers, in this order:

    Of each job of the window, first come first (all 0 where there is none)
    0  present   1
    1  size      processors / machine
    2  length    log(1 + request) / log(1 + 30 d)
    3  wait      waited so far, c = 1 h
    4  slowdown  waited so far, c = the request, at least 10 s
    5  fits      are so many processors free now
    6  legal     may it be chosen now (the mask)
    7  reach     first point of the profile of running jobs with room for it, / 16; 1 if none

    Free profile: share of the machine expected free at 16 times
    0            now
    1 to 15      in 1, 2, 4, ... 2^14 minutes, less the promised job from its promised start on

    The rest
    0  backfill  1 while a promise is held, 0 in a selection
    1  free      processors free / machine
    2  waiting   jobs waiting, c = w
    3  beyond    of them behind the window, c = w
    4  area      requested processor-seconds that wait / machine, c = 1 d
    5  oldest    longest wait in the queue, c = 6 h
    6  running   jobs running, c = w
    7  held      1 if a job has a promise; then its
    8            size,
    9            length,
    10           wait, c = 1 h,
    11           time to its promised start, c = 6 h,
    12           processors left over at that time / machine
    13 first     time to the first expected end, c = 1 h
    14 legal     legal choices / w
    15 overdue   processors of jobs past their expected end / machine
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Bools, Floats, Ints, Singles
from rheostat.simulation.engine.env_layout import (
    AREA,
    ASK,
    BACKFILL,
    BOUND_S,
    BUSY,
    DAY_S,
    DONE,
    EXTRA,
    FEATURES,
    FREE,
    HELD,
    HOUR_S,
    INSIDE,
    LAST,
    LOG_ASK,
    NEED,
    NEXT,
    NOW,
    PHASE,
    PLAN,
    POINTS,
    SELECT,
    SIZE,
    SUBMIT,
    UNTIL,
    WAITING,
    Rule,
)
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    KEY,
    PROCS,
    TO,
    TOTAL,
    block_at,
    first_key,
    used,
)

AHEAD_S = np.concatenate([[0.0], 60.0 * 2.0 ** np.arange(POINTS - 1)])


@borrowed(forceinline=True)
def may_start(jobs: Floats, whole: Ints, real: Floats, job: int) -> bool:
    """Does the job fit now, and end by the promised start or leave room for the promised job?"""
    need = jobs[job, NEED]
    # & and |, not ``and`` and ``or``: a branch that cannot be predicted costs more than both sides
    before = (real[NOW] + jobs[job, PLAN] <= real[UNTIL]) | (need <= whole[EXTRA])
    return (need <= whole[FREE]) & before


@borrowed(forceinline=True)
def may_pass(whole: Ints) -> bool:
    """Will anything happen without a choice?  Else waiting would be for ever."""
    return whole[BUSY] > 0 or whole[NEXT] < whole[LAST]


@borrowed(forceinline=True)
def _profile(running: Floats, free: float, now: float, room: Floats) -> float:
    """Processors expected free at each point, from running jobs alone; those overdue now."""
    k, overdue = 1, 0.0
    room[0] = free
    for place in range(used(running)):
        block = block_at(running, place)
        first, end = int(running[block, FROM]), int(running[block, TO])
        last = running[block, KEY + end - 1] - now
        if k == POINTS or (last <= AHEAD_S[k] and last > 0 and running[block, KEY + first] > now):
            free += running[block, TOTAL]
            continue
        for m in range(first, end):
            away = running[block, KEY + m] - now
            while k < POINTS and away > AHEAD_S[k]:
                room[k] = free
                k += 1
            free += running[block, PROCS + m]
            if away <= 0:
                overdue += running[block, PROCS + m]
    room[k:] = free
    return overdue


@borrowed(forceinline=True)
def _reach(room: Floats, need: float) -> float:
    """First point of a profile that only rises with ``need`` processors, as a share."""
    low, high = 0, POINTS
    while low < high:
        middle = (low + high) >> 1
        if room[middle] < need:
            low = middle + 1
        else:
            high = middle
    return low / POINTS


@borrowed(forceinline=True)
def _squash(t: float, c: float) -> float:
    return t / (t + c) if t > 0 else 0.0


@compiled
def write_view(
    jobs: Floats,
    whole: Ints,
    real: Floats,
    window: Ints,
    running: Floats,
    view: Singles,
    mask: Bools,
    rule: Rule,
) -> None:
    """Write one observation and its mask of legal actions in place."""
    size, w, now = rule[0], len(window), real[NOW]
    selects, backfills = whole[PHASE] == SELECT, whole[PHASE] == BACKFILL
    room = np.empty(POINTS)
    overdue = _profile(running, float(whole[FREE]), now, room)
    mask[:] = False
    legal = 0
    for k in range(whole[INSIDE]):
        job, f = window[k], FEATURES * k
        wait = now - jobs[job, SUBMIT]
        mask[k] = selects | (backfills & may_start(jobs, whole, real, job))
        legal += mask[k]
        view[f] = 1.0
        view[f + 1] = jobs[job, SIZE]
        view[f + 2] = jobs[job, LOG_ASK]
        view[f + 3] = wait / (wait + HOUR_S)
        view[f + 4] = wait / (wait + max(jobs[job, ASK], BOUND_S))
        view[f + 5] = jobs[job, NEED] <= whole[FREE]
        view[f + 6] = mask[k]
        view[f + 7] = _reach(room, jobs[job, NEED])
    view[FEATURES * whole[INSIDE] : FEATURES * w] = 0.0
    mask[w] = backfills or whole[PHASE] == DONE or (selects and rule[1] and may_pass(whole))
    _rest(jobs, whole, real, window, view[FEATURES * w + POINTS :])
    rest = view[FEATURES * w + POINTS :]
    rest[13] = _squash(first_key(running) - now, HOUR_S) if whole[BUSY] else 0.0
    rest[14] = legal / w
    rest[15] = overdue / size
    held = whole[HELD]
    for k in range(POINTS):
        promised = held >= 0 and k > 0 and real[UNTIL] - now <= AHEAD_S[k]
        view[FEATURES * w + k] = (room[k] - (jobs[held, NEED] if promised else 0.0)) / size
    rest[1] = whole[FREE] / size
    rest[4] = _squash(real[AREA] / size, DAY_S)
    rest[12] = whole[EXTRA] / size if held >= 0 else 0.0


@borrowed(forceinline=True)
def _rest(jobs: Floats, whole: Ints, real: Floats, window: Ints, rest: Singles) -> None:
    """The numbers of the rest that need no machine size."""
    held, w, now = whole[HELD], len(window), real[NOW]
    oldest = held
    if whole[INSIDE] and (held < 0 or window[0] < held):
        oldest = window[0]
    rest[0] = whole[PHASE] == BACKFILL
    rest[2] = _squash(whole[WAITING], w)
    rest[3] = _squash(whole[WAITING] - whole[INSIDE] - (held >= 0), w)
    rest[5] = _squash(now - jobs[oldest, SUBMIT], 6 * HOUR_S) if oldest >= 0 else 0.0
    rest[6] = _squash(whole[BUSY], w)
    rest[7] = held >= 0
    rest[8] = jobs[held, SIZE] if held >= 0 else 0.0
    rest[9] = jobs[held, LOG_ASK] if held >= 0 else 0.0
    rest[10] = _squash(now - jobs[held, SUBMIT], HOUR_S) if held >= 0 else 0.0
    rest[11] = _squash(real[UNTIL] - now, 6 * HOUR_S) if held >= 0 else 0.0
