"""A sweep gives one result wherever it runs; killed workers and interruptions cost none of it."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import psutil
import pytest

from rheostat.core.storage import files
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.prediction.out_of_core.dask_cluster import Workers
from rheostat.questions.scheduling.policies import open_policy, simulate
from rheostat.simulation.comparison import sweep as sweeping
from rheostat.simulation.comparison.sweep import (
    finished,
    perform,
    sweep,
    tasks_of,
    trace_files,
    trace_name,
)
from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.policies.policy import as_policy
from rheostat.simulation.schedule_metrics import bounded_slowdown
from tests.simulation.conftest import trace

POLICIES = ("easy", "fcfs", "sjf+easy", "saf+easy", "ljf", "f1")
pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore:::(distributed|dask|tornado)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def jobs_of(seed, n=300):
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 200 * n, n))
    run = rng.integers(1, 4000, n)
    return trace(submit, run, rng.integers(1, 17, n), run * rng.integers(1, 4, n))


def test_the_key_of_a_result_depends_on_the_code_that_made_it(monkeypatch):
    """Results of another release are made anew: every folder that decides them is in the digest."""
    seen = []
    monkeypatch.setattr(files, "file_digest", lambda path: seen.extend(path.parts[-2:]) or "")
    monkeypatch.setattr(sweeping, "code_digest", files.code_digest.__wrapped__)
    sweeping._code.__wrapped__()
    folders = {"measurement", "policies", "simulation", "engine", "rl"}
    assert folders | {"ours.json"} <= set(seen)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("traces")
    for seed, name in enumerate(("one", "two", "three")):
        write_swf(jobs_of(seed), path / f"{name}.swf", ["MaxProcs: 16"])
    (path / "notes.txt").write_text("not a trace")
    return path


@pytest.fixture(scope="module")
def tasks(folder):
    return tasks_of(trace_files([folder]), POLICIES)


@pytest.fixture(scope="module")
def serial(tasks):
    return timeless(sweep(tasks))


def timeless(results):
    """Without the one thing that differs from run to run."""
    return {t: {k: v for k, v in r.items() if k != "cpu_s"} for t, r in results.items()}


def test_a_result_is_that_of_the_simulation(tasks, serial):
    task = next(t for t in tasks if t.policy == "saf+easy" and trace_name(t.trace) == "two")
    jobs = simulate(jobs_of(1), "saf+easy", 16)
    slow = bounded_slowdown(jobs.numpy("wait_s"), jobs.numpy("runtime_s"))
    found = serial[task]
    assert found["whole"]["bounded_slowdown"]["mean"] == pytest.approx(slow.mean())
    assert sum(found["whole"]["blocks"]["bounded_slowdown"]) == pytest.approx(slow.sum())
    late = jobs.numpy("submit_s") > np.quantile(jobs.numpy("submit_s"), 0.5)
    assert found["later"]["jobs"] == late.sum()
    assert found["later"]["bounded_slowdown"]["mean"] == pytest.approx(slow[late].mean())


@pytest.mark.slow
def test_processes_give_the_serial_result_in_the_same_order(tasks, serial):
    spread = timeless(sweep(tasks, processes=2))
    assert spread == serial
    assert list(spread) == list(serial) == list(tasks)


class Killer:
    """A progress callback that kills one process once a result is there."""

    def __init__(self, victim):
        self.victim, self.killed, self.told = victim, None, []

    def __call__(self, stage, done, total):
        self.told.append((stage, done, total))
        if done and self.killed is None:
            self.killed = self.victim()
            os.kill(self.killed, signal.SIGKILL)


def _worker():
    """A process of the pool: one that this process spawned to run Python code."""
    children = psutil.Process().children()
    return next(c.pid for c in children if "spawn_main" in " ".join(c.cmdline()))


@pytest.mark.slow
def test_a_killed_process_costs_no_result(tasks, serial):
    killer = Killer(_worker)
    assert timeless(sweep(tasks, processes=2, progress=killer)) == serial
    assert killer.killed
    assert killer.told[0] == ("simulate", 0, len(tasks))
    assert killer.told[-1] == ("simulate", len(tasks), len(tasks))


@pytest.mark.slow
def test_a_killed_dask_worker_costs_no_result(tasks, serial):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        killer = Killer(lambda: cluster.workers[0].pid)
        with_workers = Workers(address=address)
        assert timeless(sweep(tasks, workers=with_workers, progress=killer)) == serial
        assert killer.killed


@pytest.mark.slow
def test_local_dask_workers_give_the_serial_result(tasks, serial, tmp_path):
    pytest.importorskip("distributed")
    kept = tmp_path / "results.jsonl"
    spread = sweep(tasks, workers=Workers(count=2, memory="2GB"), results=kept)
    assert timeless(spread) == serial
    assert len(finished(kept)) == len(tasks)


SBATCH = """#!/bin/sh
for script; do :; done
cp "$script" "{folder}/script"
setsid sh "{folder}/script" > "{folder}/log" 2>&1 &
echo "$!" >> "{folder}/jobs"
echo "Submitted batch job $!"
"""


def test_workers_submitted_to_slurm_give_the_serial_result(tasks, serial, tmp_path, monkeypatch):
    """With an `sbatch` that starts what it is handed here and now, and a `scancel` that kills."""
    pytest.importorskip("dask_jobqueue")
    scancel = '#!/bin/sh\nfor id; do kill -- "-$id"; done\n'
    for name, text in (("sbatch", SBATCH), ("scancel", scancel)):
        (tmp_path / name).write_text(text.format(folder=tmp_path))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert timeless(sweep(tasks, workers=Workers(slurm="batch", count=1, memory="1GB"))) == serial
    assert len((tmp_path / "jobs").read_text().split()) == 1


def test_what_is_finished_is_not_done_again(tasks, serial, tmp_path, monkeypatch):
    kept = tmp_path / "deep" / "results.jsonl"
    sweep(tasks[:5], results=kept)
    with kept.open("a") as file:
        file.write(kept.read_text().splitlines()[0][:40])  # the interruption tore this line
    done = []
    monkeypatch.setattr(sweeping, "perform", lambda t, **how: done.append(t) or perform(t, **how))
    assert timeless(sweep(tasks, results=kept)) == serial
    assert done == list(tasks[5:])
    done.clear()
    assert timeless(sweep(tasks, results=kept)) == serial
    assert done == []
    assert len(finished(kept)) == len(tasks)


def test_a_changed_trace_or_option_is_another_task(folder, tmp_path):
    (task,) = tasks_of([folder / "one.swf"], ["easy"])
    moved = tmp_path / "one.swf"
    moved.write_bytes((folder / "one.swf").read_bytes())
    assert tasks_of([moved], ["easy"])[0].key == task.key
    assert tasks_of([moved], ["easy"], ties="batch")[0].key != task.key
    assert tasks_of([moved], ["easy"], estimates="perfect")[0].key != task.key
    moved.write_bytes(moved.read_bytes() + b"\n")
    assert tasks_of([moved], ["easy"])[0].key != task.key
    site = tmp_path / "Site.toml"
    site.write_text("age = 1.0\n")
    keys = {tasks_of([moved], [f"multifactor:{site}+easy"])[0].key}
    site.write_text("age = 2.0\n")
    keys.add(tasks_of([moved], [f"multifactor:{site}+easy"])[0].key)
    assert len(keys) == 2
    assert set(json.loads(task.key)) >= {"policy", "digest", "split", "code"}


def test_a_policy_of_ones_own_is_swept_by_its_name(folder):
    opened = {"mine": LearnedPolicy(LearnedPriority.load(SHIPPED)), "easy": as_policy("easy")}
    tasks = tasks_of([folder / "one.swf"], ["mine", "easy"])
    found = sweep(tasks, open_policy=lambda name, **how: opened[name])
    ours = sweep(tasks_of([folder / "one.swf"], ["agent:ours"]), open_policy=open_policy)
    means = [r["whole"]["wait_s"]["mean"] for r in (*timeless(found).values(), *ours.values())]
    assert means[0] == means[2] != means[1]


@pytest.mark.slow
def test_workers_that_always_end_are_one_clear_error(tasks, monkeypatch):
    monkeypatch.setattr(sweeping, "perform", _die)
    with pytest.raises(RheostatError, match="--results FILE"):
        sweep(tasks[:3], processes=2)


def _die(task, **how):
    os._exit(9)


def test_traces_are_the_files_of_a_folder_each_once(folder, tmp_path):
    assert [p.name for p in trace_files([folder])] == ["one.swf", "three.swf", "two.swf"]
    assert len(trace_files([folder, folder / "one.swf"])) == 3
    with pytest.raises(DataError, match="neither a file nor a folder"):
        trace_files([tmp_path / "nowhere"])
    with pytest.raises(DataError, match=r"\.swf"):
        trace_files([tmp_path])
    twin = tmp_path / "one.swf.gz"
    twin.write_bytes(b"")
    with pytest.raises(DataError, match="two files of this name"):
        trace_files([folder, twin])


def test_a_split_that_leaves_nothing_is_an_error(tmp_path):
    write_swf(trace([5, 5], [1, 1], [1, 1]), tmp_path / "flat.swf", ["MaxProcs: 2"])
    (task,) = tasks_of([tmp_path / "flat.swf"], ["easy"])
    with pytest.raises(
        DataError, match="flat, easy: --test-fraction: expected jobs submitted after the first"
    ):
        perform(task)


def test_an_error_names_the_trace_wherever_it_was_met(folder, tmp_path):
    write_swf(trace([0, 5], [1, 1], [1, 1]), tmp_path / "mute.swf")
    tasks = tasks_of([folder / "one.swf", tmp_path / "mute.swf"], ["easy"])
    for processes in (1, 2):
        with pytest.raises(DataError, match=r"mute, easy: machine: .* give its processors"):
            sweep(tasks, processes=processes)
