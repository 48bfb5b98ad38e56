"""Terms and numbers of a few prompts by NumPy: what `prompt_code` says, but for the terms' order.

Numba's loader alone takes 130 MB, more than all else that a proxy before servers holds.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.answer_length.prompt_numbers import (
    FIRST_WORD,
    KIND_TABLE,
    NEAR,
    NUMBERED,
    REST,
    UNITS_KNOWN,
    WORD_TABLE,
)
from rheostat.prediction.answer_length.prompt_terms import (
    BLOCKS,
    BUCKETS,
    FIRST,
    KIND_OF,
    OPENING,
    PAIRED,
    SIZES,
    Bytes,
    Rows,
)

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

Hashes = NDArray[np.uint32]
WORD = re.compile(rb"[a-z0-9_\x80-\xff]+|[^\x00-\x20]")
BITS = BUCKETS.bit_length() - 1
PRIME, FOLD, LOW = np.uint32(16777619), np.uint32(15), np.uint32(BUCKETS - 1)
BLANKS = bytes(range(33))
KIND_OF_WORD = dict(zip(WORD_TABLE.tolist(), KIND_TABLE.tolist(), strict=True))
OTHER = 1000
SHORT = 24
"""Bytes of words whose numbers are remembered."""
LATER, SOONER = np.tril_indices(PAIRED, -1)
ZERO, SEVEN = np.zeros(1, np.uint32), np.uint32(7)


def counted(data: Bytes, ends: Rows) -> tuple[Rows, Array, Rows, Array]:
    """Slots and counts of the terms, where each prompt's begin and the last end, and sizes."""
    made = [_counted(data[a:b]) for a, b in pairwise(ends)]
    slots, counts, sizes = zip(*made, strict=True) if made else ([EMPTY], [EMPTY], [])
    starts = np.cumsum([0, *map(len, slots[: len(made)])])
    return (np.concatenate(slots).astype(np.int32), np.concatenate(counts).astype(float), starts,
            np.array(sizes, float).reshape(-1, SIZES))  # fmt: skip


EMPTY = np.empty(0)


def weigh(slots: Rows, counts: Array, starts: Rows, rarity: Array) -> None:
    """Turn counts into (1 + log count) times rarity, each block of a prompt of length 1."""
    if not len(counts):
        return
    counts[:] = (1.0 + np.log(counts)) * rarity[slots]
    rows = _rows(slots, starts)
    squares = np.bincount(rows, counts * counts)
    counts /= np.sqrt(squares + 1e-24)[rows]


def added(slots: Rows, values: Array, starts: Rows, weights: Array) -> Array:
    """Sums over the terms of each prompt of value times weight, by block, (n, BLOCKS)."""
    prompts = len(starts) - 1
    sums = np.bincount(_rows(slots, starts), values * weights[slots], prompts * BLOCKS)
    return np.asarray(sums.reshape(prompts, BLOCKS), float)


def _rows(slots: Rows, starts: Rows) -> Rows:
    """Number of each term's prompt and block; by these they are added up."""
    block = slots >> BITS  # a division takes five times as long
    if len(starts) == 2:
        return block
    prompt = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.asarray(prompt * BLOCKS + block)


def _counted(text: Bytes) -> tuple[Rows, Rows, list[float]]:
    """Of one prompt."""
    (_, words), end = _words(text.tobytes()), _opening(text)
    values = np.array(words, np.uint32)
    asked = len(words) if end == len(text) else len(WORD.findall(text[:end].tobytes()))
    sizes = np.bincount(KIND_OF[text], minlength=SIZES).tolist()
    sizes[:2] = len(text), len(words)
    pieces, within = _pieces(text, end)
    neighbours, pairs = _neighbours(values), _pairs(words[:asked])
    slots = _slots(np.concatenate([neighbours, pieces, pairs]))
    of_words, of_pieces = slots[: len(neighbours)], slots[len(neighbours) :][: len(pieces)]
    every = np.concatenate([
        of_words, 2 * BUCKETS + of_words[: max(0, 2 * asked - 1)], BUCKETS + of_pieces,
        3 * BUCKETS + of_pieces[:within], 4 * BUCKETS + slots[len(slots) - len(pairs) :],
    ])  # fmt: skip
    return *_different(every), sizes


def _opening(text: Bytes) -> int:
    """Where the opening ends."""
    most = min(len(text), OPENING)
    line = text[1:most].tobytes().find(b"\n")
    return most if line < 0 else line + 1


