"""``--benchmark_format=json`` of Google Benchmark: ``BM_gemm/1024/threads:8/real_time``.

What follows the first bar of a name are arguments: with a name (``threads:8``) a column of it,
without one ``arg1``, ``arg2``, ...  Means and deviations of repetitions are no runs, but where a
report has nothing else each mean is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rheostat.core.jobs import Note
from rheostat.measurement.benchmark_reports.timed_runs import (
    BenchmarkReport,
    TimedRun,
    number,
    numbers,
    objects,
)
from rheostat.measurement.runs.header_units import TIMES_S

OWN = frozenset(
    ("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads")
) | {"iterations", "real_time", "cpu_time"}
HOW = re.compile(r"(real|manual|process)_time|(repeats|iterations|min_time|min_warmup_time):.*")
"""Parts of a name that say how it was timed."""


def _kept(document: Any) -> list[Mapping[str, Any]]:
    every = objects(document, "benchmarks")
    single = [b for b in every if b.get("run_type", "iteration") == "iteration"]
    return single or [b for b in every if b.get("aggregate_name") == "mean"]


def _runs(document: Any) -> Iterator[TimedRun]:
    for result in _kept(document):
        name = str(result.get("run_name") or result.get("name") or "")
        app, settings = _settings(name)
        time = number(result.get("real_time"))
        unit_s = TIMES_S.get(str(result.get("time_unit", "ns")))
        failed = bool(result.get("error_occurred"))
        if failed or (time is not None and unit_s is not None):
            runtime_s = None if failed or time is None or unit_s is None else time * unit_s
            counters = {k: v for k, v in numbers(result).items() if k not in OWN}
            yield TimedRun(app, runtime_s, settings, counters, failed)


def _settings(name: str) -> tuple[str, dict[str, str]]:
    """The function and its arguments.

    >>> _settings("BM_gemm<float>/1024/threads:8/real_time")
    ('BM_gemm<float>', {'arg1': '1024', 'threads': '8'})
    """
    app, *parts = name.split("/")
    settings: dict[str, str] = {}
    for place, part in enumerate((p for p in parts if not HOW.fullmatch(p)), start=1):
        key, colon, value = part.partition(":")
        settings[key if colon else f"arg{place}"] = value if colon else key
    return app, settings


def _notes(document: Any) -> Iterable[Note]:
    left = len(objects(document, "benchmarks")) - len(_kept(document))
    return [Note("means and deviations of repetitions: left out", count=left)] * (left > 0)


GOOGLE_BENCHMARK = BenchmarkReport(
    "google-benchmark",
    "what a program of Google Benchmark writes with --benchmark_format=json",
    re.compile(rb'\s*\{\s*"context"\s*:\s*\{'),
    _runs,
    _notes,
)
