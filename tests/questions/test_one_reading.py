"""What only one reading is possible of is taken and said; where several are, each is answered."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.measurement.serving.runs import read_serving


@pytest.fixture
def written(tmp_path):
    def write(text: str):
        (file := tmp_path / "runs.csv").write_text(text)
        return file

    return write


def test_settings_of_programs_are_turned_without_being_named_and_labels_are_not(written):
    """A tracker's days and names of runs were asked for as knobs beside batch and GPUs."""
    rows = [f"owl-{b}{g},2026-10-{b + g:02},{b},{g},{90 / b / g},{200 * g}"
            for b in (1, 2, 4) for g in (1, 2)]  # fmt: skip
    text = "\n".join(["Name,Created,batch_size,gpus,runtime_s,power_w", *rows]) + "\n"
    answer = rh.front(written(text))
    assert answer.choice.setting.keys() == {"batch_size", "gpus"}


def test_a_conditional_knob_is_none_where_it_does_not_apply(written):
    """Runs without a value were left out, and forecasts made of settings that cannot be run."""
    rows = "no,,100,300\nyes,1,80,300\nyes,2,60,300\nyes,4,75,300\n"
    answer = rh.front(written("offload,queue_depth,time_s,power_w\n" + rows))
    settings = [answer.front.setting(i) for i in range(len(answer.front))]
    assert [s["queue_depth"] for s in settings] == ["none", "1", "2", "4"]
    assert answer.choice.setting == {"offload": "yes", "queue_depth": "2"}
    assert any("queue_depth does not apply at offload no" in n for n in answer.notes)


@pytest.mark.parametrize("heading", ["mesh_cells", "code"])
def test_each_problem_is_answered_with_what_to_type(written, heading):
    """Of two mesh sizes the mean was taken; of two codes a job was asked for."""
    law = {"10": 100, "20": 4000}
    rows = [f"{k},{n},{20 + work / n + n},{500 * n}" for k, work in law.items() for n in (2, 8, 32)]
    file = written("\n".join([f"{heading},nodes,time_s,power_w", *rows]) + "\n")
    own = {k: rh.front(file, where=[f"{heading}={k}"]).choice.setting["nodes"] for k in law}
    with pytest.raises(DataError) as told:
        rh.front(file)
    for k, nodes in own.items():
        assert f"--where {heading}={k}: {nodes} node" in str(told.value)


@pytest.mark.parametrize(("heading", "counts", "watts", "whole"), [
    ("gpu_power_w", (1, 2, 8), (480, 470, 440), (480, 940, 3520)),
    ("GPU power (kW)", (1, 2, 8), (0.48, 0.47, 0.44), (480, 940, 3520)),
    ("gpu_power_w", (1, 2, 8), (300, 560, 1900), (300, 560, 1900)),
    ("power_w", (1, 2), (300, 310), (300, 310)),  # too few to tell
])  # fmt: skip
def test_watts_that_do_not_grow_with_gpus_are_of_one(written, heading, counts, watts, whole):
    """480 W beside one GPU and 440 W beside eight counted as those of all eight."""
    rows = [f"{n},{900 / n},{w}" for n, w in zip(counts, watts, strict=True)]
    jobs = read(written("\n".join([f"gpus,runtime_s,{heading}", *rows]) + "\n"))
    if heading == "power_w":
        jobs = read(written("\n".join(["nodes,runtime_s,power_w", *rows]) + "\n"))
    assert jobs.frame["power_w"].to_list() == pytest.approx(whole)


def test_watts_of_a_serving_table_are_told_by_their_size_or_growth(written):
    """It was asked of a table in which only one of the two is possible."""
    head = "model,gpu,num_gpus,max_num_seqs,itl_ms,power_w\n"
    for watts, of in (((610, 1180), 1), ((590, 560), 2)):
        rows = [f"Qwen3-32B,H100,{g},64,{20 / g},{w}" for g, w in zip((1, 2), watts, strict=True)]
        jobs = read(written(head + "\n".join(rows) + "\n"))
        assert jobs.frame["power_w"].to_list() == [watts[0], watts[1] * of]
        assert any("power_w is taken to be of" in n.message for n in jobs.notes)
    with pytest.raises(DataError, match="power_w: W of one GPU or of the deployment"):
        read(written(head + "Qwen3-32B,H100,2,64,20,600\n"))


