"""Conservative backfilling: every waiting job holds a reservation, all rebuilt at every pass.

The plan is the number of free processors as a step function of time.  Jobs are placed in order,
each as early as it fits for its whole planned length; those placed at the first step start.
Rebuilding forgets nothing, so a pass in which no waiting job fits what is free is skipped, and a
pass ends as soon as none of the jobs behind could start any more.

    Symbol  Shape   Meaning
    t       (m,)    moments at which the number of free processors changes, s
    f       (m,)    free processors from t[k] until t[k + 1]

The first step is what is free in truth.  Every expected end is a step behind it, also one that is
due or overdue: a job planned there waits until the processors are free.  A job planned at an end
that lies in the past is planned to take its length from now on.  Other symbols as in `fixed`.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.fair_share import score_all, spend
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.running_jobs import (
    EXPECTED,
    HEAD,
    NOW,
    WHOSE,
    begin,
    extend,
    finish,
    idle,
    next_end,
)
from rheostat.simulation.engine.sorted_blocks import FROM, ITEM, KEY, TO, block_at, used


@compiled
def run_conservative(
    submit, run, procs, planned, booked, rank, score, share, size, moving, ties, late
):
    """(start (n,), scheduling passes); ``rank`` counts unless ``moving``, then `Share` or score.

    ``late`` as in `busy.extend`.
    """
    batch, by_expected = ties
    n = len(submit)
    start = np.full(n, np.nan)
    few, ends, running = idle(min(n, size))
    queue = np.empty(n, np.int64)  # waiting jobs in order
    scores = np.empty(n, np.float64)
    t, f = np.empty(2 * n + min(n, size) + 4), np.empty(2 * n + min(n, size) + 4, np.int64)
    waiting, free, i, passes = 0, size, 0, 0
    while i < n or next_end(few, ends) < np.inf:
        now = min(next_end(few, ends), submit[i] if i < n else np.inf)
        while True:
            if next_end(few, ends) == now:
                j = finish(few, ends, running, start, booked, by_expected)
                free += procs[j]
                spend(share, j, now, -procs[j])
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
        extend(few, running, now, late, start, booked, procs)
        least = size + 1
        for k in range(waiting):
            least = min(least, procs[queue[k]])
        if least > free:
            continue
        if moving:
            score_all(now, queue[:waiting], submit, procs, booked, score, share, scores)
            turn = np.argsort(scores[:waiting], kind="mergesort")
        else:
            turn = np.arange(waiting)
        steps = _steps(few, running, procs, (now, free), now if late[0] == NOW else -np.inf, t, f)
        job, busy = (run, procs, planned, booked), (few, ends, running, by_expected)
        free = _place(now, queue[:waiting], turn, job, start, busy, (t, f, steps))
        kept = 0
        for k in range(waiting):
            if np.isnan(start[queue[k]]):
                queue[kept] = queue[k]
                kept += 1
            else:
                spend(share, queue[k], now, procs[queue[k]])
        waiting = kept
    return start, passes


@compiled
def _place(now, queue, turn, job, start, busy, plan):
    """Reserve in order, start what falls on the first step; the processors still free."""
    run, procs, planned, booked = job
    few, ends, running, by_expected = busy
    t, f, steps = plan
    m = len(queue)
    behind = np.empty(m + 1, np.int64)  # smallest size from this turn on
    behind[m] = 1 << 62
    for k in range(m - 1, -1, -1):
        behind[k] = min(behind[k + 1], procs[queue[turn[k]]])
    leading = True  # nobody before it waits: it simply starts, and runs for what it is booked
    for k in range(m):
        if behind[k] > f[0]:
            break
        j = queue[turn[k]]
        leading = leading and procs[j] <= f[0]
        at = _earliest(procs[j], planned[j], t, f, steps)
        steps = _reserve(at, booked[j] if leading else planned[j], procs[j], t, f, steps)
        if at == 0:
            start[j] = now
            begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)
    return f[0]


@borrowed
def _steps(few, running, procs, here, least, t, f):
    """Write the step function of what runs; its length.  No end is expected before ``least``."""
    t[0], f[0] = here
    steps = 1
    if few[HEAD, 1] == 0:
        for k in range(int(few[HEAD, 0]) - 1, -1, -1):
            steps = _release(max(few[EXPECTED, k], least), procs[int(few[WHOSE, k])], t, f, steps)
        return steps
    for place in range(used(running)):
        block = block_at(running, place)
        for k in range(int(running[block, FROM]), int(running[block, TO])):
            end, p = max(running[block, KEY + k], least), procs[int(running[block, ITEM + k])]
            steps = _release(end, p, t, f, steps)
    return steps


@borrowed(forceinline=True)
def _release(end, p, t, f, steps):
    if steps == 1 or end > t[steps - 1]:
        t[steps], f[steps] = end, f[steps - 1]
        steps += 1
    f[steps - 1] += p
    return steps


@borrowed
def _earliest(need, length, t, f, steps):
    """First step from which ``need`` processors stay free for ``length`` seconds."""
    k = 0
    while True:
        while f[k] < need:
            k += 1
        m, end = k + 1, max(t[k], t[0]) + length
        while m < steps and t[m] < end and f[m] >= need:
            m += 1
        if m == steps or t[m] >= end:
            return k
        k = m


@borrowed
def _reserve(at, length, need, t, f, steps):
    """Take ``need`` processors from step ``at`` for ``length`` seconds; the new number of steps."""
    end, last = max(t[at], t[0]) + length, steps
    while last > 1 and t[last - 1] >= end:
        last -= 1
    if last == steps or t[last] != end:
        for m in range(steps, last, -1):
            t[m], f[m] = t[m - 1], f[m - 1]
        t[last], f[last] = end, f[last - 1]
        steps += 1
    for k in range(at, last):
        f[k] -= need
    return steps
