"""A server that takes one step at a time and does what a calibrated replica does not know of.

Steps are noisy, batches are padded to sizes of a captured graph, every sampled token costs, the
next step is scheduled while one runs, clients are some way off, replicas of a mixture of experts
step together.  What it answers is a recorded run to calibrate on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat import JobTable, table
from rheostat.simulation.serving.replica import Replica

REPLICA = Replica(64, 400_000, 2048, 0.02, 1e-4, 6e-8, 6e-5)


@dataclass(frozen=True)
class Noisy:
    """``delay_s`` and ``jitter_s`` are of the client's way; ``padded``: batches of a graph."""

    replica: Replica = REPLICA
    noise: float = 0.05
    sampled_s: float = 3e-5
    padded: int = 8
    ahead: bool = True
    delay_s: float = 0.012
    jitter_s: float = 0.002
    replicas: int = 1
    lockstep: bool = False
    chunked: bool = True
    policy: str = "fcfs"

    def record(self, asked: JobTable, seed: int) -> JobTable:
        """``asked`` with ``start_s`` and ``end_s`` as clients saw them."""
        rng = np.random.default_rng(seed)
        submit, prompt, output = (
            asked.numpy(c) for c in ("submit_s", "prompt_tokens", "output_tokens")
        )
        came = submit + self.delay_s / 2
        engines = [_Engine(self, prompt, output, rng) for _ in range(self.replicas)]
        if self.lockstep:
            _together(engines, came)
        else:
            places = np.arange(len(submit)) % self.replicas
            for k, engine in enumerate(engines):
                engine.alone(came, np.flatnonzero(places == k))
        first, end = (
            np.nansum([getattr(e, name) for e in engines], 0) for name in ("first", "end")
        )
        way = self.delay_s / 2 + self.jitter_s * rng.standard_exponential((2, len(submit)))
        start = first + way[0]
        return table({name: asked.numpy(name) for name in asked.columns} | {
            "start_s": start, "end_s": np.maximum(end + way[1], start)})  # fmt: skip

    def slower(self, times: float) -> Noisy:
        """A larger model."""
        r = self.replica
        return replace(self, replica=replace(
            r, base_s=r.base_s * times, request_s=r.request_s * times,
            context_s=r.context_s * times, prefill_s=r.prefill_s * times))  # fmt: skip


class _Engine:
    """One step at a time: who waits, who is prefilled (``todo`` above 0), who runs."""

    def __init__(self, server: Noisy, prompt, output, rng):
        self.s, self.prompt, self.rng, self.now = server, prompt, rng, 0.0
        n = len(prompt)
        self.left, self.has = output.astype(int).copy(), np.zeros(n, int)
        self.todo = np.zeros(n, int)
        self.first, self.end = np.full(n, np.nan), np.full(n, np.nan)
        self.waiting: list[int] = []
        self.inside: list[int] = []  # in order of admission

    def schedule(self) -> None:
        """Admit while there is room; who no longer has room goes back."""
        r = self.s.replica
        while len(self.inside) > 1 and self.held() > r.cache_tokens:
            back = self.inside.pop()
            self.has[back] = 0
            self.waiting.insert(0, back)
        if self.s.policy == "shortest-prompt":
            self.waiting.sort(key=lambda i: self.prompt[i])
        while self.waiting and len(self.inside) < r.batch_cap:
            row = self.waiting[0]
            generated = 0 if np.isnan(self.first[row]) else self.done[row]
            if self.inside and self.held() + self.prompt[row] + generated > r.cache_tokens:
                break
            self.todo[row] = self.prompt[row] + generated
            self.inside.append(self.waiting.pop(0))

    @property
    def done(self):
        return self.all_output - self.left

    def held(self) -> int:
        rows = self.inside
        return int((self.has[rows] + self.todo[rows]).sum()) + len(rows)

    def step(self) -> float:
        """Seconds of the next step; tokens come at its end."""
        r, rows = self.s.replica, np.array(self.inside, int)
        prefill = rows[self.todo[rows] > 0]
        decode = rows[self.todo[rows] == 0]
        if len(prefill) and not self.s.chunked:
            decode = decode[:0]
        budget = r.chunk if self.s.chunked else max(r.chunk, int(self.todo[prefill[:1]].sum()))
        parts = []
        for i in prefill:
            part = min(budget, self.todo[i])
            budget -= part
            parts.append((i, part))
        size = -(-len(decode) // self.s.padded) * self.s.padded
        took = r.base_s + r.request_s * size + self.s.sampled_s * len(decode)
        took += r.context_s * self.has[decode].sum() + r.prefill_s * sum(p for _, p in parts)
        self.plan = decode, parts
        return took * float(np.exp(self.s.noise * self.rng.standard_normal()))

    def finish(self) -> None:
        decode, parts = self.plan
        for i, part in parts:
            self.todo[i] -= part
            self.has[i] += part
        got = np.concatenate([decode, [i for i, p in parts if p and not self.todo[i]]]).astype(int)
        self.has[got] += 1
        self.left[got] -= 1
        fresh = got[np.isnan(self.first[got])]
        self.first[fresh] = self.now
        over = got[self.left[got] <= 0]
        self.end[over] = self.now
        self.inside = [i for i in self.inside if self.left[i] > 0]

    def start(self, output) -> None:
        self.all_output = output.astype(int)

    def alone(self, came, rows) -> None:
        _together([self], came, [rows])


def _together(engines, came, rows=None) -> None:
    """Engines that step at once, each as long as the slowest; a new request goes where fewest are.

    Where the next step is scheduled while one runs, requests that come wait for one more.
    """
    for e in engines:
        e.start(e.left)
    order = [int(i) for i in (rows[0] if rows else np.argsort(came, kind="stable"))]
    at, now, late = 0, 0.0, []
    while at < len(order) or late or any(e.waiting or e.inside for e in engines):
        if not late and not any(e.waiting or e.inside for e in engines):
            now = max(now, came[order[at]])
        fresh = []
        while at < len(order) and came[order[at]] <= now:
            fresh.append(order[at])
            at += 1
        busy = any(e.inside for e in engines)
        arrive, late = (late, fresh) if engines[0].s.ahead and busy else (late + fresh, [])
        for i in arrive:
            min(engines, key=lambda e: 4 * len(e.waiting) + len(e.inside)).waiting.append(i)
        for e in engines:
            e.schedule()
        if not any(e.inside for e in engines):
            continue
        now += max(e.step() for e in engines)
        for e in engines:
            e.now = now
            e.finish()


def asked(seed, n=300, rate=6.0, prompt=900, output=250, bursty=False) -> JobTable:
    """Requests that come at random, with lengths as of conversations (lognormal)."""
    rng = np.random.default_rng(seed)
    gaps = rng.gamma(0.3, 1 / 0.3, n) if bursty else rng.exponential(1.0, n)
    submit = np.cumsum(gaps) / rate
    lengths = [np.clip(np.round(m * np.exp(0.8 * rng.standard_normal(n) - 0.32)), 1, 16 * m)
               for m in (prompt, output)]  # fmt: skip
    return table({"submit_s": submit - submit[0], "prompt_tokens": lengths[0].astype(int),
                  "output_tokens": lengths[1].astype(int)})  # fmt: skip
