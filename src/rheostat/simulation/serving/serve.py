"""`serve`: a trace of requests through one replica of a served model, under a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.errors import DataError
from rheostat.prediction.service_cost import StepTimes
from rheostat.simulation.serving.continuous_batching import run

Array = NDArray[np.float64]


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

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected a number above 0, got {getattr(self, name)}"
            for name in ("batch_cap", "cache_tokens", "chunk", "base_s")
            if not getattr(self, name) > 0
        ]
        problems += [
            f"{name}: expected 0 or more, got {getattr(self, name)}"
            for name in ("request_s", "context_s", "prefill_s", "idle_w", "busy_w")
            if not 0 <= getattr(self, name) < np.inf
        ]
        if problems:
            raise DataError("Replica", problems)

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


POLICIES: Mapping[str, Callable[[Array, Array, Array, Array, Replica], Array]] = {
    "fcfs": lambda submit, prompt, length, output, r: submit,
    "shortest-prompt": lambda submit, prompt, length, output, r: prompt,
    "shortest-answer": lambda submit, prompt, length, output, r: length,
    "cost": lambda submit, prompt, length, output, r: r.cost_s(prompt, length),
    "cost-oracle": lambda submit, prompt, length, output, r: r.cost_s(prompt, output),
}
"""Keys of requests, smallest first: (submit_s, prompt, predicted length, true length, replica).
``cost-oracle`` knows the lengths of answers beforehand."""


RANKED = ("shortest-answer", "cost")
COLUMNS = (
    Column("start_s", "s", Moment.START, "first token of the answer"),
    Column("end_s", "s", Moment.END, "last token of the answer"),
    Column("ttft_s", "s", Moment.END, "first token less submission"),
    Column("latency_s", "s", Moment.END, "last token less submission"),
)


@dataclass(frozen=True)
class Served:
    """Requests with when they were answered, and what the replica did.

    Parameters
    ----------
    requests
        As they came, with ``start_s``, ``end_s``, ``ttft_s``, ``latency_s``.
    span_s, busy_s, queued_s
        From the first submission to the last token; seconds in which a step ran; seconds of these
        in which requests waited for room.
    energy_j
        Of the replica over the span.
    returned
        How often a running request was put back because the cache was full.
    """

    requests: JobTable
    span_s: float
    busy_s: float
    queued_s: float
    energy_j: float
    returned: int

    def summary(self) -> dict[str, float]:
        """Latencies (s), share of the span that was busy, energy (J)."""
        latency, ttft = self.requests.numpy("latency_s"), self.requests.numpy("ttft_s")
        return {
            "mean_latency_s": float(latency.mean()),
            "p50_s": float(np.quantile(latency, 0.5)),
            "p99_s": float(np.quantile(latency, 0.99)),
            "ttft_p99_s": float(np.quantile(ttft, 0.99)),
            "busy_share": self.busy_s / self.span_s,
            "queued_share": self.queued_s / self.span_s,
            "energy_j": self.energy_j,
            "returned": float(self.returned),
        }


def serve(
    requests: JobTable, policy: str = "fcfs", replica: Replica | None = None, *,
    predicted: Array | None = None, ageing: float = 0.0,
) -> Served:  # fmt: skip
    """The same requests with when they were answered.

    Parameters
    ----------
    requests
        ``submit_s``, ``prompt_tokens``, ``output_tokens``.
    policy
        One of `POLICIES`: who of those that wait is admitted next.
    replica
        The server; a default one if None.
    predicted
        Predicted ``output_tokens``, (n,), for the policies that rank by them.
    ageing
        Seconds of cost that a second of earlier submission outweighs; 0 lets long requests starve.

    Returns
    -------
    Served
        ``requests`` with ``start_s`` (first token), ``end_s``, ``ttft_s`` and ``latency_s``.

    Raises
    ------
    DataError
        A policy that is not known, lengths below 1, a request larger than the cache, or a policy
        that ranks by predicted lengths without them.
    """
    replica = replica or Replica()
    requests.require("submit_s", "prompt_tokens", "output_tokens")
    submit, prompt, output = (
        requests.numpy(c).astype(float) for c in ("submit_s", "prompt_tokens", "output_tokens")
    )
    _check(submit, prompt, output, replica, policy, predicted)
    length = np.full(len(submit), np.nan) if predicted is None else np.asarray(predicted, float)
    key = POLICIES[policy](submit, prompt, length, output, replica) + ageing * (
        submit - submit.min()
    )
    order = np.argsort(submit, kind="stable")
    first, end, busy_s, queued_s, returned = run(
        submit[order] - submit[order[0]], prompt[order].astype(np.int64),
        output[order].astype(np.int64), key[order], replica.batch_cap, replica.cache_tokens,
        replica.chunk, replica.base_s, replica.request_s, replica.context_s, replica.prefill_s,
    )  # fmt: skip
    made = {}
    for name, values in (("start_s", first), ("end_s", end)):
        made[name] = np.empty(len(order))
        made[name][order] = values + submit[order[0]]
    late = {"ttft_s": made["start_s"] - submit, "latency_s": made["end_s"] - submit}
    span_s = float(made["end_s"].max() - submit.min())
    energy_j = replica.busy_w * busy_s + replica.idle_w * max(0.0, span_s - busy_s)
    answered = requests.with_columns(COLUMNS, **made, **late)
    return Served(answered, span_s, busy_s, queued_s, energy_j, returned)


def _check(
    submit: Array, prompt: Array, output: Array, r: Replica, policy: str, predicted: Array | None
) -> None:
    """All problems at once."""
    problems = []
    if not len(submit):
        problems.append("expected at least one request")
    if policy not in POLICIES:
        problems.append(f"policy: expected one of {', '.join(POLICIES)}, got {policy!r}")
    elif policy in RANKED and predicted is None:
        problems.append(f"{policy} ranks by predicted output_tokens: none were given")
    for name, values in (
        ("submit_s", submit),
        ("prompt_tokens", prompt),
        ("output_tokens", output),
    ):
        least = -np.inf if name == "submit_s" else 1
        odd = np.flatnonzero(~(np.isfinite(values) & (values >= least)))
        if len(odd):
            problems.append(
                f"{name}: row {odd[0]} is {values[odd[0]]}, and {len(odd) - 1} more rows"
            )
    large = np.flatnonzero(prompt + output > r.cache_tokens)
    if len(large):
        problems.append(
            f"cache_tokens: row {large[0]} needs {prompt[large[0]] + output[large[0]]:.0f} of "
            f"{r.cache_tokens}, and {len(large) - 1} more rows"
        )
    if problems:
        raise DataError("serve", problems)
