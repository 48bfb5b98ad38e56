"""A cache file of Kernel Tuner: settings of a kernel, times in ms, energy and power of meters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rheostat.measurement.benchmark_reports.timed_runs import (
    BenchmarkReport,
    TimedRun,
    number,
    numbers,
)

FAILED = 1e20
"""What is written in place of a time by versions before 0.4; later ones write a word."""
OURS = {"nvml_energy": "energy_j", "nvml_power": "power_w", "ps_energy": "energy_j",
        "ps_power": "power_w"}  # fmt: skip
OWN = re.compile(r"times?|.*_time|timestamp")


def _runs(document: Any) -> Iterator[TimedRun]:
    cache = document.get("cache") if isinstance(document, Mapping) else None
    named = document.get("tune_params_keys") if isinstance(cache, Mapping) else None
    if not isinstance(cache, Mapping) or not isinstance(named, list):
        return
    app = str(document.get("kernel_name") or "")
    for entry in (e for e in cache.values() if isinstance(e, Mapping)):
        settings = {str(k): entry[k] for k in named if k in entry}
        time_ms = number(entry.get("time"))
        failed = time_ms is None or time_ms >= FAILED
        measured = {
            OURS.get(k, k): v
            for k, v in numbers(entry).items()
            if k not in settings and not OWN.fullmatch(k)
        }
        runtime_s = None if failed or time_ms is None else 1e-3 * time_ms
        yield TimedRun(app, runtime_s, settings, measured, failed)


KERNEL_TUNER = BenchmarkReport(
    "kernel-tuner",
    "a cache file of Kernel Tuner",
    re.compile(rb'\s*\{\s*"(device_name|schema_version|schema)"\s*:.*"tune_params_keys"', re.S),
    _runs,
)
