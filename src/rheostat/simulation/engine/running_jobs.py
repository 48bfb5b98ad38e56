"""The running jobs, by true end (the event clock) and by expected end (what is planned with).

Most machines run few jobs at a time.  Up to `FEW` they lie in plain sorted rows, last end first, so
that the next one to end is taken from the tail; that is twice as fast as `blocks`, which hold them
where there are more, until a quarter of that is left.

A job that has run for longer than expected is overdue.  What planning makes of its expected end:

    PAST            it stays where it was
    NOW             it is the present moment, whatever that is
    EXTEND          the job is given a longer estimate, see `extend`

    Row of few      Meaning
    HEAD            [0]: jobs running, m; [1]: 1 where the blocks hold them
    END             true ends, s, last first; of jobs that end together the first to go is last
    WHO, DUE        jobs of those ends and their expected ends, s
    EXPECTED        expected ends, s, last first
    WHOSE           jobs of those

The three arrays of an `idle` machine are handed on one by one: numba counts references to every
array taken out of a tuple.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine import sorted_blocks as many
from rheostat.simulation.engine.array_types import Floats, Ints, Overdue
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    ITEM,
    KEY,
    LENGTH,
    TO,
    block_at,
    blocks,
    used,
)

FEW = 128
PAST, NOW, EXTEND = range(3)
# What a job that outlives its estimate is given next, s (Tsafrir, Etsion, Feitelson 2007)
MORE = np.array([60.0, 300, 900, 1800, 3600, 7200, 18000, 36000, 72000, 180000, 360000])
HEAD, END, WHO, DUE, EXPECTED, WHOSE = range(6)


@compiled
def idle(capacity: int) -> tuple[Floats, Floats, Floats]:
    """(few, ends, running): no job runs yet; ``capacity`` is the most that can at once."""
    few = np.empty((6, FEW))
    few[HEAD, 0], few[HEAD, 1] = 0, 0
    return few, blocks(capacity), blocks(capacity)


@borrowed(forceinline=True)
def next_end(few: Floats, ends: Floats) -> float:
    """When the next job ends, s; inf if none runs."""
    if few[HEAD, 1] > 0:
        return many.first_key(ends)
    m = int(few[HEAD, 0])
    return few[END, m - 1] if m > 0 else np.inf


@borrowed
def who_ends(few: Floats, ends: Floats) -> int:
    """The next job to end, of a machine that is not idle."""
    return many.first_item(ends) if few[HEAD, 1] > 0 else int(few[WHO, int(few[HEAD, 0]) - 1])


@borrowed(forceinline=True)
def first_expected(few: Floats, running: Floats) -> float:
    """When the next job is expected to end, s; inf if none runs."""
    if few[HEAD, 1] > 0:
        return many.first_key(running)
    m = int(few[HEAD, 0])
    return few[EXPECTED, m - 1] if m > 0 else np.inf


@borrowed(forceinline=True)
def begin(
    few: Floats,
    ends: Floats,
    running: Floats,
    j: int,
    end: float,
    expected: float,
    procs: Ints,
    by_expected: bool,
) -> None:
    """Job ``j`` runs; of jobs that end together the one started first goes, or the least due."""
    m = int(few[HEAD, 0])
    if few[HEAD, 1] > 0 or m == FEW:
        _begin_many(few, ends, running, j, end, expected, procs)
        return
    few[HEAD, 0] = m + 1
    _put_end(few, m, j, end, expected, by_expected)
    _put_expected(few, m, j, expected)


@borrowed
def finish(
    few: Floats, ends: Floats, running: Floats, start: Floats, booked: Floats, by_expected: bool
) -> int:
    """Take out the next job to end, and tell it; its expected end is ``start`` + ``booked``."""
    if few[HEAD, 1] > 0:
        j = many.pop(ends, by_expected)
        many.discard(running, start[j] + booked[j], j)
        few[HEAD, 0] -= 1
        if few[HEAD, 0] <= FEW // 4:
            _gather(few, ends, running, by_expected)
        return j
    m = int(few[HEAD, 0]) - 1
    few[HEAD, 0] = m
    j = few[WHO, m]
    _drop_expected(few, m, j)
    return int(j)


@borrowed
def end_at(few: Floats, ends: Floats, j: int, before: float, end: float, procs: Ints) -> None:
    """Running job ``j`` ends at ``end``, not ``before``: behind all that end at that moment."""
    if few[HEAD, 1] > 0:
        many.discard(ends, before, j)
        many.insert(ends, end, j, procs[j], 0.0)
        return
    last = int(few[HEAD, 0]) - 1
    k = last
    while few[WHO, k] != j:
        k -= 1
    for m in range(k, last):
        few[END, m], few[WHO, m], few[DUE, m] = few[END, m + 1], few[WHO, m + 1], few[DUE, m + 1]
    _put_end(few, last, j, end, 0.0, False)


@borrowed
def listed(few: Floats, line: Floats, row: int, moment: Floats, who: Ints) -> int:
    """Write moments, the first first, and jobs of them; how many run.

    ``line`` and ``row`` are ends and END, or running and EXPECTED.
    """
    m = int(few[HEAD, 0])
    if few[HEAD, 1] == 0:
        for k in range(m):
            moment[k], who[k] = few[row, m - 1 - k], int(few[row + 1, m - 1 - k])
        return m
    m = 0
    for place in range(used(line)):
        b = block_at(line, place)
        for k in range(int(line[b, FROM]), int(line[b, TO])):
            moment[m], who[m] = line[b, KEY + k], int(line[b, ITEM + k])
            m += 1
    return m


@borrowed(forceinline=True)
def _put_end(few: Floats, m: int, j: float, end: float, expected: float, by_expected: bool) -> None:
    k = m
    while k > 0 and few[END, k - 1] <= end:
        if by_expected and few[END, k - 1] == end and few[DUE, k - 1] > expected:
            break
        few[END, k], few[WHO, k] = few[END, k - 1], few[WHO, k - 1]
        few[DUE, k] = few[DUE, k - 1]
        k -= 1
    few[END, k], few[WHO, k], few[DUE, k] = end, j, expected


@borrowed(forceinline=True)
def _put_expected(few: Floats, m: int, j: float, expected: float) -> None:
    k = m
    while k > 0 and few[EXPECTED, k - 1] <= expected:
        few[EXPECTED, k], few[WHOSE, k] = few[EXPECTED, k - 1], few[WHOSE, k - 1]
        k -= 1
    few[EXPECTED, k], few[WHOSE, k] = expected, j


@borrowed(forceinline=True)
def _drop_expected(few: Floats, last: int, j: float) -> None:
    k = last
    while few[WHOSE, k] != j:
        k -= 1
    for m in range(k, last):
        few[EXPECTED, m], few[WHOSE, m] = few[EXPECTED, m + 1], few[WHOSE, m + 1]


@borrowed
def _begin_many(
    few: Floats, ends: Floats, running: Floats, j: int, end: float, expected: float, procs: Ints
) -> None:
    if few[HEAD, 1] == 0:
        few[HEAD, 1] = 1
        for k in range(int(few[HEAD, 0]) - 1, -1, -1):
            who, whose = int(few[WHO, k]), int(few[WHOSE, k])
            many.insert(ends, few[END, k], who, procs[who], few[DUE, k])
            many.insert(running, few[EXPECTED, k], whose, procs[whose], 0.0)
    many.insert(ends, end, j, procs[j], expected)
    many.insert(running, expected, j, procs[j], 0.0)
    few[HEAD, 0] += 1


@borrowed
def _gather(few: Floats, ends: Floats, running: Floats, by_expected: bool) -> None:
    """From the blocks, which are empty then, back to the rows."""
    m = 0
    for place in range(used(ends)):
        b = block_at(ends, place)
        for k in range(int(ends[b, FROM]), int(ends[b, TO])):
            _put_end(few, m, ends[b, ITEM + k], ends[b, KEY + k], ends[b, LENGTH + k], by_expected)
            m += 1
    m = 0
    for place in range(used(running)):
        b = block_at(running, place)
        for k in range(int(running[b, FROM]), int(running[b, TO])):
            _put_expected(few, m, running[b, ITEM + k], running[b, KEY + k])
            m += 1
    many.clear(ends)
    many.clear(running)
    few[HEAD, 1] = 0


@borrowed
def shadow(
    few: Floats, running: Floats, procs: Ints, free: int, need: int, least: float
) -> tuple[float, int]:
    """As `blocks.shadow`: (expected time at which ``need`` are free, what is left over then)."""
    if few[HEAD, 1] > 0:
        return many.shadow(running, free, need, least)
    k = int(few[HEAD, 0])
    while k > 0 and free < need:
        k -= 1
        free += procs[int(few[WHOSE, k])]
    if free < need:
        return np.inf, 0
    when = max(few[EXPECTED, k], least)
    while k > 0 and few[EXPECTED, k - 1] <= when:
        k -= 1
        free += procs[int(few[WHOSE, k])]
    return when, free - need


@borrowed
def overdue(few: Floats, running: Floats, now: float) -> int:
    """The job expected to have ended first, if that was before ``now``; else -1."""
    if few[HEAD, 1] > 0:
        late = many.first_key(running) < now
        return many.first_item(running) if late else -1
    m = int(few[HEAD, 0])
    return int(few[WHOSE, m - 1]) if m > 0 and few[EXPECTED, m - 1] < now else -1


@borrowed
def postpone(few: Floats, running: Floats, j: int, expected: float, procs: Ints) -> None:
    """The `overdue` job is expected to end at ``expected``."""
    if few[HEAD, 1] > 0:
        many.pop(running, False)
        many.insert(running, expected, j, procs[j], 0.0)
    else:
        _put_expected(few, int(few[HEAD, 0]) - 1, j, expected)


@borrowed
def longer(since: float, estimate: float) -> float:
    """The next estimate, s, of a job that has run for ``since`` seconds and outlived it."""
    for more in MORE:
        if estimate + more > since:
            return estimate + more
    return 2.0 * since + 1.0


@borrowed
def extend(
    few: Floats,
    running: Floats,
    now: float,
    late: Overdue,
    start: Floats,
    booked: Floats,
    procs: Ints,
) -> bool:
    """Give every overdue job the next longer estimate; True if there were any.

    ``late`` is (mode, estimates (n,), requests (n,)): a job's first estimate, and what was asked
    for, which is no longer exceeded than the job itself has exceeded it.  ``booked`` is written.
    """
    mode, estimate, ask = late
    extended = False
    while mode == EXTEND:
        j = overdue(few, running, now)
        if j < 0:
            break
        since = now - start[j]
        booked[j] = longer(since, estimate[j])
        if ask[j] > since:
            booked[j] = min(booked[j], ask[j])
        postpone(few, running, j, start[j] + booked[j], procs)
        extended = True
    return extended
