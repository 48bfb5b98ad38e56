"""A table of runs of which one knob was never turned: nothing is said of its other values."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rheostat as rh
from rheostat.errors import DataError, Infeasible, QuestionError

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


def test_where_nobody_names_a_knob_what_the_machine_turned_is_asked() -> None:
    """A table of caps was refused for want of nodes; of constant nodes, 1 to 256 were asked."""
    answer = rh.front(rh.table(ROWS))
    assert answer.choice.setting.keys() == {"cap_w"}
    assert answer.front.mean("runtime_s").tolist() == ROWS["runtime_s"]
    assert any("turned, as no knob was named: --knob cap_w=100,140,180" in n for n in answer.notes)


def test_what_may_be_another_amount_of_work_is_never_turned_unasked() -> None:
    """The smallest problem would be the fastest setting."""
    sized = {**{k: v for k, v in ROWS.items() if k != "nodes"}, "cells": [1e6, 2e6, 4e6]}
    known = [rh.Column("cells", "", rh.Moment.SUBMIT, "")]
    with pytest.raises(DataError, match="turned here: --knob cap_w=100,140,180"):
        rh.front(rh.table({k: [*v, *v] for k, v in sized.items()}, known))


def test_a_knob_is_found_by_its_words(tmp_path) -> None:
    """Capitals, spaces and hyphens do not make another column, and its unit stays the file's."""
    path = tmp_path / "runs.csv"
    path.write_text("Clock-Speed,Elapsed Time (s),Power (W)\n900 MHz,20,90\n1300 MHz,15,120\n")
    answer = rh.front(path, knobs="clock_speed=900,1300")
    assert answer.front.mean("runtime_s").tolist() == [20.0, 15.0]


@pytest.mark.parametrize("knob", ["memory_clock_mhz=810,1593,2619",
                                  "Memory_clock_hz=810MHz,1593MHz,2619MHz"])  # fmt: skip
def test_what_is_named_as_a_knob_is_a_setting_though_it_is_called_like_a_reading(knob, tmp_path):
    """The hint's own name was refused as known after a run where a setting had not been run."""
    path = tmp_path / "runs.csv"
    rows = [f"{clock},{9 - clock / 500},{50 + clock / 20}" for clock in (810, 810, 2619, 2619)]
    path.write_text("\n".join(["Memory clock [MHz],Runtime [s],Power [W]", *rows]) + "\n")
    answer = rh.front(path, knobs=knob)
    assert answer.front.mean("runtime_s")[[0, 2]].tolist() == pytest.approx([7.38, 3.762])


def two_knobs(at):
    """A law of nodes and ranks per node, with energy and no power."""
    nodes, ranks = np.array(at).T
    runtime_s = 60.0 + 9000.0 / (nodes * ranks**0.8) + 3.0 * nodes
    energy_j = runtime_s * nodes * (150.0 + 4.0 * ranks)
    return {"app": ["fem"] * len(at), "nodes": nodes, "ranks_per_node": ranks,
            "runtime_s": runtime_s, "energy_j": energy_j}  # fmt: skip


def test_energy_without_power_teaches_the_law_as_power_does_and_next_says_the_same() -> None:
    """It was left to trees, which gave several settings one value, 7-fold wide."""
    knobs = ["nodes=1,2,4,8", "ranks_per_node=8,16,32,64"]
    runs = rh.table(
        two_knobs([(1, 64), (2, 8), (2, 16), (2, 32), (4, 32), (4, 64), (8, 8)]),
        [rh.Column("ranks_per_node", "", rh.Moment.SUBMIT, "")],
    )
    options = rh.front(runs, knobs=knobs).front
    low, high = options.interval("runtime_s")
    place = options.alternatives.frame.rows(named=True)
    (at,) = (i for i, s in enumerate(place) if (s["nodes"], s["ranks_per_node"]) == (2, 64))
    assert low[at] <= two_knobs([(2, 64)])["runtime_s"][0] <= high[at] < 1.5 * low[at]
    asked = rh.next_settings(runs, knobs=knobs)
    for setting, (_, least, most) in zip(asked.settings, asked.expected["runtime_s"], strict=True):
        (at,) = (i for i, s in enumerate(place) if all(s[k] == setting[k] for k in setting))
        assert least <= high[at]
        assert low[at] <= most


