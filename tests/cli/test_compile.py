"""The first use of the simulator says that it compiles; compiled ahead, no later use does."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from rheostat.cli.output import FIRST_USE, Compiling
from tests.simulation.conftest import trace


def test_the_first_function_compiled_is_announced_and_later_ones_now_and_then(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("rheostat.cli.output.process_time", lambda: clock[0])
    said = Compiling()
    for _ in range(3):
        said.emit(logging.makeLogRecord({"levelno": logging.INFO}))
    assert capsys.readouterr().err == f"{FIRST_USE}\n"
    clock[0] += 11
    said.emit(logging.makeLogRecord({"levelno": logging.INFO}))
    assert capsys.readouterr().err == "compiling: 4 functions so far\n"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_what_is_compiled_ahead_is_all_that_simulations_use(tmp_path):
    """In a folder of its own, so that the cache of other tests hides nothing."""
    from rheostat.measurement.job_logs.swf import write_swf

    rng = np.random.default_rng(0)
    run_s = rng.integers(60, 900, 80)
    jobs = trace(np.arange(80) * 40, run_s, rng.integers(1, 9, 80), 2 * run_s)
    write_swf(jobs, tmp_path / "few.swf", ["MaxProcs: 8"])
    site = "procs = 8\nidle_w = 1.0\nbusy_w = 2.0\n[power]\ncap_w = 16.0\n"
    (tmp_path / "site.toml").write_text(site)

    def rheostat(*argv):
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-m", "rheostat", *argv]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    made = rheostat("doctor", "--compile", "--json")
    assert json.loads(made.stdout)["functions"] > 100
    assert "compiling 1 of" in made.stderr
    every = ("fcfs", "easy", "wfp3+easy", "conservative", "wfp3+conservative", "agent:ours")
    told = rheostat("simulate", "few.swf", *(f for p in every for f in ("--policy", p)))
    assert "compiling" not in told.stderr
    for more in (["--machine", "site.toml"], ["--estimates", "last2"]):
        assert "compiling" not in rheostat("simulate", "few.swf", *more).stderr
    told = rheostat("explain", "wfp3", "--trace", "few.swf", "--depth", "1")
    assert "compiling" not in told.stderr
