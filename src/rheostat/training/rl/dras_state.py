"""What a DRAS agent sees: each job of the window and each node of the machine, two numbers a row.

The released code gives the network a table.  A waiting job takes two rows: nodes and seconds asked
for; high priority (0 or 1) and seconds waited.  A node takes one: (1, 0) if it is free, else 0 and
the seconds until its job is expected to end.  Jobs come first; slots without a job are zero.

Which job is on which node?  The engine only counts processors, so nodes are numbered here as the
released code does it: a job takes the free nodes of lowest number.  All jobs that end at the very
second of a decision count as ended.

In a backfill only the jobs that may be chosen are shown, moved up to the first slots, as there.
Priority is 1 where the table's column ``priority`` is above 0.  ``scaled`` inputs (not DRAS) are
shares of the machine and log(1 + t) / log(1 + 30 d), which keeps sums of thousands of nodes in
range.

    Symbol   Shape    Meaning
    slots    (w,)     job shown in each slot; -1 where there is none
    seen     (2w, 2)  rows of jobs
    floor    (N, 2)   rows of nodes
    owner    (N,)     job on a node, -1 if free
    begun    (k,)     jobs that started since the last look
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.env_layout import (
    ASK,
    INSIDE,
    NEED,
    NEXT,
    NOW,
    RUN,
    SUBMIT,
    TAIL,
    URGENT,
)
from rheostat.simulation.engine.env_view import may_start
from rheostat.simulation.engine.env_window import behind_waits
from rheostat.simulation.engine.jit import compiled

Array = np.ndarray
MONTH_S = 30 * 86_400.0


@compiled
def _squash(t: float, scaled: bool) -> float:
    """Seconds as they are, or on the log scale; what is overdue is then 0."""
    return np.log1p(max(t, 0.0)) / np.log1p(MONTH_S) if scaled else t


@compiled
def list_jobs(
    jobs: Array,
    whole: Array,
    real: Array,
    window: Array,
    starts: Array,
    mask: Array,
    anywhere: bool,
    slots: Array,
) -> int:
    """Write ``slots``: the jobs that may be chosen, first come first.  How many there are.

    ``anywhere``: is this a backfill that may take jobs from behind the window?
    """
    slots[:] = -1
    count = 0
    for k in range(whole[INSIDE]):
        if mask[k]:
            slots[count] = window[k]
            count += 1
    if anywhere:
        for job in range(whole[TAIL], whole[NEXT]):
            if count == len(slots):
                break
            if behind_waits(jobs, whole, real, starts, job) and may_start(jobs, whole, real, job):
                slots[count] = job
                count += 1
    return count


@compiled
def encode_jobs(
    jobs: Array, real: Array, slots: Array, how: tuple[int, bool, bool], seen: Array
) -> None:
    """Write ``seen``.  ``how`` is (size of the machine, scaled, priorities)."""
    size, scaled, urgent = how
    seen[:] = 0.0
    for count, job in enumerate(slots):
        if job < 0:
            break
        seen[2 * count, 0] = jobs[job, NEED] / size if scaled else jobs[job, NEED]
        seen[2 * count, 1] = _squash(jobs[job, ASK], scaled)
        seen[2 * count + 1, 0] = jobs[job, URGENT] if urgent else 0.0
        seen[2 * count + 1, 1] = _squash(real[NOW] - jobs[job, SUBMIT], scaled)


@compiled
def settle(jobs: Array, starts: Array, owner: Array, begun: Array, now: float) -> None:
    """Give nodes to the jobs ``begun``, in order of their starts, and free those of ended jobs."""
    for job in begun:
        _vacate(jobs, starts, owner, starts[job])
        node, left = 0, int(jobs[job, NEED])
        while left > 0:
            if owner[node] < 0:
                owner[node] = job
                left -= 1
            node += 1
    _vacate(jobs, starts, owner, now)


@compiled(forceinline=True)
def _vacate(jobs: Array, starts: Array, owner: Array, now: float) -> None:
    for node in range(len(owner)):
        job = owner[node]
        if job >= 0 and starts[job] + jobs[job, RUN] <= now:
            owner[node] = -1


@compiled
def encode_nodes(
    jobs: Array, real: Array, starts: Array, owner: Array, scaled: bool, floor: Array
) -> None:
    """Write ``floor``."""
    for node in range(len(owner)):
        job = owner[node]
        floor[node, 0] = job < 0
        left = starts[job] + jobs[job, ASK] - real[NOW] if job >= 0 else 0.0
        floor[node, 1] = _squash(left, scaled)
