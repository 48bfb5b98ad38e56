"""A slow, plain batch scheduler: a hundred lines to compare the compiled engine with, job by job.

It recomputes everything at every pass, on purpose: no index, no cache, nothing incremental.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

STEPS = (60, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000)
Score = Callable[[float, int, np.ndarray], float]


def shadow_of(need: int, free: int, running: dict[int, float], procs: np.ndarray):
    """(time at which ``need`` processors are expected free, how many are left over then)."""
    for end in sorted(set(running.values())):
        free += sum(int(procs[j]) for j, e in running.items() if e == end)
        if free >= need:
            return end, free - need
    raise AssertionError("a job larger than the machine")


def oracle(
    submit, run, procs, size, *, planned, booked,
    backfill="easy", score=None, batch=False, overdue="past",
):  # fmt: skip
    """Start times; ``planned`` are the estimates of waiting jobs, ``booked`` those of running.

    ``score`` sees the time, the job, and all starts so far.  ``overdue`` says when a job that has
    outlived its estimate is expected to end: then, in the ``past``; ``now``; or ``extend``, after
    the next of `STEPS` beyond the estimate.
    """
    start = np.full(len(submit), np.nan)
    finishes: list[tuple[float, int, int]] = []  # end, how many had started before, job
    running: dict[int, float] = {}
    queue: list[int] = []
    free, i = size, 0

    def begin(j: int, now: float) -> None:
        nonlocal free
        start[j] = now
        free -= int(procs[j])
        running[j] = now + booked[j]
        heapq.heappush(finishes, (now + run[j], int(np.isfinite(start).sum()), j))
        queue.remove(j)

    def scan(now: float) -> None:
        for j, end in running.items():
            if overdue == "extend" and end < now:
                since = now - start[j]
                longer = [booked[j] + s for s in STEPS if booked[j] + s > since]
                running[j] = start[j] + (longer[0] if longer else 2 * since + 1)
        if score is not None:
            queue.sort(key=lambda j: (score(now, j, start), j))
        while queue and procs[queue[0]] <= free:
            begin(queue[0], now)
        if not queue or backfill == "none":
            return
        if backfill == "conservative":
            reserve(now)
            return
        until, extra = shadow_of(int(procs[queue[0]]), free, expected(now), procs)
        for j in queue[1:]:
            before = now + planned[j] <= until
            if procs[j] <= free and (before or procs[j] <= extra):
                begin(j, now)
                extra -= 0 if before else int(procs[j])

    def expected(now: float) -> dict[int, float]:
        return {j: max(end, now) if overdue == "now" else end for j, end in running.items()}

    def reserve(now: float) -> None:
        """At -inf is what is free in truth; all that is expected free, now or overdue, is later."""
        held = [(-np.inf, end, int(procs[j])) for j, end in expected(now).items()]
        for j in list(queue):
            at = earliest(now, planned[j], int(procs[j]), held)
            held.append((at, max(at, now) + planned[j], int(procs[j])))
            if at == -np.inf:
                begin(j, now)

    def earliest(now: float, length: float, need: int, held) -> float:
        for t in sorted({-np.inf, *(e for _, e, _ in held)}):
            moments = [t, *(s for s, _, _ in held if t < s < max(t, now) + length)]
            if all(sum(p for s, e, p in held if s <= m < e) + need <= size for m in moments):
                return t
        raise AssertionError("a job larger than the machine")

    while i < len(submit) or finishes:
        now = min(finishes[0][0] if finishes else np.inf, submit[i] if i < len(submit) else np.inf)
        while True:
            if finishes and finishes[0][0] == now:
                j = heapq.heappop(finishes)[-1]
                free += int(procs[j])
                del running[j]
            elif i < len(submit) and submit[i] == now:
                queue.append(i)
                i += 1
            else:
                break
            if not batch:
                break
        scan(now)
    return start
