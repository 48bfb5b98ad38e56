"""Several replicas of a server: who is sent where, what their prefix caches hold, and two stages.

A router knows what requests are expected to cost, not how far the replicas are: each has a backlog
that grows by a request's expected cost and falls by a second per second, and of equal ones the one
that was sent least is taken.  A prefix cache holds the
newest blocks of prompts (least recently used go first); tokens of blocks at the beginning of a
prompt that it holds are not prefilled.  Where prefill and decode are disaggregated, one group of
replicas makes the first token, and the caches are then moved to another group for the rest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.serving.continuous_batching import run
from rheostat.simulation.serving.replica import Array, Replica

Rows = NDArray[np.int64]
Blocks = Sequence[Sequence[int]]
ROUTINGS = ("round-robin", "least-work", "prefix")
BLOCK = 512
"""Tokens of a prefix block, as Mooncake's traces have them."""


@dataclass(frozen=True)
class Deployment:
    """Replicas of one kind, and what stands before them.

    Parameters
    ----------
    replicas
        How many decode; they prefill, too, unless there are ``prefill_replicas``.
    routing
        ``round-robin``, ``least-work`` or ``prefix``: where the least is to be done, what is in the
        prefix cache left out.
    prefix_cache_tokens
        Tokens of earlier prompts that each replica holds besides the cache of its requests.
    prefill_replicas
        Replicas that only prefill.
    transfer_s
        Seconds per token to move a cache from prefill to decode.
    """

    replicas: int = 1
    routing: str = "round-robin"
    prefix_cache_tokens: int = 0
    prefill_replicas: int = 0
    transfer_s: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        if self.replicas < 1:
            problems.append(f"replicas: expected 1 or more, got {self.replicas}")
        if self.routing not in ROUTINGS:
            problems.append(f"routing: expected {', '.join(ROUTINGS)}, got {self.routing!r}")
        problems += [
            f"{name}: expected 0 or more, got {getattr(self, name)}"
            for name in ("prefix_cache_tokens", "prefill_replicas", "transfer_s")
            if not 0 <= getattr(self, name) < np.inf
        ]
        if problems:
            raise DataError("Deployment", problems)


@dataclass(frozen=True)
class Asked:
    """Requests as arrays, each (n,); ``expected_s`` is what a router believes they cost."""

    submit: Array
    prompt: Array
    output: Array
    expected_s: Array
    blocks: Blocks | None = None


@dataclass(frozen=True)
class Admission:
    """Who of those that wait is next: keys (n,), and the rules that change with time.

    ``within_s`` are seconds (n,) within which requests shall begin, infinite ones for no bound.
    """

    key: Array
    within_s: Array
    patience_s: float = np.inf
    by_ratio: bool = False


@dataclass
class Answered:
    """First and last tokens (s), each (n,), and sums over the replicas."""

    first: Array
    end: Array
    busy_s: float = 0.0
    queued_s: float = 0.0
    returned: int = 0
    known_share: float = 0.0


def through(
    deployment: Deployment, replica: Replica, asked: Asked, admission: Admission
) -> Answered:
    """All requests through all replicas."""
    stages = deployment.prefill_replicas
    where, known = _routed(deployment, replica, asked, stages or deployment.replicas)
    share = float(known.sum() / asked.prompt.sum())
    if not stages:
        made = _group(replica, asked, known, where, admission)
        made.known_share = share
        return made
    once = Asked(asked.submit, asked.prompt, np.ones(len(known)), asked.expected_s)
    made = _group(replica, once, known, where, admission)
    made.known_share = share
    more = np.flatnonzero(asked.output > 1)
    if not len(more):
        return made
    moved = made.end[more] + deployment.transfer_s * asked.prompt[more]
    rest = Asked(moved, asked.prompt[more] + 1, asked.output[more] - 1, asked.expected_s[more])
    where, _ = _routed(Deployment(deployment.replicas, "least-work"), replica, rest,
                       deployment.replicas)  # fmt: skip
    key = replace(admission, key=admission.key[more], within_s=admission.within_s[more])
    late = _group(replica, rest, rest.prompt, where, key)
    made.end[more] = late.end
    made.busy_s += late.busy_s
    made.queued_s += late.queued_s
    made.returned += late.returned
    return made


