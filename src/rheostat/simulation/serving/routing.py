"""Who is sent where and what prefix caches hold, compiled.

A router knows what requests are expected to cost, not how far the replicas are: each has a backlog
that grows by a request's expected cost and falls by a second per second, and of equal ones the one
that was sent least is taken.  A prefix cache holds the newest blocks of prompts: least recently
used go first, of one prompt the last block.  Tokens of the blocks at the beginning of a prompt that
a cache holds are not prefilled, but for one, which is always computed.

Notation
--------
used[place, block]  1 + where in ``blocks`` that block stands that last used it, 0 where not held
The requests of a place are a chain in the order they came; what is dropped is looked for along it,
blocks of a request from its last one on, and passed over where a later request used the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.engine.jit import compiled

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
ROUTINGS = ("round-robin", "least-work", "prefix")
BLOCK = 512
"""Tokens of a prefix block, as Mooncake's traces have them, where a table does not show it."""
NEWEST, OLDEST, AT, HELD = 0, 1, 2, 3
DENSE = 8
"""Numbers of blocks are taken as they are while they span less than so many times their count."""


@dataclass(frozen=True)
class PrefixBlocks:
    """Blocks of all prompts one after another, numbered from 0; where each prompt's begin, (n+1,).

    ``tokens`` are those of a block.

    Examples
    --------
    >>> PrefixBlocks.of(pl.Series([["a", "b"], [], ["a", "c"]]))
    PrefixBlocks(blocks=array([0, 1, 0, 2]), begin=array([0, 2, 2, 4]), kinds=3, tokens=512)
    """

    blocks: Rows
    begin: Rows
    kinds: int
    tokens: int = BLOCK

    @classmethod
    def of(cls, lists: pl.Series, tokens: int = BLOCK) -> PrefixBlocks:
        """Of a column of lists, the same number where blocks are alike."""
        full = lists.list.drop_nulls() if lists.explode().null_count() else lists
        size = full.list.len().fill_null(0).to_numpy()
        begin = np.concatenate([[0], np.cumsum(size, dtype=np.int64)])
        given = full.explode().drop_nulls()
        span = given.max() - given.min() + 1 if given.dtype.is_integer() and len(given) else np.inf  # type: ignore[operator]
        ranked = given - given.min() if span <= DENSE * len(given) else given.rank("dense") - 1
        blocks = ranked.cast(pl.Int64).to_numpy()
        return cls(blocks, begin, int(blocks.max()) + 1 if len(blocks) else 0, tokens)

    def first(self, count: int) -> PrefixBlocks:
        """Of the first so many prompts."""
        begin = self.begin[: count + 1]
        return PrefixBlocks(self.blocks[: begin[-1]], begin, self.kinds, self.tokens)

    @classmethod
    def none(cls, n: int) -> PrefixBlocks:
        """Of ``n`` prompts of which nothing is said."""
        return cls(np.empty(0, np.int64), np.zeros(n + 1, np.int64), 0)


def prefix_blocks(requests: JobTable) -> PrefixBlocks:
    """Blocks of each prompt, the same where prompts begin alike."""
    if "prefix_blocks" not in requests.columns:
        problem = ("a prefix cache needs prefix_blocks (hash_ids of a Mooncake trace) or the texts "
                   "of prompts")  # fmt: skip
        raise DataError("serve", [problem])
    lists = requests.frame["prefix_blocks"]
    counts = lists.list.len().fill_null(0).to_numpy()
    return PrefixBlocks.of(lists, block_tokens(requests.numpy("prompt_tokens"), counts))


def block_tokens(prompt: Array, blocks: Rows) -> int:
    """Tokens of a block, a power of two, from prompts' tokens and blocks; the last is half full.

    >>> block_tokens(np.array([1000.0, 70.0]), np.array([63, 5]))
    16
    """
    several = blocks > 1
    if not several.any():
        return BLOCK
    return int(2 ** round(np.log2(prompt[several].sum() / (blocks[several] - 0.5).sum())))


