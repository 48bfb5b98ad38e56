"""``rheostat llm calibrate``: what it prints is what ``llm simulate`` takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rheostat.cli import run
from tests.simulation.noisy_server import Noisy, asked


@pytest.mark.slow
def test_the_options_printed_play_the_recorded_run_again(tmp_path, capsys):
    log = str(tmp_path / "log.csv")
    Noisy().record(asked(21, n=60, rate=4.0), 21).frame.write_csv(log)
    stated = ["--batch-cap", "64", "--cache-tokens", "400000"]
    page = tmp_path / "page.html"
    assert run(["llm", "calibrate", log, *stated, "--html", str(page)]) == 0
    printed = capsys.readouterr()
    for word in ("90th percentile", "baseline median", "baseline tokens"):
        assert word in printed.err
    assert "Who waits" in page.read_text()
    assert run(["llm", "simulate", log, *printed.out.split(), "--policies", "fcfs", "--json"]) == 0
    mean_s = json.loads(capsys.readouterr().out)["policies"]["fcfs"]["mean_latency_s"]
    assert run(["llm", "calibrate", log, *stated, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "rheostat.llm-calibrate/1"
    assert facts["median_error"]["latency"] < facts["baselines"]["tokens"]["latency"]
    recorded_s = sum(float(x) for x in _latencies(log)) / 60
    assert abs(mean_s / recorded_s - 1) < 0.05


def _latencies(log):
    rows = [line.split(",") for line in Path(log).read_text().splitlines()]
    came, end = rows[0].index("submit_s"), rows[0].index("end_s")
    return [float(r[end]) - float(r[came]) for r in rows[1:]]
