"""``-rf json`` of JMH: a run for each iteration's score; throughputs become times of one call."""

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
from rheostat.measurement.runs.header_units import TIMES_S


def _runs(document: Any) -> Iterator[TimedRun]:
    for result in objects({"results": document}, "results"):
        metric, given = result.get("primaryMetric"), result.get("params")
        if not isinstance(metric, Mapping):
            continue
        threads = {} if result.get("threads") is None else {"threads": result["threads"]}
        settings = threads | (dict(given) if isinstance(given, Mapping) else {})
        app = ".".join(str(result.get("benchmark") or "").split(".")[-2:])
        for score in _scores(metric):
            runtime_s = _seconds(score, str(metric.get("scoreUnit")))
            if runtime_s is not None:
                yield TimedRun(app, runtime_s, settings)


def _scores(metric: Mapping[str, Any]) -> list[float]:
    """Of all forks' iterations; the mean where they are not there."""
    forks = metric.get("rawData")
    lists = [f for f in forks if isinstance(f, list)] if isinstance(forks, list) else []
    scores = [x for fork in lists for x in fork] or [metric.get("score")]
    return [n for x in scores if (n := number(x)) is not None]


def _seconds(score: float, unit: str) -> float | None:
    """A score as the time of one call.

    >>> _seconds(2.0, "ms/op"), _seconds(2.0, "ops/ms")
    (0.002, 0.0005)
    """
    if unit.startswith("ops/"):
        unit_s = TIMES_S.get(unit.removeprefix("ops/"))
        return None if unit_s is None or score <= 0 else unit_s / score
    unit_s = TIMES_S.get(unit.removesuffix("/op"))
    return None if unit_s is None else score * unit_s


JMH = BenchmarkReport(
    "jmh",
    "what JMH writes with -rf json",
    re.compile(rb'\s*\[\s*\{\s*"(jmhVersion"|benchmark"\s*:\s*"[^"]*",\s*"mode")'),
    _runs,
)
