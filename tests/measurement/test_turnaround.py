"""The time from submission to end is no run time: the wait is taken off, or said to be in it."""

from __future__ import annotations

import pytest

from rheostat.measurement.runs.reader import read_runs


def read(tmp_path, text):
    (file := tmp_path / "runs.csv").write_text(text)
    return read_runs(file)


@pytest.mark.parametrize("heading", ["turnaround_s", "Turnaround time (s)", "turn-around_s"])
def test_the_wait_is_taken_off(heading, tmp_path):
    jobs = read(tmp_path, f"nodes,{heading},wait_s,power_W\n1,4000,100,400\n2,5200,3100,800\n")
    assert jobs.frame["runtime_s"].to_list() == [3900.0, 2100.0]
    assert any(n.message == f"runtime_s is {heading} less wait_s" for n in jobs.notes)


def test_without_a_wait_it_is_said_to_be_in_it(tmp_path):
    jobs = read(tmp_path, "nodes,turnaround_s,power_W\n1,4000,400\n2,5200,800\n")
    assert any("with the wait in the queue" in n.message for n in jobs.notes)


def test_a_run_time_beside_it_stays(tmp_path):
    text = "nodes,turnaround_s,wait_s,run_s,power_W\n1,4000,100,3800,400\n2,5200,3100,2000,800\n"
    assert read(tmp_path, text).frame["runtime_s"].to_list() == [3800.0, 2000.0]


def test_a_wait_that_is_longer_leaves_it_unknown(tmp_path):
    text = "nodes,turnaround_s,wait_s,power_W\n1,4000,100,400\n2,900,3100,800\n"
    assert read(tmp_path, text).frame["runtime_s"].to_list() == [3900.0, None]
