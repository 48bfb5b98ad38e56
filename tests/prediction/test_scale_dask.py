"""Workers in processes of their own reach the result of one process; Slurm gets a right script."""

from __future__ import annotations

import os

import numpy as np
import pytest

from rheostat.errors import RheostatError
from rheostat.prediction.out_of_core import dasked
from rheostat.prediction.out_of_core.boosters import Settings
from rheostat.prediction.out_of_core.dask_cluster import Workers, connect, slurm_cluster
from rheostat.prediction.out_of_core.dasked import _insist, fit_dask, score_dask
from rheostat.prediction.out_of_core.outofcore import fit_out_of_core
from rheostat.prediction.out_of_core.partitions import parts_of
from rheostat.prediction.out_of_core.score import score

from .scale_months import month, write_months

pytest.importorskip("dask_jobqueue")
pytest.importorskip("xgboost")
pytest.importorskip("lightgbm")
pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore:::(distributed|dask|xgboost|lightgbm|tornado)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SMALL = Settings(rounds=30, depth=6, threads=1)
TOLERANCE = 0.001


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write_months(tmp_path_factory.mktemp("months"), 5, 20_000)


@pytest.fixture(scope="module")
def client():
    with connect(Workers(count=2, memory="2GB")) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_a_cluster_gives_the_result_of_one_process(kind, client, paths):
    spread = fit_dask(client, parts_of(paths), kind=kind, settings=SMALL)
    alone = fit_out_of_core(parts_of(paths), kind=kind, settings=SMALL)
    assert spread.rows_learnt == alone.rows_learnt == 80_000
    assert spread.coding.prior == pytest.approx(alone.coding.prior)
    jobs = month(9, 5000)
    apart = np.abs(np.expm1(spread.predict_log(jobs) - alone.predict_log(jobs)))
    assert np.median(apart, axis=0).max() < TOLERANCE
    a, b = score_dask(client, spread, parts_of([paths[4]])), score(alone, parts_of([paths[4]]))
    for target in ("runtime_s", "power_w"):
        assert a[target]["rows"] == b[target]["rows"]
        for figure in ("median_abs_log_error", "r2_log", "coverage"):
            assert a[target][figure] == pytest.approx(b[target][figure], abs=0.01)
    assert os.getpid() not in client.run(os.getpid).values()


def test_marks_of_workers_are_the_marks_of_one_process(client, paths):
    model = fit_out_of_core(parts_of(paths[:2]), settings=Settings(rounds=5, threads=1))
    parts = parts_of(paths[2:])
    assert flat(score_dask(client, model, parts)) == pytest.approx(flat(score(model, parts)))


def flat(facts):
    return {
        f"{k}.{kk}": vv for k, v in facts.items() if isinstance(v, dict) for kk, vv in v.items()
    }


def test_a_training_that_lost_a_worker_is_tried_again(monkeypatch):
    monkeypatch.setattr(dasked, "NOTICE_S", 0.0)
    workers, tries = [["a", "b"], ["a"]], []

    class Shrinking:
        def scheduler_info(self, n_workers):
            return {"workers": workers[min(len(tries), 1)]}

        def wait_for_workers(self, *args, **kwargs):
            pass

    def train(again):
        tries.append(again)
        if len(tries) == 1:
            raise OSError("peer is gone")
        return b"model"

    assert _insist(Shrinking(), train) == b"model"
    assert tries == [False, True]
    with pytest.raises(RheostatError, match="not the workers' fault"):
        _insist(Shrinking(), broken)


def broken(again):
    raise ValueError("not the workers' fault")


@pytest.mark.slow
def test_slurm_workers_are_asked_for_as_told():
    workers = Workers(
        slurm="batch",
        threads=4,
        memory="7GB",
        options={"walltime": "02:00:00", "account": "proj7", "local_directory": "/scratch"},
    )
    with slurm_cluster(workers) as cluster:
        script = cluster.job_script().splitlines()
    for line in ("-p batch", "-A proj7", "--cpus-per-task=4", "--mem=7G", "-t 02:00:00", "-n 1"):
        assert f"#SBATCH {line}" in script
    (command,) = (
        line
        for line in script
        if ("dask" in line and "spawn" in line) or ("worker" in line and "python" in line)
    )
    assert "--nthreads 4" in command
    assert "/scratch" in command


@pytest.mark.slow
def test_no_scheduler_at_the_address_is_one_clear_error():
    with (
        pytest.raises(RheostatError, match=r"tcp://127\.0\.0\.1:9"),
        connect(Workers(address="tcp://127.0.0.1:9", wait_s=1.0)),
    ):
        pass
