"""A table of iterations as a spreadsheet of another country writes it."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.network.folder import read_network_run
from rheostat.measurement.network.iteration_table import read_iteration_table
from rheostat.measurement.tables import read_table


def test_commas_that_are_decimal_are_read_and_said(tmp_path):
    path = tmp_path / "iterations.csv"
    path.write_text("step;iteration_time_us\n0;500,21\n1;500,43\n")
    frame, notes = read_iteration_table(path)
    assert frame["time_s"].to_list() == pytest.approx([0.0, 500.21e-6, 1000.64e-6])
    assert [n.message for n in notes] == ["commas read as decimal ones: iteration_time_us"]
    with pytest.raises(DataError, match="commas read as decimal"):
        read_table(path)  # who takes no notes refuses what it would not say


@pytest.mark.parametrize(("text", "time_s"), [
    ("Step,Step Time (ms)\n0,2\n1,3\n", [0.0, 0.002, 0.005]),
    ("iteration,Duration [s]\n0,0.2\n1,0.3\n", [0.0, 0.2, 0.5]),
    ("Iteration Time (us),rank\n5,0\n6,0\n", [0.0, 5e-6, 11e-6]),
    ("timestamp,loss\n2026-11-28T08:00:00.25,1\n2026-11-28T08:00:01.75,1\n", [0.0, 1.5]),
    ("time\n2026-11-28 08:00:00\n2026-11-28 08:00:02\n", [0.0, 2.0]),
])  # fmt: skip
def test_headings_say_their_units_and_instants_count_from_the_first(tmp_path, text, time_s):
    path = tmp_path / "iterations.csv"
    path.write_text(text)
    frame, notes = read_iteration_table(path)
    assert frame["time_s"].to_list() == pytest.approx(time_s)
    assert [n.message.split(",")[0].split(": ")[1] for n in notes] == ["instants"] * (
        "2026" in text)  # fmt: skip


def test_a_heading_without_a_unit_is_told_how_to_say_one(tmp_path):
    path = tmp_path / "iterations.csv"
    path.write_text("step_time\n2\n3\n")
    with pytest.raises(DataError, match="step_time says no unit") as refused:
        read_iteration_table(path)
    assert "sed '1s/step_time/step_time_ms/'" in str(refused.value)


@pytest.mark.parametrize("line", [
    "step={} loss=2.5 lr=1e-3 step_time_ms={}", "[rank 0] INFO: step={} loss=2.5 step_time={}ms",
])  # fmt: skip
def test_logs_of_training_in_names_and_values_are_read_without_a_table(tmp_path, line):
    path = tmp_path / "train.log"
    path.write_text("".join(line.format(i, t) + "\n" for i, t in enumerate([20, 30, 25]))
                    + "saved a checkpoint\n")  # fmt: skip
    run = read_network_run(path)
    ended = run.finished["time_s"].to_list()
    assert ended == pytest.approx([0.0, 0.02, 0.05, 0.075])
    assert "lines without names and values left out: 1" in [n.message for n in run.notes]


MEGATRON = (
    " [2026-11-20 10:00:02] iteration {:8d}/  500000 | consumed samples: 1024 | elapsed time per "
    "iteration (ms): {} | learning rate: 1E-05 | number of skipped iterations:   0 |"
)


@pytest.mark.parametrize(("line", "scale"), [
    (MEGATRON, 1e-3), ("iter {}: loss 10.9, time {}ms, mfu 38.10%", 1e-3),
    ("step {:5d}/18865 | loss 11.0 | norm 15.3 | lr 4.2e-07 | {} ms | 45.3% bf16 MFU", 1e-3),
    ("step {:05d}/21400 (0.05%) | loss: 5.1 | dt: {}ms | tok/sec: 1,496 | total time: 9.1m", 1e-3),
    ("steps: {} loss: 2.3 iter time (s): {} samples/sec: 12.3", 1.0),
    ("[11/20 08:00:01 d2.utils.events]:  eta: 0:10:00  iter: {}  total_loss: 2.3  time: {}  "
     "last_time: 0.3  data_time: 0.01  lr: 1e-3", 1.0),
    ("Epoch: [0][ {}/500]\tTime  {} ( 0.310)\tData  0.01 ( 0.02)\tLoss 6.9 (6.9)", 1.0),
])  # fmt: skip
@pytest.mark.parametrize("apart", [1, 10])
def test_lines_of_frameworks_say_how_long_iterations_took(tmp_path, line, scale, apart):
    path = tmp_path / "train.log"
    path.write_text("tokens per iteration will be: 491,520\n" + "".join(
        "step 2: train loss 9.1\n" * (i == 2) + line.format(apart * i, 20.5 + i) + "\n"
        for i in range(1, 6)))  # fmt: skip
    run = read_network_run(path)
    took = run.iteration_s("job-0")
    assert took.tolist() == pytest.approx([scale * (20.5 + i) for i in range(1, 6)])
    said = "a line for every 10 iterations: one iteration here is such a line"
    assert [n.message for n in run.notes] == [said] * (apart == 10)
    assert run.first_iteration("job-0") == (1 if apart == 1 else 0)


@pytest.mark.parametrize("text", [
    "iter 1: loss 2.5\niter 2: loss 2.5\niter 3: loss 2.4\niter 4: loss 2.2\n",
    "iter 3: total time: 5s\niter 4: total time: 6s\niter 5: total time: 7s\niter 6: 1\n",
    "started in 3 ms\nthe time 5 ms\nand time 4 ms\n",
])  # fmt: skip
def test_lines_that_time_no_iteration_are_no_log(tmp_path, text):
    path = tmp_path / "train.log"
    path.write_text(text)
    with pytest.raises(DataError, match="expected a folder of a simulated run"):
        read_network_run(path)


@pytest.mark.parametrize(("first", "said"), [(40.0, 1), (2.5, 0)])
def test_a_first_iteration_that_still_compiled_is_not_learned_from(tmp_path, first, said):
    path = tmp_path / "times.csv"
    path.write_text("runtime_s\n" + "".join(f"{t}\n" for t in [first, 1.0] + [1.0, 1.1] * 6))
    run = read_network_run(path)
    assert sum("the first iteration took over 3 times" in n.message for n in run.notes) == said
    took = [2.5] * (not said) + [1.0] + [1.0, 1.1] * 6
    assert run.iteration_s("job-0").tolist() == pytest.approx(took)
    assert run.first_iteration("job-0") == said


def test_what_holds_no_times_is_told_what_would_be_read(tmp_path):
    path = tmp_path / "notes.log"
    path.write_text("step 1 done\nstep 2 done\n")
    with pytest.raises(DataError, match="lines such as step_time_ms=41 or iter 3"):
        read_network_run(path)