def test_prices_of_a_serving_table_are_taken(written):
    """Cost asked for prices that stood in a column; those of a deployment grow with its GPUs."""
    head = "model,gpu,num_gpus,max_num_seqs,itl_ms,tokens_per_s,total_power_w,price_usd_per_hour\n"
    rows = "".join(f"Qwen3-32B,H100,{g},64,{20 / g},{3200 * g},{600 * g},{{}}\n" for g in (1, 2))
    for prices in ((3, 6), (3, 3)):
        answer = rh.llm.plan(written(head + rows.format(*prices)), minimise="cost", itl="30ms")
        assert answer.front.mean("cost_per_mtoken")[0] == pytest.approx(3 / 3600 / 3200 * 1e6)
        assert any("--gpu-price H100=3" in n for n in answer.notes)


def test_next_turns_what_was_turned_where_no_knob_is_named(written):
    """It asked for nodes of a table that has none."""
    rows = "a,200,9,90\nb,200,8,120\na,300,7,130\n"
    answer = rh.next_settings(written("policy,cap_w,time_s,power_w\n" + rows), method="sobol")
    assert answer.settings == ({"policy": "b", "cap_w": 300},)


def test_steps_in_a_second_are_no_seconds(written):
    """``timesteps/s`` counted as a time in s, so that the slowest setting was taken."""
    rows = "64,720,330\n32,510,260\n16,400,215\n"
    answer = rh.front(written("MPI ranks,timesteps/s,Average node power (W)\n" + rows),
                      rule="slowdown=1")  # fmt: skip
    assert answer.choice.setting == {"MPI ranks": 64}
    assert read(written("ranks,time/s,power_w\n1,9,300\n2,5,310\n")).frame["runtime_s"][0] == 9


@pytest.mark.parametrize("heading", ["it/s", "step_time_s"])
def test_steps_of_other_batches_are_answered_for_each(written, heading):
    """A step of the smallest batch is the fastest, and does the least."""
    rows = "".join(f"{g},{b},{g * 8 / b if heading == 'it/s' else b / g},{300 * g}\n"
                   for g in (1, 4) for b in (16, 64))  # fmt: skip
    with pytest.raises(DataError, match=r"--where batch_size=16: 4 GPUs.*--where batch_size=64: 4"):
        rh.front(written(f"gpus,batch_size,{heading},power_w\n" + rows))


def test_an_epoch_in_minutes_is_no_minimum(written):
    """``min`` at its end was taken for a least one, so that no run time was found."""
    jobs = read(written("workers,epoch_time_min,avg_gpu_power_w\n1,5,300\n2,3,300\n"))
    assert jobs.frame["runtime_s"].to_list() == [300.0, 180.0]


def test_cases_side_by_side_or_below_each_other_are_answered_for_each(written):
    """The first was asked for, of the second a mean was taken."""
    times = {"base": {1: 90, 8: 40}, "tuned": {1: 80, 8: 79}}
    wide = "nodes,base time (s),base energy (kJ),tuned time (s),tuned energy (kJ)\n" + "".join(
        f"{n},{times['base'][n]},{n * 9},{times['tuned'][n]},{n * 9}\n" for n in (1, 8)
    )
    long = "\n".join(
        "\n".join(
            [case, "nodes,time (s),energy (kJ)", *(f"{n},{t},{n * 9}" for n, t in own.items())]
        )
        for case, own in times.items()
    )
    for text in (wide, long + "\n"):
        with pytest.raises(DataError) as told:
            rh.front(written(text), rule="slowdown=1.1")
        assert "--where case=base: 8 nodes" in str(told.value)
        assert "--where case=tuned: 1 node" in str(told.value)
    parts = read(written("nodes,cpu time (s),gpu time (s),time (s),power_w\n1,9,8,17,300\n"))
    assert parts.frame["runtime_s"].to_list() == [17.0]


def test_gpus_counted_in_cells_of_another_heading_are_found(written):
    """A column ``setup`` of 2xA100 was no type of GPU."""
    rows = "".join(f"Qwen3-32B,{g}xA100,64,{20 / g},{600 * g}\n" for g in (1, 2))
    jobs = read_serving(written("model,setup,concurrency,itl_ms,total_power_w\n" + rows))
    assert jobs.frame.select("gpu_model", "gpus").rows() == [("A100", 1.0), ("A100", 2.0)]


def test_lines_of_a_clock_a_sensor_and_watts_are_samples(written):
    """``ipmitool`` behind a clock was a file without headings."""
    lines = [f"2026-10-12 10:0{m}:00 n{k} Pwr Consumption | 0x77 | ok | {400 + 100 * k} Watts"
             for m in range(6) for k in (1, 2)]  # fmt: skip
    jobs = read(written("\n".join(lines) + "\n"))
    assert jobs.frame["energy_j"].to_list() == pytest.approx([150_000, 180_000])
