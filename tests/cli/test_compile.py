"""The first use of the simulator says that it compiles; compiled ahead, no later use does."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import numpy as np
import pytest

from rheostat.explanation.terminal.terminal import FIRST_USE, Compiling
from tests.simulation.conftest import trace

POLICIES = ("fcfs", "easy", "wfp3+easy", "conservative", "wfp3+conservative", "agent:ours")
COMMANDS = (
    "simulate few.swf " + " ".join(f"--policy {p}" for p in POLICIES),
    "simulate few.swf --machine site.toml",
    "simulate few.swf --estimates last2",
    "explain wfp3 --trace few.swf --depth 1",
)
LATER = """
import gc, json, sys
from numba.core.dispatcher import Dispatcher
import rheostat.cli.app
from rheostat.cli import run

def loaded():
    every = [d for d in gc.get_objects() if isinstance(d, Dispatcher)]
    return {f"{d.__module__}.{d.__qualname__}{s}" for d in every for s in d.signatures}

run(["doctor", "--compile", "--json"])
ahead = loaded()
codes = [run(command) for command in json.loads(sys.argv[1])]
print()
print(json.dumps({"codes": codes, "ahead": len(ahead), "later": sorted(loaded() - ahead)}))
"""


def test_the_first_function_compiled_is_announced_and_later_ones_now_and_then(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("rheostat.explanation.terminal.terminal.process_time", lambda: clock[0])
    said = Compiling()
    for _ in range(3):
        said.emit(logging.makeLogRecord({"levelno": logging.INFO}))
    assert capsys.readouterr().err == f"{FIRST_USE}\n"
    clock[0] += 11
    said.emit(logging.makeLogRecord({"levelno": logging.INFO}))
    assert capsys.readouterr().err == "compiling: 4 functions so far\n"


@pytest.mark.slow  # numba, scikit-learn and one run of every engine
def test_what_is_compiled_ahead_is_all_that_simulations_use(tmp_path):
    """In a process of its own: functions that are loaded only after it was not compiled ahead."""
    from rheostat.measurement.job_logs.swf import write_swf

    rng = np.random.default_rng(0)
    run_s = rng.integers(60, 900, 80)
    jobs = trace(np.arange(80) * 40, run_s, rng.integers(1, 9, 80), 2 * run_s)
    write_swf(jobs, tmp_path / "few.swf", ["MaxProcs: 8"])
    site = "procs = 8\nidle_w = 1.0\nbusy_w = 2.0\n[power]\ncap_w = 16.0\n"
    (tmp_path / "site.toml").write_text(site)
    commands = json.dumps([line.split() for line in COMMANDS])
    done = subprocess.run(
        [sys.executable, "-c", LATER, commands], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["codes"] == [0] * len(COMMANDS)
    assert told["ahead"] > 10
    assert told["later"] == []
