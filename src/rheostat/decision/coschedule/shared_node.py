"""A node with GPUs in NUMA domains, who is on it, and where a job goes.

GPUs near the same processor form a domain.  A tenant has a home domain, takes its GPUs first and
spills to others only if it needs more than are left there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.errors import DataError


@dataclass(frozen=True)
class Node:
    """GPUs by domain, and what a GPU draws when nobody is on it.

    Parameters
    ----------
    domains : tuple of tuple of int
        GPU numbers by NUMA domain.
    idle_w : float
        Watts of a GPU without a job.
    """

    domains: tuple[tuple[int, ...], ...] = ((0, 1), (2, 3))
    idle_w: float = 60.0

    @property
    def gpus(self) -> int:
        """How many GPUs there are."""
        return sum(len(d) for d in self.domains)


@dataclass(frozen=True)
class Waiting:
    """A job that has not started."""

    name: str
    app: str
    submit_s: float = 0.0


@dataclass(frozen=True)
class Tenant:
    """A job on a node: its GPUs, home domain, start, and when it is expected to end."""

    job: Waiting
    mode: Mode
    gpus: tuple[int, ...]
    domain: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class NodeState:
    """A node now."""

    node: Node
    tenants: tuple[Tenant, ...] = ()
    now_s: float = 0.0

    @property
    def free(self) -> tuple[int, ...]:
        """GPUs of nobody, in order."""
        taken = {g for t in self.tenants for g in t.gpus}
        return tuple(g for d in self.node.domains for g in d if g not in taken)


@dataclass(frozen=True)
class Start:
    """A job begins in a mode on these GPUs; ``score`` is what the policy made of it."""

    job: Waiting
    mode: Mode
    gpus: tuple[int, ...]
    domain: int
    score: float = 0.0


class CoPolicy(Protocol):
    """Decides what starts now; nothing means: wait for the next end or arrival."""

    name: str

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """Jobs that start now, together; asked again until there are none."""
        ...


def place(state: NodeState, gpus: int, domain: int) -> tuple[tuple[int, ...], int]:
    """(GPUs, spilled): free GPUs of ``domain`` first, then of the others in order.

    >>> place(NodeState(Node()), 3, 1)
    ((2, 3, 0), 1)
    """
    free = state.free
    if gpus > len(free):
        raise DataError("place", [f"{gpus} GPUs asked for, {len(free)} are free"])
    home = [g for g in state.node.domains[domain] if g in free]
    rest = [g for g in free if g not in home]
    chosen = tuple((home + rest)[:gpus])
    return chosen, max(0, gpus - len(home))


def best_place(state: NodeState, gpus: int) -> tuple[tuple[int, ...], int]:
    """(GPUs, domain) with the least spill, then the tightest fit, so that room stays whole."""
    free = set(state.free)
    options = []
    for d, members in enumerate(state.node.domains):
        left = sum(g in free for g in members)
        if left:
            chosen, spilled = place(state, gpus, d)
            options.append((spilled, left - min(left, gpus), d, chosen))
    _, _, domain, chosen = min(options)
    return chosen, domain
