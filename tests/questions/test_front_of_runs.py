"""A table of runs of which one knob was never turned: nothing is said of its other values."""

from __future__ import annotations

import numpy as np

import rheostat as rh

ROWS = {"app": ["x"] * 3, "nodes": [64, 64, 64], "cap_w": [100, 140, 180],
        "runtime_s": [900.0, 800.0, 780.0], "power_w": [20e3, 25e3, 30e3]}  # fmt: skip


def test_one_value_of_a_knob_tells_nothing_of_others() -> None:
    answer = rh.front(rh.table(ROWS), knobs=["nodes=32,64", "cap_w=100,120,140,180"])
    runtime_s = answer.front.mean("runtime_s").reshape(2, 4)
    assert np.isnan(runtime_s[0]).all()
    assert runtime_s[1, [0, 2, 3]].tolist() == ROWS["runtime_s"]
    assert 780.0 < runtime_s[1, 1] < 900.0
    assert answer.choice.setting["nodes"] == 64
    assert any("all runs have nodes = 64" in text for text in answer.notes)


def test_other_applications_tell_where_they_were_run() -> None:
    """With runs at 32 nodes by anyone there is something to learn from."""
    more = {k: [*v, *v] for k, v in ROWS.items()}
    more |= {"app": ["x"] * 3 + ["y"] * 3, "nodes": [64] * 3 + [32, 64, 64]}
    answer = rh.front(rh.table(more), where=["app=x"], knobs=["nodes=32,64", "cap_w=100,140,180"])
    assert np.isfinite(answer.front.mean("runtime_s")).all()