def test_gaps_between_settings_with_names_are_filled() -> None:
    runs = {"app": ["x"] * 5, "compiler": ["gcc", "gcc", "icx", "icx", "gcc"],
            "threads": [1, 2, 1, 4, 4], "runtime_s": [90.0, 50.0, 80.0, 26.0, 30.0],
            "power_w": [100.0, 120.0, 100.0, 160.0, 160.0]}  # fmt: skip
    named = rh.table(runs, [rh.Column("compiler", "", rh.Moment.SUBMIT, "")])
    answer = rh.front(named, knobs=["compiler=gcc,icx", "threads=1,2,4"])
    assert np.isfinite(answer.front.mean("runtime_s")).all()


def test_caps_without_a_column_of_applications_says_what_to_type(tmp_path):
    file = tmp_path / "caps.csv"
    file.write_text("Szoftver,gpu_cap_w,runtime_s,energy_j\na,120,9,900\na,240,5,999\n")
    with pytest.raises(DataError, match="--column app=Szoftver"):
        rh.caps(file, "a")


def test_prior_runs_with_energy_alone_are_learned_from():
    rows = {"nodes": [1, 2, 4, 8] * 2, "runtime_s": [80.0, 42, 24, 16, 120, 62, 33, 20],
            "energy_j": [8e3, 8.4e3, 9.6e3, 1.3e4, 1.2e4, 1.25e4, 1.3e4, 1.6e4]}  # fmt: skip
    prior = rh.table({"app": ["x"] * 4 + ["y"] * 4, **rows})
    own = rh.table({"app": ["z", "z"], "nodes": [1, 8], "runtime_s": [100.0, 19],
                    "energy_j": [1e4, 1.5e4]})  # fmt: skip
    answer = rh.next_settings(own, knobs="nodes=1,2,4,8", prior=prior, rule="weighted=energy_j:1")
    assert not any("not used" in note.message for note in answer.notes)


def test_a_rate_in_place_of_a_time_is_named_with_what_to_type() -> None:
    runs = rh.table({"NB": [96, 128], "GFLOP/s": [800.0, 900.0], "power_w": [300.0, 310.0]})
    with pytest.raises(DataError, match="--column runtime_s=1/GFLOP/s"):
        rh.front(runs, knobs=["NB=96,128"])


def test_settings_without_a_measured_value_that_nothing_forecasts_are_left_out_by_name() -> None:
    runs = {"nodes": [1, 1, 2], "cap_w": [100, 200, 100], "runtime_s": [9.0, 8.0, 5.0],
            "rmse": [1e-3, 1e-3, 2e-3]}  # fmt: skip
    answer = rh.front(rh.table(runs, [rh.Column("rmse", "", rh.Moment.END, "")]),
                      knobs=["nodes=1,2", "cap_w=100,200"], objectives="runtime_s,rmse",
                      rule="weighted=runtime_s:1,rmse:1")  # fmt: skip
    assert len(answer.front.alternatives) == 3
    assert any("rmse: measured alone" in text and "1 of 4" in text for text in answer.notes)


def test_a_setting_that_holds_a_limit_in_the_mean_alone_is_named() -> None:
    runs = rh.table({"nodes": [4, 8, 8, 8, 16], "runtime_s": [520.0, 280.0, 301.0, 304.0, 185.0],
                     "energy_j": [700e3, 800e3, 801e3, 802e3, 950e3]})  # fmt: skip
    answer = rh.front(runs, knobs="nodes=4,8,16", rule="deadline=300s")
    assert answer.choice.setting == {"nodes": 16}
    (said,) = [str(n) for n in answer.notes if "left out" in str(n)]
    assert "8 nodes is left out: in the mean runtime at most 5m 0s, but not in 2 of its 3" in said


@pytest.mark.parametrize("objectives", ["runtime_s", "runtime_s,energy_j", "node_hours"])
def test_a_table_without_run_times_asks_for_them(objectives):
    """Energy alone was a KeyError; it still answers what needs no time."""
    runs = rh.table({"batch_size": [1, 2, 4], "nodes": [1, 1, 1], "energy_j": [10.0, 14.0, 25.0]})
    with pytest.raises(rh.errors.DataError, match=r"has a run time.*--column runtime_s=THEIRS"):
        rh.front(runs, knobs="batch_size=1,2,4", objectives=objectives)
    least = rh.front(runs, knobs="batch_size=1,2,4", objectives="energy_j")
    assert least.choice.setting == {"batch_size": 1}