def _group(
    replica: Replica, asked: Asked, known: Array, where: Rows, admission: Admission
) -> Answered:
    """Each replica serves those that were sent to it."""
    n = len(where)
    made = Answered(np.empty(n), np.empty(n))
    r, zero = replica, asked.submit.min()
    for place in np.unique(where):
        rows = np.flatnonzero(where == place)
        rows = rows[np.argsort(asked.submit[rows], kind="stable")]
        first, end, busy_s, queued_s, returned = run(
            asked.submit[rows] - zero, asked.prompt[rows].astype(np.int64),
            asked.output[rows].astype(np.int64), known[rows].astype(np.int64),
            admission.key[rows], r.batch_cap, r.cache_tokens, r.chunk, r.base_s, r.request_s,
            r.context_s, r.prefill_s, float(admission.patience_s), admission.by_ratio,
            admission.within_s[rows],
        )  # fmt: skip
        made.first[rows], made.end[rows] = first + zero, end + zero
        made.busy_s += busy_s
        made.queued_s += queued_s
        made.returned += returned
    return made


def _routed(
    deployment: Deployment, replica: Replica, asked: Asked, count: int
) -> tuple[Rows, Array]:
    """Which replica each request goes to, and how many of its prompt's tokens are held there."""
    n, order = len(asked.submit), np.argsort(asked.submit, kind="stable")
    where, known = np.zeros(n, np.int64), np.zeros(n)
    size = deployment.prefix_cache_tokens // BLOCK
    caches = [PrefixCache(size) for _ in range(count)]
    blocks = asked.blocks if size else None
    backlog, sent, last = np.zeros(count), np.zeros(count), 0.0
    if blocks is None and (count == 1 or deployment.routing == "round-robin"):
        where[order] = np.arange(n) % count
        return where, known
    for k, i in enumerate(order):
        backlog = np.maximum(backlog - (asked.submit[i] - last), 0.0)
        last = asked.submit[i]
        saved = np.zeros(count)
        if blocks is not None:
            most = asked.prompt[i] - 1  # one token is always computed
            saved = np.minimum([BLOCK * c.held(blocks[i]) for c in caches], most)
        if deployment.routing == "round-robin":
            place = k % count
        else:
            gain = saved * replica.prefill_s if deployment.routing == "prefix" else 0.0
            place = int(np.lexsort((sent, backlog - gain))[0])
        where[i], known[i] = place, saved[place]
        work_s = max(0.0, asked.expected_s[i] - saved[place] * replica.prefill_s)
        backlog[place] += work_s
        sent[place] += work_s
        if blocks is not None:
            caches[place].take(blocks[i])
    return where, known


class PrefixCache:
    """The newest blocks of prompts, at most ``size``.

    >>> cache = PrefixCache(2)
    >>> cache.take([1, 2]); cache.held([1, 2, 3]), cache.held([2, 1])
    (2, 2)
    >>> cache.take([3]); cache.held([1, 2])
    1
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def held(self, blocks: Sequence[int]) -> int:
        """How many blocks, from the first one on without a gap."""
        for count, block in enumerate(blocks):
            if block not in self._blocks:
                return count
        return len(blocks)

    def take(self, blocks: Sequence[int]) -> None:
        """These were used just now; the beginning of a prompt is kept longest."""
        for block in reversed(blocks):
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self.size:
            self._blocks.popitem(last=False)


def prefix_blocks(requests: JobTable) -> Blocks:
    """Numbers of the blocks of each prompt, the same where prompts begin alike."""
    if "prefix_blocks" not in requests.columns:
        problem = "a prefix cache needs prefix_blocks (hash_ids of a Mooncake trace)"
        raise DataError("serve", [problem])
    return [list(b or ()) for b in requests.frame["prefix_blocks"].to_list()]
