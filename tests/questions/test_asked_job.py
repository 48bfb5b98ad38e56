"""Of several jobs that are meant the newest is asked about, and how many like it taught."""

import numpy as np
import pytest

import rheostat as rh
from rheostat.errors import DataError, QuestionError


def log(**more):
    """A trial of every fifth job of three applications; app c ran rarely."""
    rng = np.random.default_rng(1)
    n = 600
    app = np.where(np.arange(n) % 60 == 7, "c", rng.choice(["a", "b"], n))
    asked = 2 ** rng.integers(2, 5, n)
    ran = np.where(rng.random(n) < 0.2, asked * rng.choice([0.25, 4.0], n), asked).astype(int)
    runtime = 8e3 / ran * np.exp(0.1 * rng.standard_normal(n))
    return rh.table({
        "job_id": np.arange(n) + 100, "app": app, "submit_s": 1e4 * np.arange(n)[::-1],
        "nodes": ran, "nodes_requested": asked, "runtime_s": runtime, "power_w": 300.0 * ran,
        **more,
    })  # fmt: skip


def test_the_newest_of_several_jobs_is_asked_about_and_said() -> None:
    """The first in the file was, whichever that is, and nobody was told."""
    answer = rh.front(log(), where=["app=c"])
    said = " ".join(answer.notes)
    assert answer.to_dict()["job"] == 107  # the file runs backwards
    assert "job 107 is asked about, the newest of 10 with app=c" in said
    assert "learns from 9 jobs of the same app among the 592 that had ended" in said


def test_a_job_that_is_named_is_not_said_to_be_the_newest() -> None:
    answer = rh.front(log(), job="300")
    assert answer.to_dict()["job"] == 300
    assert not any("newest" in n for n in answer.notes)


def test_how_a_job_ended_finds_it_and_makes_no_kind_of_jobs() -> None:
    """It ended in an error of the program: the state is not known of a job that is yet to run."""
    state = np.where(np.arange(600) % 50 == 3, "FAILED", "COMPLETED")
    jobs = log(state=state)
    answer = rh.front(jobs, where=["state=FAILED"])
    assert answer.to_dict()["job"] == 103
    assert any("state=FAILED finds the job" in n for n in answer.notes)
    same = rh.front(jobs, job="103")
    assert answer.front.mean("runtime_s") == pytest.approx(
        same.front.mean("runtime_s"), nan_ok=True
    )


def test_measured_runs_that_ended_otherwise_are_left_out(tmp_path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("app,nodes,runtime_s,power_w,state\na,1,100,200,COMPLETED\na,2,60,400,COMPLETED\n"
                    "a,4,10,800,FAILED\na,8,20,1600,COMPLETED\n")  # fmt: skip
    answer = rh.front(path, where=["state=COMPLETED"], knobs="nodes=1,2,4,8")
    assert answer.front.mean("runtime_s")[[0, 1, 3]].tolist() == [100.0, 60.0, 20.0]
    assert 20 < answer.front.mean("runtime_s")[2] < 60


def test_node_counts_that_nobody_named_and_nothing_tells_of_are_no_empty_rows() -> None:
    shown = rh.front(log(), job="300")
    assert np.isfinite(shown.front.mean("energy_j")).all()
    assert any("no run tells of them" in n and "256 nodes" in n for n in shown.notes)
    asked = rh.front(log(), job="300", knobs="nodes=1..256")
    assert asked.front.alternatives.frame["nodes"].max() == 256
    assert asked.choice.setting == shown.choice.setting


def test_a_log_without_submissions_says_how_runs_of_one_problem_are_read(tmp_path) -> None:
    rows = [f"{7 + n}|rans|{n}|COMPLETED|{5000 // n}|{2_000_000 + n}" for n in (1, 2, 4, 8)]
    rows += ["20|rans|4|FAILED|7|9100", "11.batch|batch|4|COMPLETED|1250|2000004"]
    file = tmp_path / "sacct.txt"
    heads = "JobID|JobName|NNodes|State|ElapsedRaw|ConsumedEnergyRaw"
    file.write_text("\n".join([heads, *rows, ""]))
    with pytest.raises(QuestionError, match=r"name a job: .*--format runs"):
        rh.front(file, knobs="nodes")
    with pytest.raises(DataError, match=r"no job says when it was submitted.*--format runs"):
        rh.front(file, where=["JobName=rans"], knobs="nodes")
    answer = rh.front(file, format="runs", knobs="nodes", rule="deadline=30m")
    assert answer.choice.setting == {"nodes": 4}
    assert not any("two kinds" in n for n in answer.notes)
