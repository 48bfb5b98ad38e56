"""Waiting jobs that ask for the same stand in a line, of which only the first can be the next.

Where scores depend on a job's request and on how long it has waited, and never rise, whoever came
first of equal jobs goes first, and none behind can pass where the first cannot.  So the engines
look at the first of each line: of 10,000 waiting jobs of a real log that is about a hundred.

    Symbol   Shape  Meaning
    last     (t,)   last job of the line in this place of a hash table; `NEVER` or `NONE_NOW`
    place    (n,)   where in ``last`` the line of a job is
    behind   (n,)   the next job of the line; -1 where there is none
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Ints, WaitingJobs
from rheostat.simulation.engine.jit import borrowed, compiled

RequestLines = tuple[Ints, Ints, Ints]

NEVER, NONE_NOW = -1, -2
"""Of a place: no line was ever here; none is now."""


@compiled
def request_lines(n: int, joined: bool) -> RequestLines:
    """(last, place, behind) before the first of ``n`` jobs; not ``joined``: each a line alone."""
    size = 2
    while joined and size < 2 * n:
        size *= 2
    return np.full(size if joined else 0, NEVER), np.empty(n, np.int64), np.full(n, -1)


@borrowed
def join(j: int, lines: RequestLines, job: WaitingJobs) -> bool:
    """Job ``j`` waits from now on; is it the first of its line?"""
    last, place, behind = lines
    _, _, procs, planned, booked = job
    if len(last) == 0:
        return True
    mask, spot = len(last) - 1, -1
    k = (int(min(1e15, 7918.0 * booked[j] + planned[j])) * 31 + procs[j]) & mask
    while last[k] != NEVER:
        i = last[k]
        if i == NONE_NOW:
            spot = k if spot < 0 else spot
        elif planned[i] == planned[j] and booked[i] == booked[j] and procs[i] == procs[j]:
            last[k], place[j], behind[i] = j, k, j
            return False
        k = (k + 1) & mask
    spot = k if spot < 0 else spot
    last[spot], place[j] = j, spot
    return True


@borrowed(forceinline=True)
def step_up(j: int, lines: RequestLines) -> int:
    """The job that is first of the line when ``j``, which was, leaves it; -1 if none is."""
    last, place, behind = lines
    if behind[j] < 0 and len(last):
        last[place[j]] = NONE_NOW
    return int(behind[j])
