"""Walk through a schedule and write down what could be seen whenever somebody had to go first.

Which decisions does a policy meet?  Those of the schedule it makes: the waiting jobs at a moment
are those submitted and not started, whoever decided.  So one walk serves every teacher and every
student, from its starts alone.

A schedule is looked at once per moment, after all that happens in it.  A decision is a moment at
which two jobs wait or more, and at least one of them would fit.

    Symbol  Shape   Meaning
    table   (n, 6)  jobs, and memory (k, 5) of ended ones, as in `queue_features`
    start   (n,)    starts of a schedule, s
    wanted  (k,)    is this decision to be kept?
    when    (2n, 2) of each decision met: time s, waiting jobs
    seen    (r, F)  features of the waiting jobs of the decisions kept, one after another
    job     (r,)    their numbers
    facts   (k, 4)  of each decision kept: time s, processors free, first row, rows
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    KEY,
    TO,
    block_at,
    blocks,
    discard,
    first_key,
    insert,
    pop,
    used,
)
from rheostat.simulation.engine.sorted_blocks import (
    PROCS as TAKEN,
)
from rheostat.simulation.learned_priority.compiled import native
from rheostat.simulation.learned_priority.queue_features import (
    PROCS,
    REQUEST,
    RUN,
    SUBMIT,
    USER,
    F,
    enter,
    look,
    recall,
    remember,
)

Array = np.ndarray
TIME, IDLE, FIRST, ROWS = range(4)


@native
def walk(
    known: tuple[Array, Array],
    start: Array,
    size: int,
    wanted: Array,
    when: Array,
    outs: tuple[Array, Array, Array],
) -> int:
    """Decisions met; all are written to ``when``, those ``wanted`` to ``outs``.

    ``known`` is (table, memory), ``outs`` (seen, job, facts) with room for what is wanted.
    """
    table, memory = known
    seen, job, facts = outs
    n = len(table)
    procs = table[:, PROCS].astype(np.int64)
    running, ends = blocks(min(n, size)), blocks(min(n, size))
    queue, x = np.empty(n, np.int64), np.zeros((n, F))
    profile = np.empty((min(n, size) + 1, 2))
    mine = np.zeros(int(table[:, USER].max()) + 1)
    waiting, free, i, met, kept, rows = 0, size, 0, 0, 0, 0
    while i < n or first_key(ends) < np.inf:
        now = min(first_key(ends), table[i, SUBMIT] if i < n else np.inf)
        while first_key(ends) == now:
            j = pop(ends, False)
            free += procs[j]
            discard(running, start[j] + table[j, REQUEST], j)
            remember(memory, table[j])
        while i < n and table[i, SUBMIT] == now:
            queue[waiting] = i
            enter(x[waiting], memory, table[i], size)
            mine[int(table[i, USER])] += 1
            waiting += 1
            i += 1
        decides = waiting > 1 and procs[queue[:waiting]].min() <= free
        if decides:
            when[met, 0], when[met, 1] = now, waiting
            met += 1
        if decides and met <= len(wanted) and wanted[met - 1]:
            for k in range(waiting):
                recall(x[k], memory, table[queue[k]])
            ahead = _profile(running, free, profile)
            look(x[:waiting], queue[:waiting], table, mine, now, (free, size, profile, ahead))
            facts[kept, TIME], facts[kept, IDLE] = now, free
            facts[kept, FIRST], facts[kept, ROWS] = rows, waiting
            seen[rows : rows + waiting] = x[:waiting]
            job[rows : rows + waiting] = queue[:waiting]
            rows += waiting
            kept += 1
        left = 0
        for k in range(waiting):
            j = queue[k]
            if start[j] == now:
                free -= procs[j]
                insert(running, now + table[j, REQUEST], j, procs[j], 0.0)
                insert(ends, now + table[j, RUN], j, procs[j], now + table[j, REQUEST])
                mine[int(table[j, USER])] -= 1
            else:
                queue[left] = j
                x[left] = x[k]
                left += 1
        waiting = left
    return met


@native
def _profile(running: Array, free: int, profile: Array) -> int:
    """Expected ends, ascending, and what is free from then on; how many."""
    r = 0
    for place in range(used(running)):
        block = block_at(running, place)
        for k in range(int(running[block, FROM]), int(running[block, TO])):
            free += running[block, TAKEN + k]
            profile[r, 0], profile[r, 1] = running[block, KEY + k], free
            r += 1
    return r
