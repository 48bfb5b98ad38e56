"""Settings that did other work than each other are said to, before one is taken."""

from __future__ import annotations

import polars as pl

import rheostat as rh


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


def test_steps_of_unlike_batches_are_said_not_to_compare(tmp_path):
    rows = {
        "batch_size": [16, 64, 256],
        "step_time_ms": [46.0, 109.0, 380.0],
        "power_w": [200.0] * 3,
    }
    asked = {"knobs": "batch_size=16,64,256"}
    assert any("does more work" in str(n) for n in front(tmp_path, rows, **asked).notes)
    rows = {**rows, "epoch_time_s": [400.0, 300.0, 280.0]}
    del rows["step_time_ms"]
    assert not any("does more work" in str(n) for n in front(tmp_path, rows, **asked).notes)


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
