"""Jobs of a real Slurm go into the store once, with the energy that their law says."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from rheostat.measurement.job_logs.job_store import JobStore
from rheostat.measurement.job_logs.node_sharing import nodes_of
from rheostat.measurement.read import read
from rheostat.questions.site.ingest import ingest

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
NODE_W = {"cfd": 180 + 64 * 5.0, "md": 180 + 64 * 7.0}
METER_STEP_S = 0.25


class Meters:
    """What the lab's power meters say of each node, written down whenever they say it."""

    def __init__(self, folder: Path) -> None:
        self.said: dict[str, dict[float, float]] = {f.name: {} for f in folder.iterdir()}
        self._folder, self._ended = folder, threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._ended.wait(0.1):
            for node, said in self.said.items():
                words = (self._folder / node / "energy").read_text().split()
                if len(words) == 4:  # else it is being written
                    said[int(words[2]) / 1e6] = float(words[0])

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def counted(self, node: str, begin_s: float, end_s: float) -> tuple[float, float]:
        """Joules of that time, and by how many seconds a reading within it came late."""
        at, energy_j = (np.array(list(f(self.said[node]))) for f in (dict.keys, dict.values))
        used_j = np.diff(np.interp([begin_s, end_s], at, energy_j))[0]
        within = at[(at > begin_s - 2) & (at < end_s + 2)]
        return used_j, max(0.0, np.diff(within).max() - 2 * METER_STEP_S)


@pytest.fixture(scope="module")
def meters(lab):
    made = Meters(lab.folder / "counters")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def store(lab, meters, tmp_path_factory):
    """The jobs of two users, read while they run and at the end."""
    folder = tmp_path_factory.mktemp("site") / "jobs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", lab.env["SLURM_CONF"])
        lab.submit("cfd", "sleep 6", "-N1", "-n64", "--exclusive")
        lab.submit("cfd", "srun sleep 6", "-N2", "--ntasks-per-node=64", "--exclusive", user="bob")
        lab.submit("md", "srun -n64 sleep 5", "-N1", "-n64", "--exclusive")
        lab.submit("cfd", "sleep 5", "-N2", "-n128", "--exclusive")
        lab.submit("md", "sleep 2", "--array=1-3", "-n2")
        lab.submit("md", "exit 3", "-n1", user="bob")
        lab.seen("RUNNING")
        first = ingest(folder, since="1h")
        lab.drained()
        second = ingest(folder, window="20m")
        third = ingest(folder)
    return folder, (first, second, third)


def test_jobs_are_there_once_with_their_last_state(store):
    folder, (first, second, third) = store
    frame = read(folder).frame
    assert first.merged.new >= 1
    assert first.merged.new + second.merged.new == len(frame) == 8
    assert second.merged.changed >= 1
    assert (third.merged.new, third.merged.changed, third.merged.unchanged) == (0, 0, 8)
    assert frame["state"].value_counts().sort("state").rows() == [("COMPLETED", 7), ("FAILED", 1)]
    assert set(frame["user"]) == {"alice", "bob"}


def test_energy_is_what_the_meters_counted_once(store, meters):
    """Slurm asks them once a second and at both ends, later by as much as they themselves are."""
    jobs = read(store[0])
    alone = jobs.frame.filter(~jobs.frame["shared"] & jobs.frame["energy_j"].is_not_null())
    whole = alone.filter(alone["nodes_alloc"] * 64 == alone["cores_alloc"])
    assert whole.height == 3
    for row in whole.rows(named=True):
        end_s = row["start_s"] + row["runtime_s"]
        said = [meters.counted(n, row["start_s"], end_s) for n in nodes_of(row["node_list"])]
        counted_j, late_s = sum(j for j, _ in said), max(late for _, late in said)
        law_w = NODE_W[row["app"]] * row["nodes_alloc"]
        off = 0.35 * law_w * row["runtime_s"] + 2 * late_s * law_w
        assert row["energy_j"] == pytest.approx(counted_j, abs=off), (row, late_s)


def test_several_nodes_of_a_batch_script_without_steps_have_no_energy(store):
    frame = read(store[0]).frame
    two = frame.filter((frame["nodes_alloc"] == 2) & (frame["app"] == "cfd"))
    assert sorted(two["energy_j"].is_null().to_list()) == [False, True]


def test_company_on_a_node_is_marked(store):
    frame = read(store[0]).frame
    tasks = frame.filter(frame["job_id"].str.contains("_"))
    assert tasks.height == 3
    assert tasks["shared"].any()


def test_accounting_is_asked_again_from_before_the_last_end(lab, store, tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", lab.env["SLURM_CONF"])
    folder = tmp_path / "jobs"
    shutil.copytree(store[0], folder)
    lab.submit("late", "true", "-n1")
    lab.drained()
    answer = ingest(folder, overlap="2m")
    assert answer.merged.new == 1
    assert JobStore(folder).state["accounting_until_s"] == answer.until_s
