"""A schedule that goes on is copied, and the copy is played to its end: what would have come of it?

Only what is known may be played: jobs that have not ended run there for as long as is guessed, and
no job comes that is not there yet.

    Symbol   Shape   Meaning
    live             a schedule that goes on, `rescoring_engine.fresh`; not written
    table    (m, 6)  of `queue_features`, of the jobs of the copy, run times as in ``jobs``
    jobs     5 x (m,)  submission s, run time s, processors, planned with s, booked for s; the jobs
                     of ``live`` that have come are the first of them
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.learned_priority.compiled import native
from rheostat.simulation.learned_priority.machine_state import BUSY, Floor, Jobs, put
from rheostat.simulation.learned_priority.queue_features import F
from rheostat.simulation.learned_priority.rescoring_engine import CAME, WAITING, Live

Array = np.ndarray


@native
def branch(live: Live, table: Array, jobs: Jobs, now: float) -> Live:
    """A copy of ``live`` as of ``now``, in which only ``jobs`` come, and run as long as they say.

    A job that runs and should have ended by then ends at once.
    """
    (_, memory), _, started, floor, other, line, guarding, at = live
    submit, run, procs, _, booked = jobs
    n, came = len(submit), at[CAME]
    start = np.full(n, np.nan)
    start[:came] = started[:came]
    queue, x, _, _, mine = line
    waiting = np.empty(n, np.int64)
    waiting[: at[WAITING]] = queue[: at[WAITING]]
    features = np.empty((n, F))
    features[: at[WAITING]] = x[: at[WAITING]]
    promoted = np.zeros(n)
    promoted[:came] = guarding[1][:came]
    new_line = (waiting, features, np.empty(n), np.empty(n, np.int64), mine.copy())
    new_guarding = (np.zeros(n, np.int64), promoted, guarding[2].copy(), guarding[3].copy())
    there, there_start, there_floor, (there_queue, _, _, none, calm), (clock, count, ended, _) = (
        other
    )
    guessed, met, over = booked.copy(), np.full(n, np.nan), np.zeros(n, np.bool_)
    guessed[:came], met[:came], over[:came] = there[1][:came], there_start[:came], ended[:came]
    there_waiting = np.empty(n, np.int64)
    there_waiting[:came] = there_queue[:came]
    new_other = (
        (submit, guessed, procs, booked, booked), met, _copied(there_floor),
        (there_waiting, np.empty(n), np.empty(n, np.int64), none, calm),
        (clock.copy(), count.copy(), over, start),
    )  # fmt: skip
    running = _copied(floor)
    ends, _, _, state = running
    for k in range(state[BUSY]):
        j = int(floor[0][k, 1])
        put(ends, k, max(start[j] + run[j], now), j, procs[j])
    own = (submit, run, procs, booked.copy(), booked)
    return (table, memory.copy()), own, start, running, new_other, new_line, new_guarding, at.copy()


@native
def _copied(floor: Floor) -> Floor:
    """The same machine; rows that are not in use are not copied."""
    ends, expected, profile, state = floor
    used = state[BUSY]
    new = np.empty_like(ends), np.empty_like(expected), np.empty_like(profile), state.copy()
    new[0][:used], new[1][:used] = ends[:used], expected[:used]
    return new