def test_a_rate_beside_power_is_named_by_decide():
    """The power was there; what lacks is a time."""
    runs = rh.table({"app": ["a"] * 3, "cap_w": [200, 250, 300], "power_w": [190.0, 240.0, 280.0],
                     "samples_per_sec": [90.0, 100.0, 105.0]})  # fmt: skip
    with pytest.raises(rh.errors.DataError, match="runtime_s=1/samples_per_sec"):
        rh.decide(runs, knobs="cap_w=200,250,300")


UNITS = "# of Accelerators,Model,Result,Units,Power (W)\n" + "".join(
    f"{n},resnet50,{900 * n},Samples/s,{300 * n}\n{n},llama2,{80 * n},Tokens/s,{320 * n}\n"
    for n in (1, 2, 4)
)


@pytest.mark.parametrize(("unit", "watts"), [("Samples/s", 300), ("Tokens/s", 320)])
def test_results_in_several_units_are_told_apart_and_their_rate_is_proposed(tmp_path, unit, watts):
    (file := tmp_path / "results.csv").write_text(UNITS)
    asked = {"knobs": "gpus", "where": [f"Units={unit}"]}
    with pytest.raises(DataError, match=re.escape(f"--column 'runtime_s=1/Result [{unit}]'")):
        rh.front(file, **asked)
    answer = rh.front(file, renamed=[f"runtime_s=1/Result [{unit}]"], **asked)
    joules = answer.front.mean("energy_j")
    per_s = 900 if unit == "Samples/s" else 80
    assert joules == pytest.approx([watts / per_s] * 3)


def test_steps_of_a_knob_are_the_values_that_a_table_has(tmp_path):
    ghz = (1.4, 1.7, 2.0, 2.3, 2.6)
    text = "freq_GHz,wall_s,energy_j\n" + "".join(f"{f},{9 / f},{60 + 9 * f}\n" for f in ghz)
    (file := tmp_path / "runs.csv").write_text(text)
    answer = rh.front(file, knobs="freq_GHz=1.4..2.6/0.3")
    assert answer.front.measured.all()


def test_how_many_runs_a_mean_is_of_is_no_knob(tmp_path):
    rows = "1,90,500,5\n2,50,520,5\n4,30,600,5\n8,20,900,1\n"
    (file := tmp_path / "runs.csv").write_text(f"gpus,runtime_s,energy_j,n_runs\n{rows}")
    assert rh.front(file).choice.setting.keys() == {"gpus"}


def test_settings_beyond_those_that_ran_are_for_next():
    runs = rh.table({"nodes": [1, 2, 4], "runtime_s": [900.0, 480.0, 280.0],
                     "power_w": [400.0, 800.0, 1600.0]})  # fmt: skip
    named = [any("`rheostat next` forecasts" in n for n in rh.front(runs, knobs=k).notes)
             for k in ("nodes=1,2,4", "nodes=1,2,4,64")]  # fmt: skip
    assert named == [False, True]


def test_what_did_not_run_may_hold_a_limit_that_nothing_measured_does(tmp_path):
    runs = rh.table({"nodes": [2, 4, 8], "runtime_s": [800.0, 420.0, 230.0], "power_w": [9e2] * 3})
    with pytest.raises(Infeasible) as stop:
        rh.front(runs, knobs="nodes=2,4,8,16,32", rule="deadline=150s")
    assert "no setting that was measured meets runtime at most" in str(stop.value)
    assert "16 nodes, 32 nodes may: `rheostat next`" in str(stop.value)
    with pytest.raises(Infeasible, match=r"^no setting meets runtime at most"):
        rh.front(runs, knobs="nodes=2,4,8", rule="deadline=150s")


def test_a_refusal_of_two_machines_names_all_that_each_ran():
    rows = [(p, cap, t) for p, caps, t in (("new", (150, 200), 90.0), ("old", (100, 150), 130.0))
            for cap in caps for _ in range(4)]  # fmt: skip
    part, caps, took = map(list, zip(*rows, strict=True))
    noise = [t * (1 + i % 3 / 500) for i, t in enumerate(took)]
    runs = rh.table({"partition": part, "cap_w": caps, "runtime_s": noise, "power_w": [300.0] * 16})
    with pytest.raises(QuestionError) as stop:
        rh.front(runs, knobs="cap_w=100,150,200")
    assert "partition=new (has 150, 200)" in str(stop.value)
    assert "partition=old (has 100, 150)" in str(stop.value)
