"""What a training step costs: rates of known truth, transfer between devices, honest intervals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.core.jobs import Moment
from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.training_columns import COLUMNS
from rheostat.prediction.architectures import training_step
from rheostat.prediction.step_cost import StepCost
from rheostat.prediction.step_cost.additive import AdditiveCost, fit_additive
from rheostat.prediction.step_cost.next_runs import next_runs
from rheostat.prediction.step_cost.rows import TrainingRows
from rheostat.prediction.step_cost.stacking import chosen_weights
from rheostat.prediction.step_cost.terms import BYTE_PER_S, FLOP_PER_S, TERMS, cost_terms
from rheostat.prediction.step_cost.transfer import RUNS as GIVEN
from rheostat.testing import predictors as promise

NETWORKS = ("LeNet5", "MNIST_CNN", "CIFAR10_CNN", "VGGSmall", "ResNetSmall", "ResNet18")
RATES = np.exp([np.random.default_rng([*entry.encode(), 5]).uniform(-4.0, 2.0) for entry in TERMS])
SPEED = {"A": 1.0, "B": 0.4, "C": 2.5}


def runs(n: int = 120, seed: int = 0, noise: float = 0.03):
    """Training runs of six networks on three devices, whose true rates are known."""
    rng = np.random.default_rng(seed)
    made = {
        "app": rng.choice(NETWORKS, n).tolist(),
        "device": rng.choice(list(SPEED), n).tolist(),
        "image_px": rng.choice([32, 64, 128], n).tolist(),
        "classes": [10] * n,
        "batch_size": rng.choice([16, 32, 64, 128], n).tolist(),
        "optimizer": ["sgd"] * n,
    }
    terms = TrainingRows.of(table(made)).terms
    speed = np.array([SPEED[d] for d in made["device"]])
    made["runtime_s"] = terms @ RATES * speed * np.exp(rng.normal(0, noise, n))
    return table(made)


@cache
def many_runs():
    return runs()


def plus(jobs, **columns):
    """The table with measured columns added."""
    frame = jobs.frame.with_columns(**{k: pl.lit(v) if np.ndim(v) == 0 else pl.Series(v)
                                       for k, v in columns.items()})  # fmt: skip
    return table(frame, COLUMNS)


def rows_where(jobs, **wanted):
    keep = np.ones(len(jobs), bool)
    for name, value in wanted.items():
        keep &= (jobs.frame[name] == value).to_numpy()
    return keep


def errors(model, jobs):
    return np.abs(model.predict(jobs).quantile("runtime_s", 0.5) / jobs.numpy("runtime_s") - 1)


def test_rates_of_known_truth_are_learned_with_their_scale():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 3.0, (400, 4)) * [1.0, 0.2, 3.0, 1.0]
    device = rng.integers(0, 2, 400)
    rates = np.array([[2.0, 0.5, 0.1, 1.0], [4.0, 1.0, 0.2, 2.0]])
    law = fit_additive(x, np.log((x * rates[device]).sum(1)), device, 2)
    assert law.rates == pytest.approx(rates, rel=0.1)


def test_slopes_are_the_derivatives():
    rng = np.random.default_rng(2)
    x, device = rng.uniform(0.1, 1.0, (5, 3)), np.array([0, 1, 0, 1, 1])
    p = rng.normal(0, 0.3, 3 + 2 + 6)
    at = AdditiveCost(p, 2, 3).predict(x, device)
    moved = [(AdditiveCost(p + 1e-6 * e, 2, 3).predict(x, device) - at) / 1e-6 for e in np.eye(11)]
    assert AdditiveCost(p, 2, 3).slopes(x, device) == pytest.approx(np.array(moved).T, abs=1e-4)


def test_a_run_left_out_is_what_a_fit_without_it_says():
    """The closed form of `scores` against the same Gaussian given all other runs."""
    fit = StepCost().fit(many_runs().rows(np.arange(40))).fits_["runtime_s"]
    error, spread = fit.scores(np.arange(len(fit.app)))
    for i in (0, 7, 23):
        others = np.arange(len(fit.app)) != i
        less = replace(fit, **{name: getattr(fit, name)[others] for name in GIVEN})
        object.__setattr__(less, "_scaling", fit._scaling)
        weights = max(fit._posteriors, key=lambda q: q.weight).loadings
        object.__setattr__(less, "_loadings", lambda w=weights: [w])
        mean, deviation = less.predict(type(fit.known)(*(v[[i]] for v in fit.known)))
        assert error[i] == pytest.approx(fit.log_y[i] - mean[0], abs=1e-6)
        assert spread[i] == pytest.approx(deviation[0], rel=1e-6)


def test_slopes_of_the_evidence_are_its_differences():
    fit = StepCost().fit(many_runs().rows(np.arange(40))).fits_["runtime_s"]
    lengths = fit.lengths * np.exp(np.random.default_rng(0).normal(0, 0.3, len(fit.lengths)))
    at = np.log([0.05, 0.7, *lengths])
    _, slopes = fit._unlikely(at)
    moved = [(fit._unlikely(at + e)[0] - fit._unlikely(at - e)[0]) / 2e-5
             for e in 1e-5 * np.eye(len(at))]  # fmt: skip
    assert slopes == pytest.approx(np.array(moved), abs=1e-4)


def test_a_run_that_was_disturbed_hardly_counts():
    """Every tenth run takes three times as long: the others are predicted as without it."""
    odd = np.arange(len(many_runs())) % 10 == 0
    disturbed = plus(
        many_runs(), runtime_s=many_runs().numpy("runtime_s") * np.where(odd, 3.0, 1.0)
    )
    model, asked = StepCost().fit(disturbed), runs(60, seed=3)
    assert np.median(errors(model, asked)) < 0.06  # 0.073 where all count alike


def test_parts_that_cannot_be_told_apart_answer_in_equal_shares():
    """Of twelve networks left out; on further networks their mean is less wrong than the best."""
    rng = np.random.default_rng(0)
    device, groups = np.zeros(12, dtype=int), np.arange(12)
    against = -np.log([[1.2], [0.8]]) + rng.normal(0, 0.05, (2, 12))
    assert chosen_weights(against, device, groups, 1, 3.0)[0].tolist() == [0.5, 0.5]
    worse = np.concatenate([against, rng.normal(0.5, 0.05, (1, 12))])
    assert chosen_weights(worse, device, groups, 1, 3.0)[0].tolist() == [0.5, 0.5, 0.0]
    shared, best = [], []
    for _ in range(60):
        seen, asked = rng.normal(0, 0.2, (2, 2, 12))
        shared.append(np.abs(chosen_weights(seen, device, groups, 1, 3.0)[0] @ asked).mean())
        best.append(np.abs(asked[np.argmin(np.abs(seen).mean(axis=1))]).mean())
    assert np.mean(shared) < 0.85 * np.mean(best)  # a mean of two that err alike: 1 / sqrt(2)


def test_sizes_of_operands_tell_what_a_product_takes():
    """4 x 8 times 8 x 2, and a 3 x 3 convolution of 5 to 7 channels at 6 x 6, inside fusions."""
    text = """HloModule m
