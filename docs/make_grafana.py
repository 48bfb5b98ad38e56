"""Dashboards for Grafana of what `rheostat llm proxy` and `rheostat serve` count.

python docs/make_grafana.py    writes docs/grafana/*.json
"""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "grafana"
RATE = "[$__rate_interval]"


def quantiles(metric: str) -> list[tuple[str, str]]:
    """Median and 99th percentile of a histogram."""
    by = f"sum by (le) (rate({metric}_bucket{RATE}))"
    return [(f"histogram_quantile({q}, {by})", name) for q, name in ((0.5, "p50"), (0.99, "p99"))]


def rate(metric: str, by: str) -> list[tuple[str, str]]:
    """Per second, by one label."""
    return [(f"sum by ({by}) (rate({metric}{RATE}))", f"{{{{{by}}}}}")]


PROXY = "rheostat_proxy_"
PANELS = {
    "llm_proxy": ("rheostat llm proxy", [
        ("Requests by what became of them", "reqps", rate(PROXY + "requests_total", "outcome")),
        ("Requests waiting and at servers", "short",
         [(PROXY + "waiting", "waiting"), (PROXY + "running", "at servers")]),
        ("Wait for a place", "s", quantiles(PROXY + "wait_seconds")),
        ("Time to the first part of an answer", "s", quantiles(PROXY + "first_part_seconds")),
        ("Time to the end of an answer", "s", quantiles(PROXY + "answer_seconds")),
        ("Tokens per second", "short",
         [(f"rate({PROXY}{kind}_tokens_total{RATE})", kind) for kind in ("prompt", "output")]),
        ("Requests at each server", "short", [(PROXY + "server_running", "server {{server}}")]),
        ("Servers that are up", "short", [(f"sum({PROXY}server_up)", "up")]),
        ("Requests that a server did not answer", "reqps",
         rate(PROXY + "server_failures_total", "server")),
        ("Error of predicted lengths (above 1.5 is a change)", "short",
         [(PROXY + "length_error_ratio", "ratio")]),
    ]),
    "serve": ("rheostat serve", [
        ("Advice by what came of it", "reqps", rate("rheostat_advice_total", "status")),
        ("Submissions after advice, by what they did", "reqps",
         rate("rheostat_advice_reported_total", "what")),
        ("Time to answer one request for advice", "s", quantiles("rheostat_advice_seconds")),
        ("Requests by status", "reqps", rate("rheostat_http_requests_total", "status")),
        ("Kinds of job with advice at hand", "short", [("rheostat_advice_kinds", "kinds")]),
        ("Jobs of the log", "short", [("rheostat_log_jobs", "jobs")]),
        ("Share of jobs with power (health of the meters)", "percentunit",
         [("rheostat_jobs_with_power_ratio", "share")]),
        ("Share of jobs that 90 % intervals held, newest week", "percentunit",
         [("rheostat_interval_coverage_ratio", "{{quantity}}")]),
        ("Alarms of drift", "short", [("rheostat_drift_alarms", "alarms")]),
        ("Power at the end of the log, and its cap", "watt",
         [("rheostat_site_power_watts", "{{what}}")]),
        ("Age of the files that are served", "s",
         [("time() - rheostat_files_loaded_seconds", "age")]),
        ("Files that changed and could not be served", "short",
         [(f"increase(rheostat_reload_failures_total{RATE})", "failures")]),
    ]),
}  # fmt: skip


def panel(number: int, title: str, unit: str, queries: list[tuple[str, str]]) -> dict[str, object]:
    """A chart over time, two in a row."""
    return {
        "id": number + 1, "type": "timeseries", "title": title,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": chr(ord("A") + i), "expr": expr, "legendFormat": legend}
                    for i, (expr, legend) in enumerate(queries)],
    }  # fmt: skip


def dashboard(name: str) -> str:
    """The file that Grafana imports."""
    title, panels = PANELS[name]
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    document = {
        "title": title, "uid": f"rheostat-{name.replace('_', '-')}", "schemaVersion": 39,
        "time": {"from": "now-6h", "to": "now"}, "refresh": "30s",
        "templating": {"list": [source]},
        "panels": [panel(i, *each) for i, each in enumerate(panels)],
    }  # fmt: skip
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PANELS:
        (FOLDER / f"{name}.json").write_text(dashboard(name))
