"""A guard against starvation: waiting jobs go first before their wait becomes unusual.

A learned order lowers the mean wait and may forget single jobs.  What wait is usual?  The guard
plays first come, first served with EASY beside the real schedule, on the same jobs.  Usual is
``limit`` times the longest wait there so far, or that in prospect for those who wait there now; and
`PAST` of the longest so far always is.  A job whose wait so far, and the time until it could start,
come to more is *due*.
Due jobs go before all others, oldest first: under EASY the first of them that does not fit is
promised its start.  Others may pass it as they pass any head, and from ``late`` times the usual
wait on only if they end, as requested, before its start.

A user may flood the machine with jobs that become due together.  While those of a user that started
as due hold ``part`` of the machine, no more of that user's do.  Nor does a job that waits for
overdue jobs alone, whose end nobody knows, where these are not given more time.

How near the longest wait stays to that of first come, first served is measured, not proven.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.learned_priority.compiled import lent
from rheostat.simulation.learned_priority.queue_features import FITS, HOLD, PROCS, USER
from rheostat.simulation.learned_priority.reference_schedule import (
    ReferenceSchedule,
    beside,
    foreseen,
)

Array = np.ndarray
PAST = 0.9  # of the longest wait so far is usual, however low the limit
PART, LATE = 0.12, 0.9  # of the machine for one user's due jobs; of the usual wait
FORESEEN = 0.8  # of the wait in prospect counts: what is predicted may be too long


@lent
def usual(other: ReferenceSchedule, now: float, size: int, limit: float) -> float:
    """A wait that surprises nobody, s."""
    past = beside(other, now)
    wait_s: float = max(limit * max(past, FORESEEN * foreseen(other, now, size)), PAST * past)
    return wait_s


@lent
def due(
    queue: Array,
    x: Array,
    now: float,
    submit: Array,
    longest: float,
    users: tuple[Array, Array],
    marked: Array,
) -> int:
    """Flag the jobs that would wait ``longest`` s; place of the oldest of them, -1 without any.

    ``users`` is (table, processors that due jobs of each user may still take), which marked jobs
    are taken from until `settle`.
    """
    table, room = users
    first = -1
    for k in range(len(queue)):
        hold = np.expm1(x[k, HOLD]) * 60.0
        user = int(table[queue[k], USER])
        known = x[k, FITS] > 0 or x[k, HOLD] > 0
        marked[k] = now - submit[queue[k]] + hold >= longest and known and room[user] > 0
        if marked[k]:
            room[user] -= table[queue[k], PROCS]
            first = k if first < 0 else first
    return first


@lent
def settle(
    queue: Array, start: Array, users: tuple[Array, Array], marked: Array, promoted: Array
) -> None:
    """Give back what marked jobs that did not start would have taken; note what others took."""
    table, room = users
    for k in range(len(queue)):
        if marked[k]:
            procs = table[queue[k], PROCS]
            if np.isnan(start[queue[k]]):
                room[int(table[queue[k], USER])] += procs
            else:
                promoted[queue[k]] = procs
