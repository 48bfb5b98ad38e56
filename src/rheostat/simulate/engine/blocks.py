"""A sorted list that keeps sums and minima: short blocks in order, each with its own aggregates.

The scheduler asks two questions at every event: *when are p processors expected free* (a running
sum over running jobs by expected end) and *which waiting job is the next that could start* (a
search by size and length in queue order).  Both are one structure: entries sorted by key, in blocks
of at most `WIDTH`; a block that cannot hold the answer is passed over by its aggregates alone.  A
short list is one block, that is a plain sorted array; a list of 200,000 is 3,000 blocks.

    Symbol     Shape       Meaning
    key        (m, WIDTH)  what the list is sorted by; equal keys keep the order of insertion
    item       (m, WIDTH)  job index
    procs      (m, WIDTH)  processors of the job
    length     (m, WIDTH)  planned run time of the job, s
    count      (m,)        entries in the block
    total      (m,)        sum of ``procs`` in the block
    least      (m,)        smallest ``procs`` in the block
    short      (m,)        smallest ``length`` in the block
    order      (m,)        block numbers in order of their keys
    meta       (2,)        blocks in use; blocks ever taken less those given back
    spare      (m,)        stack of block numbers not in use
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulate.engine.jit import compiled

WIDTH = 32
USED, LEFT = 0, 1


class Blocks(NamedTuple):
    """The arrays of the notation above, made by `blocks`."""

    key: np.ndarray
    item: np.ndarray
    procs: np.ndarray
    length: np.ndarray
    count: np.ndarray
    total: np.ndarray
    least: np.ndarray
    short: np.ndarray
    order: np.ndarray
    spare: np.ndarray
    meta: np.ndarray


@compiled
def blocks(capacity):
    """An empty list with room for ``capacity`` entries."""
    m = 4 * (capacity // WIDTH) + 8
    wide = (m, WIDTH)
    return Blocks(
        np.empty(wide, np.float64),
        np.empty(wide, np.int64),
        np.empty(wide, np.int64),
        np.empty(wide, np.float64),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(m, np.float64),
        np.zeros(m, np.int64),
        np.arange(m - 1, -1, -1),
        np.array([0, m]),
    )


@compiled
def _take(b, place):
    """A fresh block at ``place`` in the order."""
    for i in range(b.meta[USED], place, -1):
        b.order[i] = b.order[i - 1]
    b.meta[LEFT] -= 1
    block = b.spare[b.meta[LEFT]]
    b.order[place] = block
    b.meta[USED] += 1
    b.count[block] = 0
    b.total[block] = 0
    b.least[block] = 1 << 62
    b.short[block] = np.inf
    return block


@compiled
def _repack(b):
    """Fill every block but the last: many removals can leave blocks of one entry."""
    to, fill = 0, 0
    for place in range(b.meta[USED]):
        block = b.order[place]
        for k in range(b.count[block]):
            into = b.order[to]
            b.key[into, fill], b.item[into, fill] = b.key[block, k], b.item[block, k]
            b.procs[into, fill], b.length[into, fill] = b.procs[block, k], b.length[block, k]
            fill += 1
            if fill == WIDTH:
                to, fill = to + 1, 0
    used = to + (fill > 0)
    for place in range(b.meta[USED]):
        b.count[b.order[place]] = WIDTH
    if fill:
        b.count[b.order[to]] = fill
    for place in range(used, b.meta[USED]):
        b.spare[b.meta[LEFT]] = b.order[place]
        b.meta[LEFT] += 1
    b.meta[USED] = used
    for place in range(used):
        aggregate(b, b.order[place])


@compiled(forceinline=True)
def _first_not_below(b, key):
    """Place of the first block whose last key is not below ``key``; may be past the end."""
    low, high = 0, b.meta[USED]
    while low < high:
        middle = (low + high) // 2
        block = b.order[middle]
        if b.key[block, b.count[block] - 1] < key:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(forceinline=True)
def _first_above(b, key):
    """Place of the first block whose last key is above ``key``; may be past the end."""
    low, high = 0, b.meta[USED]
    while low < high:
        middle = (low + high) // 2
        block = b.order[middle]
        if b.key[block, b.count[block] - 1] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(forceinline=True)
def aggregate(b, block):
    """Recompute the aggregates of one block."""
    total, least, short = 0, 1 << 62, np.inf
    for k in range(b.count[block]):
        total += b.procs[block, k]
        least = min(least, b.procs[block, k])
        short = min(short, b.length[block, k])
    b.total[block], b.least[block], b.short[block] = total, least, short


@compiled
def _split(b, place):
    """Move the upper half of the block at ``place`` into a new block behind it."""
    old = b.order[place]
    new = _take(b, place + 1)
    half = WIDTH // 2
    for k in range(half, WIDTH):
        b.key[new, k - half] = b.key[old, k]
        b.item[new, k - half] = b.item[old, k]
        b.procs[new, k - half] = b.procs[old, k]
        b.length[new, k - half] = b.length[old, k]
    b.count[old], b.count[new] = half, WIDTH - half
    aggregate(b, old)
    aggregate(b, new)


@compiled(forceinline=True)
def insert(b, key, item, procs, length):
    """Add an entry behind all with the same key."""
    if b.meta[LEFT] == 0:
        _repack(b)
    place = _first_above(b, key)
    if place == b.meta[USED]:
        if place == 0 or b.count[b.order[place - 1]] == WIDTH:
            _take(b, place)
        else:
            place -= 1
    elif b.count[b.order[place]] == WIDTH:
        _split(b, place)
        low = b.order[place]
        if b.key[low, b.count[low] - 1] <= key:
            place += 1
    block = b.order[place]
    k = b.count[block]
    while k > 0 and b.key[block, k - 1] > key:
        b.key[block, k] = b.key[block, k - 1]
        b.item[block, k] = b.item[block, k - 1]
        b.procs[block, k] = b.procs[block, k - 1]
        b.length[block, k] = b.length[block, k - 1]
        k -= 1
    b.key[block, k], b.item[block, k] = key, item
    b.procs[block, k], b.length[block, k] = procs, length
    b.count[block] += 1
    b.total[block] += procs
    b.least[block] = min(b.least[block], procs)
    b.short[block] = min(b.short[block], length)


@compiled(forceinline=True)
def remove(b, place, k):
    """Take out entry ``k`` of the block at ``place``; True if the block is gone with it."""
    block = b.order[place]
    b.total[block] -= b.procs[block, k]
    b.count[block] -= 1
    left = b.count[block]
    if left == 0:
        b.meta[USED] -= 1
        for i in range(place, b.meta[USED]):
            b.order[i] = b.order[i + 1]
        b.spare[b.meta[LEFT]] = block
        b.meta[LEFT] += 1
        return True
    for i in range(k, left):
        b.key[block, i] = b.key[block, i + 1]
        b.item[block, i] = b.item[block, i + 1]
        b.procs[block, i] = b.procs[block, i + 1]
        b.length[block, i] = b.length[block, i + 1]
    return False


@compiled(forceinline=True)
def discard(b, key, item):
    """Take out ``item``, which was put in with ``key``."""
    place = _first_not_below(b, key)
    while place < b.meta[USED]:
        block = b.order[place]
        for k in range(b.count[block]):
            if b.item[block, k] == item and b.key[block, k] == key:
                remove(b, place, k)
                return
        place += 1


@compiled(forceinline=True)
def least_procs(b):
    """The smallest size in the list; a number above every size when it is empty."""
    least = 1 << 62
    for place in range(b.meta[USED]):
        least = min(least, b.least[b.order[place]])
    return least


@compiled(forceinline=True)
def shadow(b, free, need):
    """(key at which ``free`` plus all entries up to it reach ``need``, what is left over then).

    All entries with that same key count, as jobs expected to end together do.  (inf, 0) when the
    whole list is not enough.
    """
    place, used = 0, b.meta[USED]
    while place < used and free + b.total[b.order[place]] < need:
        free += b.total[b.order[place]]
        place += 1
    when = np.inf
    while place < used:
        block = b.order[place]
        for k in range(b.count[block]):
            if b.key[block, k] > when:
                return when, free - need
            free += b.procs[block, k]
            if free >= need and when == np.inf:
                when = b.key[block, k]
        place += 1
    return (when, free - need) if free >= need else (np.inf, 0)


@compiled(forceinline=True)
def first_key(b):
    """The smallest key; inf when the list is empty."""
    return b.key[b.order[0], 0] if b.meta[USED] else np.inf


@compiled(forceinline=True)
def pop(b, by_length):
    """Take out the first item; of those with the same key the one with least length, if asked."""
    block, pick = b.order[0], 0
    if by_length:
        for k in range(1, b.count[block]):
            if b.key[block, k] != b.key[block, 0]:
                break
            if b.length[block, k] < b.length[block, pick]:
                pick = k
    item = b.item[block, pick]
    remove(b, 0, pick)
    return item
