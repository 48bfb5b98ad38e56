"""`serve`: a trace of requests through one replica of a served model, under a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.decision.serving.waiting_line import SLOWER, latest_begin
from rheostat.errors import DataError
from rheostat.simulation.serving.deployment import Admission, Asked, Deployment, through
from rheostat.simulation.serving.replica import Replica, and_more, too_long
from rheostat.simulation.serving.request_columns import cached_tokens, shown_first, tool_calls
from rheostat.simulation.serving.routing import prefix_blocks

Array = NDArray[np.float64]


POLICIES: Mapping[str, Callable[[Array, Array, Array, Array, Replica], Array]] = {
    "fcfs": lambda submit, prompt, length, output, r: submit,
    "shortest-prompt": lambda submit, prompt, length, output, r: prompt,
    "shortest-answer": lambda submit, prompt, length, output, r: length,
    "cost": lambda submit, prompt, length, output, r: r.cost_s(prompt, length),
    "hrrn": lambda submit, prompt, length, output, r: r.cost_s(prompt, length),
    "cost-oracle": lambda submit, prompt, length, output, r: r.cost_s(prompt, output),
    "hrrn-oracle": lambda submit, prompt, length, output, r: r.cost_s(prompt, output),
}
"""Keys of requests, smallest first: (submit_s, prompt, predicted length, true length, replica).
``hrrn`` takes the highest ratio of waiting to cost, whatever the key; the oracles know the lengths
of answers beforehand."""


RANKED = ("shortest-answer", "cost", "hrrn")
LEAST = 1e-9
LONGEST_S = 1e10
BY_RATIO = ("hrrn", "hrrn-oracle")
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
        From the first submission to the last token; seconds in which a step ran, and seconds of
        these in which requests waited for room, both the mean of the replicas.
    energy_j
        Of all replicas over the span.
    returned
        How often a running request was put back because the cache was full.
    known_share
        Share of all prompt tokens that a prefix cache held.
    """

    requests: JobTable
    span_s: float
    busy_s: float
    queued_s: float
    energy_j: float
    returned: int
    known_share: float = 0.0

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
            "known_share": self.known_share,
        }


