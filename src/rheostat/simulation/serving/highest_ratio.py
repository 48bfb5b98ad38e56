"""Who has waited longest for what it costs (HRRN), compiled: a tournament that says when it ends.

The ratio of waiting to cost, (now - submit) / cost, is a line in time.  A complete binary tree over
the requests keeps for each node who of those below has the highest, and the moment until which
nobody there can overtake: the earlier of what its two parts say, and of when the better of their
winners is overtaken by the other.  Who comes or goes brings the nodes above up to date; asking who
wins, those whose moment has passed.

Notation
--------
x, y   seconds that winner and other have waited      c, d   what they cost, s
u seconds from now the winner is ahead by more than rounding if (1 - ROUNDING) (x + u) d > (y + u) c
Root 1; a winner is a row, -1 where nobody waits
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.simulation.engine.jit import borrowed, compiled

ROUNDING = 1e-9


@compiled
def tournament(n: int) -> Any:
    """Of ``n`` requests, none of which waits: winners, and until when."""
    leaves = 1
    while leaves < n:
        leaves *= 2
    return np.full(2 * leaves, -1), np.full(2 * leaves, np.inf)


@borrowed
def place(tree: Any, row: int, who: int, now: float, submit_s: Any, cost: Any) -> None:
    """A request waits (``who`` is its row) or waits no more (-1)."""
    winner, until = tree
    i, same = len(winner) // 2 + row, False
    winner[i] = who
    while i > 1:
        lasts, i = until[i], i >> 1
        if not same:
            before = winner[i]
            _meet(tree, i, now, submit_s, cost)
            same = winner[i] == before
        elif lasts < until[i]:
            until[i] = lasts
        else:
            return


@borrowed
def highest_ratio(tree: Any, now: float, submit_s: Any, cost: Any) -> int:
    """The row with the most seconds waited per cost, of equals the first; ``now`` never falls."""
    winner, until = tree
    i = 1
    while until[1] < now:
        if until[2 * i] < now:
            i = 2 * i
        elif until[2 * i + 1] < now:
            i = 2 * i + 1
        else:
            _meet(tree, i, now, submit_s, cost)
            i = max(1, i >> 1)
    best: int = winner[1]
    return best


@borrowed
def _meet(tree: Any, i: int, now: float, submit_s: Any, cost: Any) -> None:
    """The winner of a node, from those of its two parts."""
    winner, until = tree
    a, b = winner[2 * i], winner[2 * i + 1]
    lasts = min(until[2 * i], until[2 * i + 1])
    if a < 0 or b < 0:
        winner[i], until[i] = max(a, b), lasts
        return
    x, y = now - submit_s[a], now - submit_s[b]
    if y / cost[b] > x / cost[a]:
        a, b, x, y = b, a, y, x
    ahead_s = _ahead_s(x, cost[a], y, cost[b])
    last = now + ahead_s
    if last - now > ahead_s:  # rounded up
        last = np.nextafter(last, now)
    winner[i], until[i] = a, min(lasts, last)


@borrowed
def _ahead_s(x: float, c: float, y: float, d: float) -> float:
    """Seconds for which a winner stays ahead by more than rounding; 0 where it is not."""
    if x == y and c == d:
        return np.inf
    lead = (1.0 - ROUNDING) * x * d - y * c
    lost_per_s = c - (1.0 - ROUNDING) * d
    if lead <= 0.0:
        return 0.0
    return lead / lost_per_s if lost_per_s > 0.0 else np.inf
