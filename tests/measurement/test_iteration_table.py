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


def test_what_holds_no_times_is_told_what_would_be_read(tmp_path):
    path = tmp_path / "notes.log"
    path.write_text("step 1 done\nstep 2 done\n")
    with pytest.raises(DataError, match="lines such as step_time_ms=41"):
        read_network_run(path)
