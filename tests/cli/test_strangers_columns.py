"""Columns of strangers' tables: energies that were metered, flags, other languages, pivots."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.cli import run
from rheostat.errors import DataError


@pytest.fixture
def table(tmp_path):
    def written(text, name="theirs.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


@pytest.mark.parametrize(
    ("before", "after"),
    [("meter_begin_kWh", "meter_end_kWh"), ("Start (kWh)", "End (kWh)"),
     ("energy before [kWh]", "energy after [kWh]"), ("initial_kWh", "final_kWh")],
)  # fmt: skip
def test_energy_is_the_difference_of_two_readings(table, before, after):
    rows = "150,1000,4123.40,4124.24\n200,900,4124.44,4125.33\n"
    jobs = rh.read(table(f"cap_w,time_s,{before},{after}\n{rows}"))
    assert jobs.numpy("energy_j") == pytest.approx([0.84 * 3.6e6, 0.89 * 3.6e6])
    assert "less" in str(jobs.notes)


def test_a_meter_that_went_back_tells_nothing(table):
    jobs = rh.read(table("cap_w,time_s,meter_begin_J,meter_end_J\n1,9,100,160\n2,8,160,20\n"))
    assert jobs.frame["energy_j"].to_list() == [60.0, None]


def test_measured_energy_beside_readings_stays(table):
    text = "cap_w,time_s,energy_J,meter_begin_J,meter_end_J\n1,9,50,100,160\n"
    assert rh.read(table(text)).frame["energy_j"].to_list() == [50.0]


def test_watts_of_a_package_are_watts(table):
    jobs = rh.read(table("threads,wall_s,pkg_W\n1,10,50\n2,6,70\n"))
    assert jobs.numpy("power_w").tolist() == [50, 70]


def test_watts_are_offered_as_watts_and_refused_as_joules(table):
    path = table("threads,wall_s,pkg_W,dram_W\n1,10,50,5\n2,6,70,9\n")
    with pytest.raises(
        DataError, match=r"power_w=pkg_W \(or --column power_w=pkg_W\+dram_W: their sum"
    ):
        rh.front(path, knobs="threads=1,2")
    with pytest.raises(DataError, match=r"energy_j: expected a unit of J, got pkg_W"):
        rh.read(path, options={"columns": {"energy_j": "pkg_W"}})
    both = rh.read(path, options={"columns": {"power_w": ["pkg_W", "dram_W"]}})
    assert both.numpy("power_w").tolist() == [55, 79]


def test_how_a_run_ended_may_be_its_final_state(table):
    rows = "1,2,60,completed\n2,2,60,node_fail\n"
    jobs = rh.read(table(f"job,num_nodes,duration_s,final_state\n{rows}"))
    assert jobs.cut_off.tolist() == [False, True]


@pytest.mark.parametrize(
    "heads",
    ["Soumission;Début;Fin;Nb nœuds", "Eingereicht;Beginn;Ende;Anzahl Knoten",
     "Envío;Inicio;Fin;Número de nodos", "Submissão;Início;Fim;Nº de nós"],
)  # fmt: skip
def test_a_log_in_the_languages_of_sites(table, heads):
    row = "01/10/2026 08:06:31;01/10/2026 08:29:01;01/10/2026 15:06:55;4"
    late = "17/10/2026 17:28:40;17/10/2026 18:57:52;17/10/2026 21:14:29;1"
    jobs = rh.read(table(f"{heads}\n{row}\n{late}\n"))
    assert jobs.frame["nodes"].to_list() == [4, 1]
    assert (jobs.numpy("start_s") - jobs.numpy("submit_s")).tolist() == [1350, 5352]
    assert jobs.numpy("runtime_s").tolist() == [23874, 8197]


def test_energy_alone_is_enough_where_every_setting_was_measured(table):
    path = table("quant,TTFT Mean (s),energy (kWh)\nf16,0.1,0.030\nq8,0.2,0.018\nq4,0.1,0.020\n")
    answer = rh.front(
        path, knobs="quant=f16,q8,q4", objectives="energy_j", rule="weighted=energy_j:1"
    )
    assert answer.choice.setting == {"quant": "q8"}
    partly = rh.front(path, knobs="quant=f16,q8,q2", objectives="energy_j")
    assert partly.choice.setting == {"quant": "q8"}  # q2 is a forecast
    with pytest.raises(DataError, match="no row of this log has a run time") as refused:
        rh.front(path, knobs="quant=f16,q8,q2")
    assert "TTFT" not in str(refused.value)


def test_a_pivot_table_wants_a_row_per_run(table):
    path = table("Runtime (s),1 node,2 nodes,4 nodes\nalpha,800,420,230\nbeta,1500,790,430\n")
    wanted = r"a row per run, and the settings \(1 node, 2 nodes, 4 nodes\) in a column"
    with pytest.raises(DataError, match=wanted):
        rh.read(path)


def test_a_flag_that_goes_with_the_time_is_said(table, capsys):
    """Two of five runs at 16 threads were throttled."""
    took = {8: [19.7, 19.8, 19.6, 19.7, 19.8], 16: [15.8, 15.9, 25.4, 25.5, 15.8]}
    rows = [f"{n},{s},100,{'yes' if s > 25 else 'no'}" for n, own in took.items() for s in own]
    path = table("\n".join(["threads,wall_s,watts,throttled", *rows, ""]))
    assert run(["front", str(path), "--knob", "threads=8,16", "--rule", "deadline=21s"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "throttled is of two kinds, no and yes, on which runs take 1.61 times as long" in said
    assert "--where throttled=no leaves the others out" in said
    assert run(["front", str(path), "--knob", "threads=8,16", "--where", "throttled=no"]) == 0
    assert "two kinds" not in capsys.readouterr().err


def test_steps_of_a_job_in_a_drawn_table_are_no_jobs(table):
    """The step's energy is the job's once more."""
    rows = "| 7 | 2000 | 60 | 4 |\n| 7.batch | 500 | 60 | 1 |\n| 7.0 | 1990 | 59 | 4 |\n"
    head = "| JobID | ConsumedEnergyRaw | ElapsedRaw | NNodes |\n|---|---|---|---|\n"
    jobs = rh.read(table(head + rows + "| 8 | 900 | 30 | 1 |\n", "jobs.md"))
    assert jobs.frame["energy_j"].to_list() == [2000, 900]
    assert "a step of a job that has a row of its own: no job" in str(jobs.notes)


def test_energy_that_is_too_much_for_joules_is_doubted(table):
    """NVML counts millijoules: 16,020 over .35 s would be 46 kW."""
    path = table("Graphics,Energy,Time\n1590,19250,0.31\n1305,16020,0.35\n1005,14110,0.43\n")
    assert "name the column by its unit in the first line: energy_mJ" in str(rh.read(path).notes)
    said = table("Graphics,energy_J,Time\n1590,19250,0.31\n1305,16020,0.35\n", "said.csv")
    assert "is 4.57e+04 W" not in str(rh.read(said).notes)


def test_logs_of_batsim_and_of_supermuc(table):
    head = "job_id,submission_time,requested_time,final_state,starting_time,execution_time"
    ran = "1,10,100,COMPLETED_SUCCESSFULLY,10,60\n2,20,50,COMPLETED_WALLTIME_REACHED,70,50\n"
    jobs = rh.read(table(f"{head}\n{ran}"))
    assert jobs.cut_off.tolist() == [False, True]
    assert jobs.numpy("start_s").tolist() == [10, 70]
    lrz = rh.read(table("Number of Utilized Nodes|Wall time (s)|EtS (kWh)\n16|7200|6.08\n"))
    assert (lrz.frame["nodes"][0], lrz.frame["energy_j"][0]) == (16, pytest.approx(6.08 * 3.6e6))


def test_a_frequency_in_per_cent_is_none_in_hertz(table):
    jobs = rh.read(table("region,runtime (s),frequency (%),frequency (Hz)\na,9,100,2.1e9\n"))
    assert jobs.frame["frequency_hz"][0] == 2.1e9
    alone = rh.read(table("region,runtime (s),frequency (%)\na,9,100\n", "alone.csv"))
    assert "frequency_hz" not in alone.columns


def test_a_table_of_hyperfine_is_read_in_seconds(table):
    head = "command,mean,stddev,median,user,system,min,max,parameter_threads"
    rows = "./a 1,10.2,0.1,10.1,10,0.1,10,10.4,1\n./a 2,5.4,0.1,5.3,10.4,0.1,5.3,5.6,2\n"
    jobs = rh.read(table(f"{head}\n{rows}"))
    assert jobs.numpy("runtime_s").tolist() == [10.2, 5.4]
    assert jobs.frame["threads"].to_list() == [1, 2]


def test_times_of_the_shell_and_of_training(table):
    rows = "1 3m12.4s 3m11.0s 0.8s 14200\n2 1m40.1s 3m12.2s 1.0s 9100\n"
    jobs = rh.read(table(f"nprocs real user sys joules\n{rows}", "times.txt"))
    assert jobs.numpy("runtime_s") == pytest.approx([192.4, 100.1])
    trained = rh.read(table("batch_size,train_time,energy_J\n32,3200,790000\n"))
    assert trained.frame["runtime_s"].to_list() == [3200]


def test_a_table_under_a_number_sign_is_none_of_perf(table):
    rows = "16,120.5,1.0,100,1.21\n32,63.0,1.91,95.6,1.27\n"
    jobs = rh.read(table(f"# cores,Wall time (min),Speedup,Efficiency (%),Energy (kWh)\n{rows}"))
    assert jobs.frame["cores"].to_list() == [16, 32]
    assert jobs.numpy("runtime_s").tolist() == [7230, 3780]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes,core_hours,energy_kWh\n1,3.55,.42\n2,3.73,.44\n", "write how many there were"),
        ("nodes,time_s,J/step\n1,400,15\n2,210,16\n", "write how many each run did in a column"),
        ("batch,power_limit_w,time_s\n1,200,40\n2,250,21\n", "try --objectives runtime_s"),
    ],
)
def test_what_cannot_be_meant_is_not_proposed(table, text, said, capsys):
    knob = text.partition(",")[0]
    assert run(["front", str(table(text)), "--knob", knob]) == 1
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert said in refusal
    assert "is it" not in refusal


def test_speed_and_energy_of_an_image_are_proposed_together(table, capsys):
    file = str(table("batch,throughput img/s,J/img\n32,800,.4\n64,1100,.33\n"))
    assert run(["front", file, "--knob", "batch"]) == 1
    typed = ["--column", "runtime_s=1/throughput img/s", "--column", "energy_j=energy_per_img_J"]
    assert typed[-1] in capsys.readouterr().err
    assert run(["front", file, "--knob", "batch", *typed]) == 0
