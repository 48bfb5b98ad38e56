"""A run of 0 s measured nothing; a job of 0 s in a log was cancelled before it started."""

from __future__ import annotations

import pytest

from rheostat.measurement.runs.reader import read_runs


def table(tmp_path, text):
    (file := tmp_path / "runs.csv").write_text(text)
    return read_runs(file)


def noted(jobs):
    return [(n.message, n.rows) for n in jobs.notes if "is 0, which no run takes" in n.message]


@pytest.mark.parametrize("zero", ["0", "0.0", "0:00:00"])
def test_a_run_of_no_time_is_left_out(zero, tmp_path):
    took = ("0:03:20", "0:02:20") if ":" in zero else ("200", "140")
    rows = "".join(f"{n},{t},900\n" for n, t in zip((2, 3, 3), (*took, zero), strict=True))
    jobs = table(tmp_path, f"nodes,time,power_W\n{rows}")
    assert jobs.frame["runtime_s"].to_list() == [200.0, 140.0]
    assert noted(jobs) == [("runtime_s is 0, which no run takes: left out", (2,))]


def test_an_energy_of_0_j_is_not_known(tmp_path):
    jobs = table(tmp_path, "nodes,time_s,energy_J\n2,200,120000\n3,140,0\n")
    assert jobs.frame["energy_j"].to_list() == [120000.0, None]
    assert noted(jobs) == [("energy_j is 0, which no run takes: not known", (1,))]


def test_a_run_that_failed_at_once_stays_a_failed_one(tmp_path):
    jobs = table(tmp_path, "nodes,time_s,state\n2,200,ok\n3,0,failed\n")
    assert jobs.frame["censored"].to_list() == [False, True]
    assert noted(jobs) == []


def test_jobs_of_a_log_that_never_started_stay(tmp_path):
    head = "job_id,submit,start,end,nodes\n"
    rows = "7,2026-03-01T10:00:00,2026-03-01T11:00:00,2026-03-01T11:00:00,2\n"
    more = "8,2026-03-01T10:00:00,2026-03-01T11:00:00,2026-03-01T12:00:00,2\n"
    assert table(tmp_path, head + rows + more).frame["runtime_s"].to_list() == [0.0, 3600.0]


def test_where_all_are_0_the_table_stays(tmp_path):
    assert len(table(tmp_path, "nodes,time_s,energy_J\n2,0,50\n3,0,60\n")) == 2


def test_an_end_of_0_beside_dates_is_of_a_job_that_runs(tmp_path):
    rows = "7,1790000000,1790000100,1790003700,2,done\n8,1790000000,1790000200,0,4,running\n"
    jobs = table(tmp_path, f"job_id,submit,start,end,nodes,state\n{rows}")
    assert jobs.frame["runtime_s"].to_list() == [3600.0, None]
    assert [n.rows for n in jobs.notes if n.message == "end_s is 0 beside dates: not known"] == [
        (1,)
    ]
    rows = "7,0,100,3700,2,done\n8,0,0,0,4,done\n"  # since the log's own zero
    jobs = table(tmp_path, f"job_id,submit,start,end,nodes,state\n{rows}")
    assert jobs.frame["runtime_s"].to_list() == [3600.0, 0.0]
