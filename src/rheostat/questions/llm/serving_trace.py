"""Configuration, number of replicas and order of requests for a trace, by simulating candidates.

A replica's step is the law's: of itself what one request takes, per further request what the law
adds up to the batch cap, both scaled to the time between tokens that was measured or predicted
there.  Prefill is arithmetic at the law's rate.  A cache holds what weights leave of the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.law import NAMES, in_units, step
from rheostat.questions.llm.serving_model import AS_LLAMA, CacheSize
from rheostat.recipes.energylens import simple_rules
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve

USABLE = 0.9
MOST_TOKENS = 1e12
"""Of a cache that takes nearly nothing per token, as that of a model without attention."""
ORDERS: Mapping[str, tuple[str, float]] = {
    "fcfs": ("fcfs", 0.0), "shortest-prompt, head start 100 s": ("shortest-prompt", 100.0),
}  # fmt: skip
"""Orders that need no knowledge of the answers: policy and head start (s)."""


@dataclass(frozen=True)
class TraceLimits:
    """What has to hold over the trace: the 99th percentiles of first tokens and answers (s)."""

    ttft_s: float = np.inf
    latency_s: float = np.inf

    def excess(self, row: Mapping[str, Any]) -> float:
        """By how much the row misses them, relative; 0 where it holds both."""
        most = max(row["ttft_p99_s"] / self.ttft_s, row["p99_s"] / self.latency_s)
        return float(max(0.0, most - 1.0))


def replicas_of(
    law: ServingLaw, front: Front, cache: CacheSize = AS_LLAMA, lengths: Array | float = 1000.0
) -> list[Replica | None]:
    """A replica of each setting; None where nothing is known of it, or weights do not fit.

    Its cache holds as many tokens as requests of these ``lengths`` have where it is full.
    """
    token_b = cache.request_b(front.alternatives, lengths) / np.mean(lengths)
    at = Configurations.of(front.alternatives)
    ones = replace(at, batch=np.ones(len(at)))
    logs = law.log_parameters_of(at)
    (alone_s, *_), (full_s, *_) = (np.exp(step(logs, c)) for c in (ones, at))
    itl, energy = front.mean("itl_s"), front.mean("energy_per_token_j")
    numbers = dict(zip(NAMES, in_units(logs).T, strict=True))
    made: list[Replica | None] = []
    for i, name in enumerate(at.gpu):
        gpu = accelerator(str(name))
        weights_b = at.copies[i] * at.params[i] * at.weight_b[i]
        room_b = USABLE * gpu.memory_b * at.gpus[i] - weights_b
        tokens = int(min(room_b / token_b[i], MOST_TOKENS))
        if not np.isfinite(itl[i]) or tokens < 1:
            made.append(None)
            continue
        scale, batch = itl[i] / full_s[i], at.batch[i]
        request_s = scale * (full_s[i] - alone_s[i]) / max(batch - 1, 1)
        base_s = itl[i] - request_s * batch
        prefill_s = (
            2 * at.active[i] / (at.gpus[i] * gpu.flop_per_s * min(numbers["compute"][i], 1.0))
        )
        idle_w = numbers["static"][i] * at.gpus[i] * gpu.power_w
        busy_w = max(idle_w, energy[i] * batch / itl[i])
        made.append(Replica(int(batch), tokens, 2048, base_s, request_s, 0.0, prefill_s, idle_w,
                            busy_w))  # fmt: skip
    return made


def plan_for_trace(
    law: ServingLaw, front: Front, requests: JobTable, limits: TraceLimits,
    counts: Sequence[int] = (1, 2, 4, 8), allowed: np.ndarray | None = None,
    cache: CacheSize = AS_LLAMA,
) -> list[dict[str, Any]]:  # fmt: skip
    """What each candidate makes of the trace; those that hold the limits first, by energy.

    Parameters
    ----------
    law, front
        Fitted, and the settings that it or measurements say something of.
    requests
        ``submit_s``, ``prompt_tokens``, ``output_tokens``.
    limits
        On first tokens and answers.
    counts
        Numbers of replicas that are tried, the fewest that hold the limits is kept.
    allowed
        Mask (n,) of settings to look at; all if None.
    cache
        What requests keep in memory.

    Returns
    -------
    list of dict
        ``setting``, ``replicas``, ``order``, latencies (s), ``energy_per_token_j`` and ``holds``.

    Raises
    ------
    DataError
        No setting can hold the longest request.
    """
    lengths = requests.numpy("prompt_tokens") + requests.numpy("output_tokens")
    longest = int(lengths.max())
    rows = []
    for i, replica in enumerate(replicas_of(law, front, cache, lengths)):
        if replica is None or replica.cache_tokens < longest:
            continue
        if allowed is None or allowed[i]:
            rows += _orders(front.setting(i), replica, requests, limits, counts)
    if not rows:
        raise DataError("trace", [f"no setting holds a request of {longest} tokens"])
    return sorted(rows, key=lambda r: (r["excess"], r["energy_per_token_j"]))


def best_for_trace(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The first row; `Infeasible` where it misses the limits."""
    if rows[0]["excess"] > 0:
        said = ", ".join(f"{k}={v}" for k, v in rows[0]["setting"].items())
        raise Infeasible(
            f"no configuration holds the limits; the nearest, {said}, {rows[0]['replicas']} "
            f"replicas, has a p99 of {rows[0]['ttft_p99_s']:.3g} s to the first token and "
            f"{rows[0]['p99_s']:.3g} s to the last", 0)  # fmt: skip
    return rows[0]


def _orders(
    setting: Mapping[str, Any], replica: Replica, requests: JobTable, limits: TraceLimits,
    counts: Sequence[int],
) -> list[dict[str, Any]]:  # fmt: skip
    """Each order with the fewest replicas that hold the limits, else with the most."""
    tokens = float(requests.numpy("output_tokens").sum())
    rows = []
    for order, (policy, head_start_s) in ORDERS.items():
        for count in counts:
            served = serve(requests, policy, replica, head_start_s=head_start_s,
                           deployment=Deployment(count, "least-work"))  # fmt: skip
            figures = served.summary()
            row = {"setting": dict(setting), "replicas": count, "order": order,
                   **{k: figures[k] for k in ("mean_latency_s", "p99_s", "ttft_p99_s")},
                   "energy_per_token_j": served.energy_j / tokens,
                   "span_s": served.span_s}  # fmt: skip
            row["excess"] = limits.excess(row)
            if row["excess"] == 0:
                break
        rows.append(row)
    return rows


def simple_rules_on_trace(
    front: Front, rows: Sequence[Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """What each simple rule takes of the settings that were served, at its best order."""
    served: dict[int, Mapping[str, Any]] = {}
    for row in rows:  # best first
        settings = range(len(front.alternatives))
        served.setdefault(next(i for i in settings if front.setting(i) == row["setting"]), row)
    allowed = np.isin(np.arange(len(front.alternatives)), list(served))
    return {name: served[i] for name, i in simple_rules(front, allowed).items()}
