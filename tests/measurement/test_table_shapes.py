"""Tables as people lay them out are read as what they say."""

from __future__ import annotations

import json

import pytest

import rheostat as rh
from rheostat.measurement.read import read

FRAMED = """+-------+--------+------------+
| nodes | app    | energy[kJ] |
+=======+========+============+
|     1 | a | 158.40 |
|     2 | -      |     169.77 |
+-------+--------+------------+
"""
MARKDOWN = "| nodes | time [s] |\n|---|--:|\n| 1 | 8.5 |\n| 2 | 4.5 |\n"


def written(folder, text, name="runs.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_drawn_tables_are_read(tmp_path):
    framed = read(written(tmp_path, FRAMED, "jube.dat")).frame
    assert framed.select("nodes", "energy_j").rows() == [(1, 158400.0), (2, 169770.0)]
    assert framed["app"].to_list() == ["a", None]
    assert read(written(tmp_path, MARKDOWN, "a.md")).frame.select("nodes", "runtime_s").rows() == [
        (1, 8.5), (2, 4.5)]  # fmt: skip


def test_a_line_of_units_below_the_headings_is_one(tmp_path):
    jobs = read(written(tmp_path, "nodes,time,energy\n-,min,kJ\n1,2.5,7\n2,1.5,8\n"))
    assert jobs.frame.select("nodes", "runtime_s", "energy_j").rows() == [
        (1, 150.0, 7000.0), (2, 90.0, 8000.0)]  # fmt: skip
    assert any("units stand in the second line" in n.message for n in jobs.notes)
    words = read(written(tmp_path, "app,runtime_s\ns,12\nmin,13\n"))
    assert words.frame["app"].to_list() == ["s", "min"]


def test_repeats_side_by_side_are_runs(tmp_path):
    text = "nodes,run1,run2,run3,energy_kJ\n1,9,9.5,8.5,3\n2,5,5.5,4.5,4\n"
    jobs = read(written(tmp_path, text))
    assert jobs.frame["runtime_s"].to_list() == [9.0, 9.5, 8.5, 5.0, 5.5, 4.5]
    assert jobs.frame["energy_j"].to_list() == [3000.0] * 3 + [4000.0] * 3
    said = "run1 to run3: taken as the run times of 3 runs a row, in s"
    assert said in [n.message for n in jobs.notes]
    answer = rh.front(jobs, knobs="nodes=1,2", rule="deadline=6s")
    assert answer.choice.setting == {"nodes": 2}


def test_repeats_of_time_and_energy_go_together_and_a_named_run_time_stays(tmp_path):
    text = "nodes,time_1_ms,time_2_ms,energy_1_J,energy_2_J\n1,9000,8000,30,40\n"
    frame = read(written(tmp_path, text)).frame
    assert frame.select("runtime_s", "energy_j").rows() == [(9.0, 30.0), (8.0, 40.0)]
    named = read(written(tmp_path, "nodes,runtime_s,t1,t2\n1,9,3,4\n")).frame
    assert named["runtime_s"].to_list() == [9.0]
    assert {"t1", "t2"} <= set(named.columns)


@pytest.mark.parametrize(
    ("heading", "ours", "factor"),
    [("minutes", "runtime_s", 60.0), ("kWh", "energy_j", 3.6e6), ("kW", "power_w", 1e3),
     ("walltime_used", "runtime_s", 1.0)],
)  # fmt: skip
def test_headings_that_are_units(tmp_path, heading, ours, factor):
    frame = read(written(tmp_path, f"nodes,{heading},loss_J\n1,2,1\n2,4,1\n")).frame
    assert frame[ours].to_list() == [2 * factor, 4 * factor]


def test_a_sign_for_a_number_counts(tmp_path):
    frame = read(written(tmp_path, "#GPUs,runtime_s\n2,9\n4,5\n")).frame
    assert frame["gpus"].to_list() == [2, 4]


def test_processors_of_each_node_tell_the_size_of_a_job(tmp_path):
    text = "job,submitted,runtime_s,nodes,ppn\n1,0,60,4,32\n2,1,60,1,8\n"
    jobs = read(written(tmp_path, text))
    assert jobs.frame["cores"].to_list() == [128, 8]
    assert "cores is nodes times ppn" in [n.message for n in jobs.notes]


def test_sacct_json_in_one_line_is_a_log_and_not_a_run(tmp_path):
    log = {"meta": {"slurm": {"version": {"major": "22"}}}, "jobs": [
        {"job_id": 7, "state": {"current": "COMPLETED"}, "time": {"elapsed": 5, "start": 10,
         "end": 15, "submission": 9}, "user": "a", "name": "n", "nodes": "n1",
         "allocation_nodes": 1}]}  # fmt: skip
    assert "job_id" in read(written(tmp_path, json.dumps(log), "jobs.json")).columns


def test_a_carriage_return_within_a_line_ends_no_row_and_is_noted(tmp_path):
    (file := tmp_path / "runs.csv").write_bytes(b"nodes,wall_s,note\n1,90,415 kWh\r \n2,50,ok\n")
    runs = read(file)
    assert runs.frame["runtime_s"].to_list() == [90.0, 50.0]
    assert any(
        n.message == "carriage returns within 1 lines are read as blanks" for n in runs.notes
    )


def test_a_file_whose_lines_end_in_carriage_returns_alone_is_a_table(tmp_path):
    (file := tmp_path / "runs.csv").write_bytes(b"nodes,wall_s\r1,90\r2,50\r")
    assert read(file).frame["runtime_s"].to_list() == [90.0, 50.0]


def test_the_largest_of_several_times_is_no_time_limit(tmp_path):
    (file := tmp_path / "runs.csv").write_text("nodes,median_time_s,max_time_s\n1,90,90\n2,50,60\n")
    runs = read(file)
    assert runs.frame["runtime_s"].to_list() == [90.0, 50.0]
    assert not {"time_limit_s", "censored"} & set(runs.frame.columns)
