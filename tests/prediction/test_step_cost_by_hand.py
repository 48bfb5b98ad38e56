"""Small cases of the cost of a step, written out: shares of noise, bits, searches, folds."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rheostat import table
from rheostat.core.graph import op_graph
from rheostat.prediction.step_cost import StepCost, predictor, transfer
from rheostat.prediction.step_cost.device_law import _noise
from rheostat.prediction.step_cost.rows import TrainingRows
from rheostat.prediction.step_cost.sheet_forecast import (
    TF32,
    forecast_step,
    unknown_operations,
    unknown_share,
)
from rheostat.prediction.step_cost.stacking import chosen_weights, folds
from rheostat.prediction.step_cost.step_memory import step_memory
from rheostat.prediction.step_cost.transfer import COORDINATES, TransferGP
from rheostat.prediction.step_cost.unlike import KINDS
from tests.prediction.test_device_law import work
from tests.prediction.test_step_cost_parts import joint
from tests.prediction.test_step_memory import graph

# ---------------------------------------------------------------- a device's law


@pytest.mark.parametrize(("share", "operations"), [
    (0.25, [(0, 3.0, 9.0, 1.0), (1, 0.5, 9.0, 2.0)]),
    (0.5, [(4, 2.0, 9.0, 2.0), (5, 4.0, 9.0, 1.0)]),
    (0.0, [(0, 3.0, 9.0, 1.0), (-1, 50.0, 9.0, 1.0)]), (1.0, [(1, 3.0, 9.0, 1.0)]),
    (0.0, [(-1, 50.0, 9.0, 1.0)]),
])  # fmt: skip
def test_a_run_is_less_sure_by_the_share_of_convolutions_in_its_products(share, operations):
    assert _noise(0.1, work(*operations)) == pytest.approx(np.hypot(0.1, 0.3 * share))


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize(("dtype", "bits"), [
    ("pred", 8), ("opaque", 0), ("tuple", 0), ("token", 0), ("bf16", 16), ("c64", 64),
    ("c128", 128), ("f32", 32), ("f8e4m3fn", 8), ("s64", 64), ("unknown", 0),
])  # fmt: skip
def test_a_number_takes_the_bits_of_its_type(dtype, bits):
    rows = [("input", "parameter_constant", [5], "f32", 0, 1, False, []),
            ("add", "elementwise", [80], dtype, 9, 1, False, [0])]  # fmt: skip
    assert step_memory(graph(rows)).activations_b == 80 * bits / 8


def test_libraries_hold_550_megabytes_and_adamw_two_numbers():
    found = step_memory(graph([("weight", "parameter_constant", [10], "f32", 0, 1, False, [])]),
                        "adamw")  # fmt: skip
    assert found.workspace_b == pytest.approx(0.55e9)
    assert (found.parameters_b, found.optimizer_b) == (40.0, 80.0)


# ---------------------------------------------------------------- sheets


def test_what_no_rule_knows_is_named_once_and_shares_the_traffic():
    names = ("opcode", "op_class", "flops", "bytes", "times")
    rows = [("magic", "other", np.nan, 30.0, 2.0), ("magic", "other", np.nan, 0.0, 1.0),
            ("add", "elementwise", 1.0, 40.0, 1.0), ("curse", "other", np.nan, np.nan, 1.0),
            ("recurrent-cell", "other", 1.0, 100.0, 1.0)]  # fmt: skip
    nodes = {n: [r[i] for r in rows] for i, n in enumerate(names)}
    nodes |= {"shape": [[1]] * 5, "fused": [False] * 5, "transcendentals": [0.0] * 5,
              "dtype": ["f32"] * 5}  # fmt: skip
    made = op_graph("mine", nodes, np.zeros((2, 0), dtype=np.int64))
    assert unknown_operations(made) == ["curse", "magic"]
    assert unknown_share(made) == pytest.approx(160.0 / 200.0)
    idle = op_graph("mine", nodes | {"bytes": [0.0] * 5}, np.zeros((2, 0), dtype=np.int64))
    assert unknown_share(idle) == 0.0


def test_frameworks_round_other_classes_and_the_framework_is_torch_unless_named():
    assert [set(TF32[f]) for f in ("torch", "jax", "onnx", "graph")] == [
        {"convolution"}, *[{"convolution", "matmul"}] * 3]  # fmt: skip
    rows = [("input", "parameter_constant", [5], "f32", 0, 1, False, []),
            ("dot", "matmul", [10], "f32", 1e3, 1, False, [0])]  # fmt: skip
    big = graph(rows, flops=[0.0, 1e15])
    plain, torch, jax = (forecast_step(big, "A100", **how).runtime_s[0]
                         for how in ({}, {"framework": "torch"}, {"framework": "jax"}))  # fmt: skip
    assert plain == torch > 2 * jax


# ---------------------------------------------------------------- the search of the Gaussian


def test_the_search_begins_where_it_stands_within_bounds_with_some_of_the_runs(monkeypatch):
    """Noise 0.02 to 0.5, scale 1/8 to 8, lengths 0.3 to 300 from a hundred runs on."""
    asked_for = []

    def minimize(function, start, *, jac, bounds, method, options):
        asked_for.append((start, np.array(bounds), options, len(function.__self__.log_y)))
        return SimpleNamespace(x=start + 0.1)

    monkeypatch.setattr(transfer, "minimize", minimize)
    gp = joint(loadings=np.ones(3))
    many = np.arange(301) % 9
    wide = replace(gp, **{c: getattr(gp, c)[many] for c in transfer.RUNS}, noise=0.9, scale=0.01)
    made = wide._likeliest(0, 0.0)
    ((start, bounds, options, used),) = asked_for
    assert (used, options) == (300, {"maxiter": 30})
    assert np.exp(start) == pytest.approx([0.5, 0.125, *gp.lengths])
    assert np.exp(bounds[:3]) == pytest.approx(np.array([[0.02, 0.5], [0.125, 8.0], [0.3, 300.0]]))
    assert made.noise == pytest.approx(0.5 * np.exp(0.1))
    assert made.scale == pytest.approx(0.125 * np.exp(0.1))
    assert made.lengths == pytest.approx(gp.lengths * np.exp(0.1))
    assert len(made.log_y) == 301
    wide._likeliest(0, 0.3)
    assert np.exp(asked_for[-1][1][0]) == pytest.approx([0.3, 0.6])
    for count, free in ((99, [3.0, 3.0]), (100, [0.3, 300.0])):
        rows = np.arange(count) % 9
        replace(gp, **{c: getattr(gp, c)[rows] for c in transfer.RUNS})._likeliest(0, 0.0)
        assert np.exp(asked_for[-1][1][2]) == pytest.approx(free)
        assert asked_for[-1][3] == count


def test_a_run_far_from_the_others_is_doubted_by_student_s_weights(monkeypatch):
    """(4 + z^2) / 5 of the noise variance, from a hundred runs on."""
    monkeypatch.setattr(TransferGP, "_likeliest", lambda self, seed, least: self)
    gp = joint(loadings=np.ones(3))
    assert gp.chosen(0) is gp
    monkeypatch.setattr(transfer, "FEW", 9)
    error, spread = gp.scores(np.arange(9))
    assert gp.chosen(0).doubt == pytest.approx((4.0 + (error / spread) ** 2) / 5.0)


def test_before_anything_is_chosen_lengths_are_three_and_no_run_is_doubted():
    gp = joint()
    plain = TransferGP.of(gp.law, gp.known, gp.log_y)
    assert plain.lengths.tolist() == [3.0] * (len(COORDINATES) + 1)
    assert plain.doubt.tolist() == [1.0] * 9
    assert (plain.noise, plain.scale, plain.loadings) == (0.1, 1.0, None)


def test_a_refit_starts_from_the_law_and_keeps_the_likeliest_loading(monkeypatch):
    gp, seen = joint(), []
    monkeypatch.setattr(transfer, "fit_additive",
                        lambda *given: seen.append(given) or gp.law)  # fmt: skip
    rows = np.arange(9) < 6
    less = gp.refitted(rows)
    terms, log_y, device, devices, start = seen[0]
    assert (terms.tolist(), log_y.tolist()) == (gp.terms[:6].tolist(), gp.log_y[:6].tolist())
    assert (device.tolist(), devices) == (gp.device[:6].tolist(), 3)
    assert start is gp.law.parameters
    best = max(gp._posteriors, key=lambda p: p.weight)
    assert less.loadings is best.loadings
    assert (less.doubt.tolist(), less.app.tolist()) == (gp.doubt[:6].tolist(), gp.app[:6].tolist())


# ---------------------------------------------------------------- parts of the answer


def test_folds_are_five_shuffled_parts_of_the_groups():
    groups = np.array([7, 7, 1, 2, 3, 4, 5, 6, 0, 0])
    parts = folds(groups, 3)
    assert [len(set(groups[f].tolist())) for f in parts] == [2, 2, 2, 1, 1]
    assert np.sum(parts, axis=0).tolist() == [1] * 10
    names = np.random.default_rng(3).permutation(np.unique(groups))
    assert set(groups[parts[0]].tolist()) == set(names[:2].tolist())
    assert len(folds(groups[:4], 0)) == 3


def test_the_best_part_counts_groups_alike_and_errors_in_relative_terms():
    """Ten runs of one group weigh as one of another: 0.5 and 0 against 0.2 and 0.2."""
    groups = np.array([*[0] * 10, 1, 2])
    first = np.array([*[np.log(1.5)] * 10, 0.0, 0.0])  # predicted a third too little: e^-x - 1
    second = np.full(12, -np.log(1.2))
    device = np.zeros(12, dtype=int)
    wrong = np.array([np.abs(np.exp(-first) - 1), np.abs(np.exp(-second) - 1)])
    share = np.array([*[0.1] * 10, 1, 1])
    loss = (wrong * share).sum(axis=1) / 3
    assert loss == pytest.approx([1 / 9, 0.2])
    difference = [wrong[1, i] - wrong[0, i] for i in (0, 10, 11)]
    error = np.std(difference, ddof=1) / np.sqrt(3)
    near = bool(loss[1] - loss[0] <= error)
    said = chosen_weights(np.array([first, second]), device, groups, 1, 0.0)
    assert said.tolist() == [[0.5, 0.5] if near else [1.0, 0.0]]
    many = np.tile(np.array([first, second])[:, 9:], 40)
    said = chosen_weights(many, np.zeros(120, int), np.arange(120), 1, 0.0)
    assert said.tolist() == [[1.0, 0.0]]


def fitted():
    """A model of eight runs on two devices, in seconds and joules."""
    runs = table({"app": ["LeNet5", "MNIST_CNN"] * 4, "device": ["A"] * 6 + ["B"] * 2,
                  "image_px": [32] * 8, "batch_size": [8, 8, 16, 16, 32, 32, 8, 16],
                  "runtime_s": [1e-3, 1.2e-3, 1.3e-3, 1.4e-3, 1.9e-3, 2.2e-3, 2e-3, 2.6e-3],
                  })  # fmt: skip
    return StepCost(n_draws=4).fit(runs), runs


def test_networks_that_were_run_and_others_are_weighed_and_widened_by_their_own():
    model, _ = fitted()
    both = table({"app": ["LeNet5", "CIFAR10_CNN"], "device": ["A", "B"], "image_px": [32] * 2,
                  "batch_size": [8, 8]})  # fmt: skip
    rows = TrainingRows.of(both)
    fit, coded = model.fits_["runtime_s"], model.coded(rows)
    assert (coded.app.tolist(), coded.device.tolist()) == ([0, -1], [0, 1])
    weights = np.array([[0.25, 0.75], [0.6, 0.4], [0.5, 0.5]])
    model.runs_["runtime_s"] = replace(model.runs_["runtime_s"], weights=weights)
    model.networks_["runtime_s"] = replace(model.networks_["runtime_s"], weights=weights[::-1])
    parts = fit.predict(coded)[0], fit.law.predict(coded.terms, coded.device)
    mean, spread, new = model.posterior(rows, "runtime_s")
    assert new.tolist() == [False, True]
    wanted = [0.25 * parts[0][0] + 0.75 * parts[1][0], 0.6 * parts[0][1] + 0.4 * parts[1][1]]
    assert mean == pytest.approx(wanted, abs=1e-8)
    assert spread == pytest.approx(fit.predict(coded)[1], abs=1e-8)
    own, others = model.scores_["runtime_s"]
    said = model._standardised(rows, "runtime_s", new)
    assert said[:, 0] == pytest.approx(own.quantiles * own.widths[0])
    assert said[:, 1] == pytest.approx(others.quantiles * others.widths[1])
    unlike = SimpleNamespace(
        share=lambda asked: np.array([0.0, 0.25]),
        draws=lambda asked, level: level[:, None] + np.zeros(2),
    )
    plain = mean + spread * said
    model.unlike_["runtime_s"] = unlike
    mixed = model._logarithms(rows, "runtime_s")
    assert mixed[:, 0] == pytest.approx(plain[:, 0])
    level = np.array([1, 3, 5, 7]) / 8
    assert mixed[:, 1] == pytest.approx(0.75 * plain[:, 1] + 0.25 * level)
    del model.unlike_["runtime_s"]
    assert model._logarithms(rows, "runtime_s") == pytest.approx(plain)
    never = np.zeros((2, len(KINDS)))
    never[:, 0] = [0.1, 0.101]
    model.unlike_["runtime_s"] = SimpleNamespace(never_timed=lambda asked: never)
    (note,) = model._never_timed(rows, np.array([0, 1]))
    assert (note.rows, note.count) == ((1,), 1)
    assert note.message.startswith("up to 10 % of a step is convolution beyond")
    model.unlike_["runtime_s"] = SimpleNamespace(never_timed=lambda asked: np.minimum(never, 0.1))
    assert model._never_timed(rows, np.array([0, 1])) == []
    assert model._never_timed(rows, np.array([], dtype=int)) == []


def test_more_configurations_than_may_be_are_drawn_by_the_seed(monkeypatch):
    monkeypatch.setattr(predictor, "MOST_ROWS", 5)
    model, runs = fitted()
    fit = model.fits_["runtime_s"]
    assert len(fit.log_y) == 5
    kept = np.sort(np.random.default_rng(0).permutation(8)[:5])
    every = np.log(runs.numpy("runtime_s"))
    monkeypatch.setattr(predictor, "MOST_ROWS", 8)
    whole = fitted()[0].fits_["runtime_s"]
    assert len(whole.log_y) == 8
    assert fit.log_y.tolist() == whole.log_y[kept].tolist()
    assert sorted(whole.log_y.tolist()) == pytest.approx(sorted(every.tolist()))


def test_a_joule_is_a_hundredth_of_what_a_second_stands_for():
    model, runs = fitted()
    rows = TrainingRows.of(runs)
    second, joule, byte = (model.coded(rows, t).terms
                           for t in ("runtime_s", "energy_j", "memory_peak_b"))  # fmt: skip
    assert joule == pytest.approx(100.0 * second)
    assert byte == pytest.approx(2e11 * second)
    strange = TrainingRows.of(table({"app": ["no"], "device": ["Z"], "batch_size": [3]}))
    assert model.coded(strange).device.tolist() == [2]
    assert model.coded(strange).app.tolist() == [-1]
