"""How far is a calibrated replica from recorded servers?

    python benchmarks/serving_recorded.py [--json]

Four runs of vLLM 0.19 with 300 requests each, recorded for LLMServingSim 2.0 (MIT licence), as its
servers were started.  `rheostat.simulation.serving.calibrate` learns five numbers from the first
100 requests; ``median_error`` and ``p90_error`` are of the relative errors of the other 200,
``unstated`` the median where the batch cap and the cache are read from the log.  Baselines are the
median of the 100, and a line through their numbers of tokens.  LLMServingSim publishes by how much
the median over all requests is off: ``error_of_median`` is ours of all 300, ``llmservingsim``
theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rheostat.measurement.serving.recorded_requests import read_recorded
from rheostat.simulation.serving.calibrate import calibrate
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.log_replay import Recording
from rheostat.simulation.serving.replica import Replica

ROOT = Path(os.environ.get("RHEOSTAT_DATA", Path(__file__).parents[2] / "shared" / "data"))
FOLDER = ROOT / "llm" / "llmservingsim_vllm"
LEARN = 100
METRICS = {"ttft": "TTFT", "tpot": "TPOT", "latency": "Latency"}


def main() -> None:
    """All four."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--json", action="store_true", help="one JSON document")
    given = args.parse_args()
    servers = sorted(f.name.removesuffix("__meta.json") for f in FOLDER.glob("*__meta.json"))
    if not servers:
        sys.exit(f"no recorded runs at {FOLDER}; set RHEOSTAT_DATA")
    rows = [row for server in servers for row in rows_of(server)]
    if given.json:
        print(json.dumps({"rows": rows}))
        return
    printed = Table(*rows[0])
    for r in rows:
        printed.add_row(*(f"{100 * v:.1f} %" if isinstance(v, float) else v for v in r.values()))
    Console(width=160).print(printed)


def rows_of(server: str) -> list[dict[str, Any]]:
    """Errors of first token, time per token and whole answer."""
    meta = json.loads((FOLDER / f"{server}__meta.json").read_text())
    asked, cache = meta["engine_kwargs"], meta.get("kv_cache", {})
    place = Deployment(asked["data_parallel_size"])
    recorded = read_recorded(FOLDER / f"{server}__requests.jsonl")
    made = calibrate(
        recorded, LEARN, batch_cap=asked["max_num_seqs"], deployment=place,
        cache_tokens=cache.get("num_kv_tokens", Replica.cache_tokens),
        chunk=asked["max_num_batched_tokens"],
    )  # fmt: skip
    unstated = calibrate(recorded, LEARN, deployment=place).median_error
    log = Recording.of(recorded)
    ours = log.played(made.replica, made.deployment)
    theirs = (FOLDER / f"{server}__sim_vs_vllm_summary.txt").read_text()
    rows = []
    for name, metric in METRICS.items():
        said = re.search(rf"{metric} Median .* ([-+][\d.]+)%", theirs)
        a, b = ours[name], log.measured[name]
        rows.append({
            "server": server, "metric": name, "median_error": made.median_error[name],
            "p90_error": made.p90_error[name], "unstated": unstated[name],
            **{f"baseline_{n}": off[name] for n, off in made.baselines.items()},
            "error_of_median": float(np.nanmedian(a) / np.nanmedian(b) - 1),
            "llmservingsim": float(said[1]) / 100,
        })  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
