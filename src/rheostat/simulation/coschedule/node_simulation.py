"""Run a queue through a co-scheduling policy: who started when, on what, and what it took.

Jobs progress at a rate that falls with their number of neighbours; a launcher notices an end at its
next look.  GPUs draw idle power whenever they are on, and jobs what they take above that.  The
result is a table of jobs, as any trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.vocabulary import table
from rheostat.decision.coschedule.shared_node import (
    CoPolicy,
    Node,
    NodeState,
    Start,
    Tenant,
    Waiting,
)
from rheostat.errors import DataError
from rheostat.simulation.coschedule.interference import Truth

Chooser = Callable[[Sequence[Waiting], Sequence[NodeState]], Sequence[tuple[int, Start]]]


@dataclass(frozen=True)
class NodeRun:
    """A finished queue: ``jobs`` has starts, ends and GPUs; energy_j counts idle GPUs too."""

    policy: str
    jobs: JobTable
    makespan_s: float
    energy_j: float
    starts: tuple[tuple[float, int, Start], ...] = field(default=())

    @property
    def edp_js(self) -> float:
        """Energy times makespan."""
        return self.energy_j * self.makespan_s


@dataclass
class _Active:
    """A running job: work left in seconds alone, done at, and where."""

    node: int
    tenant: Tenant
    left_s: float
    energy_j: float
    done_s: float = math.inf


def on_one_node(policy: CoPolicy) -> Chooser:
    """A policy of one node, asked for each node in turn, those with most room first."""

    def choose(waiting: Sequence[Waiting], states: Sequence[NodeState]) -> list[tuple[int, Start]]:
        for i in sorted(range(len(states)), key=lambda i: (-len(states[i].free), i)):
            if result := policy.choose(waiting, states[i]):
                return [(i, s) for s in result]
        return []

    return choose


def run_queue(
    queue: Sequence[Waiting],
    policy: CoPolicy | None,
    node: Node,
    truth: Truth | None = None,
    *,
    nodes: int = 1,
    chooser: Chooser | None = None,
    name: str = "",
) -> NodeRun:
    """Run ``queue`` under a policy of one node, or under a ``chooser`` for several at once.

    A job that no mode fits on an empty node is a `DataError`, raised when nothing can start.
    """
    choose = chooser or on_one_node(policy)  # type: ignore[arg-type]
    run = _Run(queue, node, truth or Truth(), nodes, choose, getattr(policy, "observe", None))
    run.play()
    jobs = table(pl.DataFrame(run.ended).sort("start_s", "job_id"), _COLUMNS)
    makespan = max(j["end_s"] for j in run.ended) - min(j.submit_s for j in queue)
    energy = nodes * node.gpus * node.idle_w * makespan + sum(j["extra_j"] for j in run.ended)
    return NodeRun(name or getattr(policy, "name", "policy"), jobs, makespan, energy,
                   tuple(run.started))  # fmt: skip


_COLUMNS = [
    Column("node", "", Moment.START, "which node"),
    Column("gpu_ids", "", Moment.START, "GPUs received"),
    Column("extra_j", "J", Moment.END, "energy above that of the same GPUs left idle"),
]


class _Run:
    """The state of one run."""

    def __init__(
        self,
        queue: Sequence[Waiting],
        node: Node,
        truth: Truth,
        nodes: int,
        choose: Chooser,
        observe: Callable[[float, float, int], None] | None,
    ) -> None:
        self.coming = sorted(queue, key=lambda j: j.submit_s)
        self.node, self.truth, self.choose, self.observe = node, truth, choose, observe
        self.states = [NodeState(node) for _ in range(nodes)]
        self.waiting: list[Waiting] = []
        self.active: list[_Active] = []
        self.now = self.coming[0].submit_s if self.coming else 0.0
        self.ended: list[dict[str, Any]] = []
        self.started: list[tuple[float, int, Start]] = []

    def play(self) -> None:
        """From the first arrival to the last end."""
        while self.coming or self.waiting or self.active:
            while self.coming and self.coming[0].submit_s <= self.now:
                self.waiting.append(self.coming.pop(0))
            self._start()
            self._advance()

    def _start(self) -> None:
        while self.waiting:
            self.states = [replace(s, now_s=self.now) for s in self.states]
            starts = self.choose(self.waiting, self.states)
            if not starts:
                return
            for i, start in starts:
                self._begin(i, start)

    def _begin(self, i: int, start: Start) -> None:
        state = self.states[i]
        taken = set(start.gpus) - set(state.free)
        if taken or len(start.gpus) != start.mode.gpus or start.job not in self.waiting:
            problem = f"GPUs {start.gpus} for {start.mode.gpus}, free {state.free}"
            raise DataError(f"start of {start.job.name}", [problem])
        expected = self.now + start.mode.runtime_s
        tenant = Tenant(start.job, start.mode, start.gpus, start.domain, self.now, expected)
        self.states[i] = replace(state, tenants=(*state.tenants, tenant))
        self.waiting.remove(start.job)
        self.started.append((self.now, i, start))
        extra = self.truth.extra_j(start.mode, self.node.idle_w)
        self.active.append(_Active(i, tenant, self.truth.alone_s(start.mode), extra))

    def _rate(self, a: _Active) -> float:
        beside = len(self.states[a.node].tenants) - 1
        return 1.0 / (1.0 + self.truth.crowd * beside)

    def _advance(self) -> None:
        """To the next moment at which something ends, is noticed to have ended, or arrives."""
        times = [self.coming[0].submit_s] if self.coming else []
        for a in self.active:
            times.append(a.done_s if a.done_s < math.inf else self.now + a.left_s / self._rate(a))
        if not times:
            names = ", ".join(j.name for j in self.waiting[:5])
            raise DataError("queue", [f"nothing runs and nothing may start: {names}"])
        then = max(min(times), self.now)
        self._observe(then - self.now)
        for a in self.active:
            if a.done_s == math.inf:
                a.left_s -= (then - self.now) * self._rate(a)
                if a.left_s <= 1e-9:
                    a.done_s = self._noticed(then)
        self.now = then
        for a in [a for a in self.active if a.done_s <= then + 1e-9]:
            self._end(a)

    def _noticed(self, t: float) -> float:
        poll = self.truth.poll_s
        return math.ceil(t / poll - 1e-9) * poll if poll else t

    def _observe(self, span_s: float) -> None:
        if self.observe is None or not span_s:
            return
        watts = sum(a.tenant.mode.power_w for a in self.active)
        self.observe(watts * span_s, span_s, self.node.gpus * len(self.states))

    def _end(self, a: _Active) -> None:
        state = self.states[a.node]
        left = tuple(t for t in state.tenants if t is not a.tenant)
        self.states[a.node] = replace(state, tenants=left)
        self.active.remove(a)
        t = a.tenant
        ran = self.now - t.start_s
        self.ended.append(
            {
                "job_id": t.job.name, "app": t.job.app, "gpus": t.mode.gpus,
                "node": a.node, "gpu_ids": " ".join(map(str, t.gpus)),
                "submit_s": t.job.submit_s, "start_s": t.start_s, "end_s": self.now,
                "runtime_s": ran, "extra_j": a.energy_j,
                "energy_j": a.energy_j + self.node.idle_w * t.mode.gpus * ran,
            }
        )  # fmt: skip