def routed(
    submit: Array, prompt: Array, expected_s: Array, blocks: PrefixBlocks, count: int,
    routing: str, cache_tokens: int, prefill_s: float,
) -> tuple[Rows, Array]:  # fmt: skip
    """Which replica each request goes to, and how many of its prompt's tokens are held there.

    Parameters
    ----------
    submit, prompt, expected_s
        Moments (s), tokens, and what a router believes requests cost (s), each (n,).
    blocks
        Of the prompts.
    count
        Replicas.
    routing
        One of `ROUTINGS`.
    cache_tokens
        Tokens of earlier prompts that each replica holds.
    prefill_s
        Seconds that a token saves which is held.

    Returns
    -------
    Numbers of replicas and of tokens, each (n,)
    """
    order = np.argsort(submit, kind="stable")
    return _route(  # type: ignore[no-any-return]
        order, submit, prompt, expected_s, blocks.blocks, blocks.begin,
        np.zeros((count, blocks.kinds if cache_tokens else 0), np.int32),
        ROUTINGS.index(routing), cache_tokens // blocks.tokens, blocks.tokens, prefill_s,
    )  # fmt: skip


@compiled
def _route(
    order: Any, submit: Any, prompt: Any, expected_s: Any, blocks: Any, begin: Any, used: Any,
    routing: int, size: int, block: int, prefill_s: float,
) -> Any:  # fmt: skip
    n, count = len(order), len(used)
    where, known = np.zeros(n, np.int64), np.zeros(n)
    backlog, sent, saved, last = np.zeros(count), np.zeros(count), np.zeros(count), 0.0
    after, chain = np.full(n, -1), np.zeros((count, 4), np.int64)
    chain[:, :2] = -1
    cached = used.shape[1] > 0
    for k in range(n):
        i = order[k]
        for place in range(count):
            backlog[place] = max(backlog[place] - (submit[i] - last), 0.0)
            if cached:
                full = block * _held(used[place], blocks, begin[i], begin[i + 1])
                saved[place] = min(float(full), prompt[i] - 1.0)
        last = submit[i]
        place = k % count
        if routing > 0:
            place = _least_work(backlog, saved, prefill_s if routing > 1 else 0.0, sent)
        where[i], known[i] = place, saved[place]
        work_s = max(0.0, expected_s[i] - saved[place] * prefill_s)
        backlog[place] += work_s
        sent[place] += work_s
        if cached and begin[i] < begin[i + 1]:
            _take(used[place], blocks, begin, after, chain[place], i, size)
    return where, known


@compiled
def _least_work(backlog: Any, saved: Any, gain_s: float, sent: Any) -> int:
    """The replica with the least to do; of equal ones the one that was sent least."""
    best, least = 0, backlog[0] - saved[0] * gain_s
    for place in range(1, len(backlog)):
        work = backlog[place] - saved[place] * gain_s
        if work < least or (work == least and sent[place] < sent[best]):
            best, least = place, work
    return best


@compiled
def _take(used: Any, blocks: Any, begin: Any, after: Any, chain: Any, row: int, size: int) -> None:
    """Blocks of a prompt are held; those used least recently are dropped.

    ``chain`` is the newest request, the oldest one with blocks that may be held, where in
    ``blocks`` to go on with it, and how many blocks are held.
    """
    for j in range(begin[row + 1] - 1, begin[row] - 1, -1):
        chain[HELD] += used[blocks[j]] == 0
        used[blocks[j]] = j + 1
    if chain[NEWEST] >= 0:
        after[chain[NEWEST]] = row
    else:
        chain[OLDEST], chain[AT] = row, begin[row + 1] - 1
    chain[NEWEST] = row
    while chain[HELD] > size:
        oldest, j = chain[OLDEST], chain[AT]
        if used[blocks[j]] == j + 1:
            used[blocks[j]] = 0
            chain[HELD] -= 1
        chain[AT] -= 1
        if j == begin[oldest]:
            following = after[oldest]
            chain[OLDEST] = following
            if following < 0:
                chain[NEWEST] = -1
            else:
                chain[AT] = begin[following + 1] - 1


@compiled
def _held(used: Any, blocks: Any, begin: int, end: int) -> int:
    """How many blocks of a prompt are held, from the first one on without a gap."""
    for j in range(begin, end):
        if used[blocks[j]] == 0:
            return j - begin
    return end - begin