def _different(slots: Rows) -> tuple[Rows, Rows]:
    """Each slot once, in order, and how often it was there."""
    slots.sort()
    new = np.ones(len(slots) + 1, bool)
    np.not_equal(slots[1:], slots[:-1], out=new[1:-1])
    edges = np.flatnonzero(new)
    return slots[edges[:-1]], edges[1:] - edges[:-1]


def _neighbours(values: Hashes) -> Hashes:
    """Words, each but the first followed by the pair of it and the word before."""
    made = np.empty(2 * len(values), np.uint32)
    made[::2] = values
    made[1::2] = _mixed(_mixed(np.concatenate([ZERO, values[:-1]]), SEVEN), values)
    return np.concatenate([made[:1], made[2:]])


def _pairs(words: list[int]) -> Hashes:
    """Pairs of different words."""
    heads = np.array(list(dict.fromkeys(words))[:PAIRED], np.uint32)
    pairs = len(heads) * (len(heads) - 1) // 2
    one, other = heads[LATER[:pairs]], heads[SOONER[:pairs]]
    return np.asarray(_mixed(np.minimum(one, other) * PRIME, np.maximum(one, other)))


def _pieces(text: Bytes, opening: int) -> tuple[Hashes, int]:
    """Runs of 3 to 5 bytes, and how many of them begin in the opening."""
    padded = np.full(len(text) + 5, 32, np.uint32)
    np.maximum(text, 32, out=padded[1 : len(text) + 1])
    inner = padded > 32
    places = len(padded) - 4
    made, there = np.empty((places, 3), np.uint32), np.empty((places, 3), bool)
    value = _mixed(np.uint32(FIRST), padded[:places])
    for k in range(1, 5):
        value = _mixed(value, padded[k : k + places])
        if k >= 2:
            made[:, k - 2] = value
    there[:, 0] = inner[1:-3]
    there[:, 1] = there[:, 0] & inner[2:-2]
    there[:, 2] = there[:, 1] & inner[3:-1]
    return made[there], int(np.count_nonzero(there[: opening + 1]))


def _mixed(value: Any, other: Any) -> Any:
    return (value ^ other) * PRIME


def _slots(values: Hashes) -> Rows:
    return ((values ^ (values >> FOLD)) & LOW).view(np.int32)


@lru_cache(maxsize=8)
def _words(text: bytes) -> tuple[list[bytes], list[int]]:
    """Words and their numbers: they are asked for as terms and again for what they say."""
    words = WORD.findall(text)
    if len(NUMBERS) > MOST:
        NUMBERS.clear()
    return words, [NUMBERS[w] for w in words]


class _Numbers(dict[bytes, int]):
    """Words as numbers; long ones are not remembered."""

    def __missing__(self, word: bytes) -> int:
        value = FIRST
        for byte in word:
            value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
        if len(word) <= SHORT:
            self[word] = value
        return value


NUMBERS, MOST = _Numbers(), 2**14


def read(data: Bytes, ends: Rows, rows: Array) -> None:
    """Fill in the numbers of each prompt, (n, COUNT), that are not of its conversation."""
    for a, b, row in zip(ends[:-1], ends[1:], rows, strict=True):
        if a < b:
            _read(data[a:b].tobytes(), row)


def _read(text: bytes, row: Array) -> None:
    numbers: list[float] = []
    times: dict[int, float] = {}
    stated_at = -NEAR - 1
    words, hashes = _words(text)
    kinds = map(KIND_OF_WORD.get, hashes)
    telling = [(i, k, w) for i, (k, w) in enumerate(zip(kinds, words, strict=True))
               if k is not None or w.isdigit()]  # fmt: skip
    for place, known, word in telling:
        kind = OTHER if known is None else known
        if kind < 0 or (len(word) <= 6 and word.isdigit()):
            numbers.append(float(-kind if kind < 0 else int(word)))
            stated_at = place
        elif kind < OTHER:
            times[kind] = min(times.get(kind, 0.0) + 1, 5.0)
            if place == 0:
                row[FIRST_WORD + kind] = 1.0
            if kind < UNITS_KNOWN and place - stated_at <= NEAR:
                row[NUMBERED + kind] = math.log1p(numbers[-1])
    for kind, often in times.items():
        row[kind] = often
    said = text.rstrip(BLANKS) or text[:1]
    far = 0.0 if text.isascii() else sum(byte > 127 for byte in text) / len(text)
    row[REST : REST + 6] = (
        math.log1p(max(numbers, default=0.0)), math.log1p(next(filter(None, numbers), 0.0)), far,
        said[-1:] == b"?", said[-1:] == b":", math.log1p(len(text) - 1 - text.rfind(b"\n")),
    )  # fmt: skip
