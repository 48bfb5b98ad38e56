"""What happens next: a binary heap of moments whose ties come out in a fixed order.

Symbol  Shape  Meaning
key     (c,)   moment, s; the smallest comes out first
tie     (c,)   order among equal moments
number  (c,)   order among equal ties: as put in
item    (c,)   what happens then
count   ()     entries in use
ever    ()     entries ever put in
"""

from __future__ import annotations

import numpy as np

from rheostat.simulation.engine.array_types import Floats, Ints
from rheostat.simulation.engine.jit import compiled
from rheostat.simulation.engine.site_struct import struct


@struct
class Heap:
    """Entries by moment: ``key`` and ``tie`` order them, ``number`` those that tie."""

    key: Floats
    tie: Floats
    number: Ints
    item: Ints
    count: int
    ever: int


@compiled
def heap(capacity: int) -> Heap:
    """An empty heap with room for ``capacity`` entries."""
    c = capacity + 1
    return Heap(np.zeros(c), np.zeros(c), np.zeros(c, np.int64), np.zeros(c, np.int64), 0, 0)


@compiled
def first(h: Heap) -> float:
    """The smallest moment; inf for an empty heap."""
    return h.key[0] if h.count else np.inf


@compiled
def push(h: Heap, key: float, tie: float, item: int) -> None:
    """Add an entry."""
    k = h.count
    h.key[k], h.tie[k], h.number[k], h.item[k] = key, tie, h.ever, item
    h.count += 1
    h.ever += 1
    _rise(h.key, h.tie, h.number, h.item, k)


@compiled
def pop(h: Heap) -> int:
    """Take out the first item."""
    item = h.item[0]
    take(h, 0)
    return item


@compiled
def take(h: Heap, k: int) -> None:
    """Take out the entry at place ``k``."""
    h.count -= 1
    key, tie, number, item = h.key, h.tie, h.number, h.item
    _swap(key, tie, number, item, k, h.count)
    if k < h.count:
        _rise(key, tie, number, item, k)
        _sink(key, tie, number, item, k, h.count)


@compiled
def discard(h: Heap, item: int) -> None:
    """Take out the entry of ``item``, which is there."""
    for k in range(h.count):
        if h.item[k] == item:
            take(h, k)
            return


@compiled
def _swap(key: Floats, tie: Floats, number: Ints, item: Ints, a: int, b: int) -> None:
    key[a], key[b] = key[b], key[a]
    tie[a], tie[b] = tie[b], tie[a]
    number[a], number[b] = number[b], number[a]
    item[a], item[b] = item[b], item[a]


@compiled
def _before(key: Floats, tie: Floats, number: Ints, a: int, b: int) -> bool:
    if key[a] != key[b]:
        return key[a] < key[b]
    if tie[a] != tie[b]:
        return tie[a] < tie[b]
    return number[a] < number[b]


@compiled
def _rise(key: Floats, tie: Floats, number: Ints, item: Ints, k: int) -> None:
    while k > 0 and _before(key, tie, number, k, (k - 1) // 2):
        _swap(key, tie, number, item, k, (k - 1) // 2)
        k = (k - 1) // 2


@compiled
def _sink(key: Floats, tie: Floats, number: Ints, item: Ints, k: int, count: int) -> None:
    while True:
        least = k
        for child in (2 * k + 1, 2 * k + 2):
            if child < count and _before(key, tie, number, child, least):
                least = child
        if least == k:
            return
        _swap(key, tie, number, item, k, least)
        k = least
