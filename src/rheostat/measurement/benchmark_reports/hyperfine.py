"""``hyperfine --export-json``: a run for each time, settings from ``--parameter-list``.

A command without parameters is an application of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rheostat.measurement.benchmark_reports.timed_runs import (
    BenchmarkReport,
    TimedRun,
    number,
    objects,
)


def _runs(document: Any) -> Iterator[TimedRun]:
    for result in objects(document, "results"):
        times, codes = result.get("times"), result.get("exit_codes")
        if not isinstance(times, list):
            continue
        codes = codes if isinstance(codes, list) and len(codes) == len(times) else [0] * len(times)
        given = result.get("parameters")
        settings = given if isinstance(given, Mapping) else {}
        app = "" if settings else str(result.get("command") or "")
        for time, code in zip(times, codes, strict=True):
            if (runtime_s := number(time)) is not None:
                yield TimedRun(app, runtime_s, settings, failed=code != 0)


HYPERFINE = BenchmarkReport(
    "hyperfine",
    "what hyperfine --export-json writes",
    re.compile(rb'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:'),
    _runs,
)