def serve(  # noqa: PLR0913
    requests: JobTable, policy: str = "fcfs", replica: Replica | None = None, *,
    predicted: Array | None = None, ageing: float = 0.0, head_start_s: float = 0.0,
    patience_s: float = np.inf, within_s: float = np.inf,
    deployment: Deployment | None = None,
) -> Served:  # fmt: skip
    """The same requests with when they were answered.

    Parameters
    ----------
    requests
        ``submit_s``, ``prompt_tokens``, ``output_tokens``; ``prefix_blocks`` for a prefix cache,
        ``cached_tokens`` where a server said what its own held, ``tool_calls`` where it is known
        whose first tokens come late.
    policy
        One of `POLICIES`: who of those that wait is admitted next.
    replica
        The server; a default one if None.
    predicted
        Predicted ``output_tokens``, (n,), for the policies that rank by them.
    ageing
        Seconds of cost that a second of earlier submission outweighs; 0 lets long requests starve.
    head_start_s
        If above 0, keys are the moments of submission plus this times the decimal logarithm of the
        policy's key: a tenth of the cost goes before who came so much earlier.
    patience_s
        A request that has waited for longer goes first, the longest waiting of these.
    within_s
        Bound within which 99 of 100 answers shall come: the request of the least expected cost goes
        first that makes no other late, as `rheostat.simulation.serving.deadlines` says; for
        ``shortest-prompt`` answers are expected to be as long as the mean.
    deployment
        How many replicas there are and who is sent where; one if None.  Without ``predicted`` the
        router takes every answer to be as long as the mean.

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
    replica, deployment = replica or Replica(), deployment or Deployment()
    requests.require("submit_s", "prompt_tokens", "output_tokens")
    submit, prompt, output = (
        requests.numpy(c).astype(float) for c in ("submit_s", "prompt_tokens", "output_tokens")
    )
    _check(submit, prompt, output, replica, policy, predicted)
    if not (0 <= ageing < np.inf and 0 <= head_start_s < np.inf):
        raise DataError("serve", ["ageing, head_start_s: expected finite numbers from 0, got "
                                  f"{ageing} and {head_start_s}"])  # fmt: skip
    length = np.full(len(submit), np.nan) if predicted is None else np.asarray(predicted, float)
    key = POLICIES[policy](submit, prompt, length, output, replica)
    usual = np.full(len(output), output.mean()) if predicted is None else length
    expected = replica.cost_s(prompt, usual)
    by_ratio, latest = policy in BY_RATIO, np.full(len(submit), np.inf)
    if within_s < np.inf and policy != "fcfs" and not by_ratio:
        seen = output if policy.endswith("-oracle") else usual
        key = SLOWER * replica.cost_s(prompt, seen)
        latest = latest_begin(submit, within_s, _answering(replica, prompt, seen))
        patience_s = np.inf
    elif by_ratio:
        key, patience_s = np.maximum(key, LEAST), np.inf
    elif head_start_s and policy != "fcfs":
        key = submit - submit.min() + head_start_s * np.log10(np.maximum(key, LEAST))
    else:
        key = key + ageing * (submit - submit.min())
    order = Admission(key, latest, submit + within_s, patience_s, by_ratio)
    blocks = prefix_blocks(requests) if deployment.prefix_cache_tokens else None
    at_server = submit + replica.delay_s
    asked = Asked(at_server, prompt, output, expected, blocks, cached_tokens(requests))
    made = through(deployment, replica, asked, order)
    first = shown_first(made.first, made.end, tool_calls(requests), replica.tool_delay_s)
    late = {"ttft_s": first - submit, "latency_s": made.end - submit}
    span_s = float(made.end.max() - submit.min())
    count = deployment.replicas + deployment.prefill_replicas
    energy_j = replica.busy_w * made.busy_s + replica.idle_w * max(
        0.0, count * span_s - made.busy_s
    )
    answered = requests.with_columns(COLUMNS, start_s=first, end_s=made.end, **late)
    return Served(
        answered, span_s, made.busy_s / count, made.queued_s / count, energy_j, made.returned,
        made.known_share,
    )  # fmt: skip


def _answering(replica: Replica, prompt: Array, output: Array) -> Array:
    """Seconds from the first prefilled token to the last of the answer, (n,).

    While requests must be let in that waited long, those with long prompts: all places are taken,
    or as many as prompts can be prefilled for, and every step prefills a whole chunk.
    """
    r, p, o = replica, prompt.mean(), output.mean()
    running = min(r.batch_cap, r.cache_tokens / (p + o), r.chunk * o / p)
    step_s = r.base_s + running * (r.request_s + r.context_s * (p + o / 2)) + r.chunk * r.prefill_s
    return np.asarray((output + prompt / r.chunk) * step_s)


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
        problem = "expected predicted lengths of answers (predicted_tokens in a trace), got none"
        problems.append(f"{policy}: {problem}")
    if predicted is not None and not (np.isfinite(predicted) & (np.asarray(predicted) >= 1)).all():
        problems.append("predicted_tokens: expected numbers from 1 on in every row")
    for name, values in (
        ("submit_s", submit),
        ("prompt_tokens", prompt),
        ("output_tokens", output),
    ):
        least = -np.inf if name == "submit_s" else 1
        whole = name == "submit_s" or values == np.floor(values)
        odd = np.flatnonzero(~(np.isfinite(values) & (values >= least) & whole))
        if len(odd):
            problems.append(f"{name}: row {odd[0]} is {values[odd[0]]}{and_more(len(odd))}")
        elif name != "submit_s":
            problems += too_long(name, values)
    if len(submit) and np.ptp(submit) > LONGEST_S:
        problems.append(f"submit_s: expected a span of {LONGEST_S:g} s at most, where the times of "
                        f"steps can still be told apart, got {np.ptp(submit):g} s")  # fmt: skip
    large = np.flatnonzero(prompt + output > r.cache_tokens)
    if len(large):
        problems.append(
            f"cache_tokens: row {large[0]} needs {prompt[large[0]] + output[large[0]]:.0f} of "
            f"{r.cache_tokens}{and_more(len(large))}"
        )
    if problems:
        raise DataError("serve", problems)
