"""A run that goes on from checkpoints is the sum of its attempts, each row one of them."""

from __future__ import annotations

import pytest

from rheostat.measurement.runs.reader import read_runs

HEAD = "run_id,attempt,nodes,start_step,end_step,wall_s,energy_kJ,state"
ROWS = (
    "r1,1,2,0,55,5000,4000,PREEMPTED",
    "r2,1,8,0,51,1490,4768,PREEMPTED",
    "r1,2,2,55,100,4010,3208,COMPLETED",
    "r2,2,8,51,80,910,2912,PREEMPTED",
    "r2,3,8,80,100,505,1616,COMPLETED",
    "r3,1,4,0,100,4905,7848,COMPLETED",
)


def runs_of(tmp_path, rows=ROWS, head=HEAD):
    (file := tmp_path / "runs.csv").write_text("\n".join([head, *rows, ""]))
    return read_runs(file, keep=["nodes"])


def test_a_run_is_the_sum_of_its_attempts_and_ends_as_the_last(tmp_path) -> None:
    runs = runs_of(tmp_path)
    frame = runs.frame.sort("nodes")
    assert frame["nodes"].to_list() == [2, 4, 8]
    assert frame["runtime_s"].to_list() == [9010.0, 4905.0, 2905.0]
    assert frame["energy_j"].to_list() == [7.208e6, 7.848e6, 9.296e6]
    assert not frame["censored"].any()
    joined = [n.rows for n in runs.notes if "were added up" in n.message]
    assert joined == [(2, 3, 4)]


def test_a_run_whose_last_attempt_was_cut_off_is_unfinished(tmp_path) -> None:
    frame = runs_of(tmp_path, ROWS[:2]).frame
    assert frame["censored"].all()


def test_an_attempt_from_the_start_again_is_another_run(tmp_path) -> None:
    again = [*ROWS[:1], "r1,2,2,0,100,9000,7200,COMPLETED"]
    assert runs_of(tmp_path, again).frame["runtime_s"].to_list() == [5000.0, 9000.0]


def test_attempts_of_which_no_column_says_the_run_are_no_whole_runs(tmp_path) -> None:
    rows = [row.split(",", 1)[1] for row in ROWS]
    runs = runs_of(tmp_path, rows, HEAD.removeprefix("run_id,"))
    finished = runs.frame.filter(~runs.frame["censored"])
    assert finished["nodes"].to_list() == [4]
    assert [n.rows for n in runs.notes if "run_id says" in n.message] == [(2, 3, 4)]


@pytest.mark.parametrize("heads", ["first_block,last_block", "start_step,end_epoch"])
def test_two_numbers_that_count_no_common_steps_join_nothing(tmp_path, heads) -> None:
    runs = runs_of(tmp_path, ROWS, HEAD.replace("start_step,end_step", heads))
    assert len(runs.frame) == len(ROWS)


def test_attempts_that_each_have_a_job_of_their_own_are_no_whole_runs(tmp_path) -> None:
    rows = [row.replace(row[:2], f"70{k}", 1) for k, row in enumerate(ROWS)]
    runs = runs_of(tmp_path, rows, HEAD.replace("run_id", "job_id"))
    finished = runs.frame.filter(~runs.frame["censored"])
    assert finished["nodes"].to_list() == [4]


def test_a_run_is_joined_beside_the_jobs_of_its_attempts(tmp_path) -> None:
    rows = [f"70{k},{row}" for k, row in enumerate(ROWS)]
    runs = runs_of(tmp_path, rows, f"job_id,{HEAD}")
    assert runs.frame.sort("nodes")["runtime_s"].to_list() == [9010.0, 4905.0, 2905.0]


def test_a_run_whose_beginning_is_in_no_row_is_no_whole_run(tmp_path) -> None:
    runs = runs_of(tmp_path, [*ROWS[1:3], *ROWS[3:]])
    assert runs.frame.sort("nodes")["censored"].to_list() == [True, False, False]
