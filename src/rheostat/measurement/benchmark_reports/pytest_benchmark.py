"""``pytest --benchmark-json``: a run for each round (``--benchmark-save-data``), else its mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rheostat.measurement.benchmark_reports.timed_runs import (
    BenchmarkReport,
    TimedRun,
    number,
    numbers,
    objects,
)


def _runs(document: Any) -> Iterator[TimedRun]:
    for result in objects(document, "benchmarks"):
        stats, given, extra = (result.get(k) for k in ("stats", "params", "extra_info"))
        if not isinstance(stats, Mapping):
            continue
        rounds = stats.get("data")
        times = rounds if isinstance(rounds, list) and rounds else [stats.get("mean")]
        measured = numbers(extra) if isinstance(extra, Mapping) else {}
        app = str(result.get("name") or "").partition("[")[0]
        settings = given if isinstance(given, Mapping) else {}
        for time in times:
            if (runtime_s := number(time)) is not None:
                yield TimedRun(app, runtime_s, settings, measured)


PYTEST_BENCHMARK = BenchmarkReport(
    "pytest-benchmark",
    "what pytest --benchmark-json writes",
    re.compile(rb'\s*\{\s*"machine_info"\s*:\s*\{'),
    _runs,
)
