"""Cells that are speeds become times of one piece of work; nothing else does."""

from __future__ import annotations

import polars as pl
import pytest

from rheostat.core.vocabulary import table
from rheostat.measurement.speeds import seconds_of_pieces, timed_by_speed
from rheostat.measurement.training_runs.own_names import read_training


@pytest.mark.parametrize(
    ("cell", "seconds", "piece"),
    [("27.97it/s", 1 / 27.97, "iteration"), ("1.37s/it", 1.37, "iteration"),
     ("1,250.5 img/s", 1 / 1250.5, "sample"), ("80 ms/step", 0.08, "iteration"),
     ("3 runs per min", 20.0, "run")],
)  # fmt: skip
def test_a_speed_and_a_pace_are_one_time(cell, seconds, piece) -> None:
    values, what = seconds_of_pieces(pl.Series([cell, "OOM", None]))
    assert values.to_list() == [pytest.approx(seconds), None, None]
    assert what == piece


@pytest.mark.parametrize(
    "cells", [["4it/s", "5"], ["4it/s", "3 img/s"], ["12 MB/s"], ["0 it/s"], ["OOM"], ["1.2.3it/s"]]
)
def test_other_cells_are_left_as_they_are(cells) -> None:
    assert seconds_of_pieces(pl.Series(cells)) is None
    runs = table({"speed": cells})
    assert timed_by_speed(runs) is runs


def test_a_time_that_is_there_goes_before_a_speed() -> None:
    runs = table({"runtime_s": [3.0], "speed": ["4it/s"]})
    assert timed_by_speed(runs) is runs


def test_steps_as_tqdm_prints_them(tmp_path) -> None:
    """Iterations are steps; images need the batch."""
    rows = "ResNet18,V100,32,{}\nResNet50,V100,16,{}\nVGG16,T4,8,OOM\n"
    for cells, times in ((("8it/s", "1.25s/it"), [0.125, 1.25, None]),
                         (("64 img/s", "8 img/s"), [0.5, 2.0, None])):  # fmt: skip
        file = tmp_path / "runs.csv"
        file.write_text("Network,GPU,Batch size,Speed\n" + rows.format(*cells))
        runs = read_training(file)
        assert runs.frame["runtime_s"].to_list() == times
        assert any("from Speed" in n.message or "= Speed" in n.message for n in runs.notes)
