"""A sorted list that keeps sums and minima: short blocks in order, each with its own aggregates.

The scheduler asks two questions at every event: *when are p processors expected free* (a running
sum over running jobs by expected end) and *which waiting job is the next that could start* (a
search by size and length in queue order).  Both are one structure: entries sorted by key, in blocks
of at most `WIDTH`; a block that cannot hold the answer is passed over by its aggregates alone.  A
short list is one block, that is a plain sorted array; a list of 200,000 is 6,000 blocks.  Entries
lie anywhere in their block, so that taking the first moves none and others move the fewer.

All of it is ONE array of floats, a row per block: numba counts references to every array taken out
of a tuple, which made a list of ten arrays three times slower.  Whole numbers are exact to 2^53.

    Column          Meaning
    ORDER           row ``p``: number of the block at place ``p``
    SPARE           row ``p``: stack of the numbers of blocks given back
    FROM, TO        the entries of this block are those with FROM <= k < TO
    TOTAL           sum of their processors
    LEAST           no entry has fewer processors; may be too low
    SHORT           no entry is shorter, s; may be too low
    USED, BACK      row 0 alone: blocks in use, blocks given back
    FRESH           row 0 alone: the first block never used, so that memory is touched when needed
    KEY + k         what the list is sorted by; equal keys keep the order of insertion
    ITEM + k        job
    PROCS + k       processors of the job
    LENGTH + k      planned run time of the job, s

``LEAST`` and ``SHORT`` are bounds: a removal leaves them, a search in vain calls `tighten`.
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Floats
from rheostat.simulation.engine.jit import borrowed, compiled

WIDTH = 32
ORDER, SPARE, FROM, TO, TOTAL, LEAST, SHORT, USED, BACK, FRESH = range(10)
KEY = 10
ITEM, PROCS, LENGTH = KEY + WIDTH, KEY + 2 * WIDTH, KEY + 3 * WIDTH
COLUMNS = KEY + 4 * WIDTH


@compiled
def blocks(capacity: int) -> Floats:
    """An empty list with room for ``capacity`` entries."""
    b = np.empty((4 * (capacity // WIDTH) + 8, COLUMNS))
    clear(b)
    return b


@borrowed
def clear(b: Floats) -> None:
    """Take out all entries."""
    b[0, USED], b[0, BACK], b[0, FRESH] = 0, 0, 0


@borrowed(forceinline=True)
def used(b: Floats) -> int:
    """Blocks in use; 0 for an empty list."""
    return int(b[0, USED])


@borrowed(forceinline=True)
def block_at(b: Floats, place: int) -> int:
    """Number of the block at this place of the order."""
    return int(b[place, ORDER])


@borrowed(forceinline=True)
def first_key(b: Floats) -> float:
    """The smallest key; inf when the list is empty."""
    if used(b) == 0:
        return np.inf
    block = block_at(b, 0)
    return b[block, KEY + int(b[block, FROM])]


@borrowed(forceinline=True)
def first_item(b: Floats) -> int:
    """The item with the smallest key, of a list that is not empty."""
    block = block_at(b, 0)
    return int(b[block, ITEM + int(b[block, FROM])])


@borrowed(forceinline=True)
def span(b: Floats, block: int) -> tuple[int, int]:
    """(FROM, TO) of a block."""
    return int(b[block, FROM]), int(b[block, TO])


@borrowed
def _take(b: Floats, place: int) -> int:
    """A fresh block at ``place`` in the order."""
    for i in range(used(b), place, -1):
        b[i, ORDER] = b[i - 1, ORDER]
    if b[0, BACK] > 0:
        b[0, BACK] -= 1
        block = int(b[int(b[0, BACK]), SPARE])
    else:
        block = int(b[0, FRESH])
        b[0, FRESH] += 1
    b[place, ORDER] = block
    b[0, USED] += 1
    b[block, FROM], b[block, TO], b[block, TOTAL] = 0, 0, 0
    b[block, LEAST], b[block, SHORT] = np.inf, np.inf
    return block


@borrowed(forceinline=True)
def _move(b: Floats, block: int, k: int, to: int, at: int) -> None:
    """Copy entry ``k`` of one block to place ``at`` of another."""
    b[to, KEY + at] = b[block, KEY + k]
    b[to, ITEM + at] = b[block, ITEM + k]
    b[to, PROCS + at] = b[block, PROCS + k]
    b[to, LENGTH + at] = b[block, LENGTH + k]


@borrowed
def tighten(b: Floats, block: int) -> None:
    """Make the aggregates of one block exact."""
    total, least, short = 0.0, np.inf, np.inf
    for k in range(int(b[block, FROM]), int(b[block, TO])):
        total += b[block, PROCS + k]
        least = min(least, b[block, PROCS + k])
        short = min(short, b[block, LENGTH + k])
    b[block, TOTAL], b[block, LEAST], b[block, SHORT] = total, least, short


@borrowed
def _repack(b: Floats) -> None:
    """Fill every block but the last: many removals can leave blocks of one entry."""
    to, fill = 0, 0
    for place in range(used(b)):
        block = block_at(b, place)
        low, high = span(b, block)
        for k in range(low, high):
            _move(b, block, k, block_at(b, to), fill)
            fill += 1
            if fill == WIDTH:
                to, fill = to + 1, 0
    kept = to + (fill > 0)
    for place in range(kept, used(b)):
        b[int(b[0, BACK]), SPARE] = b[place, ORDER]
        b[0, BACK] += 1
    b[0, USED] = kept
    for place in range(kept):
        block = block_at(b, place)
        b[block, FROM], b[block, TO] = 0, WIDTH if place < to else fill
        tighten(b, block)


@borrowed(forceinline=True)
def _first(b: Floats, key: float, above: bool) -> int:
    """Place of the first block whose last key is not below (or is above) ``key``; may be past."""
    low, high = 0, used(b)
    while low < high:
        middle = (low + high) >> 1
        block = block_at(b, middle)
        last = b[block, KEY + int(b[block, TO]) - 1]
        if last < key or (above and last == key):
            low = middle + 1
        else:
            high = middle
    return low


@borrowed
def seek(b: Floats, key: float) -> tuple[int, int]:
    """(place, k) of the first entry whose key is not below ``key``; past the end if none is."""
    place = _first(b, key, False)
    if place == used(b):
        return place, 0
    block = block_at(b, place)
    k = int(b[block, FROM])
    while b[block, KEY + k] < key:
        k += 1
    return place, k


@borrowed
def _slide(b: Floats, block: int) -> None:
    """Move the entries of a block to its beginning."""
    low, high = span(b, block)
    for k in range(low, high):
        _move(b, block, k, block, k - low)
    b[block, FROM], b[block, TO] = 0, high - low


@borrowed
def _split(b: Floats, place: int) -> None:
    """Move the upper half of the block at ``place`` into a new block behind it."""
    old = block_at(b, place)
    new = _take(b, place + 1)
    half = WIDTH // 2
    for k in range(half, WIDTH):
        _move(b, old, k, new, k - half)
    b[old, TO], b[new, TO] = half, WIDTH - half
    tighten(b, old)
    tighten(b, new)


@borrowed(forceinline=True)
def _room(b: Floats, key: float) -> int:
    """Place of a block that takes ``key`` behind its equals and is not full."""
    if b[0, BACK] == 0 and b[0, FRESH] == len(b):
        _repack(b)
    place = _first(b, key, True)
    if place == used(b):
        if place == 0 or b[block_at(b, place - 1), TO] == WIDTH:
            _take(b, place)
            return place
        return place - 1
    block = block_at(b, place)
    if b[block, TO] == WIDTH:
        if b[block, FROM] > 0:
            _slide(b, block)
            return place
        _split(b, place)
        if b[block, KEY + int(b[block, TO]) - 1] <= key:
            return place + 1
    return place


@borrowed
def insert(b: Floats, key: float, item: int, procs: int, length: float) -> None:
    """Add an entry behind all with the same key."""
    block = block_at(b, _room(b, key))
    low, high = span(b, block)
    k = high
    while k > low and b[block, KEY + k - 1] > key:
        k -= 1
    if low > 0 and k - low < high - k:
        k -= 1
        for m in range(low, k + 1):
            _move(b, block, m, block, m - 1)
        b[block, FROM] = low - 1
    else:
        for m in range(high, k, -1):
            _move(b, block, m - 1, block, m)
        b[block, TO] = high + 1
    b[block, KEY + k], b[block, ITEM + k] = key, item
    b[block, PROCS + k], b[block, LENGTH + k] = procs, length
    b[block, TOTAL] += procs
    b[block, LEAST] = min(b[block, LEAST], procs)
    b[block, SHORT] = min(b[block, SHORT], length)


@borrowed
def append(b: Floats, key: float, item: int, procs: int, length: float) -> None:
    """Add an entry whose key is not below any other."""
    place = used(b) - 1
    if place < 0 or b[block_at(b, place), TO] == WIDTH:
        place += 1
        _take(b, place)
    block = block_at(b, place)
    k = int(b[block, TO])
    b[block, KEY + k], b[block, ITEM + k] = key, item
    b[block, PROCS + k], b[block, LENGTH + k] = procs, length
    b[block, TO] = k + 1
    b[block, TOTAL] += procs
    b[block, LEAST] = min(b[block, LEAST], procs)
    b[block, SHORT] = min(b[block, SHORT], length)


@borrowed(forceinline=True)
def remove(b: Floats, place: int, k: int) -> bool:
    """Take out entry ``k`` of the block at ``place``; True if the block is gone with it.

    What was behind it is then at ``k`` or ``k + 1``.
    """
    block = block_at(b, place)
    b[block, TOTAL] -= b[block, PROCS + k]
    low, high = span(b, block)
    if high - low == 1:
        b[0, USED] -= 1
        for i in range(place, used(b)):
            b[i, ORDER] = b[i + 1, ORDER]
        b[int(b[0, BACK]), SPARE] = block
        b[0, BACK] += 1
        return True
    if k - low < high - 1 - k:
        for m in range(k, low, -1):
            _move(b, block, m - 1, block, m)
        b[block, FROM] = low + 1
    else:
        for m in range(k, high - 1):
            _move(b, block, m + 1, block, m)
        b[block, TO] = high - 1
    return False


@borrowed
def discard(b: Floats, key: float, item: int) -> None:
    """Take out ``item``, which was put in with ``key``."""
    for place in range(_first(b, key, False), used(b)):
        block = block_at(b, place)
        for k in range(int(b[block, FROM]), int(b[block, TO])):
            if b[block, KEY + k] == key and b[block, ITEM + k] == item:
                remove(b, place, k)
                return


@borrowed(forceinline=True)
def pop(b: Floats, by_length: bool) -> int:
    """Take out the first item; of those with the same key the one with least length, if asked."""
    place, pick = 0, int(b[block_at(b, 0), FROM])
    if by_length:
        place, pick = _shortest(b)
    item = int(b[block_at(b, place), ITEM + pick])
    remove(b, place, pick)
    return item


@borrowed
def _shortest(b: Floats) -> tuple[int, int]:
    """(place, k) of the entry with the least length among those with the first key."""
    best, pick, least, key = 0, 0, np.inf, first_key(b)
    for place in range(used(b)):
        block = block_at(b, place)
        for k in range(int(b[block, FROM]), int(b[block, TO])):
            if b[block, KEY + k] != key:
                return best, pick
            if b[block, LENGTH + k] < least:
                best, pick, least = place, k, b[block, LENGTH + k]
    return best, pick


@borrowed
def least_procs(b: Floats) -> float:
    """A bound: no entry has fewer processors; inf for an empty list."""
    least = np.inf
    for place in range(used(b)):
        least = min(least, b[block_at(b, place), LEAST])
    return least


@borrowed
def any_fits(b: Floats, free: float) -> bool:
    """Is there an entry with so few processors?  Exact, unlike `least_procs`."""
    for place in range(used(b)):
        block = block_at(b, place)
        if b[block, LEAST] <= free:
            tighten(b, block)
            if b[block, LEAST] <= free:
                return True
    return False


@borrowed
def shadow(b: Floats, free: int, need: int, least: float) -> tuple[float, int]:
    """(key at which ``free`` plus all entries up to it reach ``need``, what is left over then).

    All entries with that same key count, as jobs expected to end together do; a key below ``least``
    counts as that.  (inf, 0) when the whole list is not enough.
    """
    place, left = 0, float(free)
    while place < used(b) and left + b[block_at(b, place), TOTAL] < need:
        left += b[block_at(b, place), TOTAL]
        place += 1
    when = np.inf
    while place < used(b):
        block = block_at(b, place)
        for k in range(int(b[block, FROM]), int(b[block, TO])):
            if b[block, KEY + k] > when:
                return when, int(left) - need
            left += b[block, PROCS + k]
            if left >= need and when == np.inf:
                when = max(b[block, KEY + k], least)
        place += 1
    return (when, int(left) - need) if left >= need else (np.inf, 0)
