"""What is done with a joule, settings in names of runs, and numbers with marks around them."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.read import read

YIELDS = {
    "gpus,gflops,gflops_per_watt\n1,100,0.5\n2,190,0.4\n": ("gflops", "gflops_per_watt", 1.0),
    "gpus,img/s,img/kWh\n1,100,0.5\n2,190,0.4\n": ("img/s", "img/kWh", 3.6e6),
    "gpus,samples/s,samples/J\n1,100,0.5\n2,190,0.4\n": ("samples/s", "samples/J", 1.0),
}


@pytest.mark.parametrize("text", YIELDS)
def test_what_is_done_with_an_energy_is_turned_round_and_never_taken_for_it(tmp_path, text):
    speed, spent, joules = YIELDS[text]
    (file := tmp_path / "runs.csv").write_text(text)
    taken = read(file)
    said = f"no column is a run time: --column runtime_s=1/{speed} --column energy_j=1/{spent}"
    assert any(n.message.startswith(said) for n in taken.notes)
    assert taken.frame["energy_j"].to_list() == pytest.approx([2.0 * joules, 2.5 * joules])
    timed = {"runtime_s": f"1/{speed}"}
    for ours in ("energy_j", "power_w"):
        with pytest.raises(DataError, match=f"--column energy_j=1/{spent}"):
            read(file, options={"columns": {**timed, ours: spent}})
    with pytest.raises(DataError, match=f"is it {spent}.*--column energy_j=1/{spent}"):
        rh.front(file, knobs="gpus", renamed=timed, objectives="runtime_s,energy_j")
    named = {**timed, "energy_j": f"1/{spent}"}
    energies = read(file, options={"columns": named}).frame["energy_j"].to_list()
    assert energies == pytest.approx([2.0 * joules, 2.5 * joules])


@pytest.mark.parametrize("heading", ["ns/day", "speedup", "jobs/h"])
def test_the_only_rate_of_a_day_or_a_speedup_is_a_run_time_as_one_over(tmp_path, heading):
    (file := tmp_path / "runs.csv").write_text(f"nodes,{heading},power_w\n1,2,300\n2,3.6,590\n")
    answer = rh.front(file, rule="weighted=runtime_s:1,energy_j:1")
    one, two = answer.front.mean("runtime_s")
    assert one / two == pytest.approx(1.8)
    assert answer.choice.setting == {"nodes": 2}
    assert any(f"runtime_s=1/{heading}" in n or f"1 / {heading}" in n for n in answer.notes)


def test_a_rate_is_no_run_time_where_joules_are_of_the_run_or_there_are_two(tmp_path):
    """Joules of a run whose work may have grown are none of a piece; of two rates either may be."""
    for text in (
        "nodes,Gflops,energy_kJ\n1,90,400\n2,170,420\n",
        "nodes,img/s,MB/s,power_w\n1,90,7,300\n2,170,9,590\n",
    ):
        (file := tmp_path / "runs.csv").write_text(text)
        with pytest.raises(DataError, match=r"--column .?runtime_s=1/"):
            rh.front(file, knobs="nodes")


def test_a_rate_of_each_gpu_counts_times_their_number(tmp_path):
    """One over img/s/GPU alone would find eight GPUs slower than one."""
    text = "gpus,img/s/GPU,power_w\n1,100,400\n4,90,1500\n"
    (file := tmp_path / "runs.csv").write_text(text)
    assert rh.front(file).front.mean("runtime_s").tolist() == pytest.approx([1e-2, 1 / 360])


def test_joules_of_a_piece_are_proposed_with_their_prefix(tmp_path):
    (file := tmp_path / "runs.csv").write_text("gpus,it/s,kJ/it\n1,2,0.15\n2,3.6,0.16\n")
    timed = ["runtime_s=1/it/s"]
    with pytest.raises(DataError, match="--column energy_j=energy_per_it_kJ"):
        rh.front(file, knobs="gpus", renamed=timed)
    answer = rh.front(file, knobs="gpus", renamed=[*timed, "energy_j=energy_per_it_kJ"])
    assert answer.front.mean("energy_j").tolist() == [150.0, 160.0]


NAMED = ["lbm-n1-cap200", "lbm-n1-cap300", "lbm-n2-cap200", "lbm-n2-cap300"]


def written(names: list[str], more: str = "") -> str:
    rows = [f"{name},{90 - 10 * i}{more and f',{i % 2 + 1}'}" for i, name in enumerate(names)]
    return "\n".join([f"Job,time_s{more}", *rows]) + "\n"


def test_settings_in_the_names_of_runs_are_columns_where_no_other_is(tmp_path):
    (file := tmp_path / "runs.csv").write_text(written(NAMED))
    jobs = read(file)
    assert jobs.frame.select("n", "cap_w").rows() == [(1, 200), (1, 300), (2, 200), (2, 300)]
    assert any("numbers in Job read as n, cap" in n.message for n in jobs.notes)
    file.write_text(written(["4nodes_x", "8nodes_x", "2nodes_x"]))
    assert read(file).frame["nodes"].to_list() == [4, 8, 2]


@pytest.mark.parametrize("text", [
    written(NAMED, ",threads"),  # a column of settings
    written(["run1", "run2", "run3"]),  # numbers that count the runs
    written(["gn07", "gn03", "gn11"]),  # codes
    written(["lbm-n1", "wrf-n2", "lbm-n4"]),  # several programs
    written(["2026-10-05", "2026-10-07", "2026-10-09"]),
], ids=["settings", "counted", "codes", "programs", "dates"])  # fmt: skip
def test_other_numbers_in_names_are_none(tmp_path, text):
    (file := tmp_path / "runs.csv").write_text(text)
    assert set(read(file).columns) <= {"job_id", "runtime_s", "threads"}


def test_numbers_with_a_sign_for_about_or_in_bold_are_numbers(tmp_path):
    rows = "| 1 | ~40 min | 2000 |\n| 2 | ~22 min | **1800** |\n"
    text = f"| nodes | time | energy (kJ) |\n|--|--|--|\n{rows}"
    (file := tmp_path / "runs.md").write_text(text)
    jobs = read(file)
    assert jobs.frame.select("runtime_s", "energy_j").rows() == [(2400.0, 2e6), (1320.0, 1.8e6)]
    assert any(n.message == "about what is written (~): time" for n in jobs.notes)


def test_sections_of_an_ini_file_are_runs(tmp_path):
    text = "".join(f"[run{n}]\nnodes = {n}\ntime = {90 / n} s\n\n" for n in (1, 2, 3))
    (file := tmp_path / "runs.ini").write_text(text)
    assert read(file).frame.select("nodes", "runtime_s").rows() == [(1, 90.0), (2, 45.0), (3, 30.0)]
