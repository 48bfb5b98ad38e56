"""The engine for orders that change while jobs wait: WFP3, UNICEF, LXF, multifactor, any callable.

Every event may change who is first, so each pass scores the whole queue anew, or of a long queue
whose scores can only fall what `lazy_scores` asks for.  Passes in which no waiting job is small
enough for what is free are skipped, which loses nothing: a pass that starts no job leaves no trace.
Symbols as in `static_priority`; ``score`` is a compiled function of (now, submit, estimate,
processors), times since the first submission, smallest first, ties as they arrived.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Busy, Floats, Ints, Overdue, Score, WaitingJobs
from rheostat.simulation.engine.fair_share import Share, score_all, spend
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.lazy_scores import (
    FAR,
    MANY,
    arrive,
    lazy,
    none_fits,
    outdated,
    reorder,
)
from rheostat.simulation.engine.lazy_scores import pick as pick_lazily
from rheostat.simulation.engine.queue_index import Index
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
def run_moving(
    job: WaitingJobs,
    score: Score,
    falls: bool,
    share: Share,
    size: int,
    index: Index,
    easy: bool,
    ties: tuple[bool, bool],
    late: Overdue,
) -> tuple[Floats, int]:
    """(start (n,), number of scheduling passes); a `Share` that is not empty replaces ``score``.

    ``falls``: no score rises while its job waits.  ``late`` as in `running_jobs.extend`.
    """
    submit, _, procs, _, booked = job
    batch, by_expected = ties
    n = len(submit)
    start = np.full(n, np.nan)
    few, ends, running = idle(min(n, size))
    busy = (few, ends, running, by_expected)
    queue = np.empty(
        n, np.int64
    )  # waiting jobs as they arrived; a long one in any order, with who has left
    scores = np.empty(n, np.float64)
    chosen = np.empty(n, np.int64)  # jobs started in this pass
    lists, many = lazy(n if falls else 0, index), False
    came, waiting, free, i, passes = 0, 0, size, 0, 0
    while i < n or next_end(few, ends) < np.inf:
        now = min(next_end(few, ends), submit[i] if i < n else np.inf)
        while True:
            if next_end(few, ends) == now:
                j = finish(few, ends, running, start, booked, by_expected)
                free += procs[j]
                spend(share, j, now, -procs[j])
            elif i < n and submit[i] == now:
                queue[came] = i
                if many:
                    arrive(i, lists, job, score)
                came, waiting, i = came + 1, waiting + 1, i + 1
            else:
                break
            if not batch:
                break
        passes += 1
        extend(few, running, now, late, start, booked, procs)
        least = now if late[0] == NOW else -np.inf
        if falls and many != (waiting > (MANY // 2 if many else MANY)):
            many, came = not many, still_waiting(queue, came, start)
            queue[:came].sort()
            if many:
                reorder(now, queue[:came], lists, job, score)
        if none_fits(free, lists) if many else _least(procs, queue[:came]) > free:
            continue
        if many:
            if outdated(now, lists[-1], FAR):
                came = still_waiting(queue, came, start)
                reorder(now, queue[:came], lists, job, score)
            picked = pick_lazily(now, free, lists, job, score, busy, easy, least, chosen)
        else:
            score_all(now, queue[:came], submit, procs, booked, score, share, scores)
            picked = _pick(now, free, queue[:came], scores, chosen, job, busy, easy, least)
        for j in chosen[:picked]:
            start[j] = now
            free -= procs[j]
            spend(share, j, now, procs[j])
        waiting -= picked
        if picked and not many:
            came = still_waiting(queue, came, start)
    return start, passes


@borrowed
def _least(procs: Ints, queue: Ints) -> float:
    least = np.inf
    for j in queue:
        least = min(least, procs[j])
    return least


@borrowed
def still_waiting(queue: Ints, came: int, start: Floats) -> int:
    """Take those out that have started; how many are left."""
    kept = 0
    for k in range(came):
        if np.isnan(start[queue[k]]):
            queue[kept] = queue[k]
            kept += 1
    return kept


@compiled
def _pick(
    now: float,
    free: int,
    queue: Ints,
    scores: Floats,
    chosen: Ints,
    job: WaitingJobs,
    busy: Busy,
    easy: bool,
    least: float,
) -> int:
    """Write jobs that start now to ``chosen`` and begin them; how many they are.

    No running job is expected to end before ``least``.
    """
    _, run, procs, planned, booked = job
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
        chosen[picked] = j
        picked += 1
    if not easy or head < 0 or picked == m:
        return picked
    until, extra = shadow(few, running, procs, free, procs[queue[head]], least)
    fit = np.empty(m, np.int64)
    fits = 0
    for k in range(m):
        p = procs[queue[k]]
        able = p <= free and (p <= extra or now + planned[queue[k]] <= until)
        if able and k != head and scores[k] < np.inf:
            fit[fits] = k
            fits += 1
    for c in np.argsort(scores[fit[:fits]], kind="mergesort"):
        j = queue[fit[c]]
        before = now + planned[j] <= until
        if procs[j] <= free and (before or procs[j] <= extra):
            free -= procs[j]
            extra -= 0 if before else procs[j]
            begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)
            chosen[picked] = j
            picked += 1
    return picked
