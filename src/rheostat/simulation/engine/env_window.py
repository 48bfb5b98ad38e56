"""The window of jobs that an agent may choose from, and what starting one changes.

The symbols are those of `env_layout`.
"""

from __future__ import annotations

from rheostat.simulation.engine.array_types import Floats, Ints
from rheostat.simulation.engine.env_layout import (
    AREA,
    ASK,
    BOUND_S,
    BUSY,
    FIRST,
    FREE,
    HELD,
    INSIDE,
    INVERSE,
    LONGEST,
    NEED,
    NEXT,
    NOW,
    PAST,
    RUN,
    SINCE,
    SLOWDOWNS,
    STARTED,
    SUBMIT,
    TAIL,
    URGENCY,
    WAITING,
    WAITS,
)
from rheostat.simulation.engine.jit import borrowed
from rheostat.simulation.engine.sorted_blocks import insert


@borrowed(forceinline=True)
def behind_waits(jobs: Floats, whole: Ints, real: Floats, starts: Floats, job: int) -> bool:
    """Does a job behind the window wait?  Not if a warm start or a backfill has started it."""
    begun = len(starts) > 0 and starts[job] == starts[job]  # NaN: not yet
    return (job >= whole[FIRST] or jobs[job, PAST] > real[SINCE]) and not begun


@borrowed(forceinline=True)
def fill_window(jobs: Floats, whole: Ints, real: Floats, window: Ints, starts: Floats) -> None:
    """Let waiting jobs behind the window move up."""
    tail = whole[TAIL]
    while tail < whole[NEXT] and whole[INSIDE] < len(window):
        if behind_waits(jobs, whole, real, starts, tail):
            window[whole[INSIDE]] = tail
            whole[INSIDE] += 1
        tail += 1
    whole[TAIL] = tail


@borrowed(forceinline=True)
def let_go(whole: Ints, window: Ints) -> None:
    """Take the promise from the first job: it leads the window again."""
    if whole[INSIDE] == len(window):
        whole[INSIDE] -= 1
        whole[TAIL] = window[whole[INSIDE]]
    for k in range(whole[INSIDE], 0, -1):
        window[k] = window[k - 1]
    window[0] = whole[HELD]
    whole[INSIDE] += 1
    whole[HELD] = -1


@borrowed(forceinline=True)
def leave(
    jobs: Floats, whole: Ints, real: Floats, window: Ints, starts: Floats, place: int
) -> None:
    """A job leaves the window, and those behind it move up."""
    for k in range(place, whole[INSIDE] - 1):
        window[k] = window[k + 1]
    whole[INSIDE] -= 1
    fill_window(jobs, whole, real, window, starts)


@borrowed(forceinline=True)
def wait(jobs: Floats, whole: Ints, real: Floats, job: int) -> None:
    """Count a job among those that wait."""
    whole[WAITING] += 1
    real[AREA] += jobs[job, NEED] * jobs[job, ASK]
    real[URGENCY] += jobs[job, INVERSE]


@borrowed
def book(jobs: Floats, at: float, job: int, ends: Floats, running: Floats) -> None:
    """Put a job that started at ``at`` into both lists of running jobs."""
    expected, need = at + jobs[job, ASK], jobs[job, NEED]
    insert(ends, at + jobs[job, RUN], job, need, expected)
    insert(running, expected, job, need, 0.0)


@borrowed(forceinline=True)
def begin(
    jobs: Floats, whole: Ints, real: Floats, ends: Floats, running: Floats, starts: Floats, job: int
) -> None:
    """Start a job that waits."""
    now, wait = real[NOW], real[NOW] - jobs[job, SUBMIT]
    book(jobs, now, job, ends, running)
    whole[FREE] -= int(jobs[job, NEED])
    whole[BUSY] += 1
    whole[WAITING] -= 1
    real[AREA] -= jobs[job, NEED] * jobs[job, ASK]
    real[URGENCY] -= jobs[job, INVERSE]
    if whole[WAITING] == 0:  # sums of what is gone: no rounding error may stay
        real[AREA] = real[URGENCY] = 0.0
    real[STARTED] += 1
    real[WAITS] += wait
    real[SLOWDOWNS] += max(1.0, (wait + jobs[job, RUN]) / max(jobs[job, RUN], BOUND_S))
    real[LONGEST] = max(real[LONGEST], wait)
    if len(starts):
        starts[job] = now
