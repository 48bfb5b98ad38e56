"""Traces, and sums that every part needs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.measurement.read import read
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.simulate import simulate_run

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RHEOSTAT_DATA", ROOT.parent / "shared" / "data")) / "swf"
FILES = {
    "SDSC-SP2": ("SDSC-SP2-1998-4.2-cln.swf.gz", 128),
    "SDSC-DataStar": ("SDSC-DS-2004-2.1-cln.swf.gz", 1664),
}
CANON = {"SDSC-SP2": ("sdsc_sp2.swf.gz", 128), "KTH-SP2": ("kth_sp2.swf.gz", 100)}


def trace(name: str, first: int, last: int, files: dict[str, tuple[str, int]] = FILES) -> JobTable:
    """Rows ``first`` to ``last`` of a trace, or a message and an end where it is not."""
    path = DATA / files[name][0]
    if not path.is_file():
        raise SystemExit(f"{name}: not found at {path}; set RHEOSTAT_DATA")
    jobs = read(path)
    return jobs.rows(np.arange(first, min(last, len(jobs))))


def headline(jobs: JobTable, policy: Any, size: int) -> dict[str, float]:
    """Waits, s, and mean bounded slowdown of a policy, from an empty machine."""
    told = simulate_run(jobs, policy, size).jobs
    wait = told.numpy("wait_s")
    slow = bounded_slowdown(wait, told.numpy("runtime_s"))
    return {
        "mean_wait_s": float(wait.mean()),
        "max_wait_s": float(wait.max()),
        "mean_bounded_slowdown": float(slow.mean()),
    }
