"""The engine for orders that change while jobs wait: WFP3, UNICEF, LXF, multifactor, any callable.

Every event may change who is first, so each pass scores the whole queue anew; passes in which no
waiting job is small enough for what is free are skipped, which loses nothing: a pass that starts no
job leaves no trace.  Symbols as in `fixed`; ``score`` is a compiled function of (now, submit,
estimate, processors), times since the first submission, smallest first, ties as they arrived.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.fair_share import score_all, spend
from rheostat.simulation.engine.jit import compiled
from rheostat.simulation.engine.running_jobs import (
    NOW,
    begin,
    extend,
    finish,
    idle,
    next_end,
    shadow,
)


@compiled
def run_moving(submit, run, procs, planned, booked, score, share, size, easy, ties, late):
    """(start (n,), number of scheduling passes); a `Share` that is not empty replaces ``score``.

    ``late`` as in `busy.extend`.
    """
    batch, by_expected = ties
    n = len(submit)
    start = np.full(n, np.nan)
    few, ends, running = idle(min(n, size))
    queue = np.empty(n, np.int64)  # waiting jobs as they arrived
    scores = np.empty(n, np.float64)
    chosen = np.empty(n, np.int64)  # places in the queue of the jobs started in this pass
    waiting, free, i, passes = 0, size, 0, 0
    while i < n or next_end(few, ends) < np.inf:
        now = min(next_end(few, ends), submit[i] if i < n else np.inf)
        while True:
            if next_end(few, ends) == now:
                j = finish(few, ends, running, start, booked, by_expected)
                free += procs[j]
                spend(share, j, now, -procs[j])
            elif i < n and submit[i] == now:
                queue[waiting] = i
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
        score_all(now, queue[:waiting], submit, procs, booked, score, share, scores)
        job = (run, procs, planned, booked)
        busy = (few, ends, running, by_expected)
        until = now if late[0] == NOW else -np.inf
        picked = _pick(now, free, queue[:waiting], scores, chosen, job, busy, easy, until)
        for c in range(picked):
            j = queue[chosen[c]]
            start[j] = now
            free -= procs[j]
            spend(share, j, now, procs[j])
            queue[chosen[c]] = -1
        kept = 0
        for k in range(waiting):
            if queue[k] >= 0:
                queue[kept] = queue[k]
                kept += 1
        waiting = kept
    return start, passes


@compiled
def _pick(now, free, queue, scores, chosen, job, busy, easy, least):
    """Write places of jobs that start now to ``chosen`` and begin them; how many they are.

    No running job is expected to end before ``least``.
    """
    run, procs, planned, booked = job
    few, ends, running, by_expected = busy
    picked, m = 0, len(queue)
    head = -1
    while picked < m:
        head = -1
        for k in range(m):
            if scores[k] < np.inf and (head < 0 or scores[k] < scores[head]):
                head = k
        if head < 0 or procs[queue[head]] > free:
            break
        j = queue[head]
        free -= procs[j]
        begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)
        scores[head] = np.inf
        chosen[picked] = head
        picked += 1
    if not easy or head < 0 or picked == m:
        return picked
    until, extra = shadow(few, running, procs, free, procs[queue[head]], least)
    fit = np.empty(m, np.int64)
    found = 0
    for k in range(m):
        p = procs[queue[k]]
        able = p <= free and (p <= extra or now + planned[queue[k]] <= until)
        if able and k != head and scores[k] < np.inf:
            fit[found] = k
            found += 1
    for c in np.argsort(scores[fit[:found]], kind="mergesort"):
        j = queue[fit[c]]
        before = now + planned[j] <= until
        if procs[j] <= free and (before or procs[j] <= extra):
            free -= procs[j]
            extra -= 0 if before else procs[j]
            begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)
            chosen[picked] = fit[c]
            picked += 1
    return picked
