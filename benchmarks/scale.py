"""Fit and score a trace that does not fit in memory; print what it cost and what came out.

    python benchmarks/scale.py --rows 1000000            # three minutes
    python benchmarks/scale.py --rows 24000000 --json    # the size of F-DATA

Generates months in F-DATA's columns (kept in --folder, used again next time), fits them out of core
and, with --dask, on workers of a local cluster; the last month is held out, the month before it
calibrates.  A model fitted in memory on the first months is compared with the same fitted out of
core.  Each stage runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import platform
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scale_lib import fits, months

LIMIT_GB = 8.0


def main() -> int:
    """Run all stages; exit code 1 where a process took more than 8 GB or results differ."""
    asked = arguments()
    folder = asked.folder / f"{asked.rows}-{asked.seed}"
    months.room(folder, asked.rows)
    stages: dict[str, dict[str, Any]] = {}
    if not asked.resume:
        shutil.rmtree(folder / "work", ignore_errors=True)
    settings = {"rounds": asked.rounds, "depth": asked.depth, "learning_rate": asked.rate}
    settings["threads"] = asked.threads
    stages["generate"] = apart(fits.generate, folder, asked.rows, asked.seed)
    paths = stages["generate"].pop("paths")
    for kind in asked.kinds.split(","):
        stages[f"out of core, {kind}"] = apart(
            fits.out_of_core, paths, kind, settings, folder / "work", asked.score_all
        )
    if asked.dask:
        stages["dask, xgboost"] = apart(fits.on_dask, paths, "xgboost", settings, asked.dask)
    stages["compare"] = apart(fits.compare, paths, settings, asked.compare_rows)
    facts = {"schema": "rheostat.bench.scale/1", "machine": machine(), "asked": plain(asked)}
    print(json.dumps(facts | {"stages": stages}, indent=1) if asked.json else table(stages))
    peaks = [g for s in stages.values() for g in s["peak_rss_gb"].values()]
    return int(max(peaks) > LIMIT_GB or not stages["compare"]["same"])


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--rate", type=float, default=0.2, help="learning rate")
    parser.add_argument("--threads", type=int, default=0, help="0: OMP_NUM_THREADS")
    parser.add_argument("--kinds", default="xgboost", help="xgboost,lightgbm")
    parser.add_argument("--dask", type=int, default=0, metavar="WORKERS")
    parser.add_argument("--compare-rows", type=int, default=500_000)
    parser.add_argument("--score-all", action="store_true", help="score every month, not the last")
    parser.add_argument("--folder", type=Path, default=Path("out/scale"))
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted fit")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def plain(asked: argparse.Namespace) -> dict[str, Any]:
    """The arguments as JSON values."""
    return {k: str(v) if isinstance(v, Path) else v for k, v in vars(asked).items()}


def machine() -> dict[str, Any]:
    """Where this ran."""
    load = os.getloadavg()[0]
    return {"cpus": os.cpu_count(), "load_before": load, "python": platform.python_version()}


def apart(stage: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """Run a stage in a fresh process; add its wall and CPU seconds and its peak memory."""
    print(f"{time.strftime('%H:%M:%S')} {stage.__name__}", file=sys.stderr, flush=True)
    fresh = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(_measured, stage, args).result()


def _measured(stage: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> dict[str, Any]:
    wall = time.time()
    found = stage(*args)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    peaks = {"itself": used[0].ru_maxrss / 1e6} | found.pop("peaks_gb", {})
    cpu = sum(u.ru_utime + u.ru_stime for u in used)
    cost = {"wall_s": time.time() - wall, "cpu_s": cpu, "peak_rss_gb": peaks}
    if "rows" in found:
        cost["rows_per_cpu_s"] = found["rows"] / cpu
    return {k: _rounded(v) for k, v in (cost | found).items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def table(stages: dict[str, dict[str, Any]]) -> str:
    """What a person reads."""
    lines = []
    for name, facts in stages.items():
        peak = ", ".join(f"{k} {v:.2f}" for k, v in facts["peak_rss_gb"].items())
        lines.append(
            f"{name}: {facts['wall_s']:.0f} s wall, {facts['cpu_s']:.0f} s CPU, peak GB: {peak}"
        )
        for key, value in facts.items():
            if key not in ("wall_s", "cpu_s", "peak_rss_gb"):
                lines.append(f"    {key}: {value}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
