"""Rows that are no runs: samples within runs, states of devices; parts that are not the whole."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.decision.coschedule.queue_files import read_profiles
from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read


def sampled(first: float = 0.0, step: float = 5.0, count: int = 8) -> str:
    rows = [
        f"{run},{nodes},{first + step * k},{0.3 * nodes}"
        for run, nodes in (("r1", 1), ("r2", 2))
        for k in range(count // nodes)
    ] + [f"r3,4,{first + step * k},1.2" for k in range(6)]
    return "\n".join(["run,nodes,elapsed_s,power_kW", *rows]) + "\n"


def test_samples_with_a_clock_from_0_in_each_run_are_one_run_each(tmp_path):
    (file := tmp_path / "log.csv").write_text(sampled(count=20))
    jobs = read(file)
    assert jobs.frame.select("nodes", "runtime_s").rows() == [(1, 95.0), (2, 45.0), (4, 25.0)]
    assert jobs.frame["energy_j"].to_list() == pytest.approx([95 * 300, 45 * 600, 25 * 1200])
    assert any(n.message.startswith("samples of 3 runs") for n in jobs.notes)


@pytest.mark.parametrize("text", [
    sampled(first=5.0, count=12),  # a sweep of something may grow by like steps, but not from 0
    "app,size,time_s\n" + "".join(f"{a},{k},{5 * k}\n" for a in "ab" for k in range(6)),
], ids=["not from 0", "a setting that differs"])  # fmt: skip
def test_times_that_grow_with_a_setting_or_not_from_0_are_runs(tmp_path, text):
    (file := tmp_path / "runs.csv").write_text(text)
    of_no_time = text.count(",0,0\n")  # left out with a note, as no measurements
    assert len(read(file)) == text.count("\n") - 1 - of_no_time


COUNTED = "timestamp;outlet;host;energy_kWh;state\n" + "".join(
    f"2026-09-21T14:{m:02d}:00Z;1;gn01;{1893 + m / 40:.4f};{{}}\n" for m in range(20)
)


def test_a_state_of_an_outlet_makes_no_runs_of_its_readings(tmp_path):
    (file := tmp_path / "pdu.csv").write_text(COUNTED.replace("{}", "on"))
    assert guess_format(file) == "power-samples"
    assert read(file).frame["energy_j"].to_list() == pytest.approx([19 / 40 * 3.6e6])
    file.write_text(COUNTED.replace("{}", "COMPLETED"))
    assert guess_format(file) == "runs"


PARTS = "app,gpus,runtime_s,watts_per_gpu\nbert,1,1500,310\nbert,2,800,300\nbert,4,430,287.5\n"


def test_watts_of_one_gpu_are_taken_times_their_number_and_not_for_the_whole(tmp_path):
    (file := tmp_path / "modes.csv").write_text(PARTS)
    assert read(file).frame["power_w"].to_list() == [310.0, 600.0, 1150.0]
    assert read_profiles(file)["bert"][-1].power_w == 1150.0
    for taken in (read, read_profiles):
        asked = {"columns": {"power_w": "watts_per_gpu"}}
        with pytest.raises(
            DataError, match="--column power_per_gpu_w=watts_per_gpu takes it times"
        ):
            taken(file, **({"options": asked} if taken is read else asked))
    named = {"power_per_gpu_w": "watts_per_gpu"}
    assert read(file, options={"columns": named}).frame["power_w"].to_list()[2] == 1150.0
    whole = {"power_w": "watts_per_gpu*1"}
    assert read(file, options={"columns": whole}).frame["power_w"].to_list()[2] == 287.5
    assert read_profiles(file, columns=whole)["bert"][-1].power_w == 287.5


ENDS = "| nodes | wall | mean power | result |\n|--:|--:|--:|---|\n" + "".join(
    f"| {n} | {m}m | {w} kW | {end} |\n"
    for n, m, w, end in ((1, 422, 0.58, "done"), (2, 234, 1.04, "done (warm)"),
                         (4, 138, 1.96, "done"), (8, 11, 6.9, "FAILED (OOM on rank 31)"))
)  # fmt: skip


def test_a_remark_behind_the_word_for_an_end_is_no_other_word(tmp_path):
    (file := tmp_path / "runs.md").write_text(ENDS)
    assert read(file).frame["censored"].to_list() == [False, False, False, True]
    answer = rh.front(file, knobs="nodes=1,2,4,8", rule="deadline=10h")
    assert answer.choice.setting != {"nodes": 8}


def test_an_amount_left_as_text_is_not_proposed_as_a_column(tmp_path):
    (file := tmp_path / "runs.csv").write_text(
        'gpus,time_s,Energy (kJ)\n1,90,"7,524"\n2,50,"6,247"\n'
    )
    with pytest.raises(DataError, match=r"holds text, '7,524': write decimals with a point"):
        rh.front(file, knobs="gpus=1,2", objectives="runtime_s,energy_j")
