"""One small log and one saved model for all commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheostat.cli import run
from rheostat.measurement.synthetic.world import World
from tests.cli.telling import JOB


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "jobs.parquet"
    World(0, n_apps=4, n_users=12).jobs(500).write_parquet(path)
    return path


@pytest.fixture(scope="session")
def model(log: Path) -> Path:
    path = log.with_name("model.rheo")
    assert (
        run(["fit", str(log), "--kind", "lightgbm", "--out", str(path), "--test-fraction", "0"])
        == 0
    )
    return path


@pytest.fixture
def front(log, model):
    return ["front", log, "--job", JOB, "--model", model, "--knob", "nodes=1..64"]
