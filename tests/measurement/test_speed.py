"""231,238 PM100-shaped rows: under 1.5 GB in a process of its own, and under 3 s of work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "read_pm100.py"


@pytest.mark.slow
def test_the_whole_of_pm100_is_read_in_seconds_and_little_memory():
    # CPU time, and the better of up to three runs: a clock also counts what else the machine does
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, SCRIPT, "--json"], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        if found["read_cpu_s"] < 3.0:
            break
    assert found["rows"] == 231_238
    assert found["samples"] > 20e6
    assert found["peak_rss_mb"] < 1500
    assert found["read_cpu_s"] < 3.0
