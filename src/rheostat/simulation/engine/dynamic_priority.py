"""The engine for orders that change while jobs wait: WFP3, UNICEF, LXF, multifactor, any callable.

Every event may change who is first, so each pass scores the whole queue anew.  Where scores can
only fall, of jobs that ask for the same only the first (`request_lines`), and if those are many
what `lazy_scores` asks for.  Passes in which no waiting job is small
enough for what is free are skipped, which loses nothing: a pass that starts no job leaves no trace.
Symbols as in `static_priority`; ``score`` is a compiled function of (now, submit, estimate,
processors), times since the first submission, smallest first, ties as they arrived.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Busy, Floats, Ints, Overdue, Score, WaitingJobs
from rheostat.simulation.engine.fair_share import Share, score_all, score_of, spend
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.lazy_scores import (
    FAR,
    MANY,
    arrive,
    goes_before,
    lazy,
    none_fits,
    outdated,
    reorder,
)
from rheostat.simulation.engine.lazy_scores import pick as pick_lazily
from rheostat.simulation.engine.queue_index import Index
from rheostat.simulation.engine.request_lines import join, request_lines, step_up
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

    ``falls``: scores as `PriorityFunction.falling`.  ``late`` as in `running_jobs.extend`.
    """
    submit, _, procs, _, booked = job
    batch, by_expected = ties
    n = len(submit)
    start = np.full(n, np.nan)
    few, ends, running = idle(min(n, size))
    busy = (few, ends, running, by_expected)
    queue = np.empty(n, np.int64)  # first waiting jobs of their lines; a long one: who left, too
    scores = np.empty(n, np.float64)
    chosen = np.empty(n, np.int64)  # jobs started in this pass
    lines, lists = request_lines(n, falls), lazy(n if falls else 0, index)
    behind, many = lines[2], False
    came, waiting, free, i, passes = 0, 0, size, 0, 0
    while i < n or next_end(few, ends) < np.inf:
        now = min(next_end(few, ends), submit[i] if i < n else np.inf)
        while True:
            if next_end(few, ends) == now:
                j = finish(few, ends, running, start, booked, by_expected)
                free += procs[j]
                spend(share, j, now, -procs[j])
            elif i < n and submit[i] == now:
                if join(i, lines, job):
                    queue[came] = i
                    came, waiting = came + 1, waiting + 1
                    if many:
                        arrive(i, lists, job, score)
                i += 1
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
            picked = pick_lazily(now, free, lists, behind, job, score, busy, easy, least, chosen)
        else:
            score_all(now, queue[:came], submit, procs, booked, score, share, scores)
            line = (queue[:came], scores, behind)
            picked = _pick(now, free, line, chosen, job, score, busy, easy, least)
        for j in chosen[:picked]:
            start[j] = now
            free -= procs[j]
            spend(share, j, now, procs[j])
            following = step_up(j, lines)
            if following < 0:
                waiting -= 1
            elif many:
                queue[came] = following
                came += 1
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
    line: tuple[Ints, Floats, Ints],
    chosen: Ints,
    job: WaitingJobs,
    score: Score,
    busy: Busy,
    easy: bool,
    least: float,
) -> int:
    """Write jobs that start now to ``chosen`` and begin them; how many they are.

    ``line`` is (queue, scores, behind); who is next in line takes the place of a job that starts.
    No running job is expected to end before ``least``.
    """
    queue, scores, _ = line
    _, _, procs, planned, _ = job
    few, _, running, _ = busy
    picked, m = 0, len(queue)
    able = np.arange(m)
    while True:
        k = _first(able[:m], queue, scores)
        if k < 0:
            return picked
        j = queue[able[k]]
        if procs[j] > free:
            break
        free -= procs[j]
        chosen[picked] = j
        picked += 1
        if not _start(now, able[k], line, job, score, busy):
            m -= 1
            able[k] = able[m]
    if not easy:
        return picked
    until, extra = shadow(few, running, procs, free, procs[j], least)
    while True:
        kept = 0
        for k in able[:m]:
            p = procs[queue[k]]
            if p <= free and (p <= extra or now + planned[queue[k]] <= until):
                able[kept] = k
                kept += 1
        m, k = kept, _first(able[:kept], queue, scores)
        if k < 0:
            return picked
        j = queue[able[k]]
        free -= procs[j]
        extra -= 0 if now + planned[j] <= until else procs[j]
        chosen[picked] = j
        picked += 1
        if not _start(now, able[k], line, job, score, busy):
            m -= 1
            able[k] = able[m]


@borrowed
def _first(able: Ints, queue: Ints, scores: Floats) -> int:
    """Place in ``able`` of the job with the smallest score, of equal ones who came first; or -1."""
    best = -1
    for k in range(len(able)):
        if scores[able[k]] < np.inf and (
            best < 0 or goes_before(queue, scores, able[k], able[best])
        ):
            best = k
    return best


@borrowed
def _start(
    now: float,
    k: int,
    line: tuple[Ints, Floats, Ints],
    job: WaitingJobs,
    score: Score,
    busy: Busy,
) -> bool:
    """Begin the job at ``k`` of the queue; is there one behind it, which is there now?"""
    queue, scores, behind = line
    submit, run, procs, _, booked = job
    few, ends, running, by_expected = busy
    j = queue[k]
    begin(few, ends, running, j, now + run[j], now + booked[j], procs, by_expected)
    if behind[j] < 0:
        return False
    queue[k] = behind[j]
    scores[k] = score_of(now, queue[k], submit, procs, booked, score)
    return True
