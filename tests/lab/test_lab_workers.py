"""Work over four nodes of a real Slurm is that of one process; one worker is killed.

Its workers are jobs of the lab: it comes behind `test_lab_ingest`, which counts them all.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import rheostat as rh
from rheostat.errors import RheostatError
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.measurement.slurm import accounting
from rheostat.measurement.synthetic.world import World
from rheostat.prediction.out_of_core.dask_cluster import Workers, slurm_cluster, spread_over
from rheostat.recipes.nodecount import prepared
from tests.simulation.test_sweep import jobs_of

distributed = pytest.importorskip("distributed")
pytest.importorskip("dask_jobqueue")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.slurm,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("slurm"),
    pytest.mark.filterwarnings("ignore:::(distributed|dask|tornado|dask_jobqueue)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NODES = {"n1", "n2", "n3", "n4"}
HEAD = "JobID|JobName|User|State|Submit|Start|End|ElapsedRaw|NNodes|ConsumedEnergyRaw|NodeList\n"


class Killer:
    """Kills (SIGKILL) the first worker that is seen at work."""

    def __init__(self, client) -> None:
        self._client, self.killed, self._ended = client, 0, threading.Event()
        self._pids = client.run(os.getpid)
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            busy = [w for w, tasks in self._client.processing().items() if tasks]
            if busy := [w for w in busy if w in self._pids]:
                self.killed = self._pids[busy[0]]
                os.kill(self.killed, signal.SIGKILL)
                return


@pytest.fixture(scope="module")
def client(lab, tmp_path_factory):
    """Workers that Slurm starts, one a node."""
    folder = tmp_path_factory.mktemp("workers")
    options = {
        "scheduler_options": {"dashboard_address": None, "host": "127.0.0.1"},
        "job_cpu": 33,  # of a node's 64
        "log_directory": str(folder),
        "local_directory": str(folder),
        "walltime": "00:20:00",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SLURM_CONF", "PATH"):
            patch.setenv(name, lab.env[name])
        with slurm_cluster(Workers(slurm="batch", memory="2GB", options=options)) as cluster:
            cluster.scale(jobs=4)
            with distributed.Client(cluster) as client:
                client.wait_for_workers(4, timeout=240)
                yield client


@pytest.fixture
def workers(client):
    client.wait_for_workers(3, timeout=120)
    return Workers(address=client.scheduler.address)


def test_every_node_has_a_worker(client):
    assert set(client.run(os.getenv, "SLURMD_NODENAME").values()) == NODES


def export(path: Path, jobs: int) -> Path:
    lines = [
        f"{k}|cfd|u{k % 7}|COMPLETED|{s}|{s + 9}|{s + 609}|600|1||n1\n"
        f"{k}.0|cfd||COMPLETED|{s}|{s + 9}|{s + 609}|600|1|{k}|n1\n"
        for k, s in ((k, 1_790_000_000 + 97 * k) for k in range(1, jobs + 1))
    ]
    path.write_text(HEAD + "".join(lines) + "x|y\n")
    return path


def files(store: Path) -> dict[str, bytes]:
    return {str(p.relative_to(store)): p.read_bytes() for p in store.rglob("*") if p.is_file()}


def test_an_export_read_on_workers_is_the_same_store(client, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(accounting.sacct_pieces, "__kwdefaults__",
                        {"zone": "UTC", "lines_at_once": 2000})  # fmt: skip
    source = export(tmp_path / "export.txt", 20_000)
    alone = rh.site.ingest(tmp_path / "alone", source)
    with Killer(client) as killer:
        spread = rh.site.ingest(tmp_path / "spread", source, workers=workers)
    assert killer.killed
    assert spread.merged.new == 20_000
    assert (spread.merged, spread.notes) == (alone.merged, alone.notes)
    assert files(tmp_path / "spread") == files(tmp_path / "alone")


def test_sacct_itself_is_read_on_workers(lab, workers, tmp_path):
    lab.ended({lab.submit("cfd", "sleep 2", "-n1")})
    assert rh.site.ingest(tmp_path / "alone", since="1h").merged.new
    rh.site.ingest(tmp_path / "spread", since="1h", window="10m", workers=workers)
    jobs = [rh.read(tmp_path / name).frame.filter(pl.col("app") == "cfd")
            for name in ("alone", "spread")]  # fmt: skip
    assert len(jobs[0])
    assert jobs[0].equals(jobs[1])


def test_a_model_of_many_files_is_that_of_one_process(client, workers, tmp_path):
    pytest.importorskip("xgboost")
    months = [tmp_path / f"{k}.parquet" for k in range(5)]
    for k, path in enumerate(months):
        World(seed=0).jobs(4000, seed=k).write_parquet(path)
    alone = rh.fit(months, out_of_core=True)
    with Killer(client) as killer:
        spread = rh.fit(months, workers=workers)
    assert killer.killed
    assert spread.rows == alone.rows
    jobs = prepared(World(seed=0).jobs(500, seed=9))
    a, b = (f.model.predict(jobs).mean("runtime_s") for f in (alone, spread))
    assert float(abs(b / a - 1).mean()) < 0.01


def test_advice_judged_on_workers_is_that_of_one_process(client, workers, monkeypatch):
    from rheostat.decision import decide

    monkeypatch.setattr(decide, "ROWS_AT_ONCE", 400)
    log = World(seed=1).jobs(3000)
    alone = rh.backtest(log, knobs=["nodes=1,2,4,8,16,32,64"])
    with Killer(client) as killer:
        spread = rh.backtest(log, knobs=["nodes=1,2,4,8,16,32,64"], workers=workers)
    assert killer.killed
    assert spread.to_dict() == alone.to_dict()
    assert spread.result.advice.table.frame.equals(alone.result.advice.table.frame)


def test_policies_compared_on_workers_are_those_of_one_process(client, workers, tmp_path):
    for seed in range(3):
        write_swf(jobs_of(seed, 2000), tmp_path / f"trace{seed}.swf", ["MaxProcs: 16"])
    how = {"policies": "sjf+easy,saf+easy", "traces": [tmp_path]}
    alone = rh.compare_policies(**how, processes=1)
    with Killer(client) as killer:
        spread = rh.compare_policies(**how, workers=workers)
    assert killer.killed
    assert spread.to_dict() == alone.to_dict()


def test_work_that_kills_its_worker_is_one_clear_error(client, workers):
    with (
        pytest.raises(RheostatError, match="Dask workers end while they work"),
        spread_over(workers) as spread,
    ):
        list(spread(os._exit, [1]))
    end = time.monotonic() + 60
    while not client.scheduler_info(n_workers=-1)["workers"]:
        assert time.monotonic() < end
        time.sleep(0.2)
