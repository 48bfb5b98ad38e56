"""What happens next: a binary heap of moments whose ties come out in a fixed order.

Symbol  Shape  Meaning
key     (c,)   moment, s; the smallest comes out first
tie     (c,)   order among equal moments
number  (c,)   order among equal ties: as put in
item    (c,)   what happens then
meta    (2,)   entries in use; entries ever put in
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulate.engine.jit import compiled


class Heap(NamedTuple):
    """The arrays of the notation above, made by `heap`."""

    key: np.ndarray
    tie: np.ndarray
    number: np.ndarray
    item: np.ndarray
    meta: np.ndarray


@compiled
def heap(capacity):
    """An empty heap with room for ``capacity`` entries."""
    c = capacity + 1
    whole = np.zeros(c, np.int64)
    return Heap(np.zeros(c), np.zeros(c), whole, np.zeros(c, np.int64), np.zeros(2, np.int64))


@compiled
def first(h):
    """The smallest moment; inf for an empty heap."""
    return h.key[0] if h.meta[0] else np.inf


@compiled
def _swap(h, a, b):
    h.key[a], h.key[b] = h.key[b], h.key[a]
    h.tie[a], h.tie[b] = h.tie[b], h.tie[a]
    h.number[a], h.number[b] = h.number[b], h.number[a]
    h.item[a], h.item[b] = h.item[b], h.item[a]


@compiled
def _before(h, a, b):
    if h.key[a] != h.key[b]:
        return h.key[a] < h.key[b]
    if h.tie[a] != h.tie[b]:
        return h.tie[a] < h.tie[b]
    return h.number[a] < h.number[b]


@compiled
def push(h, key, tie, item):
    """Add an entry."""
    k = h.meta[0]
    h.key[k], h.tie[k], h.number[k], h.item[k] = key, tie, h.meta[1], item
    h.meta[0] += 1
    h.meta[1] += 1
    _rise(h, k)


@compiled
def pop(h):
    """Take out the first item."""
    item = h.item[0]
    take(h, 0)
    return item


@compiled
def take(h, k):
    """Take out the entry at place ``k``."""
    h.meta[0] -= 1
    _swap(h, k, h.meta[0])
    if k < h.meta[0]:
        _rise(h, k)
        _sink(h, k)


@compiled
def discard(h, item):
    """Take out the entry of ``item``, which is there."""
    for k in range(h.meta[0]):
        if h.item[k] == item:
            take(h, k)
            return


@compiled
def _rise(h, k):
    while k > 0 and _before(h, k, (k - 1) // 2):
        _swap(h, k, (k - 1) // 2)
        k = (k - 1) // 2


@compiled
def _sink(h, k):
    while True:
        least = k
        for child in (2 * k + 1, 2 * k + 2):
            if child < h.meta[0] and _before(h, child, least):
                least = child
        if least == k:
            return
        _swap(h, k, least)
        k = least
