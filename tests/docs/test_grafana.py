"""The dashboards: as their script makes them, of metrics that exist, in a language that parses."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from docs.make_grafana import FOLDER, PANELS, dashboard
from rheostat.decision.serving.proxy_counters import ProxyCounters

pytest.importorskip("prometheus_client", reason="the extra service is not installed")
from rheostat.service.service_metrics import ServiceMetrics

PROMETHEUS = shutil.which("prometheus")


def exposed() -> bytes:
    """What both programs say, after one event of each kind."""
    counters = ProxyCounters(received=1)
    counters.outcomes["answered"] += 1
    for seen in (counters.waits, counters.firsts, counters.wholes):
        seen.add(0.1)
    gauges = {"waiting": 0.0, "running": 1.0, "held_bytes": 9.0, "length_error_ratio": 1.0}
    text = counters.text({"answers_learned": 1.0, "drifts": 0.0}, gauges, [(True, 1)])
    metrics = ServiceMetrics()
    metrics.advice.labels("advised").inc()
    metrics.taken.labels("taken").inc()
    metrics.answers.labels("/", "200").inc()
    metrics.seconds.observe(0.01)
    metrics.swapped({"jobs": 1, "kinds": 1, "with_power": 1.0, "held": {"runtime_s": 0.9},
                     "alarms": 0, "power": {"drawn": 1e5, "cap": 2e5}})  # fmt: skip
    return text.encode() + metrics.text()


def expressions(name: str) -> list[str]:
    document = json.loads(dashboard(name))
    return [target["expr"] for panel in document["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("name", PANELS)
def test_the_file_is_what_the_script_makes(name):
    assert (FOLDER / f"{name}.json").read_text() == dashboard(name)


@pytest.mark.parametrize("name", PANELS)
def test_every_metric_of_a_dashboard_is_exposed(name):
    known = set(re.findall(r"^(rheostat_\w+)", exposed().decode(), re.MULTILINE))
    for expression in expressions(name):
        asked = set(re.findall(r"rheostat_\w+", expression))
        assert asked, expression
        assert asked <= known, expression


class Exposed(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(exposed())

    def log_message(self, *_):
        pass


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as there:
        return there.getsockname()[1]


def answer(address: str, expression: str):
    asked = urllib.parse.urlencode({"query": expression.replace("$__rate_interval", "1m")})
    with urllib.request.urlopen(f"{address}/api/v1/query?{asked}", timeout=60) as said:
        return json.load(said)["data"]["result"]


@pytest.mark.slow
@pytest.mark.skipif(PROMETHEUS is None, reason="needs prometheus (docs/guide/operate.md)")
def test_a_real_prometheus_answers_every_query(tmp_path: Path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exposed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(json.dumps({"scrape_configs": [{
        "job_name": "rheostat", "scrape_interval": "1s", "scrape_timeout": "1s",
        "static_configs": [{"targets": [f"127.0.0.1:{server.server_port}"]}]}]}))  # fmt: skip
    program = subprocess.Popen(
        [str(PROMETHEUS), f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}",
         f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        every = [e for name in PANELS for e in expressions(name)]
        empty, end = every, time.monotonic() + 300
        while empty and time.monotonic() < end:
            time.sleep(1)
            try:
                empty = [e for e in every if not answer(f"http://127.0.0.1:{port}", e)]
            except OSError:
                continue
        assert empty == []
    finally:
        program.kill()
        program.wait()
        server.shutdown()
        server.server_close()
