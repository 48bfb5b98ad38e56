"""How fast, and in how much memory, are 231,238 PM100-shaped rows read?

    python benchmarks/read_pm100.py [--rows 231238] [--file job_table.parquet] [--json]

The reading happens in a process of its own, whose peak memory the kernel reports (ru_maxrss), so
neither this script nor the generator counts.  Without --file a table in PM100's schema is made.
``read_s`` is the wall clock; ``read_cpu_s`` is what remains of it on a machine that others use too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHILD = """
import json, resource, sys, time
begun = time.perf_counter()
from rheostat.measurement.read import read
loaded, cpu = time.perf_counter(), time.process_time()
jobs = read(sys.argv[1])
done = time.perf_counter()
print(json.dumps({
    "rows": len(jobs), "dropped": sum(n.count for n in jobs.notes if n.dropped),
    "samples": int(jobs.frame["power_samples"].sum()), "import_s": round(loaded - begun, 3),
    "read_s": round(done - loaded, 3), "read_cpu_s": round(time.process_time() - cpu, 3),
    "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
}))
"""


def measure(path: Path) -> dict[str, float]:
    """Read ``path`` in a fresh process; what it took."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"file_mb": round(path.stat().st_size / 1e6, 1), "load_1min": os.getloadavg()[0]}


def main() -> None:
    """Generate if need be, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=231_238)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = asked.file or Path(folder) / "job_table.parquet"
        if not asked.file:
            from published_logs import write_pm100

            write_pm100(path, asked.rows, seed=0)
        found = measure(path)
    if asked.json:
        print(json.dumps({"schema": "rheostat.bench.read/1", **found}))
        return
    for name, value in found.items():
        print(f"{name:12} {value:,}")


if __name__ == "__main__":
    main()
