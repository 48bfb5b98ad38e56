"""An index over a deep queue: which group of waiting jobs can hold one that could start now?

A queue of 200,000 jobs must not be read at every event.  Its ranks are cut into groups, its sizes
into classes, and for each class and group the shortest job is known, or a bound below it.  A pass
that can start nothing is seen to be so from one number per class; one that can start something
jumps to the group that holds it.  A short queue does without: reading it is faster.

    Symbol  Shape      Meaning
    edge    (g + 1,)   group ``i`` holds ranks from ``edge[i]`` to below ``edge[i + 1]``
    kind    (n,)       class of each job
    sizes   (c,)       fewest processors of each class, ascending
    short   (2 g, c)   row ``g + i``: no job of group ``i`` and this class is shorter, s; inf: none
    small   (2 g, c)   and none has fewer processors
    exact   (2, c)     room to work in: bounds of a group made exact
    slack   (c,)       room to work in: jobs of the class that are as long cannot start, s

Row ``k`` below ``g`` is the minimum of rows ``2 k`` and ``2 k + 1``: for each class a tree over the
groups, row 1 its root.  All are bounds: jobs leave without a word, and a group searched in vain is
made exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Ints
from rheostat.simulation.engine.jit import borrowed, compiled
from rheostat.simulation.engine.sorted_blocks import (
    FROM,
    ITEM,
    KEY,
    LEAST,
    LENGTH,
    PROCS,
    SHORT,
    TO,
    _first,
    block_at,
    used,
)

GROUPS = 2048
CLASSES = 64
DEEP = 48
"""Blocks of the queue above which the index is kept; below half of them it is given up."""


class Index(NamedTuple):
    """The arrays of the notation above."""

    edge: Floats
    kind: Ints
    sizes: Ints
    short: Floats
    small: Floats
    exact: Floats
    slack: Floats


def index(
    procs: Ints, rank: Floats | None = None, groups: int = GROUPS, classes: int = CLASSES
) -> Index:
    """An index for these jobs, not in use yet; ``rank`` None means 0, 1, 2, ...

    Every size is a class of its own where there are few, else neighbours share one, the fewer the
    smaller they are: what is free is what others left over.
    """
    n = len(procs)
    cuts = np.linspace(0, n, groups + 1)[1:-1]
    if rank is not None:
        distinct = np.unique(np.sort(rank)[cuts.astype(np.int64)])
        cuts = np.full(groups - 1, np.inf)  # groups that no cut is left for stay empty
        cuts[: len(distinct)] = distinct
    edge = np.concatenate([[-np.inf], cuts, [np.inf]])
    sizes = np.flatnonzero(np.bincount(procs))
    if len(sizes) > classes:
        sizes = sizes[np.unique(np.geomspace(1, len(sizes), classes).astype(np.int64) - 1)]
    kinds = np.searchsorted(sizes, np.arange(procs.max() + 1), side="right") - 1
    short, small = (np.empty((2 * groups, len(sizes))) for _ in range(2))
    return Index(
        edge, kinds[procs], sizes, short, small, np.empty((2, len(sizes))), np.empty(len(sizes))
    )


@borrowed(forceinline=True)
def _groups(index: Index) -> int:
    """How many there are, a power of two."""
    return len(index.edge) - 1


@compiled
def _group_of(index: Index, rank: float) -> int:
    """Group that holds ``rank``."""
    return int(np.searchsorted(index.edge[:-1], rank, side="right")) - 1


@borrowed
def enter(index: Index, rank: float, j: int, procs: int, length: float) -> None:
    """Job ``j`` waits from now on."""
    c, k = index.kind[j], _groups(index) + _group_of(index, rank)
    while k and (length < index.short[k, c] or procs < index.small[k, c]):
        index.short[k, c] = min(index.short[k, c], length)
        index.small[k, c] = min(index.small[k, c], procs)
        k >>= 1


@borrowed
def rebuild(index: Index, waiting: Floats) -> None:
    """Make all of it exact."""
    index.short[:] = np.inf
    index.small[:] = np.inf
    groups, g = _groups(index), 0
    for place in range(used(waiting)):
        block = block_at(waiting, place)
        for m in range(int(waiting[block, FROM]), int(waiting[block, TO])):
            while g < groups - 1 and waiting[block, KEY + m] >= index.edge[g + 1]:
                g += 1
            k, c = groups + g, index.kind[int(waiting[block, ITEM + m])]
            index.short[k, c] = min(index.short[k, c], waiting[block, LENGTH + m])
            index.small[k, c] = min(index.small[k, c], waiting[block, PROCS + m])
    for k in range(groups - 1, 0, -1):
        for c in range(index.small.shape[1]):
            index.short[k, c] = min(index.short[2 * k, c], index.short[2 * k + 1, c])
            index.small[k, c] = min(index.small[2 * k, c], index.small[2 * k + 1, c])


@borrowed(forceinline=True)
def _may(index: Index, k: int, c: int, free: float, extra: int, slack: Floats) -> bool:
    """May a job below row ``k`` start: small enough for good, or small and short enough?"""
    small = index.small[k, c]
    return (small <= extra) | ((small <= free) & (index.short[k, c] < slack[c]))


@borrowed(forceinline=True)
def _any(index: Index, k: int, free: float, extra: int, slack: Floats) -> bool:
    """May a job of any class below row ``k``?"""
    may = False
    for c in range(index.small.shape[1]):  # without a way out: all classes at once
        may |= _may(index, k, c, free, extra, slack)
    return may


@borrowed
def _group(index: Index, first: int, free: float, extra: int, slack: Floats) -> int:
    """First group from ``first`` on that may hold a job that could start; their number if none."""
    groups = _groups(index)
    k = groups + first
    while k:
        if _any(index, k, free, extra, slack):
            if k >= groups:
                return k - groups
            k *= 2
            continue
        while k & 1:  # done with a right-hand side: up
            k >>= 1
        k += k > 0
    return groups


@borrowed
def next_deep(
    index: Index, waiting: Floats, place: int, k: int, free: float, extra: int, slack: Floats
) -> tuple[int, int]:
    """As `fixed._next`: (place, k) of the next entry to look at, past the end if none is.

    ``slack`` is one of each class, which does not rise with the size.
    """
    begun = _groups(index)  # the group to begin with, which is not read from its first job on
    while place < used(waiting):
        block = block_at(waiting, place)
        k = max(k, int(waiting[block, FROM]))
        if k >= int(waiting[block, TO]):
            place, k = place + 1, 0
            continue
        p, c = waiting[block, PROCS + k], index.kind[int(waiting[block, ITEM + k])]
        if p <= extra or (p <= free and waiting[block, LENGTH + k] < slack[c]):
            return place, k
        here = _group_of(index, waiting[block, KEY + k])
        begun = min(begun, here)
        g = _group(index, here, free, extra, slack)
        if g == _groups(index):
            break
        if g > here:
            place, k = _first(waiting, index.edge[g], False), 0
        place, k, hit = _look(index, waiting, place, k, g, (free, extra, slack))
        if hit:
            return place, k
        if g > begun:
            _tighten(index, waiting, g)
    return used(waiting), 0


@borrowed
def _look(
    index: Index, waiting: Floats, place: int, k: int, g: int, room: tuple[float, int, Floats]
) -> tuple[int, int, bool]:
    """(place, k, is there one?) of an entry of group ``g`` to look at, else of the group behind."""
    free, extra, slack = room
    low, high, longest = index.edge[g], index.edge[g + 1], slack[0]
    while place < used(waiting):
        block = block_at(waiting, place)
        k, end = max(k, int(waiting[block, FROM])), int(waiting[block, TO])
        least = waiting[block, LEAST]
        if least <= extra or (least <= free and waiting[block, SHORT] < longest):
            for m in range(k, end):
                key, p = waiting[block, KEY + m], waiting[block, PROCS + m]
                if key >= high:
                    return place, m, False
                if key < low or p > free:
                    continue
                c = index.kind[int(waiting[block, ITEM + m])]
                if p <= extra or waiting[block, LENGTH + m] < slack[c]:
                    return place, m, True
        elif waiting[block, KEY + end - 1] >= high:
            while waiting[block, KEY + k] < high:
                k += 1
            return place, k, False
        place, k = place + 1, 0
    return place, 0, False


@borrowed
def _tighten(index: Index, waiting: Floats, g: int) -> None:
    """Make the bounds of one group exact."""
    short, small = index.exact
    short[:], small[:] = np.inf, np.inf
    low, high = index.edge[g], index.edge[g + 1]
    place, key = _first(waiting, low, False), low
    while place < used(waiting) and key < high:
        block = block_at(waiting, place)
        for m in range(int(waiting[block, FROM]), int(waiting[block, TO])):
            key = waiting[block, KEY + m]
            if low <= key < high:
                c = index.kind[int(waiting[block, ITEM + m])]
                short[c] = min(short[c], waiting[block, LENGTH + m])
                small[c] = min(small[c], waiting[block, PROCS + m])
        place += 1
    for c in range(len(small)):
        k = _groups(index) + g
        a, b = short[c], small[c]
        while k and (index.short[k, c] != a or index.small[k, c] != b):
            index.short[k, c], index.small[k, c] = a, b
            a, b = min(a, index.short[k ^ 1, c]), min(b, index.small[k ^ 1, c])
            k >>= 1
