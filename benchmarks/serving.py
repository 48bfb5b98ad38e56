"""How fast are requests served in simulation, and what does an order of them change?

    python benchmarks/serving.py [--quick] [--json]

Trace: Azure's conversations of 2023, played as fast as ``rate`` says; one replica with the default
step of `rheostat.simulation.serving.replica.Replica`.  Speed is of the engine alone, on the trace
repeated, machine code compiled before.

Last rows: Mooncake's conversations with everything on.  Four replicas prefill, chosen by what their
prefix caches hold, four decode; a batch cap of 32 and caches of 150,000 tokens, so that requests
are put back.  Speed is of the whole of `serve`, routing and prefix caches included.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.core.jobs import JobTable
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.simulation.serving.continuous_batching import run
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import Served, serve

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILE = ROOT / "llm" / "azure_llm_2023" / "AzureLLMInferenceTrace_conv.csv"
PREFIXES = ROOT / "llm" / "mooncake" / "conversation_trace.parquet"
TIGHT = Replica(batch_cap=32, cache_tokens=150_000)
EVERYTHING = Deployment(4, "prefix", 3_000_000, prefill_replicas=4, transfer_s=1e-6)
POLICIES = (
    ("fcfs", {}), ("shortest-prompt", {}), ("cost-oracle", {}), ("hrrn-oracle", {}),
    ("cost-oracle", {"ageing": 1e-4}), ("cost-oracle", {"patience_s": 60.0}),
    ("cost-oracle", {"head_start_s": 100.0}), ("cost-oracle", {"within_fcfs_p99": 1.2}),
    ("shortest-prompt", {"within_fcfs_p99": 1.2}),
)  # fmt: skip
FIGURES = ("mean_latency_s", "p50_s", "p99_s", "ttft_p99_s", "energy_j")


def main() -> None:
    """Serve the trace at three rates under every policy."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--quick", action="store_true", help="the trace once, not twenty times")
    args.add_argument("--json", action="store_true", help="one JSON document")
    given = args.parse_args()
    if not FILE.exists():
        sys.exit(f"trace not found at {FILE}; set RHEOSTAT_DATA")
    trace = read_traffic(FILE)
    rows = [
        row(trace, rate, policy, how, 1 if given.quick else 20)
        for rate in (1.0, 4.2, 6.0)
        for policy, how in POLICIES
    ]
    rows += [everything(read_traffic(PREFIXES), policy, how, 1 if given.quick else 20)
             for policy, how in POLICIES if "within_fcfs_p99" not in how]  # fmt: skip
    if given.json:
        print(json.dumps({"rows": rows}))
        return
    printed = Table(*rows[0])
    for r in rows:
        printed.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in r.values()))
    Console(width=160).print(printed)


def row(
    trace: JobTable, rate: float, policy: str, how: dict[str, float], times: int
) -> dict[str, Any]:
    """Latencies and energy under a policy, and requests per CPU-second of the engine."""
    jobs = trace.with_columns([], submit_s=trace.numpy("submit_s") / rate)
    options = dict(how)
    if times_p99 := options.pop("within_fcfs_p99", 0.0):
        options["within_s"] = times_p99 * serve(jobs, "fcfs", Replica()).summary()["p99_s"]
    served = serve(jobs, policy, Replica(), **options)
    return shown(f"azure-conv x{rate:g}", policy, how, speed(jobs, times), served)


def everything(trace: JobTable, policy: str, how: dict[str, float], times: int) -> dict[str, Any]:
    """The same with prefix caches, routing, two stages and full caches, at four times the rate."""
    jobs = trace.with_columns([], submit_s=trace.numpy("submit_s") / 4.0)
    served = serve(jobs, policy, TIGHT, deployment=EVERYTHING, **how)
    began = time.process_time()
    for _ in range(times):
        serve(jobs, policy, TIGHT, deployment=EVERYTHING, **how)
    fast = times * len(jobs) / (time.process_time() - began)
    return shown("mooncake-conv x4, everything on", policy, how, fast, served)


def shown(
    trace: str, policy: str, how: dict[str, float], fast: float, served: Served
) -> dict[str, Any]:
    """A row of the table."""
    named = ", ".join([policy, *(f"{k.removesuffix('_s')} {v:g}" for k, v in how.items())])
    row = {"trace": trace, "policy": named, "engine_requests_per_cpu_s": fast}
    return row | {k: served.summary()[k] for k in FIGURES}


def speed(jobs: JobTable, times: int) -> float:
    """Requests per CPU-second, first come first served, on the trace ``times`` over."""
    submit, r = jobs.numpy("submit_s"), Replica()
    when = np.concatenate([submit + i * (submit.max() + 1) for i in range(times)])
    prompt, output = (
        np.tile(jobs.numpy(c).astype(np.int64), times) for c in ("prompt_tokens", "output_tokens")
    )
    never = np.full(len(when), np.inf)
    began = time.process_time()
    run(when, prompt, output, np.zeros_like(prompt), True, when, r.batch_cap, r.cache_tokens,
        r.chunk, r.base_s, r.request_s, r.context_s, r.prefill_s, np.inf, False, never,
        never)  # fmt: skip
    return len(when) / (time.process_time() - began)


if __name__ == "__main__":
    main()
