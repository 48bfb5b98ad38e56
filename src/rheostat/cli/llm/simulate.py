"""``rheostat llm simulate``: what an order of requests changes, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.simulation.serving.serve import Served

NO_FREQUENCY = (
    "the serving law has no term of frequency: measure steps and watts at that clock (llm "
    "calibrate) and give them as --step and --power, or take --power-cap"
)


def simulate(
    trace: Annotated[
        Path,
        typer.Argument(
            help="Requests: an Azure or Mooncake trace, what llm calibrate reads, or a table with "
            "submit_s, prompt_tokens and output_tokens.",
            metavar="TRACE",
        ),
    ],
    policies: Annotated[
        str,
        typer.Option(
            help="Orders of the waiting requests, comma-separated: fcfs, shortest-prompt, "
            "cost-oracle, hrrn-oracle (highest ratio of waiting to cost); by the lengths in a "
            "column predicted_tokens of TRACE: shortest-answer, cost, hrrn."
        ),
    ] = "fcfs,shortest-prompt,cost-oracle",
    rate: Annotated[
        float, typer.Option(help="Play the trace this many times as fast.", min=1e-6)
    ] = 1.0,
    batch_cap: Annotated[
        int, typer.Option(help="Requests that run at once.", min=1, max=1_000_000)
    ] = 256,
    cache_tokens: Annotated[
        int, typer.Option(help="Tokens the cache holds.", min=1, max=10**12)
    ] = 400_000,
    chunk: Annotated[
        int, typer.Option(help="Prompt tokens prefilled in a step.", min=1, max=10**9)
    ] = 2048,
    step: Annotated[
        str,
        typer.Option(
            help="Seconds of a step: of itself, per running request, per token in a cache, per "
            "prefilled token."
        ),
    ] = "8e-3,20e-6,22e-9,22e-6",
    delay: Annotated[
        float,
        typer.Option(help="Seconds of an answer outside of steps: network, reading.", min=0.0),
    ] = 0.0,
    power: Annotated[str, typer.Option(help="Watts without and with a running step.")] = "100,600",
    power_cap: Annotated[
        float,
        typer.Option(
            help="Watts that a server may draw; steps take longer as in the law of llm fit. "
            "0 sets no cap.",
            min=0.0,
        ),
    ] = 0.0,
    frequency: Annotated[str, typer.Option(hidden=True)] = "",
    ageing: Annotated[
        float, typer.Option(help="Seconds of cost that a second of waiting outweighs.", min=0.0)
    ] = 0.0,
    head_start: Annotated[
        float,
        typer.Option(
            help="Seconds that a request of a tenth of the cost goes before; 0 orders by cost "
            "alone.",
            min=0.0,
        ),
    ] = 0.0,
    patience: Annotated[
        float,
        typer.Option(help="Who waits for longer goes first, s; 0 sets no limit.", min=0.0),
    ] = 0.0,
    within: Annotated[
        str,
        typer.Option(
            help="Bound for 99 of 100 answers, as 90s: cheap requests first as long as no other is "
            "late for it; or as 1.2x, times the p99 of first come, first served."
        ),
    ] = "",
    replicas: Annotated[int, typer.Option(help="Servers of this kind.", min=1, max=10_000)] = 1,
    routing: Annotated[
        str, typer.Option(help="Who is sent where: round-robin, least-work or prefix.")
    ] = "round-robin",
    prefix_cache: Annotated[
        int,
        typer.Option(help="Tokens of earlier prompts that each server keeps.", min=0, max=10**12),
    ] = 0,
    prefill_replicas: Annotated[
        int,
        typer.Option(
            help="Servers that only prefill; the others then only decode.", min=0, max=10_000
        ),
    ] = 0,
    transfer: Annotated[
        float, typer.Option(help="Seconds per token to move a cache to another server.", min=0.0)
    ] = 0.0,
    column: o.Columns = None,
    html: o.Html = None,
    figure: o.Figure = None,
    json: o.Json = False,
) -> None:
    """Serve a trace under several orders of those that wait, and say whether an order helps.

    Continuous batching with chunked prefill; a full cache puts requests back.  A line says for how
    much of the time requests wait, and whether an order is better than first come, first served by
    more than runs with other arrivals differ.  cost-oracle knows the
    lengths of the answers beforehand, which no server does: it is the most an order can gain.
    """
    import math
    from dataclasses import asdict

    from rheostat.cli.llm.requests import numbers
    from rheostat.cli.output import put_json, tell, tell_notes, working, write_files
    from rheostat.errors import DataError
    from rheostat.explanation.serving_report import serving_report
    from rheostat.measurement.serving.traffic import read_traffic
    from rheostat.questions.parse import parse_names, parse_pairs
    from rheostat.simulation.serving.deployment import Deployment
    from rheostat.simulation.serving.order_gain import order_gains, verdict
    from rheostat.simulation.serving.replica import Replica
    from rheostat.simulation.serving.serve import serve

    if frequency:
        raise DataError("--frequency", [NO_FREQUENCY])
    jobs = read_traffic(trace, columns=parse_pairs(column, "--column") if column else None)
    tell_notes(jobs.notes)
    orders = parse_names(policies)
    if not orders:
        raise DataError("--policies", ["expected names of orders, as fcfs,cost-oracle; got none"])
    jobs = jobs.with_columns([], submit_s=jobs.numpy("submit_s") / rate)
    jobs, refused = _that_fit(jobs, cache_tokens)
    times, watts = numbers(step, 4, "--step"), numbers(power, 2, "--power")
    replica = Replica(batch_cap, cache_tokens, chunk, *(*times, *watts, delay))
    replica = replica.capped(power_cap) if power_cap else replica
    place = Deployment(replicas, routing, prefix_cache, prefill_replicas, transfer)
    bound = _bound(within, lambda: serve(jobs, "fcfs", replica, deployment=place).summary())
    known = "predicted_tokens" in jobs.columns
    predicted = jobs.numpy("predicted_tokens") if known else None

    def served_so(requests: JobTable, policy: str) -> Served:
        return serve(
            requests, policy, replica, predicted=predicted, ageing=ageing, head_start_s=head_start,
            patience_s=patience or float("inf"), within_s=bound, deployment=place,
        )  # fmt: skip

    served = {}
    for policy in orders:
        with working(f"{policy}: {len(jobs):,} requests"):
            served[policy] = served_so(jobs, policy)
    with working("the same requests at other moments"):
        gains = order_gains(jobs, orders, served_so)
    facts: dict[str, Any] = {
        "requests": len(jobs),
        "refused": refused,
        "within_s": bound if math.isfinite(bound) else None,
        "policies": {p: s.summary() for p, s in served.items()},
    }
    facts["beside_first_come"] = {p: {q: asdict(r) for q, r in own.items()}
                                  for p, own in gains.items()}  # fmt: skip
    queued = max(f["queued_share"] for f in facts["policies"].values())
    said = f"requests wait in {100 * queued:.1f} % of the time"
    said += f": {verdict(gains)}" if gains else ""
    if html or figure:
        write_files(serving_report(facts, {p: _times(s) for p, s in served.items()}, said),
                    html, figure)  # fmt: skip
    if json:
        put_json("rheostat.llm-simulate/1", facts)
        return
    tell(said)
    keys = list(next(iter(facts["policies"].values())))
    print("\t".join(["policy", *keys]))
    for name, values in facts["policies"].items():
        print("\t".join([name, *(f"{values[k]:.6g}" for k in keys)]))


def _that_fit(jobs: JobTable, cache_tokens: int) -> tuple[JobTable, int]:
    """Requests that a cache can hold, and how many it cannot: those a server refuses."""
    from rheostat.cli.output import tell
    from rheostat.errors import DataError

    tokens = jobs.numpy("prompt_tokens") + jobs.numpy("output_tokens")
    fits = tokens <= cache_tokens
    refused = int((~fits).sum())
    said = f"the largest needs {tokens.max():,.0f} tokens of a cache of {cache_tokens:,}"
    if refused == len(jobs):
        raise DataError("--cache-tokens", [f"no request fits: {said}"])
    if refused:
        tell(f"{refused:,} of {len(jobs):,} requests are refused, as a server would: {said}")
    return jobs.rows(fits.nonzero()[0]), refused


def _bound(text: str, first_come: Callable[[], Mapping[str, float]]) -> float:
    """Seconds of ``--within``: infinite if empty, as a duration, or times the p99 of FCFS."""
    from rheostat.cli.llm.bound import bound

    seconds, times = bound(text)
    return times * first_come()["p99_s"] if times else seconds


def _times(served: Served) -> tuple[Any, Any, Any]:
    """Moments of submission, first and last token."""
    submit, first, end = (served.requests.numpy(c) for c in ("submit_s", "start_s", "end_s"))
    return submit, first, end
