"""One server of a language model: what it holds, and what a step of it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheostat.errors import DataError
from rheostat.prediction.answer_length.service_cost import StepTimes

Array = NDArray[np.float64]
TIMES = ("base_s", "request_s", "context_s", "prefill_s")
MOST_TOKENS, MOST_AT_ONCE = 10_000_000, 100_000_000
"""Tokens of a prompt or an answer, whose chunks and tokens are steps; requests of one batch."""


def too_long(name: str, tokens: Array) -> list[str]:
    """A problem where a request has more than `MOST_TOKENS`: chunks and tokens are steps.

    >>> too_long("prompt_tokens", np.array([5.0, 1e15]))
    ['prompt_tokens: expected 10,000,000 at most, got 1e+15 in row 1']
    """
    odd = np.flatnonzero(tokens > MOST_TOKENS)
    if not len(odd):
        return []
    return [f"{name}: expected {MOST_TOKENS:,} at most, got {tokens[odd[0]]:.4g} in row {odd[0]}"
            f"{and_more(len(odd))}"]  # fmt: skip


def and_more(rows: int) -> str:
    """The end of a problem of so many rows, of which the first is named.

    >>> and_more(1), and_more(2), and_more(12)
    ('', ', and 1 more row', ', and 11 more rows')
    """
    more = rows - 1
    return f", and {more} more row{'s' if more > 1 else ''}" if more else ""


@dataclass(frozen=True)
class Replica:
    """What one replica can hold, and what a step takes.

    Parameters
    ----------
    batch_cap
        Requests that run at once, at most.
    cache_tokens
        Tokens that the key-value cache holds.
    chunk
        Prompt tokens that are prefilled in one step, at most.
    base_s, request_s, context_s, prefill_s
        Seconds of a step: of itself, per running request, per token in a running request's cache,
        per prefilled token.
    idle_w, busy_w
        Power without and with a running step.
    delay_s
        Seconds of an answer outside of the server's steps: the network, reading of the prompt.
    tool_delay_s
        Seconds by which a client sees the first token of a tool call later than that of a text.
    """

    batch_cap: int = 256
    cache_tokens: int = 400_000
    chunk: int = 2048
    base_s: float = 8e-3
    request_s: float = 20e-6
    context_s: float = 22e-9
    prefill_s: float = 22e-6
    idle_w: float = 100.0
    busy_w: float = 600.0
    delay_s: float = 0.0
    tool_delay_s: float = 0.0

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected a number above 0, got {getattr(self, name)}"
            for name in ("batch_cap", "cache_tokens", "chunk", "base_s")
            if not getattr(self, name) > 0
        ]
        if self.batch_cap > MOST_AT_ONCE:
            problems.append(f"batch_cap: expected {MOST_AT_ONCE:,} at most, got {self.batch_cap}")
        problems += [
            f"{name}: expected 0 or more, got {getattr(self, name)}"
            for name in (
                "request_s",
                "context_s",
                "prefill_s",
                "idle_w",
                "busy_w",
                "delay_s",
                "tool_delay_s",
            )
            if not 0 <= getattr(self, name) < np.inf
        ]
        if self.busy_w < self.idle_w:
            problems.append(
                f"busy_w: expected idle_w ({self.idle_w:g}) or more, got {self.busy_w:g}"
            )
        if problems:
            raise DataError("Replica", problems)

    def capped(self, power_cap_w: float) -> Replica:
        """The same server under a power cap (W), as the serving law has it.

        What a step draws above the idle power is work that takes the same energy at any power:
        under a cap C a step takes (busy - idle) / (C - idle) times as long, where that is longer.

        Examples
        --------
        >>> slow = Replica(base_s=0.01, idle_w=100.0, busy_w=600.0).capped(350.0)
        >>> slow.base_s, slow.busy_w
        (0.02, 350.0)

        Raises `DataError` for a cap that leaves nothing above the idle power.
        """
        if not power_cap_w > self.idle_w:
            problem = f"expected above the idle power of {self.idle_w:g} W, got {power_cap_w:g}"
            raise DataError("power_cap_w", [problem])
        slower = max(1.0, (self.busy_w - self.idle_w) / (power_cap_w - self.idle_w))
        times = {name: slower * getattr(self, name) for name in TIMES}
        return replace(self, **times, busy_w=min(self.busy_w, power_cap_w))

    def alone_s(self, prompt: Array, output: Array) -> Array:
        """Seconds that a request would take by itself, (n,)."""
        prefills = np.ceil(prompt / self.chunk) * self.base_s + prompt * self.prefill_s
        steps = output - 1
        context = prompt * steps + steps * (steps + 1) / 2
        return prefills + steps * (self.base_s + self.request_s) + self.context_s * context

    def cost_s(self, prompt: Array, output: Array) -> Array:
        """Seconds a request adds to a full batch, (n,): its prefill and its part of the steps."""
        times = StepTimes(self.base_s, self.request_s, self.context_s, self.prefill_s)
        return times.cost_s(prompt, output, batch_cap=self.batch_cap)
