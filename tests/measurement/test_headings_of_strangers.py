"""Headings as trackers, pivots and meters of parts write them: the same three runs."""

from __future__ import annotations

import json

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.read import read

NODES, SECONDS, WATTS = (1, 2, 4), (90.0, 50.0, 30.0), (300.0, 580.0, 1100.0)
RUNS = list(zip(NODES, SECONDS, WATTS, strict=True))
JOULES = [s * w for s, w in zip(SECONDS, WATTS, strict=True)]


def lines(head: str, row: str) -> str:
    rows = [row.format(n=n, s=s, w=w, each=w / n, kj=s * w / 1e3, j=s * w) for n, s, w in RUNS]
    return "\n".join([head, *rows]) + "\n"


FORMS = {
    "per node, slash": lines("nodes,time_s,avg node power (W/node)", "{n},{s},{each}"),
    "per node, unit behind": lines("nodes,time_s,Power per node [W]", "{n},{s},{each}"),
    "mlflow": lines("run_id,metrics.runtime_s,metrics.energy_kj,params.nodes", "r{n},{s},{kj},{n}"),
    "optuna": lines(
        "number,value,state,params_nodes,user_attrs_runtime_s,user_attrs_energy_j",
        "{n},1.5,COMPLETE,{n},{s},{j}",
    ),
    "pivot": "quantity,1 node,2 nodes,4 nodes\ntime [s],90,50,30\npower [kW],.3,.58,1.1\n",
    "pivot under the knob": "nodes,1,2,4\ntime (s),90,50,30\nenergy (J),27000,29000,33000\n",
    "hydra": "".join(
        json.dumps({"cfg": {"nodes": n}, "result": {"wall_s": s, "energy_j": s * w}}) + "\n"
        for n, s, w in RUNS
    ),
    "gpus beside rapl": lines(
        "nodes,time_s,energy_pkg_j,energy_dram_j,energy_gpu_j", "{n},{s},1000,500,{j}"
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_runs_in_other_headings(tmp_path, form):
    (file := tmp_path / "runs.csv").write_text(FORMS[form])
    frame = read(file).frame
    energy = (
        frame["energy_j"] if "energy_j" in frame.columns else frame["power_w"] * frame["runtime_s"]
    )
    beside = 1500.0 if form == "gpus beside rapl" else 0.0
    assert frame["nodes"].to_list() == [*NODES]
    assert frame["runtime_s"].to_list() == pytest.approx([*SECONDS])
    assert energy.to_list() == pytest.approx([j + beside for j in JOULES])


def test_power_of_one_gpu_is_times_the_gpus(tmp_path):
    text = lines("gpus,step_time_s,gpu_power_w_per_gpu", "{n},{s},{each}")
    (file := tmp_path / "runs.csv").write_text(text)
    assert read(file).frame["power_w"].to_list() == pytest.approx([*WATTS])


def test_a_gpu_in_the_processor_is_part_of_the_package(tmp_path):
    text = lines("nodes,time_s,energy_pkg_j,energy_dram_j,energy_gpu_j", "{n},{s},{j},500,1000")
    (file := tmp_path / "runs.csv").write_text(text)
    assert read(file).frame["energy_j"].to_list() == pytest.approx([j + 500 for j in JOULES])


def test_what_speaks_of_power_is_not_named_as_energy(tmp_path):
    text = lines("nodes,time_s,power reading a,power reading b", "{n},{s},{w},{w}")
    (file := tmp_path / "runs.csv").write_text(text)
    with pytest.raises(DataError, match="power_w=power reading a"):
        rh.front(file, knobs="nodes=1,2,4")


def test_a_run_in_the_doubled_hour_is_no_longer_than_its_limit(tmp_path):
    text = (
        "JobID|User|State|Submit|Start|End|NNodes|Timelimit\n"
        "1|u|COMPLETED|2026-10-24T20:38:39|2026-10-25T00:45:06|2026-10-25T02:02:11|4|{}\n"
    )
    for limit, seconds in (("01:40:00", 4625.0), ("03:00:00", None)):
        (file := tmp_path / "log.txt").write_text(text.format(limit))
        jobs = read(file, options={"zone": "Europe/Berlin"})
        assert jobs.frame["runtime_s"].to_list() == [seconds]


def test_results_with_their_units_beside_them_have_them_in_the_heading(tmp_path):
    head = "System,# of Accelerators,Result,Units,Power Result,Power Units"
    rows = [f"x,{n},{100 / s},Tokens/s,{w},Watts" for n, s, w in RUNS]
    (file := tmp_path / "mlperf.csv").write_text("\n".join([head, *rows]) + "\n")
    jobs = read(file, options={"columns": {"runtime_s": "1/Result [Tokens/s]*100"}})
    assert jobs.frame["gpus"].to_list() == [*NODES]
    assert jobs.frame["power_w"].to_list() == [*WATTS]
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([*SECONDS])


def test_repeats_of_power_stand_beside_those_of_time(tmp_path):
    text = "nodes,t1,t2,p1,p2\n" + "".join(f"{n},{s},{s},{w},{w}\n" for n, s, w in RUNS)
    (file := tmp_path / "runs.csv").write_text(text)
    jobs = read(file)
    assert jobs.frame["power_w"].to_list() == [w for w in WATTS for _ in range(2)]


def test_a_reading_below_nothing_leaves_the_others(tmp_path):
    (file := tmp_path / "runs.csv").write_text("nodes,time,energy\n1,90 s,27 kJ\n2,50 s,-1 J\n")
    assert read(file).frame["energy_j"][0] == 27_000.0


def test_a_knob_is_found_by_its_words_before_a_unit(tmp_path):
    text = "power limit;time;power\nW;s;W\n" + "".join(f"{100 * n};{s};{w}\n" for n, s, w in RUNS)
    (file := tmp_path / "runs.csv").write_text(text)
    answer = rh.front(file, knobs="power_limit=100,200,400")
    assert answer.front.alternatives.frame["power_limit"].to_list() == [100, 200, 400]


@pytest.mark.parametrize("heading", ["gpu_hours", "GPU-hours", "Total GPU hours"])
def test_hours_of_parts_are_no_run_time(tmp_path, heading):
    rows = "".join(f"{n},{n * s / 3600},{s * w}\n" for n, s, w in RUNS)
    (file := tmp_path / "runs.csv").write_text(f"gpus,{heading},energy_j\n{rows}")
    assert read(file).frame["runtime_s"].to_list() == pytest.approx([*SECONDS])
    file.write_text(f"devices,{heading},energy_j\n{rows}")
    assert "runtime_s" not in read(file).columns


def test_energies_of_parts_that_grow_with_a_setting_are_to_be_summed(tmp_path):
    text = "nodes,time_s,cpu_energy_j,gpu_energy_j\n" + "".join(
        f"{n},{s},{40_000 + n},{60_000 + n}\n" for n, s, _ in RUNS
    )
    (file := tmp_path / "runs.csv").write_text(text)
    with pytest.raises(DataError, match=r"energy_j=cpu_energy_j\+gpu_energy_j: their sum"):
        rh.front(file, knobs="nodes=1,2,4")


def test_a_run_that_did_not_converge_is_no_repeat(tmp_path):
    text = lines("nodes,time_s,energy_j,converged", "{n},{s},{j},TRUE") + "4,2,900,FALSE\n"
    (file := tmp_path / "runs.csv").write_text(text)
    assert read(file).frame["censored"].to_list() == [False, False, False, True]


ABOVE = "# weak scaling, times in minutes; energy [kWh]\nnodes,time,energy,start\n"


def test_units_that_a_comment_above_the_headings_says_are_those_of_the_columns(tmp_path):
    (file := tmp_path / "runs.csv").write_text(ABOVE + "1,60,0.5,0\n2,33,0.6,7200\n")
    jobs = read(file)
    assert jobs.frame["runtime_s"].to_list() == [3600.0, 1980.0]
    assert jobs.frame["energy_j"].to_list() == pytest.approx([1.8e6, 2.16e6])
    assert any("time [minutes], energy [kWh]" in n.message for n in jobs.notes)
    named = read(file, options={"columns": {"runtime_s": "time", "energy_j": "energy*3.6e3"}})
    assert named.frame["runtime_s"].to_list() == [3600.0, 1980.0]
    assert named.frame["energy_j"].to_list() == pytest.approx([1800.0, 2160.0])


@pytest.mark.parametrize(
    "above", ["# time in queue is not counted", "# times in minutes\n# time in s", "# 12 min"]
)
def test_a_comment_that_says_no_unit_or_two_changes_nothing(tmp_path, above):
    (file := tmp_path / "runs.csv").write_text(f"{above}\nnodes,time\n1,60\n2,33\n")
    assert read(file).frame["runtime_s"].to_list() == [60.0, 33.0]


def test_the_median_beside_least_and_most_is_the_run_time(tmp_path):
    text = lines("nodes,t_min_s,t_median_s,t_max_s,energy_j", "{n},1,{s},999,{j}")
    (file := tmp_path / "runs.csv").write_text(text)
    assert read(file).frame["runtime_s"].to_list() == list(SECONDS)


def test_the_energy_of_a_step_goes_with_the_time_of_one(tmp_path):
    text = lines("nodes,time per step (ms),energy per step (J),steps", "{n},{s},{j},500")
    (file := tmp_path / "runs.csv").write_text(text)
    assert read(file).frame["energy_j"].to_list() == JOULES
    text = text.replace("time per step (ms)", "wall_s")
    (file := tmp_path / "steps.csv").write_text(text)
    assert read(file).frame["energy_j"].to_list() == [500 * j for j in JOULES]
    (file := tmp_path / "whole.csv").write_text(text.replace("steps", "batches"))
    assert "energy_j" not in read(file).columns


@pytest.mark.parametrize(
    ("heading", "part"),
    [
        ("gpu_energy_J", True),
        ("pkg energy [J]", True),
        ("energy_J", False),
        ("node_energy_J", False),
    ],
)
def test_the_energy_of_a_part_is_said_to_be_of_that_part(heading, part, tmp_path):
    (file := tmp_path / "runs.csv").write_text(f"nodes,time_s,{heading}\n1,9,900\n2,5,990\n")
    jobs = read(file)
    assert jobs.frame["energy_j"].to_list() == [900, 990]
    assert any("leaves out what the rest of a node draws" in n.message for n in jobs.notes) == part


@pytest.mark.parametrize("head", ["nodes,t [s],P [W],E [kJ]", "nodes,t (s),P_W,E_kJ"])
def test_letters_of_physics_with_their_unit_are_quantities(head, tmp_path):
    (file := tmp_path / "runs.csv").write_text(f"{head}\n1,400,380,152\n2,210,760,160\n")
    jobs = read(file)
    assert jobs.frame["energy_j"].to_list() == [152_000.0, 160_000.0]
    assert jobs.frame["power_w"].to_list() == [380, 760]
    (file := tmp_path / "other.csv").write_text("nodes,wall_s,E,P\n1,400,5,7\n2,210,6,8\n")
    assert not {"energy_j", "power_w"} & set(read(file).columns)
