"""How low can the mean latency be if p99 is to stay within 1.2 times that of first come?

    python benchmarks/serving_bound.py [--json]

Azure's conversations of 2023, 4.2 and 6 times as fast, answers' lengths known.  ``family`` rows are
of the simulator: of each rule the parameter, chosen afterwards, with the least mean among those
that hold the limit.  ``bound`` is a linear programme that knows all that will come: one server
works off what requests cost (`Replica.cost_s`, scaled so that first come, first served has the
simulator's mean), in steps of ten seconds, and one in a hundred may be late.  Ratios are to the
order by cost without a limit, of the programme to the programme without it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from rheostat.core.jobs import JobTable
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data"))
FILE = ROOT / "llm" / "azure_llm_2023" / "AzureLLMInferenceTrace_conv.csv"
TIMES, LATE, STEP_S = 1.2, 0.01, 10.0
SHARES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.97, 0.98, 0.99,
          0.995, 1)  # fmt: skip
FAMILIES = {
    "ageing": np.geomspace(1e-5, 1, 40), "head_start_s": np.geomspace(3, 1000, 40),
    "patience_s": np.linspace(0.1, 1.2, 40), "within_s": np.linspace(0.9, 1.3, 41),
}  # fmt: skip
OF_P99 = ("patience_s", "within_s")


def main() -> None:
    """Both rates."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--json", action="store_true", help="one JSON document")
    given = args.parse_args()
    if not FILE.exists():
        sys.exit(f"trace not found at {FILE}; set RHEOSTAT_DATA")
    rows = [row for rate in (4.2, 6.0) for row in rows_of(read_traffic(FILE), rate)]
    if given.json:
        print(json.dumps({"rows": rows}))
        return
    printed = Table(*rows[0])
    for r in rows:
        printed.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in r.values()))
    Console(width=120).print(printed)


def rows_of(trace: JobTable, rate: float) -> list[dict[str, Any]]:
    """The best of each family, and the bound."""
    jobs = trace.with_columns([], submit_s=trace.numpy("submit_s") / rate)
    served = serve(jobs)
    first, least = served.summary(), serve(jobs, "cost-oracle").summary()
    rows = []
    for name, values in FAMILIES.items():
        scaled = values * (first["p99_s"] if name in OF_P99 else 1.0)
        runs = [(serve(jobs, "cost-oracle", **{name: float(v)}).summary(), v) for v in scaled]
        held = [(s["mean_latency_s"], s["p99_s"], v) for s, v in runs
                if s["p99_s"] <= TIMES * first["p99_s"]]  # fmt: skip
        mean_s, p99_s, value = min(held)
        rows.append(row(rate, name, float(value), mean_s / least["mean_latency_s"],
                        p99_s / first["p99_s"]))  # fmt: skip
    service_s = served.requests.numpy("end_s") - served.requests.numpy("start_s")
    ratio = bound(jobs, first["mean_latency_s"], TIMES * first["p99_s"], service_s.mean())
    return [*rows, row(rate, "bound", LATE, ratio, TIMES)]


def row(rate: float, rule: str, value: float, mean: float, p99: float) -> dict[str, Any]:
    """``mean_ratio`` to the order by cost, ``p99_ratio`` to first come, first served."""
    return {"rate": rate, "rule": rule, "value": value, "mean_ratio": mean, "p99_ratio": p99}


def bound(jobs: JobTable, fcfs_mean_s: float, limit_s: float, service_s: float) -> float:
    """Least mean latency with the limit over that without."""
    submit, prompt, output = (jobs.numpy(c) for c in ("submit_s", "prompt_tokens", "output_tokens"))
    tail_s = service_s * output / output.mean()
    work_s = _as_slow(submit, Replica().cost_s(prompt, output), fcfs_mean_s - service_s)
    edges = np.unique(np.quantile(work_s, SHARES))[1:-1]
    group = np.stack([submit // STEP_S, np.searchsorted(edges, work_s, side="right"),
                      tail_s > np.median(tail_s)], axis=1)  # fmt: skip
    kinds, which = np.unique(group, axis=0, return_inverse=True)
    count = np.bincount(which.ravel())
    work_s, tail_s, submit = (
        np.bincount(which.ravel(), v) / count for v in (work_s, tail_s, submit)
    )
    came, last = kinds[:, 0].astype(int), int((submit.max() + (count * work_s).sum()) / STEP_S)
    who = np.repeat(np.arange(len(came)), last - came)
    when = np.concatenate([np.arange(c, last) for c in came])
    wait_s = np.maximum((when + 0.5) * STEP_S - submit[who], 0.0)
    late = (wait_s - 0.5 * STEP_S + tail_s[who] > limit_s).astype(float)
    some = np.arange(len(who))
    each = csr_array((np.ones(len(who)), (who, some)))
    room = csr_array((work_s[who], (when, some)))
    most, cost = np.full(room.shape[0], STEP_S), wait_s + tail_s[who]
    free = linprog(cost, room, most, each, count, method="highs-ipm")
    held = linprog(cost, vstack([room, csr_array(late[None])]), np.append(most, LATE * count.sum()),
                   each, count, method="highs-ipm")  # fmt: skip
    return float(held.fun / free.fun)


def _as_slow(submit: np.ndarray, cost: np.ndarray, wait_s: float) -> np.ndarray:
    """Costs times what makes requests wait as long, first come, first served, one at a time."""
    low, high = 0.5, 3.0
    while high - low > 1e-6:
        times = (low + high) / 2
        before = np.concatenate([[0.0], np.cumsum(times * cost)])[:-1]
        waits = np.maximum.accumulate(submit - before) + before - submit
        low, high = (low, times) if waits.mean() > wait_s else (times, high)
    return low * cost


if __name__ == "__main__":
    main()
