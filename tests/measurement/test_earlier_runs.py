"""What a job used before it was started anew is in no run time, and is lost."""

from __future__ import annotations

import json

import pytest

from rheostat.measurement.job_logs.log_usage import log_usage
from rheostat.measurement.read import read

ONE = {
    "ClusterId": 7, "ProcId": 0, "Owner": "mia", "Cmd": "fit.sh", "QDate": 1_790_000_000,
    "JobStartDate": 1_790_000_100, "JobCurrentStartDate": 1_790_010_000,
    "CompletionDate": 1_790_013_600, "RemoteWallClockTime": 9000.0, "NumJobStarts": 3,
    "RequestCpus": 8, "JobStatus": 4, "ExitCode": 0,
}  # fmt: skip


def condor(tmp_path, **changes):
    whole = {**ONE, "ClusterId": 8, "NumJobStarts": 1, "RemoteWallClockTime": 3600.0}
    whole["JobStartDate"] = whole["JobCurrentStartDate"]
    first = {k: v for k, v in {**ONE, **changes}.items() if v is not None}
    (file := tmp_path / "history.json").write_text(json.dumps([first, whole]))
    return read(file)


def said(jobs, words):
    return [n.rows for n in jobs.notes if words in n.message]


def test_core_hours_before_the_last_start_are_lost(tmp_path):
    jobs = condor(tmp_path)
    assert jobs.frame["runtime_s"].to_list() == [3600.0, 3600.0]
    assert jobs.frame["requeued_core_hours"].to_list() == [12.0, 0.0]
    usage = log_usage(jobs)
    assert (usage.unit, usage.hours, usage.lost_hours, usage.jobs) == ("core_h", 28.0, 12.0, 2)


@pytest.mark.parametrize("start", [ONE["JobCurrentStartDate"], None])
def test_a_job_that_was_started_once_lost_nothing(start, tmp_path):
    jobs = condor(tmp_path, NumJobStarts=1, JobStartDate=start, RemoteWallClockTime=4000.0)
    assert "requeued_core_hours" not in jobs.columns
    assert log_usage(jobs).lost_hours == 0.0


def test_what_nothing_tells_of_is_said_to_be_in_no_figure(tmp_path):
    jobs = condor(tmp_path, RemoteWallClockTime=None)
    assert "requeued_core_hours" not in jobs.columns
    assert said(jobs, "those core-hours are in no figure") == [(0,)]
    assert said(condor(tmp_path), "those core-hours are in no figure") == []


BLOCK = """{line}
qname        all.q
hostname     n1
group        hpc
owner        {owner}
jobname      md
jobnumber    {number}
qsub_time    Tue Mar  3 10:00:00 2026
start_time   Tue Mar  {day} 10:{minute:02d}:00 2026
end_time     Tue Mar  {day} 11:{minute:02d}:00 2026
slots        16
failed       0
exit_status  {status}
ru_wallclock 3600
"""


def grid_engine(tmp_path, *jobs):
    blocks = [
        BLOCK.format(line="=" * 60, owner=o, number=n, day=d, minute=m, status=s)
        for o, n, d, m, s in jobs
    ]
    (file := tmp_path / "qacct.txt").write_text("".join(blocks) + "=" * 60 + "\n")
    return read(file)


def test_a_job_that_grid_engine_ran_twice_used_both(tmp_path):
    jobs = grid_engine(tmp_path, ("ann", 5, 3, 0, 99), ("ann", 5, 4, 0, 0), ("bob", 6, 4, 30, 0))
    assert jobs.frame["requeued_core_hours"].to_list() == [16.0, 0.0]
    assert log_usage(jobs).hours == 48.0
    assert said(jobs, "what it used is in requeued_core_hours") == [(0,)]


def test_a_run_that_is_listed_twice_counts_once(tmp_path):
    jobs = grid_engine(tmp_path, ("ann", 5, 3, 0, 0), ("ann", 5, 3, 0, 0))
    assert log_usage(jobs).hours == 16.0
    assert len(jobs) == 1


def test_a_number_of_another_user_is_another_job(tmp_path):
    jobs = grid_engine(tmp_path, ("ann", 5, 3, 0, 0), ("bob", 5, 4, 0, 0))
    assert len(jobs) == 2
    assert "requeued_core_hours" not in jobs.columns
    assert said(jobs, "numbers begin anew") == [(1,)]


def test_a_rerun_of_pbs_tells_what_it_used(tmp_path):
    more = "user=ann queue=q ctime=1790000000 Resource_List.nodect=4 Resource_List.ncpus=64"
    again = f"{more} start=1790000100 resources_used.walltime=01:00:00"
    end = f"{more} start=1790007000 end=1790009000 Exit_status=0"
    rows = [("S", "1.srv", more), ("R", "1.srv", again), ("R", "2.srv", again)]
    rows.append(("E", "1.srv", f"{end} resources_used.walltime=00:30:00"))
    (file := tmp_path / "20260921").write_text(
        "".join(f"09/21/2026 12:00:00;{kind};{name};{text}\n" for kind, name, text in rows)
    )
    jobs = read(file)
    assert jobs.frame["requeued_node_hours"].to_list() == [4.0]
    assert log_usage(jobs).hours == 6.0
