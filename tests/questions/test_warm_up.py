"""First runs that took longer are left out, and a setting that ran once has none to compare."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat import table
from rheostat.measurement.runs.reader import read_runs

COLD, WARM = 60.0, {1: 260.0, 2: 135.0, 4: 70.0}


def runs(cold=COLD, once=(), order=(0, 1, 2), noise=0.5):
    rows = [(n, t + noise * k + (cold if k == 0 else 0)) for n, t in WARM.items() for k in order]
    rows += [(8, t) for t in once]
    nodes, times = zip(*rows, strict=True)
    return {"nodes": nodes, "runtime_s": times, "power_w": [400.0 * n for n in nodes]}


def front(data, **options):
    knobs = "nodes=1,2,4,8" if 8 in data["nodes"] else "nodes=1,2,4"
    return rh.front(table(data), knobs=knobs, rule="weighted=runtime_s:1", **options)


def seconds(answer):
    return [round(float(s), 2) for s in answer.front.outcome.mean("runtime_s")]


def said(answer):
    return [n for n in answer.notes if "first run" in n]


def test_settings_are_compared_by_their_later_runs():
    answer = front(runs())
    assert seconds(answer) == [260.75, 135.75, 70.75]
    (note,) = said(answer)
    assert "left out the first run of each setting, 3 of 9 runs" in note


def test_a_setting_that_ran_once_ran_cold():
    answer = front(runs(once=[101.0]))
    assert answer.choice.setting == {"nodes": 4}
    assert "8 nodes ran no second time: run it again" in said(answer)[0]


@pytest.mark.parametrize(
    "data",
    [
        runs(cold=0.0),
        runs(cold=2.0),  # less than a fifth
        runs(noise=60.0),  # later runs differ as much
        runs(order=(1, 0, 2)),  # another than the first one
    ],
)
def test_other_runs_all_count(data):
    assert sum(front(data).front.repeats) == 9


def test_who_says_that_all_count_has_all(tmp_path):
    data = runs(once=[101.0])
    rows = zip(*data.values(), strict=True)
    text = "".join(f"{nodes},{seconds},{watts}\n" for nodes, seconds, watts in rows)
    (file := tmp_path / "runs.csv").write_text(f"nodes,time_s,power_w\n{text}")
    asked = {"knobs": "nodes=1,2,4,8", "rule": "weighted=runtime_s:1"}
    assert rh.front(file, **asked).front.repeats.tolist() == [2, 2, 2, 0]
    answer = rh.front(read_runs(file, columns={"censored": "=false"}), **asked)
    assert answer.front.repeats.tolist() == [3, 3, 3, 1]
    assert "counts as they do" in said(answer)[0]


def test_equal_runs_of_another_application_stay():
    data = runs()
    both = {k: [*v, *v] for k, v in data.items()}
    both["app"] = ["a"] * 9 + ["b"] * 9
    answer = front(both, where=["app=a"])
    assert seconds(answer) == [260.75, 135.75, 70.75]
