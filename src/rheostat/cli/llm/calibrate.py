"""``rheostat llm calibrate``: what a step of your server takes, from requests it answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("llm.calibrate", o.drawn, prefix_cache="prefix_cache_tokens")
def calibrate(
    recorded: Annotated[
        Path,
        argument(
            "Answered requests with moments or durations: vllm bench serve --save-detailed, "
            "SGLang's bench_serving with details, aiperf's profile_export.jsonl, "
            "LLMServingSim, a request log as JSON lines, CSV or parquet (arrival_time, "
            "ttft_ms, e2e_latency_ms, input_len, ...), or submit_s, prompt_tokens, "
            "output_tokens, start_s, end_s.",
            "RECORDED",
        ),
    ],
    learn: Annotated[
        int | None,
        option(
            "Learn from so many of the first requests.",
            min=1,
            max=100_000_000,
            show_default="100, or half",
        ),
    ] = None,
    batch_cap: Annotated[
        int | None,
        option(
            "Requests that run at once on each server.",
            min=1,
            max=1_000_000,
            show_default="read from the log",
        ),
    ] = None,
    cache_tokens: Annotated[
        int | None,
        option(
            "Tokens that each server's cache holds.",
            min=1,
            max=10**12,
            show_default="read from the log",
        ),
    ] = None,
    chunk: Annotated[
        int | None,
        option(
            "Prompt tokens prefilled in a step; 2048, or what first tokens show, if not given.",
            min=1,
            max=10**9,
        ),
    ] = None,
    replicas: Annotated[int, option("Servers that answered.", min=1, max=10_000)] = 1,
    prefill_replicas: Annotated[
        int, option("Servers that only prefilled; the others only decoded.", min=0, max=10_000)
    ] = 0,
    prefix_cache: Annotated[
        int,
        option(
            "Tokens of earlier prompts that each server kept, for logs with texts or blocks "
            "of prompts; 0 finds out whether there was such a cache.",
            min=0,
            max=10**12,
        ),
    ] = 0,
    hit_rate: Annotated[
        float | None,
        option(
            "Share of prompt tokens that a prefix cache held, for logs that do not say it.",
            min=0.0,
            max=1.0,
            show_default="read from first tokens",
        ),
    ] = None,
    seed: o.Seed = 0,
    column: o.Columns = None,
) -> None:
    """Find what a step of your server takes; prints options of `rheostat llm simulate`.

    The requests are served again until the first of them get their tokens when they did; the errors
    are of the others, beside what two baselines make of them: the median of those learned from, and
    a line through their numbers of tokens.  Limits of the server that are not given are read from
    the log where it shows any, and noted.
    """
