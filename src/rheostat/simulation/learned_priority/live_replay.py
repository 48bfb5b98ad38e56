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

from rheostat.simulation.engine.request_lines import request_lines
from rheostat.simulation.engine.running_jobs import END, begin, listed
from rheostat.simulation.engine.sorted_blocks import FROM, ITEM, TO, block_at, blocks, insert, used
from rheostat.simulation.learned_priority.compiled import native
from rheostat.simulation.learned_priority.machine_state import FREE, LEAST, Floor, Jobs, floor_of
from rheostat.simulation.learned_priority.queue_features import F
from rheostat.simulation.learned_priority.reference_schedule import ReferenceSchedule
from rheostat.simulation.learned_priority.rescoring_engine import CAME, WAITING, Live

Array = np.ndarray


@native
def branch(live: Live, table: Array, jobs: Jobs, now: float) -> Live:
    """A copy of ``live`` as of ``now``, in which only ``jobs`` come, and run as long as they say.

    A job that runs and should have ended by then ends at once.
    """
    (_, memory), whole, started, floor, other, line, guarding, at = live
    submit, run, procs, _, asked = jobs
    n, came = len(submit), at[CAME]
    start, booked = np.full(n, np.nan), asked.copy()
    start[:came], booked[:came] = started[:came], whole[4][:came]
    queue, x, _, _, mine, _, share = line
    waiting = np.empty(n, np.int64)
    waiting[: at[WAITING]] = queue[: at[WAITING]]
    features = np.empty((n, F))
    features[: at[WAITING]] = x[: at[WAITING]]
    promoted = np.zeros(n)
    promoted[:came] = guarding[2][:came]
    new_line = (waiting, features, np.empty(n), np.empty(n, np.int64), mine.copy(),
                request_lines(n, False), share)  # fmt: skip
    new_guarding = (np.zeros(n, np.int64), np.empty(n, np.int64), promoted, guarding[3].copy(),
                    guarding[4].copy(), np.zeros_like(guarding[5]))  # fmt: skip
    own = (submit, run, procs, asked.copy(), booked)
    running = _running(floor, own, start, now)
    beside = _beside(other, own, asked, start, came)
    return (table, memory.copy()), own, start, running, beside, new_line, new_guarding, at.copy()


@native
def _beside(
    other: ReferenceSchedule, jobs: Jobs, asked: Array, start: Array, came: int
) -> ReferenceSchedule:
    """The reference schedule beside a copy."""
    there, (_, ends_s), met, (few, ends, running, (profile, who), state), waiting, numbers = other
    clock, count, ended, _ = numbers
    n = len(start)
    guessed, booked, until = asked.copy(), asked.copy(), np.full(n, np.nan)
    began, over = np.full(n, np.nan), np.zeros(n, np.bool_)
    guessed[:came], booked[:came] = there[1][:came], there[4][:came]
    began[:came], over[:came], until[:came] = met[:came], ended[:came], ends_s[:came]
    queue = blocks(n)
    for place in range(used(waiting)):
        block = block_at(waiting, place)
        for k in range(int(waiting[block, FROM]), int(waiting[block, TO])):
            j = int(waiting[block, ITEM + k])
            insert(queue, j, j, jobs[2][j], asked[j])
    room = (np.empty_like(profile), np.empty_like(who))
    floor = (few.copy(), ends.copy(), running.copy(), room, state.copy())
    return (
        (jobs[0], guessed, jobs[2], asked, booked), (asked, until), began, floor, queue,
        (clock.copy(), count.copy(), over, start),
    )  # fmt: skip


@native
def _running(floor: Floor, jobs: Jobs, start: Array, now: float) -> Floor:
    """The same machine, with the run times and expected ends of ``jobs``."""
    few, ends, _, (profile, who), state = floor
    _, run, procs, _, booked = jobs
    made: Floor = floor_of(len(profile) - 1, len(profile) - 1)
    made[-1][FREE], made[-1][LEAST] = state[FREE], state[LEAST]
    for k in range(listed(few, ends, END, profile[:, 0], who)):
        j = who[k]
        begin(made[0], made[1], made[2], j, max(start[j] + run[j], now), start[j] + booked[j],
              procs, False)  # fmt: skip
    return made
