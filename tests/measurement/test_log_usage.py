"""What a log says was used, against sums by hand; real logs of several formats."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import rheostat as rh
from rheostat.core.jobs import Note
from rheostat.measurement.job_logs.log_usage import calendar_zero_s, log_usage, logged_waits

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
LOG = {
    "submit_s": [1.7e9, 1.7e9 + 10, 1.7e9 + 20, 1.7e9 + 30],
    "start_s": [1.7e9 + 60, 1.7e9 + 10, 1.7e9 + 50, None],
    "end_s": [1.7e9 + 3660, 1.7e9 + 7210, 1.7e9 + 1850, None],
    "runtime_s": [3600.0, 7200.0, 1800.0, None],
    "nodes": [2, 1, 8, 4],
    "nodes_alloc": [2, 2, None, None],
    "state": ["COMPLETED", "FAILED", "TIMEOUT", "PENDING"],
    "app": ["a", "b", "a", None],
    "user": ["u", "u", "v", "v"],
    "energy_j": [1000.0, None, None, None],
    "power_w": [9.0, 0.5, None, None],
}


def test_hours_energy_and_what_was_lost_are_the_sums_by_hand():
    found = log_usage(rh.table(LOG))
    assert (found.unit, found.hours, found.counted) == ("node_h", 2 + 4 + 4, 3)
    assert (found.lost_hours, found.lost_jobs, found.ended_jobs) == (8, 2, 3)
    assert (found.energy_j, found.energy_jobs, found.energy_hours) == (1000 + 0.5 * 7200, 2, 0.6)
    assert found.energy_source == "column energy_j of the log"
    assert (found.first_s, found.last_s, found.calendar) == (1.7e9, 1.7e9 + 7210, True)
    assert [(s["state"], s["jobs"]) for s in found.states] == [
        ("FAILED", 1), ("TIMEOUT", 1), ("COMPLETED", 1)]  # fmt: skip
    assert found.waiting_jobs == 1
    a, b = found.groups["app"]
    assert (a["name"], a["jobs"], a["hours"], a["lost_hours"], a["wait_s"]) == ("a", 2, 6, 4, 45)
    assert (b["energy_j"], b["lost_jobs"]) == (3600, 1)
    assert list(found.groups) == ["app", "user"]


def test_where_all_completed_nothing_was_lost():
    found = log_usage(rh.table({"nodes": [2], "runtime_s": [60.0], "state": ["COMPLETED"]}))
    assert (found.lost_hours, found.lost_jobs, found.ended_jobs) == (0.0, 0, 1)


def test_what_is_not_recorded_is_nan_and_no_zero():
    found = log_usage(rh.table({"job_id": [1, 2]}))
    assert (found.unit, found.states[0]["state"]) == ("", "(not recorded)")
    assert all(
        math.isnan(v) for v in (found.hours, found.lost_hours, found.energy_j, found.first_s)
    )
    assert (found.ended_jobs, found.groups) == (0, {})


def test_cores_count_where_no_nodes_are_known_and_jobs_that_wait_do_not():
    jobs = rh.table({"cores": [4, 4], "runtime_s": [3600.0, None],
                     "state": ["COMPLETED", "PENDING"]})  # fmt: skip
    found = log_usage(jobs)
    assert (found.jobs, found.unit, found.hours, found.waiting_jobs) == (1, "core_h", 4, 1)


@pytest.mark.parametrize("waits", ["PENDING", "PEND", "PD", "Q"])
def test_jobs_that_wait_are_no_failures_in_any_tongue(waits):
    jobs = {"job_id": ["1", "2", "3"], "nodes": [1, 2, 4], "state": ["DONE", "EXIT", waits],
            "runtime_s": [3600.0, 3600.0, None], "censored": [False, True, True]}  # fmt: skip
    used = log_usage(rh.table(jobs))
    assert (used.jobs, used.lost_jobs, used.waiting_jobs) == (2, 1, 1)


def test_a_job_cancelled_before_it_ran_has_not_waited():
    jobs = rh.table({"submit_s": [0.0, 0.0], "start_s": [50.0, 50.0], "runtime_s": [0.0, 9.0],
                     "state": ["CANCELLED"] * 2})  # fmt: skip
    assert logged_waits(jobs).tolist()[1:] == [50.0]
    assert math.isnan(logged_waits(jobs)[0])


def test_the_calendar_is_that_of_the_header():
    swf = {"submit_s": [5.0]}
    assert calendar_zero_s(rh.table(swf)) is None
    head = Note("header Computer: SP2; UnixStartTime: 893466664")
    assert calendar_zero_s(rh.table(swf, notes=[head])) == 893466664


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
@pytest.mark.parametrize(
    ("file", "jobs", "unit", "lost"),
    [("slurm/sacct.json", 18, "node_h", 4), ("slurm/sacct_P.psv", 18, "node_h", 4),
     ("sacct/sacct_dump2101.log", 10, "node_h", 9),
     ("jobs/m100_gridpilot/m100_real_jobs_jan2022.parquet", 1994, "node_h", 794)],
)  # fmt: skip
def test_logs_of_real_sites(file, jobs, unit, lost):
    found = log_usage(rh.read(SHARED / file))
    assert (found.jobs, found.unit, found.lost_jobs) == (jobs, unit, lost)
    assert found.lost_hours <= found.hours


def test_a_log_with_other_words_for_its_ends_is_counted_as_it_was_read(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{i},2,{3600 * i},600,{'ok' if i % 5 else 'failed'}" for i in range(20)]
    path.write_text("job,nodes,submitted,wall_s,status\n" + "\n".join(rows) + "\n")
    found = log_usage(rh.read(path))
    assert (found.lost_jobs, found.ended_jobs) == (4, 20)
    assert found.lost_hours == pytest.approx(4 * 2 * 600 / 3600)


def test_earlier_runs_of_a_requeued_job_used_the_machine_and_are_lost(tmp_path):
    head = "JobID|JobName|State|Submit|Start|End|ElapsedRaw|NNodes|AllocTRES\n"
    day = "2026-10-01T"
    rows = [
        ("7", "NODE_FAIL", "01:00", "02:00", "03:00", 3600, 4),
        ("7", "COMPLETED", "03:00", "04:00", "06:00", 7200, 4),
        ("8", "COMPLETED", "03:00", "04:00", "05:00", 3600, 2),
        ("8", "COMPLETED", "03:00", "04:00", "05:00", 3600, 2),
    ]
    (tmp_path / "s.psv").write_text(head + "".join(
        f"{job}|app{job}|{state}|{day}{a}:00|{day}{b}:00|{day}{c}:00|{run}|{n}|node={n}\n"
        for job, state, a, b, c, run, n in rows))  # fmt: skip
    found = log_usage(rh.read(tmp_path / "s.psv"))
    assert (found.jobs, found.hours, found.lost_hours, found.lost_jobs) == (2, 8 + 4 + 2, 4, 0)
    assert [(s["state"], s["jobs"], s["hours"]) for s in found.states] == [
        ("COMPLETED", 2, 10), ("REQUEUED, earlier runs", 0, 4)]  # fmt: skip
    first, second = found.groups["app"]
    assert (first["name"], first["jobs"], first["hours"], first["lost_hours"]) == ("app7", 1, 12, 4)
    assert (second["hours"], second["lost_hours"]) == (2, 0)


def test_gpu_jobs_that_may_share_a_node_are_counted_and_have_gpu_hours():
    log = {"nodes_alloc": [1, 1, 1, 2], "gpus_alloc": [1, 2, 4, 8], "runtime_s": [3600.0] * 4}
    found = log_usage(rh.table(log))
    assert (found.hours, found.gpu_hours, found.gpu_jobs, found.part_node_jobs) == (5, 15, 4, 2)
    apart = log_usage(rh.table({**log, "partition": ["a", "b", "c", "c"]}))
    assert apart.part_node_jobs == 0
    none = log_usage(rh.table({"nodes": [1, 2], "runtime_s": [3600.0] * 2}))
    assert (none.gpu_jobs, none.part_node_jobs) == (0, 0)
    assert math.isnan(none.gpu_hours)


def test_lists_of_nodes_tell_who_shared_and_how_long_nodes_were_in_use():
    found = log_usage(
        rh.table(
            {"node_list": ["n[01-02]", "n02", "n[03,05]"], "nodes": [2, 1, 2],
             "start_s": [1.7e9, 1.7e9 + 1800, 1.7e9], "end_s": [1.7e9 + 3600] * 3,
             "runtime_s": [3600.0, 1800.0, 3600.0]}
        )
    )  # fmt: skip
    assert (found.hours, found.shared_jobs, found.hours_in_use) == (4.5, 2, 4.0)


def test_accounts_and_the_cores_of_jobs_that_may_share_a_node() -> None:
    """Two jobs of 4 and 12 of 16 cores: an hour of the whole node each, and 16 core-hours."""
    log = {"nodes": [1, 1, 1], "cores": [4, 12, 16], "cores_alloc": [4, 12, 16],
           "runtime_s": [3600.0] * 3, "account": ["bio", "bio", "physics"]}  # fmt: skip
    found = log_usage(rh.table(log))
    assert {g["name"]: (g["hours"], g["core_hours"]) for g in found.groups["account"]} == {
        "bio": (2.0, 16.0), "physics": (1.0, 16.0)}  # fmt: skip
    assert found.core_hours == 32.0
    alone = log_usage(rh.table({**log, "cores": [16] * 3, "cores_alloc": [16] * 3}))
    assert math.isnan(alone.core_hours)
