"""``rheostat llm simulate``: what an order of requests changes, and for whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.llm import replica_options as r
from rheostat.cli.options.declared import argument, option


@asks("llm.simulate", o.drawn, prefix_cache="prefix_cache_tokens")
def simulate(
    trace: Annotated[
        Path,
        argument(
            "Requests: an Azure or Mooncake trace, what llm calibrate reads, or a table with "
            "submit_s, prompt_tokens and output_tokens.",
            "TRACE",
        ),
    ],
    policies: Annotated[
        str,
        option(
            "Orders of the waiting requests, comma-separated: fcfs, shortest-prompt, "
            "cost-oracle, hrrn-oracle (highest ratio of waiting to cost); by the lengths in "
            "a column predicted_tokens of TRACE: shortest-answer, cost, hrrn."
        ),
    ] = "fcfs,shortest-prompt,cost-oracle",
    rate: Annotated[float, option("Play the trace this many times as fast.", min=1e-6)] = 1.0,
    batch_cap: Annotated[int, option("Requests that run at once.", min=1, max=1_000_000)] = 256,
    cache_tokens: Annotated[int, option("Tokens the cache holds.", min=1, max=10**12)] = 400_000,
    chunk: Annotated[int, option("Prompt tokens prefilled in a step.", min=1, max=10**9)] = 2048,
    step: Annotated[
        str,
        option(
            "Seconds of a step: of itself, per running request, per token in a cache, per "
            "prefilled token."
        ),
    ] = "8e-3,20e-6,22e-9,22e-6",
    delay: Annotated[
        float, option("Seconds of an answer outside of steps: network, reading.", min=0)
    ] = 0.0,
    tool_delay: Annotated[
        float,
        option(
            "Seconds by which first tokens of tool calls are seen later, where TRACE says "
            "which answers call tools.",
            min=0.0,
        ),
    ] = 0.0,
    power: Annotated[str, option("Watts without and with a running step.")] = "100,600",
    power_cap: Annotated[
        float,
        option(
            "Watts that a server may draw; steps take longer as in the law of llm fit. 0 "
            "sets no cap.",
            min=0.0,
        ),
    ] = 0.0,
    frequency: r.Frequency = "",
    ageing: Annotated[
        float, option("Seconds of cost that a second of waiting outweighs.", min=0.0)
    ] = 0.0,
    head_start: Annotated[
        float,
        option(
            "Seconds that a request of a tenth of the cost goes before; 0 orders by cost alone.",
            min=0.0,
        ),
    ] = 0.0,
    patience: Annotated[
        float, option("Who waits for longer goes first, s; 0 sets no limit.", min=0.0)
    ] = 0.0,
    within: Annotated[
        str,
        option(
            "Bound for 99 of 100 answers, as 90s: cheap requests first as long as no other "
            "is late for it; or as 1.2x, times the p99 of first come, first served."
        ),
    ] = "",
    replicas: r.Replicas = 1,
    routing: r.Routing = "round-robin",
    prefix_cache: r.PrefixCache = 0,
    hit_rate: r.HitRate = 0.0,
    prefill_replicas: r.PrefillReplicas = 0,
    transfer: r.Transfer = 0.0,
    column: o.Columns = None,
) -> None:
    """Serve a trace under several orders of those that wait, and say whether an order helps.

    Continuous batching with chunked prefill; a full cache puts requests back.  A line says for how
    much of the time requests wait, and whether an order is better than first come, first served by
    more than runs with other arrivals differ.  cost-oracle knows the lengths of the answers
    beforehand, which no server does: it is the most an order can gain.
    """
