"""What it costs to take jobs into a store and to ask it: processor time and memory by stage.

    python benchmarks/ingest.py --jobs 1000000                # three minutes
    python benchmarks/ingest.py --jobs 10000000 --json        # half an hour

Twelve months of a generated site as ``sacct --parsable2`` prints them, a job with its batch step
and one numbered step that has the joules; a month is taken in as the cron job of a site would, the
last one twice.  Each command runs in a process of its own, so that its peak memory is its own.
The answers are compared with what was generated; exit code 1 where they differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

MONTHS, MONTH_S = 12, 30 * 86400
BEGIN_S = 1767225600  # 2026-01-01
HEAD = ("JobID|JobName|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|"
        "NNodes|AllocCPUS|ReqMem|ConsumedEnergyRaw|ExitCode|NodeList\n")  # fmt: skip
QUERY = """import sys, polars as pl
jobs = pl.scan_parquet(sys.argv[1] + "/jobs/*/jobs.parquet")
each = jobs.group_by("user").agg(pl.len().alias("n"), pl.col("energy_j").sum())
each = each.collect(engine="streaming")
print(int(each["n"].sum()), each["energy_j"].sum())"""


def month(rng: np.random.Generator, first: int, jobs: int, begin_s: int) -> pl.DataFrame:
    """Jobs of one month: numbers in the order of submission, run times lognormal, 350 W a node."""
    submit_s = np.sort(rng.integers(0, MONTH_S, jobs)) + begin_s
    start_s = submit_s + rng.exponential(3000, jobs).astype(np.int64)
    runtime_s = rng.lognormal(7.0, 1.3, jobs).astype(np.int64) + 1
    nodes = 2 ** rng.integers(0, 7, jobs)
    return pl.DataFrame({
        "job": np.arange(first, first + jobs), "app": rng.integers(0, 200, jobs),
        "user": rng.integers(0, 1200, jobs), "submit": submit_s, "start": start_s,
        "end": start_s + runtime_s, "runtime": runtime_s, "nodes": nodes,
        "joules": 350 * runtime_s * nodes,
    })  # fmt: skip


def lines(jobs: pl.DataFrame) -> pl.Series:
    """Three lines of accounting a job."""
    whole = ("{}|app{}|u{}|a{}|batch|COMPLETED|{}|{}|{}|{}|{}|{}|{}|{}G||0:0|n[1-{}]\n"
             "{}.batch|batch||||COMPLETED|{}|{}|{}|{}||1|64|||0:0|n1\n"
             "{}.0|app{}||||COMPLETED|{}|{}|{}|{}||{}|{}||{}|0:0|n[1-{}]")  # fmt: skip
    c = {name: pl.col(name) for name in jobs.columns}
    times = c["start"], c["end"], c["runtime"]
    text = pl.format(
        whole, c["job"], c["app"], c["user"], c["user"] % 40, c["submit"], *times,
        c["runtime"] // 60 * 2 + 10, c["nodes"], 64 * c["nodes"], 4 * c["nodes"], c["nodes"],
        c["job"], c["start"], *times,
        c["job"], c["app"], c["start"], *times, c["nodes"], 64 * c["nodes"], c["joules"],
        c["nodes"],
    )  # fmt: skip
    return jobs.select(text.alias("line"))["line"]


def written(path: Path, rng: np.random.Generator, first: int, jobs: int, begin_s: int) -> int:
    """Write one month; returns its joules."""
    frame = month(rng, first, jobs, begin_s)
    with path.open("w") as out:
        out.write(HEAD)
        for piece in frame.iter_slices(100_000):
            out.write("\n".join(lines(piece)) + "\n")
    return int(frame["joules"].sum())


def costed(*words: str | Path) -> tuple[str, dict[str, float]]:
    """What a command printed, its CPU-seconds and its peak memory."""
    with subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"OMP_NUM_THREADS": "1"}) as run:  # fmt: skip
        said = run.stdout.read() if run.stdout else ""
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        sys.exit(f"{words}: exit code {run.returncode}")
    return said, {"cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024}


def measured(folder: Path, total: int, seed: int) -> dict[str, Any]:
    """All stages: twelve months in, the last again, a summary, a query by user."""
    rheostat = Path(sys.executable).with_name("rheostat")
    rng, store, export = np.random.default_rng(seed), folder / "jobs", folder / "month.txt"
    joules, taken, size = 0, [], total // MONTHS
    ingest = (rheostat, "site", "ingest", "--from", export, "--store", store)
    for k in range(MONTHS):
        joules += written(export, rng, 1000 + k * size, size, BEGIN_S + k * MONTH_S)
        taken.append(costed(*ingest)[1])
        print(f"month {k + 1} of {MONTHS}: {taken[-1]}", file=sys.stderr)
    said, again = costed(*ingest)
    answer, query = costed(sys.executable, "-c", QUERY, store)
    count, energy_j = answer.split()
    cpu_s = sum(stage["cpu_s"] for stage in taken)
    right = said.split()[-3:] == ["0", "0", str(size)]
    right &= (int(count), float(energy_j)) == (size * MONTHS, joules)
    return {
        "jobs": size * MONTHS, "ingest": {"cpu_s": cpu_s, "jobs_per_cpu_s": size * MONTHS / cpu_s,
                                          "peak_mb": max(stage["peak_mb"] for stage in taken)},
        "last month again": again, "jobs and energy by user": query,
        "summary": costed(rheostat, "summary", store)[1],
        "store_mb": sum(p.stat().st_size for p in store.rglob("*.parquet")) / 2**20,
        "right": right,
    }  # fmt: skip


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measured(Path(folder), asked.jobs, asked.seed)
    print(json.dumps({"schema": "rheostat.bench.ingest/1", **result}) if asked.json else
          "\n".join(f"{name}: {value}" for name, value in result.items()))  # fmt: skip
    return 0 if result["right"] else 1


if __name__ == "__main__":
    sys.exit(main())
