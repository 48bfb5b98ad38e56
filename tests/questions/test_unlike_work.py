"""Settings that did other work than each other are said to, before one is taken."""

from __future__ import annotations

import polars as pl
import pytest

import rheostat as rh
from rheostat.errors import DataError, QuestionError


def front(folder, rows, **asked):
    path = folder / "runs.csv"
    pl.DataFrame(rows).write_csv(path)
    return rh.front(path, **asked)


def test_a_benchmark_of_fixed_time_is_said_to_be_one_and_rates_compare_it(tmp_path):
    rows = {
        "threads": [1, 2, 4, 8],
        "duration_s": [60.0, 60.02, 59.99, 60.0],
        "transactions": [1000, 1990, 3900, 7000],
        "avg_power_w": [100.0, 110.0, 130.0, 170.0],
    }
    asked = {"knobs": "threads=1,2,4,8", "rule": "weighted=energy_j:1"}
    fixed = front(tmp_path, rows, **asked)
    assert any("every setting ran for 60 s" in str(n) for n in fixed.notes)
    rate = front(tmp_path, rows, renamed=["runtime_s=1/transactions"], **asked)
    assert rate.choice.setting["threads"] == 8  # 170 / 7000 J of a transaction is the least
    assert not any("every setting ran" in str(n) for n in rate.notes)


def test_steps_of_unlike_batches_are_refused_and_compare_by_the_sample(tmp_path):
    rows = {
        "batch_size": [16, 64, 256],
        "step_time_ms": [46.0, 109.0, 380.0],
        "power_w": [200.0] * 3,
    }
    asked = {"knobs": "batch_size=16,64,256"}
    with pytest.raises(QuestionError, match=r"--column runtime_s=step_time_ms/batch_size comp"):
        front(tmp_path, rows, **asked)
    by_work = front(tmp_path, rows, renamed=["runtime_s=step_time_ms/batch_size"], **asked)
    assert by_work.choice.setting == {"batch_size": 256}
    took = by_work.front.mean("runtime_s"), by_work.front.mean("energy_j")
    assert took[0] == pytest.approx([0.046 / 16, 0.109 / 64, 0.38 / 256])
    assert took[1] == pytest.approx(200 * took[0])
    assert any("the time of one of batch_size" in str(n) for n in by_work.notes)
    rows = {**rows, "epoch_time_s": [400.0, 300.0, 280.0]}
    del rows["step_time_ms"]
    assert front(tmp_path, rows, **asked).choice.setting == {"batch_size": 256}


def test_where_joules_are_of_a_step_both_are_to_be_divided(tmp_path):
    rows = {"batch": [8, 32], "iter_ms": [20.0, 60.0], "energy_mJ_per_iter": [4000.0, 9000.0]}
    renamed = ["energy_j=energy_mJ_per_iter*1e-3"]
    with pytest.raises(QuestionError) as stop:
        front(tmp_path, rows, knobs="batch=8,32", renamed=renamed)
    assert "--column energy_j=energy_mJ_per_iter/batch" in str(stop.value)


def test_a_quotient_of_a_column_that_is_not_there_is_named(tmp_path):
    rows = {"batch": [8, 32], "iter_ms": [20.0, 60.0], "power_w": [200.0, 210.0]}
    with pytest.raises(DataError, match="mapped column iter_ms/btch is missing"):
        front(tmp_path, rows, knobs="batch=8,32", renamed=["runtime_s=iter_ms/btch"])


def test_strong_and_weak_scaling_of_one_file_are_told_apart():
    """Runs of a setting that lie 1 to 8 times apart by a word were one line, 'count as repeats'."""
    rows = [(n, kind, 800 / n if kind == "strong" else 800.0)
            for n in (1, 2, 4, 8) for kind in ("strong", "weak")]  # fmt: skip
    nodes, scaling, took = map(list, zip(*rows, strict=True))
    runs = rh.table({"nodes": nodes, "scaling": scaling, "runtime_s": took})
    notes = rh.front(runs, knobs="nodes=1,2,4,8", objectives="runtime_s").notes
    (said,) = [str(n) for n in notes if "scaling=weak" in str(n)]
    assert "is 1 to 8 times that with scaling=strong in the same 4" in said
    assert "--knob scaling=strong,weak compares them" in said
