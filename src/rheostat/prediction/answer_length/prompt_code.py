"""Terms and numbers of many prompts at once, in machine code.

What it says of a prompt, `few_prompts` says of one alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._machine_code import code_folder, kept
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

compiled = partial(
    kept, folder=code_folder("prompts", sorted(Path(__file__).parent.glob("prompt_*.py")))
)


@compiled
def weigh(slots: Any, counts: Any, starts: Any, rarity: Any) -> None:
    """Turn counts into (1 + log count) times rarity, each block of a prompt of length 1."""
    squares = np.empty(BLOCKS)
    for i in range(len(starts) - 1):
        squares[:] = 1e-24
        for k in range(starts[i], starts[i + 1]):
            counts[k] = (1.0 + np.log(counts[k])) * rarity[slots[k]]
            squares[slots[k] // BUCKETS] += counts[k] ** 2
        for k in range(starts[i], starts[i + 1]):
            counts[k] /= np.sqrt(squares[slots[k] // BUCKETS])


@compiled
def added(slots: Any, values: Any, starts: Any, weights: Any) -> Any:
    """Sums over the terms of each prompt of value times weight, by block, (n, BLOCKS)."""
    sums = np.zeros((len(starts) - 1, BLOCKS))
    for i in range(len(sums)):
        for k in range(starts[i], starts[i + 1]):
            sums[i, slots[k] // BUCKETS] += values[k] * weights[slots[k]]
    return sums


@compiled
def _count(table: Any, slots_of: Any, times: Any, size: int, slot: Any) -> int:
    """Count a term; how many different ones there are."""
    mask = len(table) - 1
    at = (slot * 40503 >> 4) & mask
    while table[at] > 0:
        if slots_of[table[at] - 1] == slot:
            times[table[at] - 1] += 1.0
            return size
        at = (at + 1) & mask
    slots_of[size] = slot
    times[size] = 1.0
    table[at] = size + 1
    return size + 1


@compiled
def _slot(block: int, value: Any) -> Any:
    return block * BUCKETS + ((value ^ (value >> 15)) & (BUCKETS - 1))


@compiled
def _mixed(value: Any, other: Any) -> Any:
    return ((value ^ other) * 16777619) & 0xFFFFFFFF


@compiled
def _plain(byte: int) -> bool:
    """Whether a byte is of a letter, a digit or no ASCII at all."""
    return 97 <= byte <= 122 or 48 <= byte <= 57 or byte == 95 or byte > 127


@compiled
def word_at(text: Any, begin: int) -> Any:
    """The word that begins here as a number, and where it ends."""
    value, end = FIRST, begin
    while end < len(text) and _plain(text[end]):
        value = _mixed(value, np.int64(text[end]))
        end += 1
    return (value, end) if end > begin else (_mixed(value, np.int64(text[begin])), begin + 1)


@compiled
def _count_words(text: Any, opening: int, table: Any, slots_of: Any, times: Any, sizes: Any) -> int:
    """Blocks 0, 2 and 4; how many different terms there are."""
    size, before, different, i = 0, 0, 0, 0
    heads = np.empty(PAIRED, np.int64)
    while i < len(text):
        if text[i] <= 32:
            i += 1
            continue
        asked = i < opening
        value, i = word_at(text, i)
        sizes[1] += 1
        both = _mixed(_mixed(before, 7), value)
        for block in (0, 2):
            if block == 0 or asked:
                size = _count(table, slots_of, times, size, _slot(block, value))
                if sizes[1] > 1:
                    size = _count(table, slots_of, times, size, _slot(block, both))
        before = value
        if asked and different < PAIRED and not np.any(heads[:different] == value):
            for other in heads[:different]:
                pair = _mixed(_mixed(0, min(value, other)), max(value, other))
                size = _count(table, slots_of, times, size, _slot(4, pair))
            heads[different] = value
            different += 1
    return size


@compiled
def _count_pieces(
    text: Any, opening: int, table: Any, slots_of: Any, times: Any, size: int
) -> int:  # fmt: skip
    """Blocks 1 and 3, a space before and after what stands between spaces; so many terms then."""
    i = 0
    while i < len(text):
        end = i
        while end < len(text) and text[end] > 32:
            end += 1
        for start in range(i - 1, end - 1 if end > i else i - 1):
            value = FIRST
            for at in range(start, min(start + 5, end + 1)):
                byte = 32 if at < i or at == end else np.int64(text[at])
                value = _mixed(value, byte)
                if at >= start + 2:
                    size = _count(table, slots_of, times, size, _slot(1, value))
                    if start < opening:
                        size = _count(table, slots_of, times, size, _slot(3, value))
        i = end + 1
    return size


@compiled
def count_terms(text: Any, table: Any, slots_of: Any, times: Any, sizes: Any) -> int:
    """Different terms of a prompt, in ``slots_of`` with ``times``; how many there are.

    ``table`` is all 0, its length a power of two of at least twice the terms.
    """
    sizes[:] = 0.0
    sizes[0] = len(text)
    for byte in text:
        kind = KIND_OF[byte]
        if kind > 0:
            sizes[kind] += 1
    opening = min(len(text), OPENING)
    for i in range(1, opening):
        if text[i] == 10:
            opening = i
            break
    size = _count_words(text, opening, table, slots_of, times, sizes)
    made: int = _count_pieces(text, opening, table, slots_of, times, size)
    return made


@compiled
def room(length: int) -> int:
    """Terms that a prompt of so many bytes has at most."""
    opening = min(length, OPENING)
    return 2 * (length + opening) + 6 * (length + opening) + PAIRED * PAIRED // 2 + 8


@compiled
def table_size(terms: int) -> int:
    """A power of two, at least twice as large."""
    size = 64
    while size < 2 * terms:
        size *= 2
    return size


@compiled
def counted(data: Any, ends: Any) -> Any:
    """Slots, counts and starts of the rows of a sparse matrix, and sizes."""
    n = len(ends) - 1
    most = 0
    for i in range(n):
        most = max(most, ends[i + 1] - ends[i])
    most = room(most)
    slots_of, times = np.empty(most, np.int64), np.empty(most)
    table = np.zeros(table_size(most), np.int32)
    slots, counts = np.empty(1024, np.int32), np.empty(1024)
    starts, sizes, filled = np.zeros(n + 1, np.int64), np.zeros((n, SIZES)), 0
    for i in range(n):
        text = data[ends[i] : ends[i + 1]]
        part = table[: table_size(room(len(text)))]
        part[:] = 0
        size = count_terms(text, part, slots_of, times, sizes[i])
        if filled + size > len(slots):
            more = max(2 * len(slots), filled + size)
            wider, longer = np.empty(more, np.int32), np.empty(more)
            wider[:filled], longer[:filled] = slots[:filled], counts[:filled]
            slots, counts = wider, longer
        slots[filled : filled + size] = slots_of[:size]
        counts[filled : filled + size] = times[:size]
        filled += size
        starts[i + 1] = filled
    return slots[:filled].copy(), counts[:filled].copy(), starts, sizes


@compiled
def _number(text: Any, begin: int, end: int) -> float:
    """The number that stands there alone, -1 for anything else."""
    value = 0.0
    for i in range(begin, end):
        if not 48 <= text[i] <= 57 or end - begin > 6:
            return -1.0
        value = 10 * value + text[i] - 48
    return value


@compiled
def _read_one(text: Any, words: Any, kinds: Any, row: Any) -> None:
    i, place, stated, stated_at, foreign, line = 0, 0, 0.0, -NEAR - 1, 0, 0
    for k in range(len(text)):
        foreign += text[k] > 127
        line = 0 if text[k] == 10 else line + 1
    while i < len(text):
        if text[i] <= 32:
            i += 1
            continue
        value, end = word_at(text, i)
        at = np.searchsorted(words, value)
        kind = kinds[at] if at < len(words) and words[at] == value else 1000
        number = float(-kind) if kind < 0 else _number(text, i, end)
        if number >= 0:
            stated, stated_at = number, place
            row[REST] = max(row[REST], np.log1p(number))
            if row[REST + 1] == 0:
                row[REST + 1] = np.log1p(number)
        elif kind < 1000:
            row[kind] = min(row[kind] + 1, 5.0)
            if place == 0:
                row[FIRST_WORD + kind] = 1.0
            if kind < UNITS_KNOWN and place - stated_at <= NEAR:
                row[NUMBERED + kind] = np.log1p(stated)
        place += 1
        i = end
    last = len(text) - 1
    while last > 0 and text[last] <= 32:
        last -= 1
    if len(text) > 0:
        row[REST + 2] = foreign / len(text)
        row[REST + 3] = text[last] == 63
        row[REST + 4] = text[last] == 58
        row[REST + 5] = np.log1p(line)


@compiled
def _read(data: Any, ends: Any, words: Any, kinds: Any, rows: Any) -> None:
    for i in range(len(rows)):
        _read_one(data[ends[i] : ends[i + 1]], words, kinds, rows[i])


def read(data: Bytes, ends: Rows, rows: Any) -> None:
    """Fill in the numbers of each prompt, (n, COUNT), that are not of its conversation."""
    _read(data, ends, WORD_TABLE, KIND_TABLE, rows)
