"""The machine as found in a log, and the waits of the log beside those of a policy."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.jobs import Note
from rheostat.core.machine import Machine
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.explanation.schedules.schedule import policy_grid
from rheostat.simulation.comparison.as_logged import as_logged, joined, logged_facts
from rheostat.simulation.log_machine import log_machine, machine_of, placed, roomy_words
from rheostat.simulation.report_facts import facts as run_facts
from rheostat.simulation.simulate import simulate_run

RAN = {
    "job_id": [1, 2, 3, 4],
    "submit_s": [0.0, 0.0, 5.0, 20.0],
    "start_s": [0.0, 0.0, 10.0, 20.0],
    "runtime_s": [10.0, 30.0, 10.0, 5.0],
    "time_limit_s": [10.0, 30.0, 10.0, 5.0],
    "cores": [4, 2, 6, 1],
    "partition": ["batch", "batch", "gpu", None],
}


def test_the_machine_is_what_jobs_held_at_once_where_no_header_says(tmp_path):
    found = log_machine(table(RAN))
    assert (found.procs, found.source, found.held, found.largest) == (8, "held", 8, 6)
    assert found.partitions == (("batch", 6), ("gpu", 6))
    (tmp_path / "site.toml").write_text(found.toml())
    assert Machine.load(tmp_path / "site.toml").procs == 12
    jobs, machine = placed(table(RAN))
    assert machine.procs == 8
    assert "no machine given: 8 processors, the most that jobs of the log held at once (batch 6, " \
        "gpu 6)" in jobs.notes[-1].message  # fmt: skip
    assert placed(table(RAN), "16")[0].notes == ()


def test_a_header_is_believed_and_nothing_is_said():
    jobs = table(RAN, notes=[Note("header Computer: SP2; MaxProcs: 128")])
    same, machine = placed(jobs)
    assert (machine.procs, machine.name, len(same.notes)) == (128, "SP2", 1)


def test_a_log_without_starts_and_header_is_asked_for_its_size():
    with pytest.raises(DataError, match="has no starts to find it by: give its processors"):
        machine_of(table({k: v for k, v in RAN.items() if k != "start_s"}))


def test_python_takes_the_same_machine_and_notes_it():
    run = simulate_run(table(RAN), "easy")
    assert run.machine.procs == 8
    assert any("no machine given" in n.message for n in run.jobs.notes)


def test_a_machine_on_which_nobody_waits_is_named():
    jobs = table(RAN)
    said = roomy_words(jobs, [simulate_run(jobs, "easy", 65_536)])
    assert said == (
        "Nobody waits, whatever the policy: of 65,536 processors at most 12 are ever used at once. "
        "--machine 8 is the machine of the log."
    )
    assert roomy_words(jobs, [simulate_run(jobs, "easy", 8)]) == ""


def test_the_log_stands_beside_a_run_of_the_same_jobs():
    n = 40
    start = np.arange(n) * 10.0
    jobs = table({"job_id": range(n), "submit_s": start, "runtime_s": [30.0] * n,
                  "cores": [1] * n, "time_limit_s": [60.0] * n,
                  "start_s": [*(start[:-1] + 7.0), None]})  # fmt: skip
    run = simulate_run(jobs, "easy", 4)
    logged, easy = as_logged(jobs, run)
    assert len(logged.jobs) == len(easy.jobs) == n - 1
    assert set(logged.jobs.numpy("wait_s")) == {7.0}
    assert (logged.jobs.numpy("end_s") == start[:-1] + 37.0).all()
    assert as_logged(jobs.rows(range(9)), simulate_run(jobs.rows(range(9)), "easy", 4)) is None
    with pytest.raises(DataError, match="it is what the site did"):
        logged.policy.plan(None)


def test_rows_beside_the_log_are_of_the_jobs_whose_wait_is_recorded():
    n = 40
    submit = np.arange(n) * 10.0
    told = {"job_id": range(n), "submit_s": submit, "runtime_s": [20.0] * n,
            "cores": [1] * n, "time_limit_s": [60.0] * n}  # fmt: skip
    # the last job fills the machine, waits long in each run, and never started on the site
    jobs = table({**told, "cores": [1] * (n - 1) + [4], "wait_s": [*[7.0] * (n - 1), None]})
    runs = [simulate_run(jobs, name, 4) for name in ("easy", "sjf+easy")]
    facts = {"logged": logged_facts(jobs, runs), **run_facts("t.swf", runs, read=jobs)}
    rows = {r[0]: r[1] for r in policy_grid(facts).rows}
    names = ["as logged", "easy, same jobs", "sjf+easy, same jobs", "easy", "sjf+easy"]
    assert list(rows) == names
    assert rows["as logged"] == 7.0
    assert rows["easy, same jobs"] == 0.0 < rows["easy"]
    assert facts["logged"]["jobs"] == facts["logged"]["same_jobs"]["easy"]["jobs"] == n - 1
    assert logged_facts(table({**told, "wait_s": [7.0] * n}), runs)["same_jobs"] == {}
    single = [logged_facts(jobs, [run]) for run in runs]
    assert str(joined([*single, None])) == str(facts["logged"])
    assert joined([None]) is None


def _cores_and_nodes(nodes):
    return table({"submit_s": [0.0] * len(nodes), "start_s": [0.0] * len(nodes),
                  "runtime_s": [9.0] * len(nodes), "nodes": nodes,
                  "cores": [64 * n for n in nodes]})  # fmt: skip


def test_a_machine_in_nodes_where_jobs_count_cores_is_refused_with_what_to_type():
    said = (
        "192 at once in all, the machine has 16: --machine counts processors, not nodes: 16 nodes "
    )
    with pytest.raises(DataError, match=said + "of 64 are --machine 1024"):
        placed(_cores_and_nodes([1, 2]), "16")


def test_a_machine_too_small_for_many_jobs_is_noted_and_for_few_only_their_rows():
    jobs = _cores_and_nodes([1] * 8 + [4])
    assert "64 nodes of 64 are --machine 4096" in placed(jobs, "64")[0].notes[-1].message
    assert placed(_cores_and_nodes([1] * 30 + [4]), "64")[0].notes == ()
    assert placed(jobs, "256")[0].notes == ()


def test_jobs_without_nodes_are_offered_what_they_held():
    jobs = _cores_and_nodes([1, 2, 1]).frame.drop("nodes")
    with pytest.raises(DataError, match=r"counts processors: at least --machine 256 is the log's"):
        placed(table(jobs), "16")
