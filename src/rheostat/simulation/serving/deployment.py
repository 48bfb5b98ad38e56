"""Several replicas of a server: who is sent where, what their prefix caches hold, and two stages.

Requests are sent to replicas as `rheostat.simulation.serving.routing` says.  Where prefill and
decode are disaggregated, one group of replicas makes the first token, and the caches are then moved
to another group for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.errors import DataError
from rheostat.simulation.serving.continuous_batching import run
from rheostat.simulation.serving.replica import Array, Replica
from rheostat.simulation.serving.routing import ROUTINGS, PrefixBlocks, Rows, routed

MOST_REPLICAS = 10_000


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
        problems += [
            f"{name}: expected {MOST_REPLICAS:,} at most, got {getattr(self, name)}"
            for name in ("replicas", "prefill_replicas")
            if getattr(self, name) > MOST_REPLICAS
        ]
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
    """Requests as arrays, each (n,); ``expected_s`` is what a router believes they cost.

    ``known`` are tokens of each prompt that a prefix cache was seen to hold, beside what those of
    the replicas hold.
    """

    submit: Array
    prompt: Array
    output: Array
    expected_s: Array
    blocks: PrefixBlocks | None = None
    known: Array | None = None


@dataclass(frozen=True)
class Admission:
    """Who of those that wait is next: keys (n,), and the rules that change with time.

    ``latest_s`` are the moments (n,) by which requests shall begin, infinite ones for no bound, and
    ``due_s`` those by which they shall be answered.
    """

    key: Array
    latest_s: Array
    due_s: Array
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
    d = deployment
    blocks = asked.blocks or PrefixBlocks.none(len(asked.submit))
    where, known = routed(
        asked.submit, asked.prompt, asked.expected_s, blocks, d.prefill_replicas or d.replicas,
        d.routing, d.prefix_cache_tokens, replica.prefill_s,
    )  # fmt: skip
    if asked.known is not None:  # one token is always computed
        known = np.maximum(known, np.minimum(asked.known, asked.prompt - 1.0))
    share = float(known.sum() / asked.prompt.sum())
    if not d.prefill_replicas:
        made = _group(replica, asked, known, where, admission)
        made.known_share = share
        return made
    once = replace(asked, output=np.ones(len(known)))
    made = _group(replica, once, known, where, replace(admission, due_s=admission.latest_s))
    made.known_share = share
    more = np.flatnonzero(asked.output > 1)
    if not len(more):
        return made
    moved = made.end[more] + d.transfer_s * asked.prompt[more]
    rest = Asked(moved, asked.prompt[more] + 1, asked.output[more] - 1, asked.expected_s[more])
    where, _ = routed(
        rest.submit, rest.prompt, rest.expected_s, PrefixBlocks.none(len(more)), d.replicas,
        "least-work", 0, replica.prefill_s,
    )  # fmt: skip
    admitted = replace(
        admission, key=admission.key[more], latest_s=admission.latest_s[more],
        due_s=admission.due_s[more],
    )  # fmt: skip
    late = _group(replica, rest, rest.prompt, where, admitted, keeps=False)
    made.end[more] = late.end
    made.busy_s += late.busy_s
    made.queued_s += late.queued_s
    made.returned += late.returned
    return made


def _group(
    replica: Replica, asked: Asked, known: Array, where: Rows, admission: Admission, *,
    keeps: bool = True,
) -> Answered:  # fmt: skip
    """Each replica serves those that were sent to it."""
    n = len(where)
    made = Answered(np.empty(n), np.empty(n))
    r, zero = replica, asked.submit.min()
    for place in np.unique(where):
        rows = np.flatnonzero(where == place)
        rows = rows[np.argsort(asked.submit[rows], kind="stable")]
        first, end, busy_s, queued_s, returned = run(
            asked.submit[rows] - zero, asked.prompt[rows].astype(np.int64),
            asked.output[rows].astype(np.int64), known[rows].astype(np.int64), keeps,
            admission.key[rows], r.batch_cap, r.cache_tokens, r.chunk, r.base_s, r.request_s,
            r.context_s, r.prefill_s, float(admission.patience_s), admission.by_ratio,
            admission.latest_s[rows] - zero, admission.due_s[rows] - zero,
        )  # fmt: skip
        made.first[rows], made.end[rows] = first + zero, end + zero
        made.busy_s += busy_s
        made.queued_s += queued_s
        made.returned += returned
    return made
