"""Who is admitted next where answers shall come within a bound, compiled.

The cheapest of those that wait goes first as long as, by what all of them cost, none that waits
would begin too late for it; else the cheapest of those that must begin no later than the first one
that would.  The bound is as long for all, so that hardly anyone who comes later has to begin
before those that wait, and nothing need be known of the future.  ``GIVEN_UP`` of all that came may
be late: given up, begun too late, or, once that is known, answered too late.  Who is given up has
no deadline any more and goes by cost alone.  It is the costliest one that stands before a deadline
which others would have to make way for (as Moore and Hodgson do for the fewest late jobs), if it is
among as many of the costliest of all that came.  The proxy keeps the same rule in
lists (`rheostat.decision.serving.waiting_line.BoundLine`).

Notation
--------
slack   latest moment to begin, less what those cost that wait, must begin before and have it to do
A complete binary tree over the requests in order of their latest moments: root 1, ``leaf`` of each
row; of each node the sum of cost, the least slack counted from its left end, its cheapest and its
costliest row (-1 where there is none).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat.simulation.engine.jit import borrowed, compiled


@compiled
def tree(latest_s: Any) -> Any:
    """An empty one: leaves, sums, slacks, cheapest and costliest rows."""
    n, leaves = len(latest_s), 1
    while leaves < n:
        leaves *= 2
    leaf = np.empty(n, np.int64)
    leaf[np.argsort(latest_s, kind="mergesort")] = leaves + np.arange(n)
    total, slack = np.zeros(2 * leaves), np.full(2 * leaves, np.inf)
    return leaf, total, slack, np.full(2 * leaves, -1), np.full(2 * leaves, -1)


@borrowed
def wait(tree: Any, row: int, cost: Any, latest_s: Any) -> None:
    """A request waits."""
    leaf, total, slack, cheap, dear = tree
    i = leaf[row]
    total[i], slack[i], cheap[i], dear[i] = cost[row], latest_s[row], row, row
    _above(tree, i, cost)


@borrowed
def leave(tree: Any, row: int, cost: Any) -> None:
    """It waits no more, or is given up; one that is not there may leave."""
    leaf, total, slack, cheap, dear = tree
    i = leaf[row]
    if cheap[i] >= 0:
        total[i], slack[i], cheap[i], dear[i] = 0.0, np.inf, -1, -1
        _above(tree, i, cost)


@borrowed
def _above(tree: Any, i: int, cost: Any) -> None:
    """Bring the nodes above one up to date."""
    _, total, slack, cheap, dear = tree
    while i > 1:
        i >>= 1
        a, b = 2 * i, 2 * i + 1
        total[i] = total[a] + total[b]
        slack[i] = min(slack[a], slack[b] - total[a])
        cheap[i] = _cheaper(cheap[a], cheap[b], cost)
        dear[i] = _dearer(dear[a], dear[b], cost)


@borrowed
def _cheaper(a: int, b: int, cost: Any) -> int:
    return b if a < 0 or (b >= 0 and cost[b] < cost[a]) else a


@borrowed
def _dearer(a: int, b: int, cost: Any) -> int:
    return b if a < 0 or (b >= 0 and cost[b] > cost[a]) else a


@borrowed
def _first_below(tree: Any, moment_s: float) -> int:
    """The first leaf whose slack is less than a moment; -1 where there is none."""
    _, total, slack, _, _ = tree
    if not slack[1] < moment_s:
        return -1
    i, before, leaves = 1, 0.0, len(total) // 2
    while i < leaves:
        i *= 2
        if not slack[i] - before < moment_s:
            before += total[i]
            i += 1
    return i


@borrowed
def _until(tree: Any, i: int, cost: Any, dearest: bool) -> int:
    """The cheapest or the costliest row up to a leaf."""
    _, _, _, cheap, dear = tree
    best: int = dear[i] if dearest else cheap[i]
    while i > 1:
        if i & 1:
            best = _dearer(dear[i - 1], best, cost) if dearest else (
                _cheaper(cheap[i - 1], best, cost))  # fmt: skip
        i >>= 1
    return best


@borrowed
def next_row(
    tree: Any, cheapest: int, cost: Any, begin_s: float, late: Any, allowed: float, costly: float,
) -> Any:  # fmt: skip
    """The request to admit, and how many were given up for it.

    ``cheapest`` is the one of all that wait; who is admitted now begins at ``begin_s``; who is
    ``late`` is not in the tree; ``allowed`` more may be, ``costly`` is the least cost of the
    costliest.
    """
    leaf = tree[0]
    dropped, row = 0, cheapest
    while True:
        tight = _first_below(tree, begin_s + cost[row])
        if tight < 0 or (tight >= leaf[row] and not late[row]):
            return row, dropped
        dear = _until(tree, tight, cost, True)
        if dropped < allowed and cost[dear] >= costly:
            late[dear] = True
            dropped += 1
            leave(tree, dear, cost)
            row = cheapest
        else:
            row = _until(tree, tight, cost, False)
