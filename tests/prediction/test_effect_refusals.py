"""Forecasts at other settings that nobody is given, by the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.prediction.effects import WithinApplication, plausible
from rheostat.prediction.effects.plausible import backwards, beyond, disagreeing, least_watts


def test_the_least_watts_are_per_unit_of_each_parallel_knob():
    frame = pl.DataFrame({"nodes": [1, 2, 4], "clock": [1.0, 2.0, 3.0], "gpus": [8, 4, 8]})
    watts = np.array([[300.0], [500.0], [2000.0]])
    found = least_watts(frame, ("nodes", "clock", "gpus"), watts)
    assert found == {"nodes": pytest.approx(250.0), "gpus": pytest.approx(37.5)}
    assert least_watts(frame, ("nodes",), np.empty((3, 0))) == {}
    gap = np.array([[np.nan], [500.0], [2000.0]])
    assert least_watts(frame, ("nodes",), gap) == {"nodes": pytest.approx(250.0)}


def test_times_within_the_square_of_the_nodes_are_possible_and_near_the_request_too():
    more, share = np.array([1.5, 1.5, 0.9, 1.0]), np.array([[0.6, 0.44, 0.64, 0.3]])
    assert backwards(np.log(share), more).tolist() == [False, True, True, False]


def test_two_forms_disagree_where_their_nine_tenths_have_nothing_in_common():
    draws = np.arange(101.0)[:, None]  # from 5 to 95
    for away, apart in ((90.0, False), (90.1, True), (-90.0, False), (-90.1, True)):
        assert disagreeing(draws, draws + away).tolist() == [apart]
    assert disagreeing(draws, 100.5 + 0.1 * draws).tolist() == [True]
    assert disagreeing(draws, 94.0 + 0.1 * draws).tolist() == [False]


def test_a_knob_that_no_job_of_the_trial_turned_is_left_to_the_log():
    ends = np.array([[0.0, -1.0], [0.0, 0.5]])
    turned = np.array([[9.0, 0.5], [9.0, 0.51], [-9.0, -1.01], [0.0, -1.0], [0.0, 0.0]])
    assert beyond(turned, ends).tolist() == [False, True, True, False, False]


@pytest.fixture(scope="module")
def refusing():
    """A model whose forecasts are set below, two applications, least watts of a node 100."""
    n = np.tile([1, 2, 4, 8], 10)
    log = table({"app": np.repeat(["a", "b"], 20), "submit_s": np.arange(40.0), "nodes": n,
                 "runtime_s": 80.0 / n, "power_w": 100.0 * n})  # fmt: skip
    model = WithinApplication(("nodes",), n_draws=4).fit(log)
    model.placebo_ = np.array([0.0, -0.2, 0.0])
    model.identified_ = np.array([True, False, True])
    model.turned_to_ = np.zeros((2, 1))
    return model


def set_moved(model, moved):
    """``moved(name, app, away, begin)`` in place of what columns make of each quantity."""
    for name, fitted in model.fitted_.items():
        object.__setattr__(fitted, "moved", partial(moved, name))


def refused(model, by, change, *, moved=0.0, watts=100.0, **columns):
    """Reasons by row; ``change`` of log runtime and power, by row, with its draws of 0.1."""
    asked = {"nothing": {}, "size": {"sizes": ("m",)}, "trial": {"turned": 10}}[by]
    model.identification_ = replace(model.identification_, turned=0, repeats=0, sizes=(), **{})
    model.identification_ = replace(model.identification_, **asked)
    draws = np.array([-0.1, -0.05, 0.05, 0.1])[:, None]
    model._change = lambda target, rows, home: draws + np.array(change[target])
    set_moved(model, lambda name, app, away, begin=0: np.zeros((4, len(app))) + np.array(moved))
    frame = pl.DataFrame({"app": ["a"] * len(columns["nodes"]), **columns})
    coded = model.coding_.rows(frame)
    values = {"runtime_s": np.ones((4, len(frame))),
              "power_w": np.zeros((4, len(frame))) + np.array(watts)}  # fmt: skip
    found = model._not_believed(frame, coded, coded, values)
    return {reason: np.flatnonzero(wrong).tolist() for reason, wrong in found.items()}


def test_of_several_parallel_knobs_the_first_alone_counts_idle_watts():
    n = np.tile([1, 2, 4, 8], 10)
    log = table({"app": ["a"] * 40, "nodes": n, "gpus": 4 * n[::-1], "runtime_s": 80.0 / n,
                 "power_w": 100.0 * n})  # fmt: skip
    model = WithinApplication(("nodes", "gpus"), n_draws=4).fit(log)
    assert model.least_w_["gpus"] < model.least_w_["nodes"] == pytest.approx(100.0)
    frame = pl.DataFrame({"app": ["a"], "nodes": [2], "gpus": [4000]})
    coded = model.coding_.rows(frame)
    found = model._not_believed(frame, coded, coded, {"power_w": np.full((4, 1), 200.0)})
    assert not found[plausible.IMPOSSIBLE].any()


NONE = {reason: [] for reason in plausible.REASONS}


def test_fewer_watts_than_idle_nodes_draw_are_impossible_whoever_chose(refusing):
    change = {"runtime_s": [0.0] * 3, "power_w": [0.0] * 3}
    for by in ("nothing", "trial", "size"):
        found = refused(refusing, by, change, watts=[80.0, 79.0, 320.1], nodes=[1, 1, 4])
        assert found == NONE | {plausible.IMPOSSIBLE: [1]}


def test_times_against_physics_are_impossible_unless_chance_chose(refusing):
    """Half of the nodes in a third of the time, four times in less than a sixteenth."""
    change = {"runtime_s": np.log([1 / 3, 0.9, 1 / 20, 1 / 10, 1 / 3, 1 / 3]),
              "power_w": np.zeros(6)}  # fmt: skip
    asked = [4, 4, 2, 2, None, 2]
    nodes = {"nodes": [2, 2, 8, 8, 2, 2], "nodes_requested": asked, "watts": 800.0}
    assert refused(refusing, "nothing", change, **nodes)[plausible.IMPOSSIBLE] == [0, 2]
    for by in ("trial", "size"):
        found = refused(refusing, by, change, **nodes)[plausible.IMPOSSIBLE]
        assert found == ([0, 2] if by == "size" else [])
    del nodes["nodes_requested"]
    assert refused(refusing, "nothing", change, **nodes)[plausible.IMPOSSIBLE] == []


@pytest.mark.parametrize("target", ["runtime_s", "power_w"])
def test_where_a_size_tells_two_forms_of_either_quantity_must_agree(refusing, target):
    change = {"runtime_s": np.zeros(3), "power_w": np.zeros(3)}
    nodes = {"nodes": [2, 2, 2], "watts": [800.0, 800.0, 1.0]}
    only = {target: [0.0, 0.5, 0.5]}
    draws = np.array([-0.1, -0.05, 0.05, 0.1])[:, None]

    def moved(name, app, away, begin=0):
        assert begin == refusing.fitted_[name].weights.weights.shape[2] - away.shape[1]
        return np.zeros((4, 3)) + np.array(only.get(name, 0.0))

    refused(refusing, "size", change, **nodes)
    refusing._change = lambda *_: draws + np.zeros(3)
    set_moved(refusing, moved)
    frame = pl.DataFrame({"app": ["a"] * 3, "nodes": nodes["nodes"]})
    coded = refusing.coding_.rows(frame)
    values = {"runtime_s": np.ones((4, 3)), "power_w": np.ones((4, 1)) * nodes["watts"]}
    found = refusing._not_believed(frame, coded, coded, values)
    assert found[plausible.DISAGREE].tolist() == [False, True, False]  # the third is impossible
    assert found[plausible.IMPOSSIBLE].tolist() == [False, False, True]
    model = refused(refusing, "trial", change, moved=[0.0, 0.5, 0.5], **nodes)
    assert model[plausible.DISAGREE] == []


def test_an_application_that_tells_the_run_before_or_nothing_is_left_as_it_is(refusing):
    """A placebo of -0.2 moves a change of 2^0.4 by more than 5 %, and one of 2^0.3 by less."""
    change = {"runtime_s": np.zeros(4), "power_w": np.zeros(4)}
    app, near = ["b", "b", "a", "b"], [2.0, 2.0, 2.0, 2.0]
    frame = {"nodes": [2 * 2**0.4, 2 * 2**0.3, 2 * 2**0.4, 2.0], "nodes_requested": near}
    found = refused(refusing, "trial", change, watts=800.0, **frame, app=app)
    assert found == NONE | {plausible.BEFORE: [0], plausible.UNTOLD: [0, 1]}
    found = refused(refusing, "trial", change, watts=1.0, **frame, app=app)
    assert found[plausible.BEFORE] == []
    assert found[plausible.IMPOSSIBLE] == [0, 1, 2, 3]
    refusing.turned_to_ = np.array([[-0.1], [0.25]])
    try:
        found = refused(refusing, "trial", change, watts=800.0, **frame, app=app)
    finally:
        refusing.turned_to_ = np.zeros((2, 1))
    assert found[plausible.BEYOND] == [0, 2]
