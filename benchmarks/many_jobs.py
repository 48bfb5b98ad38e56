"""What do ten million jobs take? Copies of one trace in sequence, by the command line.

    python benchmarks/many_jobs.py ../shared/data/swf/RICC-2010-2.swf.gz --copies 1 23

Each copy begins a day after the last submission of the one before. Prints jobs, CPU-seconds and
peak memory of `rheostat simulate --policy easy --overdue extend --json`, compiled code on disk.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DAY_S = 86400


def lines_of(trace: Path) -> list[str]:
    """The lines of an SWF file, compressed or not."""
    with gzip.open(trace, "rt") if trace.suffix == ".gz" else trace.open() as file:
        return [line for line in file if line.strip()]


def copies(lines: list[str], count: int) -> Iterator[str]:
    """The head, then all jobs so often, each time later."""
    yield from (line for line in lines if line.startswith(";"))
    jobs = [line.split() for line in lines if not line.startswith(";")]
    span = max(int(job[1]) for job in jobs) + DAY_S
    for copy in range(count):
        for job in jobs:
            yield " ".join([job[0], str(int(job[1]) + copy * span), *job[2:]]) + "\n"


def measured(trace: Path) -> tuple[float, float]:
    """CPU-seconds and peak memory, GB, of the command on a file."""
    argv = [sys.executable, "-m", "rheostat", "simulate", str(trace), "--policy", "easy"]
    process = subprocess.Popen([*argv, "--overdue", "extend", "--json"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"rheostat simulate {trace.name} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def main() -> None:
    """Print one row for each number of copies."""
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("trace", type=Path)
    asked.add_argument("--copies", type=int, nargs="+", default=[1, 23])
    given = asked.parse_args()
    lines = lines_of(given.trace)
    jobs = sum(not line.startswith(";") for line in lines)
    print("| jobs | CPU s | jobs per CPU-second | peak memory, GB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for count in given.copies:
            path = Path(folder) / f"{count}.swf"
            with path.open("w") as file:
                file.writelines(copies(lines, count))
            cpu_s, peak_gb = measured(path)
            n = count * jobs
            print(f"| {n:,} | {cpu_s:.1f} | {n / cpu_s:,.0f} | {peak_gb:.2f} |", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
