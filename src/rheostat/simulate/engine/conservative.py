"""Conservative backfilling: every waiting job holds a reservation, all rebuilt at every pass.

The plan is the number of free processors as a step function of time.  Jobs are placed in order,
each as early as it fits for its whole planned length; those placed at the present moment start.
Rebuilding forgets nothing, so a pass in which no waiting job fits what is free is skipped, and a
pass ends as soon as none of the jobs behind could start any more.

    Symbol  Shape  Meaning
    t       (m,)   moments at which the number of free processors changes, s
    f       (m,)   free processors from t[k] until t[k + 1]

Other symbols as in `fixed`.  A job is never started before its processors are really free, also
when a running job is overdue; free includes jobs that end at the same moment.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulate.engine.blocks import (
    FROM,
    KEY,
    PROCS,
    TO,
    TOTAL,
    block_at,
    blocks,
    discard,
    first_key,
    insert,
    pop,
    used,
)
from rheostat.simulate.engine.jit import borrowed, compiled
from rheostat.simulate.engine.share import priority, spend


@compiled
def run_conservative(submit, run, procs, planned, booked, rank, score, share, size, moving, ties):
    """(start (n,), scheduling passes); ``rank`` counts unless ``moving``, then `Share` or score."""
    batch, by_expected = ties
    n = len(submit)
    start = np.full(n, np.nan)
    running, ends = blocks(min(n, size)), blocks(min(n, size))
    queue = np.empty(n, np.int64)  # waiting jobs in order
    t, f = np.empty(2 * n + min(n, size) + 4), np.empty(2 * n + min(n, size) + 4, np.int64)
    waiting, free, i, passes = 0, size, 0, 0
    while i < n or first_key(ends) < np.inf:
        now = min(first_key(ends), submit[i] if i < n else np.inf)
        while True:
            if first_key(ends) == now:
                j = pop(ends, by_expected)
                free += procs[j]
                spend(share, j, now, -procs[j])
                discard(running, start[j] + booked[j], j)
            elif i < n and submit[i] == now:
                k = waiting
                while not moving and k > 0 and rank[queue[k - 1]] > rank[i]:
                    queue[k] = queue[k - 1]
                    k -= 1
                queue[k] = i
                waiting += 1
                i += 1
            else:
                break
            if not batch:
                break
        passes += 1
        least = size + 1
        for k in range(waiting):
            least = min(least, procs[queue[k]])
        due = _due(ends, now)
        if least > free + due:
            continue
        turn = _turns(now, queue[:waiting], (submit, procs, booked), score, share, moving)
        state = now, free, due, size
        job = run, procs, planned, booked
        free = _place(state, queue[:waiting], turn, job, start, running, ends, (t, f))
        kept = 0
        for k in range(waiting):
            if np.isnan(start[queue[k]]):
                queue[kept] = queue[k]
                kept += 1
            else:
                spend(share, queue[k], now, procs[queue[k]])
        waiting = kept
    return start, passes


@borrowed
def _due(ends, now):
    """Processors of jobs that end at this very moment, though their event is still to come."""
    total = 0
    for place in range(used(ends)):
        block = block_at(ends, place)
        for k in range(int(ends[block, FROM]), int(ends[block, TO])):
            if ends[block, KEY + k] > now:
                return total
            total += int(ends[block, PROCS + k])
    return total


@compiled
def _turns(now, queue, job, score, share, moving):
    """Places of the queue in the order in which reservations are made."""
    if not moving:
        return np.arange(len(queue))
    submit, procs, booked = job
    scores = np.empty(len(queue))
    for k in range(len(queue)):
        j = queue[k]
        if len(share.user):
            scores[k] = priority(share, j, now, submit[j], procs[j])
        else:
            since = submit[j] - submit[0]
            scores[k] = score(now - submit[0], since, booked[j], float(procs[j]))
    return np.argsort(scores, kind="mergesort")


@compiled
def _place(state, queue, turn, job, start, running, ends, plan):
    """Reserve in order, start what falls on now; the processors still free."""
    now, free, due, size = state
    run, procs, planned, booked = job
    t, f = plan
    m = len(queue)
    behind = np.empty(m + 1, np.int64)  # smallest size from this turn on
    behind[m] = 1 << 62
    for k in range(m - 1, -1, -1):
        behind[k] = min(behind[k + 1], procs[queue[turn[k]]])
    steps = _steps(now, size, running, t, f)
    leading = True  # nobody before it waits: it simply starts, and runs for what it is booked
    for k in range(m):
        if behind[k] > f[0] or behind[k] > free + due:
            break
        j = queue[turn[k]]
        leading = leading and procs[j] <= free
        at = _earliest(procs[j], planned[j], t, f, steps)
        length = booked[j] if leading else planned[j]
        steps = _reserve(t[at], t[at] + length, procs[j], t, f, steps)
        if at == 0 and procs[j] <= free + due:
            start[j] = now
            free -= procs[j]
            due += procs[j] if now + run[j] == now else 0
            insert(ends, now + run[j], j, procs[j], now + booked[j])
            insert(running, now + booked[j], j, procs[j], 0.0)
    return free


@borrowed
def _steps(now, size, running, t, f):
    """The step function from what runs; jobs overdue count as free from now on."""
    t[0], f[0], steps = now, size, 1
    for place in range(used(running)):
        f[0] -= int(running[block_at(running, place), TOTAL])
    for place in range(used(running)):
        block = block_at(running, place)
        for k in range(int(running[block, FROM]), int(running[block, TO])):
            end = max(running[block, KEY + k], now)
            if end > t[steps - 1]:
                t[steps], f[steps] = end, f[steps - 1]
                steps += 1
            f[steps - 1] += int(running[block, PROCS + k])
    return steps


@borrowed
def _earliest(need, length, t, f, steps):
    """First step from which ``need`` processors stay free for ``length`` seconds."""
    k = 0
    while True:
        while f[k] < need:
            k += 1
        m = k + 1
        while m < steps and t[m] < t[k] + length and f[m] >= need:
            m += 1
        if m == steps or t[m] >= t[k] + length:
            return k
        k = m


@borrowed
def _cut(when, t, f, steps):
    """Make ``when`` a step; (its index, number of steps)."""
    k = steps
    while k > 0 and t[k - 1] >= when:
        k -= 1
    if k < steps and t[k] == when:
        return k, steps
    for m in range(steps, k, -1):
        t[m], f[m] = t[m - 1], f[m - 1]
    t[k], f[k] = when, f[k - 1]
    return k, steps + 1


@borrowed
def _reserve(begin, end, need, t, f, steps):
    """Take ``need`` processors from ``begin`` to ``end``; the new number of steps."""
    first, steps = _cut(begin, t, f, steps)
    last, steps = _cut(end, t, f, steps)
    for k in range(first, last):
        f[k] -= need
    return steps
