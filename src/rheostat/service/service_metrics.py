"""Counts of the service in the text format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)


class ServiceMetrics:
    """What was asked and answered, and what is served."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.advice = Counter(
            "rheostat_advice", "Advice asked for, by what came of it.", ["status"],
            registry=self.registry,
        )  # fmt: skip
        self.taken = Counter(
            "rheostat_advice_reported", "Submissions reported after advice, by what they did.",
            ["what"], registry=self.registry,
        )  # fmt: skip
        self.answers = Counter(
            "rheostat_http_requests", "Requests by route and status.", ["route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "rheostat_advice_seconds", "Time to answer one request for advice.",
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.reload_failures = Counter(
            "rheostat_reload_failures", "Files that changed and could not be served.",
            registry=self.registry,
        )  # fmt: skip
        self.gauges: dict[str, Gauge] = {}
        self._started = time.time()
        self.gauge("start_time_seconds", "When the service started.", self._started)

    def gauge(self, name: str, words: str, value: float, **labels: str) -> None:
        """Set a value, which is made when it is first known."""
        if name not in self.gauges:
            self.gauges[name] = Gauge(f"rheostat_{name}", words, list(labels),
                                      registry=self.registry)  # fmt: skip
        made = self.gauges[name]
        (made.labels(**labels) if labels else made).set(value)

    def swapped(self, facts: Mapping[str, Any]) -> None:
        """New files are served."""
        self.gauge("files_loaded_seconds", "When the files that are served were read.", time.time())
        self.gauge("log_jobs", "Jobs of the log.", facts.get("jobs", 0))
        self.gauge("advice_kinds", "Kinds of job with advice at hand.", facts.get("kinds", 0))
        if facts.get("with_power") is not None:
            words = "Share of the ended jobs whose power the log has: health of the meters."
            self.gauge("jobs_with_power_ratio", words, facts["with_power"])
        for quantity, share in facts.get("held", {}).items():
            words = "Share of the newest week's jobs that 90 % intervals held."
            self.gauge("interval_coverage_ratio", words, share, quantity=quantity)
        if "alarms" in facts:
            self.gauge("drift_alarms", "Alarms of rheostat site drift.", facts["alarms"])
        for name, watts in facts.get("power", {}).items():
            words = "Power at the end of the log (expected where watts are lacking), and its cap."
            self.gauge("site_power_watts", words, watts, what=name)

    def counts(self) -> dict[str, int]:
        """Advice by status since the start."""
        totals: dict[str, int] = {}
        for metric in self.advice.collect():
            for sample in metric.samples:
                if sample.name.endswith("_total"):
                    totals[sample.labels["status"]] = int(sample.value)
        return totals

    def text(self) -> bytes:
        """The document that Prometheus scrapes."""
        return generate_latest(self.registry)
