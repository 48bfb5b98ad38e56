"""One row a job: hosts of a job, rows of two exports, and energies that no node can have drawn."""

from __future__ import annotations

import polars as pl
import pytest

from rheostat import front, read, table
from rheostat.measurement.job_logs.energy_units import possible_energy


def written(folder, rows):
    path = folder / "log.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


@pytest.fixture
def by_host():
    """Three jobs on 2, 1 and 3 hosts, a row for each."""
    jobs, hosts = [11, 11, 12, 13, 13, 13], ["n1", "n2", "n1", "n1", "n2", "n3"]
    start = [0, 0, 4000, 8000, 8000, 8000]
    return {
        "job_id": jobs,
        "hostname": hosts,
        "user": ["ann", "ann", "bo", "ann", "ann", "ann"],
        "start": start,
        "end": [s + 1800 for s in start],
        "avg_power_w": [200.0, 300.0, 250.0, 210.0, 220.0, 230.0],
        "energy_j": [360e3, 540e3, 450e3, 378e3, 396e3, 414e3],
    }


def test_hosts_of_a_job_are_one_job_whose_joules_are_theirs_together(tmp_path, by_host):
    jobs = read(written(tmp_path, by_host))
    assert jobs.frame["nodes"].to_list() == [2, 1, 3]
    assert jobs.frame["energy_j"].to_list() == [900e3, 450e3, 1188e3]
    assert jobs.frame["power_w"].to_list() == [500.0, 250.0, 660.0]
    assert sum(n.count for n in jobs.notes if "another host" in n.message and n.dropped) == 3


def test_what_each_host_repeats_of_the_whole_job_is_not_added(tmp_path, by_host):
    whole = {**by_host, "energy_j": [900e3] * 2 + [450e3] + [1188e3] * 3}
    jobs = read(written(tmp_path, {k: v for k, v in whole.items() if k != "avg_power_w"}))
    assert jobs.frame["energy_j"].to_list() == [900e3, 450e3, 1188e3]


def test_a_job_that_two_exports_hold_counts_once_and_tasks_of_one_number_stay(tmp_path, by_host):
    one = {k: [v[0], *v[2:4]] for k, v in by_host.items() if k != "hostname"}
    twice = {k: [*v, v[-1]] for k, v in one.items()}
    assert len(read(written(tmp_path, twice))) == 3
    tasks = {**twice, "job_id": [11, 11, 13, 13]}
    jobs = read(written(tmp_path, tasks))
    assert len(jobs) == 4
    assert any("another run" in n.message for n in jobs.notes)


def test_joules_that_no_node_draws_are_left_out_and_named(tmp_path):
    energy = [300.0 * 900 * (1 + n % 3) for n in range(12)]
    energy[4] = 4.29e9
    log = {
        "job_id": list(range(12)),
        "nodes": [1] * 12,
        "submit_time": [f"2026-10-{n + 1:02d}T00:00:00" for n in range(12)],
        "runtime_s": [900.0] * 12,
        "energy_j": energy,
    }
    jobs = read(written(tmp_path, log))
    assert jobs.frame["energy_j"].null_count() == 1
    assert next(n.rows for n in jobs.notes if "left out" in n.message) == (4,)


def test_joules_of_another_unit_until_a_date_name_the_date(tmp_path):
    log = {
        "job_id": list(range(30)),
        "nodes": [1] * 30,
        "submit_time": [f"2026-10-{n + 1:02d}T00:00:00" for n in range(30)],
        "runtime_s": [3600.0] * 30,
        "energy_j": [300.0 * 3600 / (1000 if n < 12 else 1) for n in range(30)],
    }
    jobs = read(written(tmp_path, log))
    assert jobs.frame["energy_j"].null_count() == 12
    assert any("until 2026-10-12" in n.message for n in jobs.notes)


def test_power_without_the_idle_power_is_said_to_be(tmp_path):
    runs = {"threads": [1, 2, 4], "time_s": [90.0, 50.0, 30.0], "net_power_w": [50.0, 80.0, 120.0]}
    assert any("at idle" in n.message for n in read(written(tmp_path, runs)).notes)
    gross = {**{k: runs[k] for k in ("threads", "time_s")}, "power_w": runs["net_power_w"]}
    assert not any("at idle" in n.message for n in read(written(tmp_path, gross)).notes)


def test_joules_of_each_host_are_times_the_hosts(tmp_path):
    rows = {
        "hosts": [1, 2],
        "elapsed": ["0:40:00.00", "0:21:12.00"],
        "energy_per_host_J": [9e5, 5e5],
    }
    assert read(written(tmp_path, rows)).frame["energy_j"].to_list() == [9e5, 1e6]


def test_the_clock_of_usr_bin_time_is_the_run_time_and_not_the_time_of_a_user(tmp_path):
    heading = "Elapsed (wall clock) time (h:mm:ss or m:ss)"
    rows = {
        "Threads": [1, 2],
        "User time (seconds)": [306.0, 310.0],
        heading: ["4:58.51", "2:40.00"],
    }
    assert read(written(tmp_path, rows)).frame["runtime_s"].to_list() == [298.51, 160.0]


def test_hyperfines_mean_is_the_run_time_whatever_its_parameters_are_asked_as(tmp_path):
    spread = {c: [0.1, 0.1] for c in ("stddev", "median", "user", "system", "min", "max")}
    rows = {"command": ["./a 1", "./a 2"], "mean": [5.5, 3.1], **spread, "parameter_n": [1, 2]}
    path = written(tmp_path, rows)
    assert read(path).frame["runtime_s"].to_list() == [5.5, 3.1]
    for knob in ("n", "parameter_n"):
        answer = front(path, knobs=f"{knob}=1,2", objectives="runtime_s")
        assert answer.choice.setting[knob] == 2


def test_which_gpu_ran_is_no_number_of_gpus(tmp_path):
    rows = {"gpu": [0, 1, 0, 1], "gpus": [4] * 4, "runtime_s": [9.0, 9.1, 5.0, 5.1]}
    both = read(written(tmp_path, rows)).frame
    assert both["gpus"].to_list() == [4] * 4
    assert both["gpu"].to_list() == [0, 1, 0, 1]
    alone = read(written(tmp_path, {k: rows[k] for k in ("gpu", "runtime_s")}))
    assert "gpus" not in alone.columns
    counted = read(written(tmp_path, {**rows, "gpu": [1, 2, 4, 8]} | {"gpus": [4] * 4}))
    assert counted.frame["gpus"].to_list() == [4] * 4
    few = read(written(tmp_path, {"gpu": [1, 2, 4, 8], "runtime_s": rows["runtime_s"]}))
    assert few.frame["gpus"].to_list() == [1, 2, 4, 8]


def test_watts_go_with_impossible_joules_only_where_they_follow_from_them():
    runs = {"nodes": [1] * 3, "runtime_s": [900.0] * 3, "energy_j": [4.29e9, 3e5, 3e5]}
    followed = possible_energy(table({**runs, "power_w": [e / 900 for e in runs["energy_j"]]}))
    assert followed.frame["power_w"].is_null().to_list() == [True, False, False]
    assert "power_w" in followed.notes[0].message
    metered = possible_energy(table({**runs, "power_w": [330.0] * 3}))
    assert metered.frame["power_w"].to_list() == [330.0] * 3
    assert metered.frame["energy_j"].is_null().to_list() == [True, False, False]
