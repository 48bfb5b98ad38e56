"""The plan of conservative backfilling: processors expected free, as a step function of time.

Steps lie in order in short blocks, each with the most and the least that is free in it.  A search
passes over blocks that cannot hold the answer, and a reservation that spans a block is noted once.
All of it is one array of floats, a row per block, as in `blocks`.

    Column          Meaning
    ORDER           row ``p``: number of the block at place ``p``
    COUNT           steps in this block
    MOST, LEAST     most and least processors free in it, before TAKEN
    TAKEN           processors to take off all its steps
    USED            row 0 alone: blocks in use
    MOMENT + k      when step k begins, s, ascending; may lie in the past
    FREE + k        processors free from then on, before TAKEN
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Ints
from rheostat.simulation.engine.jit import borrowed, compiled

WIDTH = 32
ORDER, COUNT, MOST, LEAST, TAKEN, USED, MOMENT = range(7)
FREE = MOMENT + WIDTH


@compiled
def profile(steps: int) -> Floats:
    """An empty plan with room for ``steps`` steps."""
    p = np.empty((4 * (steps // WIDTH) + 4, FREE + WIDTH))
    clear(p)
    return p


@borrowed
def clear(p: Floats) -> None:
    """Take out all steps."""
    p[0, USED] = 0


@borrowed(forceinline=True)
def bound(length: float) -> float:
    """More than ``length``: rounding must not hide a job."""
    return length * (1 + 1e-12) + 1e-6


@borrowed(fastmath={"nnan", "nsz"})
def _tighten(p: Floats, b: int) -> None:
    """Make MOST and LEAST of a block exact."""
    most, least = -np.inf, np.inf
    for k in range(int(p[b, COUNT])):
        most, least = max(most, p[b, FREE + k]), min(least, p[b, FREE + k])
    p[b, MOST], p[b, LEAST] = most, least


@borrowed
def _take_block(p: Floats, place: int) -> int:
    """A fresh block at ``place``; its number."""
    new = int(p[0, USED])
    for i in range(new, place, -1):
        p[i, ORDER] = p[i - 1, ORDER]
    p[place, ORDER], p[0, USED] = new, new + 1
    p[new, COUNT], p[new, TAKEN] = 0, 0
    p[new, MOST], p[new, LEAST] = -np.inf, np.inf
    return new


@borrowed(forceinline=True)
def append(p: Floats, when: float, free: float) -> None:
    """Add a step behind all others; blocks are left half empty, for those that come between."""
    last = int(p[0, USED]) - 1
    b = int(p[last, ORDER]) if last >= 0 else -1
    if b < 0 or p[b, COUNT] >= WIDTH // 2:
        b = _take_block(p, last + 1)
    k = int(p[b, COUNT])
    p[b, MOMENT + k], p[b, FREE + k], p[b, COUNT] = when, free + p[b, TAKEN], k + 1
    p[b, MOST], p[b, LEAST] = max(p[b, MOST], p[b, FREE + k]), min(p[b, LEAST], p[b, FREE + k])


@borrowed
def _split(p: Floats, place: int) -> None:
    """Move the upper half of the block at ``place`` into a new one behind it."""
    old = int(p[place, ORDER])
    new = _take_block(p, place + 1)
    half = WIDTH // 2
    for k in range(half, WIDTH):
        p[new, MOMENT + k - half], p[new, FREE + k - half] = p[old, MOMENT + k], p[old, FREE + k]
    p[old, COUNT], p[new, COUNT], p[new, TAKEN] = half, WIDTH - half, p[old, TAKEN]
    _tighten(p, old)
    _tighten(p, new)


@borrowed
def _insert(p: Floats, place: int, k: int, when: float, free: float) -> None:
    """Put a step before step ``k`` of the block at ``place``."""
    if p[int(p[place, ORDER]), COUNT] == WIDTH:
        _split(p, place)
        if k > WIDTH // 2:
            place, k = place + 1, k - WIDTH // 2
    b = int(p[place, ORDER])
    for m in range(int(p[b, COUNT]), k, -1):
        p[b, MOMENT + m], p[b, FREE + m] = p[b, MOMENT + m - 1], p[b, FREE + m - 1]
    p[b, MOMENT + k], p[b, FREE + k] = when, free + p[b, TAKEN]
    p[b, COUNT] += 1
    p[b, MOST], p[b, LEAST] = max(p[b, MOST], p[b, FREE + k]), min(p[b, LEAST], p[b, FREE + k])


@borrowed
def reserve(
    p: Floats, place: int, k: int, until: float, need: int, level: float, low: int, high: int
) -> tuple[float, float]:
    """Take ``need`` processors from step ``k`` of the block at ``place`` until ``until``, s.

    ``level``: processors free just before that step, and so at ``until`` if no step is taken.
    Returns when fewer than ``low`` and than ``high``, which is no less, are free for the first time
    in that span, s; inf if they never are.
    """
    wall, short = np.inf, np.inf
    while place < p[0, USED]:
        b = int(p[place, ORDER])
        n = int(p[b, COUNT])
        if k == 0 and p[b, MOMENT + n - 1] < until:
            level = p[b, FREE + n - 1] - p[b, TAKEN]
            p[b, TAKEN] += need
            if short == np.inf:
                short = _below(p, b, high)
            if wall == np.inf and short < np.inf:
                wall = _below(p, b, low)
            place += 1
            continue
        first = k
        while k < n and p[b, MOMENT + k] < until:
            level = p[b, FREE + k] - p[b, TAKEN]
            p[b, FREE + k] -= need
            if level - need < high:
                short = min(short, p[b, MOMENT + k])
                if level - need < low:
                    wall = min(wall, p[b, MOMENT + k])
            k += 1
        if k > first:
            _tighten(p, b)
        if k < n:
            if p[b, MOMENT + k] > until:
                _insert(p, place, k, until, level)
            return wall, short
        place, k = place + 1, 0
    append(p, until, level)
    return wall, short


@borrowed(forceinline=True)
def _below(p: Floats, b: int, need: int) -> float:
    """When fewer than ``need`` are free in a block for the first time, s; inf if they never are."""
    if p[b, LEAST] - p[b, TAKEN] < need:
        for k in range(int(p[b, COUNT])):
            if p[b, FREE + k] - p[b, TAKEN] < need:
                return p[b, MOMENT + k]
    return np.inf


@borrowed
def first_below(p: Floats, need: int) -> float:
    """When fewer than ``need`` are free for the first time, s; inf if they never are."""
    for place in range(int(p[0, USED])):
        when = _below(p, int(p[place, ORDER]), need)
        if when < np.inf:
            return when
    return np.inf


@borrowed
def before(p: Floats, free: float, when: float, now: float, sizes: Ints, limit: Floats) -> None:
    """Lower ``limit``: a job of each of ``sizes`` that is as long is not over before ``when``, s.

    ``free`` is what is free in truth.  A size that is never free before then: -inf.
    """
    most = free
    for place in range(int(p[0, USED])):
        b = int(p[place, ORDER])
        if p[b, MOMENT] >= when:
            break
        most = max(most, p[b, MOST] - p[b, TAKEN])
    for c in range(len(sizes)):
        limit[c] = min(limit[c], bound(when - now)) if sizes[c] <= most else -np.inf


@borrowed(forceinline=True)
def end(p: Floats, place: int, k: int, now: float, length: float) -> float:
    """When a job of this length that is planned at this step is over."""
    return max(p[int(p[place, ORDER]), MOMENT + k], now) + length


@borrowed
def earliest(p: Floats, need: int, length: float, now: float, stop: float) -> tuple[int, int]:
    """(place, k) of the first step from which ``need`` stay free for ``length`` seconds.

    What begins in the past lasts from ``now`` on.  (-1, 0) if it would not be over by ``stop``.
    A job that lasts beyond the end of a block can begin there behind its last short step only.
    """
    to, first, over = -1, 0, np.inf  # where it could begin as far as has been seen, and its end
    for place in range(int(p[0, USED])):
        b = int(p[place, ORDER])
        if to >= 0 and p[b, MOMENT] >= over:
            break
        if p[b, MOST] - p[b, TAKEN] < need:
            to = -1
            continue
        if to < 0 and end(p, place, 0, now, length) > stop:
            break
        n, k, least = int(p[b, COUNT]), 0, need + p[b, TAKEN]
        while k < n:
            if to >= 0:
                if p[b, LEAST] >= least:
                    break
                while k < n and p[b, FREE + k] >= least and p[b, MOMENT + k] < over:
                    k += 1
                if k == n:
                    break
                if p[b, MOMENT + k] >= over:
                    return to, first
                to = -1
            if max(p[b, MOMENT + k], now) + length > p[b, MOMENT + n - 1]:
                first = n if p[b, LEAST] < least else k
                while first > k and p[b, FREE + first - 1] >= least:
                    first -= 1
                k = n
                if first == n:
                    break
            else:
                while k < n and p[b, FREE + k] < least:
                    k += 1
                if k == n:
                    break
                first = k
            to, over = place, end(p, place, first, now, length)
            if over > stop:
                return -1, 0
    return (to, first) if to >= 0 else (-1, 0)


@borrowed
def longest(p: Floats, free: float, need: int, now: float, stop: float) -> float:
    """For how long ``need`` stay free at most from any one step on, until ``stop`` at most, s.

    ``free`` is what is free in truth.  -inf if they never are.
    """
    begin, most = now if free >= need else np.inf, -np.inf
    for place in range(int(p[0, USED])):
        b = int(p[place, ORDER])
        if p[b, MOMENT] >= stop:
            break
        enough, k = need + p[b, TAKEN], 0
        n = int(p[b, COUNT]) if p[b, LEAST] < enough <= p[b, MOST] else 1
        while k < n and p[b, MOMENT + k] < stop:
            when = max(p[b, MOMENT + k], now)
            if (p[b, FREE + k] if n > 1 else p[b, MOST]) >= enough:
                begin = min(begin, when)
            else:
                most = max(most, when - begin)
                begin = np.inf
            k += 1
    return max(most, stop - begin)


@borrowed
def limits(p: Floats, free: float, now: float, sizes: Ints, limit: Floats) -> None:
    """Write ``limit``: a job of each of ``sizes``, which ascend, that is as long cannot start, s.

    ``free`` is what is free in truth; a size beyond it cannot run: -inf.
    """
    c = len(sizes) - 1
    while c >= 0 and sizes[c] > free:
        limit[c] = -np.inf
        c -= 1
    for place in range(int(p[0, USED])):
        b = int(p[place, ORDER])
        k, n = 0, int(p[b, COUNT])
        while c >= 0 and p[b, LEAST] - p[b, TAKEN] < sizes[c] and k < n:
            while c >= 0 and p[b, FREE + k] - p[b, TAKEN] < sizes[c]:
                limit[c] = bound(p[b, MOMENT + k] - now)
                c -= 1
            k += 1
    for k in range(c + 1):
        limit[k] = np.inf