f {
  a = f32[4,8]{1,0} parameter(0)
  b = f32[8,2]{1,0} parameter(1)
  ROOT c = f32[4,2]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
g {
  x = f32[1,6,6,5]{3,2,1,0} parameter(0)
  w = f32[3,3,5,7]{3,2,1,0} parameter(1)
  ROOT y = f32[1,4,4,7]{3,2,1,0} convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f
}
ENTRY e {
  p = f32[4,8]{1,0} parameter(0)
  q = f32[8,2]{1,0} parameter(1)
  r = f32[1,6,6,5]{3,2,1,0} parameter(2)
  s = f32[3,3,5,7]{3,2,1,0} parameter(3)
  u = f32[4,2]{1,0} fusion(p, q), kind=kOutput, calls=f
  v = f32[1,4,4,7]{3,2,1,0} fusion(r, s), kind=kOutput, calls=g
  ROOT t = (f32[4,2]{1,0}, f32[1,4,4,7]{3,2,1,0}) tuple(u, v)
}"""
    row = dict(zip(TERMS, cost_terms(from_hlo(text)), strict=True))
    assert row["matmul_operands_b"] * BYTE_PER_S == pytest.approx(4.0 * (32 + 16 + 8))
    assert row["matmul_f_padded"] * FLOP_PER_S == pytest.approx(2.0 * 16 * 16 * 8)
    assert row["convolution_patches_b"] * BYTE_PER_S == pytest.approx(4.0 * 16 * 3 * 3 * 5)
    assert row["convolution_f_narrow"] * FLOP_PER_S == pytest.approx(2.0 * 16 * 3 * 3 * 5 * 64)


def test_five_runs_place_a_device_that_the_others_explain():
    few = np.flatnonzero(rows_where(many_runs(), device="C"))[:5]
    model = StepCost().fit(
        many_runs().rows(np.r_[np.flatnonzero(~rows_where(many_runs(), device="C")), few])
    )
    new = runs(200, seed=3)
    asked = new.rows(rows_where(new, device="C"))
    assert np.mean(errors(model, asked)) < 0.08
    alone = StepCost().fit(many_runs().rows(few))
    assert np.mean(errors(model, asked)) < 0.5 * np.mean(errors(alone, asked))


def test_a_network_never_run_is_answered_from_its_graph():
    without = many_runs().rows(~rows_where(many_runs(), app="ResNet18"))
    model, asked = (
        StepCost().fit(without),
        many_runs().rows(rows_where(many_runs(), app="ResNet18")),
    )
    assert np.median(errors(model, asked)) < 0.15
    sizes = [float(np.diff(model.predict(j).interval("runtime_s"), axis=0).mean() /
             model.predict(j).mean("runtime_s").mean()) for j in (asked, without)]  # fmt: skip
    assert sizes[0] > sizes[1]


@pytest.mark.slow
@pytest.mark.parametrize(("few", "seeds"), [(25, 16), (80, 4)])
def test_intervals_of_new_runs_hold_nine_of_ten(few, seeds):
    inside = []
    for seed in range(seeds):
        model = StepCost().fit(runs(few, seed=10 + seed, noise=0.1))
        new = runs(150, seed=20 + seed, noise=0.1)
        low, high = model.predict(new).interval("runtime_s")
        inside += ((new.numpy("runtime_s") >= low) & (new.numpy("runtime_s") <= high)).tolist()
    assert 0.85 <= np.mean(inside) <= 0.95


def test_a_device_never_run_has_wide_intervals():
    model = StepCost().fit(many_runs())
    asked = many_runs().rows([0])
    elsewhere = asked.with_columns([], device="Z")
    low, high = model.predict(elsewhere).interval("runtime_s")
    assert high[0] / low[0] > 4
    low, high = model.predict(asked).interval("runtime_s")
    assert high[0] / low[0] < 1.5


def test_promises_of_a_predictor():
    model = promise.returns_itself(lambda seed: StepCost(seed=seed), many_runs())
    promise.repeats_itself(model, lambda seed: StepCost(seed=seed), many_runs())
    promise.forgets_row_order(model, many_runs())
    promise.forgets_batch_size(model, many_runs())
    promise.bears_unseen_names(model, many_runs())
    promise.stays_physical(model, many_runs())
    promise.ignores_the_future_in_questions(model, many_runs(), Moment.SUBMIT)


def test_what_has_no_graph_is_abstained_on_and_named():
    model = StepCost().fit(many_runs())
    outcome = model.predict(table({"app": ["secret", "LeNet5"], "device": ["A", "A"],
                                   "image_px": [32, 32], "batch_size": [16, 16]}))  # fmt: skip
    assert outcome.abstained.tolist() == [True, False]
    assert "secret" in outcome.notes[0].message
    with pytest.raises(DataError, match="no graph of app=secret"):
        StepCost().fit(table({"app": ["secret"], "device": ["A"], "runtime_s": [1.0]}))


def test_a_graph_of_ones_own_counts_as_a_named_one():
    jobs = table({"app": ["mine"] * 3, "device": ["A"] * 3, "graph": ["a", "b", "c"],
                  "runtime_s": [1.0, 2.0, 4.0], "batch_size": [8, 16, 32]})  # fmt: skip
    graphs = {g: training_step("LeNet5", 32, b) for g, b in (("a", 8), ("b", 16), ("c", 32))}
    model = StepCost(graphs=graphs).fit(jobs)
    assert model.predict(jobs).quantile("runtime_s", 0.5) == pytest.approx([1, 2, 4], rel=0.15)


def test_energy_and_memory_are_learned_where_they_were_measured():
    jobs = plus(many_runs(), energy_j=many_runs().numpy("runtime_s") * 100.0,
                             memory_peak_b=many_runs().numpy("runtime_s") * 1e9)  # fmt: skip
    outcome = StepCost().fit(jobs).predict(jobs.rows([0, 1, 2]))
    power = outcome.quantile("energy_j", 0.5) / outcome.quantile("runtime_s", 0.5)
    assert power == pytest.approx(100.0, rel=0.05)
    assert "power_w" in outcome
    assert "memory_peak_b" in outcome


def test_energy_and_memory_of_a_device_never_run_are_near_those_of_others():
    """A prior in seconds would say some MB, and intervals from kB to GB."""
    jobs = plus(many_runs().rows(rows_where(many_runs(), device="A")), power_w=200.0)
    batch = jobs.numpy("batch_size")
    jobs = plus(jobs, memory_peak_b=4e9 + 5e7 * batch)
    model = StepCost().fit(jobs)
    outcome = model.predict(jobs.with_columns([], device="Z"))
    for quantity, truth in (("memory_peak_b", jobs.numpy("memory_peak_b")), ("power_w", 200.0)):
        off = np.log(outcome.quantile(quantity, 0.5) / truth)
        assert np.abs(np.median(off)) < np.log(10)


def test_bits_stand_in_a_column_or_in_the_name_of_the_device():
    asked = {"app": ["LeNet5"] * 3, "batch_size": [8] * 3, "gpus": [0, 1, 1]}
    rows = TrainingRows.of(table({**asked, "device": ["T4", "T4 16 bit", "T4 16 bit"],
                                  "precision_bits": [16, None, 16]}, COLUMNS))  # fmt: skip
    assert set(rows.device.tolist()) == {"T4 16 bit"}
    assert np.ptp(rows.terms, axis=0).max() == 0.0
    plain = TrainingRows.of(table({**asked, "device": ["T4"] * 3}, COLUMNS))
    assert (plain.terms >= rows.terms).all()
    assert (plain.terms > rows.terms).any()


def test_a_network_without_its_batch_is_abstained_on():
    asked = table({"app": ["LeNet5"] * 2, "device": ["A"] * 2, "batch_size": [None, 16]})
    outcome = StepCost().fit(many_runs().rows(np.arange(20))).predict(asked)
    assert outcome.abstained.tolist() == [True, False]
    assert "batch_size=None" in outcome.notes[0].message


def test_a_pass_takes_its_steps_and_what_was_seen_besides():
    jobs = plus(many_runs(), samples=1000)
    steps = np.ceil(1000 / jobs.numpy("batch_size"))
    longer = plus(jobs, epoch_s=jobs.numpy("runtime_s") * steps * 1.2)
    outcome = StepCost().fit(longer).predict(jobs)
    ratio = outcome.quantile("epoch_s", 0.5) / (outcome.quantile("runtime_s", 0.5) * steps)
    assert ratio == pytest.approx(1.2, rel=1e-3)
    assert outcome["sample_s"] == pytest.approx(outcome["runtime_s"] / jobs.numpy("batch_size"))


def test_the_next_runs_leave_less_error_than_others_and_what_a_further_fit_says():
    """Greedy beside random choices; the covariance against the same Gaussian given one run more."""
    model = StepCost().fit(many_runs().rows(np.arange(40)))
    fit, asked = (
        model.fits_["runtime_s"],
        model.coded(TrainingRows.of(many_runs().rows(np.arange(40, 90)))),
    )
    covariance, wanted = fit.covariance(asked), np.arange(50) < 20
    chosen, error = next_runs(covariance, wanted, fit.noise, 4)
    rng = np.random.default_rng(0)
    for _ in range(20):
        four = rng.choice(50, 4, replace=False)
        inner = covariance[np.ix_(four, four)] + fit.noise**2 * np.eye(4)
        left = covariance - covariance[:, four] @ np.linalg.solve(inner, covariance[four])
        assert error[-1] <= np.sqrt(np.diag(left)[wanted].mean()) + 1e-12
    object.__setattr__(fit, "_loadings", lambda: [np.ones(fit.law.devices)])
    more = replace(fit, **{c: np.concatenate([getattr(fit, c), [getattr(asked, c)[chosen[0]]]])
                           for c in GIVEN if c not in ("log_y", "doubt")},
                   log_y=np.append(fit.log_y, 0.0), doubt=np.append(fit.doubt, 1.0),
                   loadings=np.ones(fit.law.devices))  # fmt: skip
    object.__setattr__(more, "_scaling", fit._scaling)
    assert np.sqrt(np.diag(more.covariance(asked))[wanted].mean()) == pytest.approx(error[1])


def test_a_network_is_the_same_however_its_name_is_spelled():
    from rheostat.prediction.step_cost.rows import TrainingRows

    spelled = table({"app": ["resnet50", "ResNet-50", "ResNet50", "my_net"], "batch_size": [8] * 4})
    assert TrainingRows.of(spelled).app.tolist() == ["ResNet50"] * 3 + ["my_net"]
