"""Jobs of a real Slurm go into the store once, with the energy that their law says."""

from __future__ import annotations

import shutil

import pytest

from rheostat.measurement.job_logs.job_store import JobStore
from rheostat.measurement.read import read
from rheostat.questions.site.ingest import ingest

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
NODE_W = {"cfd": 180 + 64 * 5.0, "md": 180 + 64 * 7.0}


@pytest.fixture(scope="module")
def store(lab, tmp_path_factory):
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


def test_energy_follows_the_law_of_the_application_and_is_counted_once(store):
    jobs = read(store[0])
    alone = jobs.frame.filter(~jobs.frame["shared"] & jobs.frame["energy_j"].is_not_null())
    whole = alone.filter(alone["nodes_alloc"] * 64 == alone["cores_alloc"])
    assert whole.height == 3
    for row in whole.rows(named=True):
        law = NODE_W[row["app"]] * row["nodes_alloc"] * row["runtime_s"]
        assert row["energy_j"] == pytest.approx(law, rel=0.35), row  # sampled once a second


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
