"""Steps at the edges: defaults of a row, few networks left out, what a sheet's interval holds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rheostat import table
from rheostat.core.graph import Graph
from rheostat.core.outcome import Outcome
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.architectures import training_step
from rheostat.prediction.step_cost import StepCost, stacking
from rheostat.prediction.step_cost.device_law import DEPARTURE, MEAN, NAMES, DeviceLaw, Work
from rheostat.prediction.step_cost.next_runs import next_runs
from rheostat.prediction.step_cost.rows import TrainingRows
from rheostat.prediction.step_cost.several_devices import ring_all_reduce_s
from rheostat.prediction.step_cost.sheet_forecast import (
    NORMAL_90,
    SHEET,
    TABLES,
    forecast_step,
)
from rheostat.prediction.step_cost.stacking import TreesOnCosts, left_out, with_trees
from rheostat.prediction.step_cost.step_memory import step_memory
from rheostat.prediction.step_cost.terms import TERMS, cost_terms
from rheostat.prediction.step_cost.transfer import COORDINATES, Known
from tests.prediction.test_step_cost_parts import joint
from tests.prediction.test_step_memory import graph as of_rows

BYTES = np.array(["_b" in t for t in TERMS])


def row(**columns):
    asked = {"app": "LeNet5", "device": "A", "batch_size": 16}
    return TrainingRows.of(table({k: [v] for k, v in (asked | columns).items()}))


# ---------------------------------------------------------------- rows of a table


@pytest.mark.parametrize("stated", [
    {"image_px": 224}, {"classes": 1000}, {"optimizer": "sgd"}, {"gpus": 1},
    {"precision_bits": 32}, {"device": "A 32 bit"}, {"gpus": 0},
])  # fmt: skip
def test_what_a_row_does_not_say_is_the_usual(stated):
    plain, said = row(), row(**stated)
    assert said.device.tolist() == ["A"]
    assert said.terms.tolist() == plain.terms.tolist()


def test_a_number_of_half_the_bits_moves_half_the_bytes():
    plain, half = row(), row(precision_bits=16)
    assert half.device.tolist() == ["A 16 bit"]
    assert half.terms[:, BYTES] == pytest.approx(plain.terms[:, BYTES] / 2)
    assert half.terms[:, ~BYTES].tolist() == plain.terms[:, ~BYTES].tolist()


def test_devices_share_the_batch_and_the_largest_share_counts():
    shared = cost_terms(training_step("LeNet5", 224, 6, 1000, optimizer="sgd"), 3)
    assert row(gpus=3).terms[0] == pytest.approx(shared)
    assert row(gpus=3).batch.tolist() == [16.0]


# ---------------------------------------------------------------- parts and what is left out


def test_trees_are_a_part_from_fifty_runs_where_their_library_is(monkeypatch):
    monkeypatch.setattr(stacking, "find_spec", lambda _: object())
    assert [with_trees(n) for n in (0, 49, 50, 51)] == [False, False, True, True]
    monkeypatch.setattr(stacking, "find_spec", lambda _: None)
    assert not with_trees(1000)


@pytest.mark.parametrize("trees", [False, True])
def test_of_fewer_than_four_networks_the_additive_model_answers_for_others(trees):
    gp = joint(loadings=np.ones(3))
    networks = left_out(gp, gp.known.app + 1, 3.0, 0, trees=trees)
    assert networks.weights.tolist() == [[0.0, 1.0, 0.0][: 2 + trees]] * gp.law.devices
    error, spread = gp.scores(gp.known.app + 1)
    assert networks.error == pytest.approx(error)
    assert networks.spread == pytest.approx(spread)
    less = gp.refitted(np.arange(9) < 3)
    runs = left_out(less, np.arange(3), 3.0, 0, trees=trees)
    assert runs.weights[:, 0].tolist() == [1.0] * gp.law.devices
    assert runs.weights[:, 1:].max() == 0.0


def test_of_four_networks_the_parts_are_weighed_by_their_errors(monkeypatch):
    gp = joint(loadings=np.ones(3))
    chosen = np.tile([0.25, 0.75], (gp.law.devices + 1, 1))
    monkeypatch.setattr(stacking, "chosen_weights", lambda *_: chosen)
    made = left_out(gp, np.arange(9) % 4, 3.0, 0, trees=False)
    assert made.weights is chosen
    less = gp.refitted(np.arange(9) % 4 != 0)
    asked = gp.known.of(np.arange(9) % 4 == 0)
    asked = asked._replace(app=np.where(np.isin(asked.app, less.app), asked.app, -1))
    said = 0.25 * less.predict(asked)[0] + 0.75 * less.law.predict(asked.terms, asked.device)
    assert made.error[::4] == pytest.approx(gp.log_y[::4] - said)
    assert made.spread[::4] == pytest.approx(less.predict(asked)[1])


def test_a_model_that_is_given_graphs_knows_them_and_stays_itself():
    graph, model = training_step("LeNet5", 32, 8, 10), StepCost()
    assert model.knowing({"mine": graph}) is model
    assert model.terms["mine"].tolist() == cost_terms(graph).tolist()


def test_trees_see_devices_networks_and_logarithms_of_the_smallest_costs():
    pytest.importorskip("xgboost", reason="extra trees")
    rng = np.random.default_rng(0)
    known = Known(rng.uniform(1e-9, 1e-6, (6, len(TERMS))), np.array([0, 0, 1, 1, 3, 3]),
                  np.array([2, 2, 2, 5, 5, 5]), np.full(6, 8.0))  # fmt: skip
    made = TreesOnCosts().fit(known, rng.normal(size=6))._matrix(known)
    assert made[:, :3].tolist() == (known.device[:, None] == [0, 1, 3]).astype(float).tolist()
    assert made[:, 3:5].tolist() == (known.app[:, None] == [2, 5]).astype(float).tolist()
    places = [TERMS.index(c) for c in COORDINATES]
    assert made[:, 5:-1] == pytest.approx(np.log(known.terms[:, places]), abs=2e-3)
    assert made[:, -1] == pytest.approx(np.log(8.0))


def test_runs_that_go_against_what_is_wanted_tell_as_much():
    c = np.array([[1.0, -0.9, 0.5], [-0.9, 1.0, -0.4], [0.5, -0.4, 1.0]])
    wanted, may = np.array([True, False, False]), np.array([False, True, True])
    chosen, error = next_runs(c, wanted, 0.0, 1, may)
    assert chosen == [1]
    assert error == pytest.approx([1.0, np.sqrt(1 - 0.81)])


# ---------------------------------------------------------------- memory and sheets


def test_what_is_made_of_no_operands_is_held_until_it_was_read():
    rows = [
        ("random", "other", [100], "f32", 9, 1, False, []),
        ("random", "other", [50], "f32", 9, 1, False, []),
        ("add", "elementwise", [10], "f32", 9, 1, False, [0, 1]),
        ("weight", "other", [7], "f32", 9, 1, False, [2]),  # a weight that is made is a value
    ]
    found = step_memory(of_rows(rows))
    assert (found.data_b, found.activations_b) == (0.0, 640.0)


def test_a_result_that_is_taken_apart_is_no_memory_of_its_own():
    rows = [
        ("input", "parameter_constant", [5], "f32", 0, 1, False, []),
        ("split", "other", [800], "f32", 9, 1, False, [0]),
        ("getitem", "data_movement", [100], "f32", 0, 1, False, [1]),
    ]
    assert step_memory(of_rows(rows)).activations_b == 400.0


@pytest.mark.parametrize(("place", "operation"), [
    (0, (0, 1e18, 1.0, 1.0)), (1, (-1, 0.0, 1e15, 1.0)), (2, (-1, 0.0, 0.0, 1.0)),
    (3, (1, 1e18, 1.0, 1.0)),
])  # fmt: skip
def test_a_departure_of_a_device_makes_its_part_longer(place, operation):
    kind, *rest = np.array([operation], dtype=float).T
    work, sheet = Work(kind.astype(np.int64), *rest), replace(accelerator("A100"), power_w=np.inf)
    away = 0.3 * (np.arange(len(DEPARTURE)) == place)
    n = len(NAMES) + len(DEPARTURE)
    law = DeviceLaw(np.concatenate([MEAN, away]), 1e-6 * np.eye(n), ("mine",))
    slower, plain = law.predict(work, sheet, "mine")[0], DeviceLaw.prior().predict(work, sheet)[0]
    assert slower - plain == pytest.approx(0.3, abs=1e-3)


def test_the_interval_of_a_step_is_nine_tenths_and_what_is_exchanged_is_half_as_sure():
    graph = training_step("resnet18", 64, 8)
    one, eight = (forecast_step(graph, "V100", "sgd", gpus=n) for n in (1, 8))
    middle, low, high = np.log(one.runtime_s)
    spread = (high - middle) / NORMAL_90
    assert middle - low == pytest.approx(high - middle)
    exchange = ring_all_reduce_s(one.memory.parameters_b, 8, accelerator("V100"))
    share = exchange / (one.runtime_s[0] + exchange)
    both = np.log(eight.runtime_s)
    assert (both[2] - both[1]) / 2 / NORMAL_90 == pytest.approx(
        np.hypot((1 - share) * spread, share * 0.5))  # fmt: skip
    assert forecast_step(graph, "T4", "sgd").grade == TABLES
    assert eight.grade == SHEET
    peak = one.memory.peak_b
    assert one.memory_b == pytest.approx((peak, 0.9 * peak, 1.2 * peak + 0.5e9))


def test_operations_that_nobody_timed_widen_the_interval_by_their_share_of_the_traffic():
    plain = training_step("LeNet5", 32, 8, 10)
    times = plain.numpy("bytes") * plain.numpy("times")
    heavy = np.arange(len(plain)) == int(times.argmax())
    opcode = np.where(heavy, "recurrent", plain.nodes["opcode"].to_numpy())
    odd = Graph(plain.name, plain.nodes.with_columns(opcode=opcode), plain.edges)
    said = [np.log(forecast_step(g, "T4").runtime_s) for g in (plain, odd)]
    spread = [(s[2] - s[1]) / 2 / NORMAL_90 for s in said]
    share = times[heavy].sum() / times.sum()
    assert spread[1] == pytest.approx(np.hypot(spread[0], 0.5 * share), rel=1e-6)


@pytest.mark.parametrize(("memory_b", "fits"), [
    ((5.0, 4.0, 10.0), "yes"), ((10.0, 9.0, 10.1), "likely"), ((10.1, 10.0, 12.0), "unlikely"),
    ((12.0, 10.1, 14.0), "no"),
])  # fmt: skip
def test_a_step_fits_where_the_high_end_does_and_not_where_the_low_end_does_not(memory_b, fits):
    middle, low, high = memory_b
    drawn = Outcome({"memory_peak_b": np.array([low] * 10 + [middle] + [high] * 10)[:, None]})
    made = replace(forecast_step(training_step("LeNet5", 32, 8, 10), "T4"), outcome=drawn,
                   sheet=SimpleNamespace(memory_b=10.0))  # fmt: skip
    assert made.fits == fits
