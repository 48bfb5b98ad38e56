"""Parts of the cost of a step as closed forms: terms of a graph, weights, errors, repeated runs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from benchmarks.graph_net import node_features
from rheostat import table
from rheostat.core.graph import OP_CLASSES, op_graph
from rheostat.prediction.step_cost.additive import AdditiveCost, fit_additive
from rheostat.prediction.step_cost.next_runs import next_runs
from rheostat.prediction.step_cost.predictor import StepCost, _distinct, _repeat_spread
from rheostat.prediction.step_cost.rows import TrainingRows, without_graph
from rheostat.prediction.step_cost.stacking import (
    Repeats,
    StackedErrors,
    _standard_error,
    chosen_weights,
    error_scores,
    group_shares,
)
from rheostat.prediction.step_cost.terms import TERMS, cost_terms
from rheostat.prediction.step_cost.transfer import COORDINATES, Known, TransferGP

NAN = float("nan")
# opcode, class, shape, flops, bytes, transcendentals, times, fused, operands
OPERATIONS = [
    ("parameter", "parameter_constant", [8, 30], 0, 5e5, 0, 1, False, []),
    ("parameter", "parameter_constant", [30, 7], 0, 5e5, 0, 1, False, []),
    ("infeed", "data_movement", [100], 0, 4e3, 0, 2, False, []),
    ("dot", "matmul", [8, 7], 2 * 8 * 7 * 30, 3e6, 0, 3, False, [0, 1]),
    ("convolution", "convolution", [1, 4, 4, 70], 2 * 16 * 70 * 45, 2e6, 0, 2, False, [0]),
    ("convolution", "convolution", [1, 4, 4, 7], 9e9, 5e6, 0, 1, False, [0, 1]),
    ("convolution", "convolution", [2], 15, 0, 0, 1, False, [0, 1]),
    ("convolution", "convolution", [9], 100, 8, 0, 1, False, [0]),
    ("convolution", "convolution", [1, 2, 4, 4, 70], 3e9, 6e6, 0, 2, False, [0]),
    ("depthwise-convolution", "convolution", [4, 4], 1e6, 7e6, 0, 2, False, [0]),
    ("add", "elementwise", [500], 500, 3e7, 0, 4, False, [3]),
    ("divide", "elementwise", [600], 600, 0, 0, 4, True, [9]),
    ("exponential", "transcendental", [400], 0, 2e4, 400, 5, False, [10]),
    ("reduce", "reduction", [10], 900, 8e3, 0, 1, False, [9]),
    ("transpose", "data_movement", [90], 0, 720, 0, 1, False, [12]),
    ("select", "other", [80], 80, 960, 0, 1, False, [13]),
    ("batch-norm", "normalization", [70], 500, 5e6, 70, 2, False, [14]),
    ("gather", "gather_scatter", [60], 0, 8e5, 0, 1, False, [15]),
    ("all-reduce", "collective", [60], 0, 360, 0, 1, False, [15]),
    ("sgd-update", "other", [50], 100, 9e3, 0, 1, False, [16]),
    ("sqrt", "elementwise", [40], NAN, NAN, NAN, 0, False, [16]),
    ("tuple", "control", [], 0, 0, 0, 1, False, [16]),
    ("convolution", "convolution", [2, 9, 70], 4e9, 3e6, 0, 3, False, [0]),
]
FIELDS = ("opcode", "op_class", "shape", "flops", "bytes", "transcendentals", "times", "fused")


def graph():
    nodes = {name: [o[i] for o in OPERATIONS] for i, name in enumerate(FIELDS)}
    floats = {n: [float(v) for v in nodes[n]] for n in ("flops", "bytes", "transcendentals",
                                                        "times")}  # fmt: skip
    nodes |= floats | {"dtype": ["f32"] * len(OPERATIONS)}
    edges = [(a, i) for i, o in enumerate(OPERATIONS) for a in o[-1]]
    return op_graph("mine", nodes, np.array(edges).T)


def by_hand(devices: int) -> dict[str, float]:  # noqa: PLR0912 - a branch for each entry
    """Entry by entry, operation by operation, in the units that the entries have."""
    row = dict.fromkeys(TERMS, 0.0)
    flop, byte, host, launch = 5e12, 2e11, 1e10, 1e-5
    up = lambda v, step: np.ceil(v / step) * step  # noqa: E731
    row["base"], row["exchange_joins"] = 1e-3, 1e-3 * np.log2(devices)
    for code, kind, shape, *work, times, fused, reads in OPERATIONS:
        f, b, t = np.nan_to_num(work)
        size = float(np.prod(shape))
        runs = times > 0 and not fused and kind not in ("parameter_constant", "control")
        add = lambda name, value, unit, n=times: row.__setitem__(name, row[name] + value * n / unit)  # noqa: E731
        if code == "infeed":
            add("infeed_b", b, host)
        elif runs:
            add("launches", launch, 1)
        if runs and b > 1e6:
            add("spilled_b", b, byte)
        add("transcendentals", 10 * t, flop)
        if code.startswith("depthwise"):
            add("depthwise_b", b, byte)
        elif kind == "convolution" and len(shape) in (3, 5):
            add("line_f" if len(shape) == 3 else "volume_f", f, flop)
            add("convolution_b", b, byte)
            add("convolution_launches", launch, 1)
        elif kind == "convolution":
            add("convolution_f", f, flop)
            add("convolution_f_small", max(f, 1e9), flop)
            add("convolution_f_sparse", f if f < 20 * max(b, 1) else 0.0, flop)
            add("convolution_b", b, byte)
            add("convolution_launches", launch, 1)
            first = float(np.prod(OPERATIONS[reads[0]][2]))
            second = float(np.prod(OPERATIONS[reads[1]][2])) if reads[1:] else b / 4 - first - size
            if second <= 0:  # what its bytes leave no room for
                add("convolution_f_narrow", f, flop)
                continue
            columns = max(size * second / (f / 2), 1.0)
            add("convolution_patches_b", 4 * f / 2 / columns, byte)
            add("convolution_f_narrow", f * up(columns, 64) / columns, flop)
        if kind == "matmul":
            add("matmul_f", f, flop)
            add("matmul_b", b, byte)
            add("matmul_launches", launch, 1)
            add("matmul_operands_b", 4 * (8 * 7 + 8 * 30 + 30 * 7), byte)
            add("matmul_f_padded", 2 * 16 * 16 * 30, flop)
        if kind in ("elementwise", "transcendental", "other"):
            add("elementwise_b", b, byte)
            add("elementwise_b_small", max(b, 1e7) if runs else 0.0, byte)
        if kind in ("elementwise", "transcendental", "other", "reduction"):
            add("elementwise_f", f, flop)
        if kind == "normalization":
            add("normalization_b", b, byte)
            add("normalization_b_small", max(b, 1e7), byte)
            add("normalization_launches", launch, 1)
        if kind == "reduction":
            add("reduction_b", b, byte)
            add("reduced_b", 4 * float(np.prod(OPERATIONS[reads[0]][2])), byte)
        if kind == "data_movement" and code != "infeed":
            add("movement_b", b, byte)
        if kind in ("gather_scatter", "collective"):
            add("gather_b", b, byte)
        if code.endswith("-update"):
            add("update_b", b / 3, byte)
            add("exchange_b", 2 * b / 3 * (devices - 1) / devices, host)
        for name, codes in (("rearranged_b", ("transpose",)), ("selected_b", ("select",)),
                            ("divided_b", ("divide", "sqrt", "rsqrt", "power"))):  # fmt: skip
            if code in codes:
                add(name, 4 * size, byte)
    return row


@pytest.mark.parametrize("devices", [1, 4])
def test_the_entries_of_a_graph_are_sums_over_its_operations(devices):
    made = dict(zip(TERMS, cost_terms(graph(), devices), strict=True))
    assert made == pytest.approx(by_hand(devices))
    assert sum(v > 0 for v in made.values()) == len(TERMS) - 2 * (devices == 1)


def test_a_convolution_that_its_reader_calls_depthwise_is_no_other():
    plain = graph()
    named = pl.col("opcode").str.replace("depthwise-", "", literal=True)
    depthwise = pl.col("opcode").str.starts_with("depthwise")
    nodes = plain.nodes.with_columns(named, depthwise=depthwise)
    assert cost_terms(replace(plain, nodes=nodes)).tolist() == cost_terms(plain).tolist()
    assert cost_terms(replace(plain, nodes=nodes.drop("depthwise"))).tolist() != (
        cost_terms(plain).tolist())  # fmt: skip


@pytest.mark.parametrize(("made", "products"), [([3, 16, 6, 6], 2), ([8, 16, 3, 3], 1)])
def test_a_convolution_backwards_has_the_channels_that_it_has_forwards(made, products):
    """Gradients of image and kernel in one operation, or of the kernel alone."""
    shapes = [[3, 8, 6, 6], [3, 16, 6, 6], [8, 16, 3, 3], made]
    flops = products * 2.0 * 108 * 8 * 16 * 9
    nodes = {"opcode": ["input"] * 3 + ["aten.convolution_backward"], "shape": shapes,
             "op_class": ["parameter_constant"] * 3 + ["convolution"], "dtype": ["f32"] * 4,
             "flops": [0.0] * 3 + [flops], "bytes": [0.0] * 3 + [1e3],
             "transcendentals": [0.0] * 4, "times": [1.0] * 4, "fused": [False] * 4}  # fmt: skip
    row = cost_terms(op_graph("back", nodes, np.array([[0, 1, 2], [3, 3, 3]])))
    made_of = dict(zip(TERMS, row, strict=True))
    assert made_of["convolution_f_narrow"] == pytest.approx(flops * 64 / 8 / 5e12)
    assert made_of["convolution_patches_b"] == pytest.approx(4 * flops / 2 / 8 / 2e11)


def test_features_of_an_operation_are_its_class_and_logarithms_of_its_work():
    made, classes = node_features(graph()), len(OP_CLASSES)
    assert made.shape == (len(OPERATIONS), classes + 6)
    for row, (_, kind, _, f, b, t, times, fused, _) in zip(made, OPERATIONS, strict=True):
        work = [0.0 if np.isnan(v) else v * times for v in (f, b, t)]
        first = np.log(work[0] / 5e12 + work[1] / 2e11 + 1e-5)
        assert row[:classes].tolist() == [float(kind == c) for c in OP_CLASSES]
        assert row[classes:] == pytest.approx(
            [*np.log1p(work) / 10, first / 10, 1.0 * fused, 1.0 * (times > 0)]
        )


def test_rates_have_priors_and_without_a_run_they_are_these():
    law = fit_additive(np.ones((1, 2)), np.log([2 * np.exp(-1.0)]), np.array([0]), 2)
    assert law.prior_mean.tolist() == [-1, -1, 0, 0, 0, 0, 0, 0]
    assert law.prior_variance.tolist() == [4, 4, 2.25, 2.25, 0.25, 0.25, 0.25, 0.25]
    assert law.rates == pytest.approx(np.full((2, 2), np.exp(-1.0)), rel=1e-3)
    p = np.array([0.1, 0.2, 1.0, 2.0, 0.01, 0.02, 0.03, 0.04])
    assert np.log(AdditiveCost(p, 2, 2).rates) == pytest.approx(
        np.array([[1.11, 1.22], [2.13, 2.24]]))  # fmt: skip
    # one term, one run: the error of 0.1 shares the way with priors of 2, 1.5 and 0.5
    one = fit_additive(np.ones((1, 1)), np.array([0.0]), np.array([0]), 1)
    moved = np.array([4.0, 2.25, 0.25]) / (4.0 + 2.25 + 0.25 + 0.01)
    assert one.parameters == pytest.approx(np.array([-1, 0, 0]) + moved, abs=1e-4)


def test_runs_are_chosen_by_what_they_leave_with_noise_and_among_those_that_may_be():
    c = np.array([[4.0, 1.0], [1.0, 1.0]])
    wanted = np.array([False, True])
    chosen, error = next_runs(c, wanted, 1.0, 9)
    assert chosen == [1, 0]  # 1 / 2 of its own variance of 1, beside 1 / 5
    inner = np.linalg.inv(c + np.eye(2))
    assert error == pytest.approx(np.sqrt([1.0, 0.5, 1 - c[1] @ inner @ c[1]]))
    only, less = next_runs(c, wanted, 1.0, 9, np.array([True, False]))
    assert (only, less[1]) == ([0], pytest.approx(np.sqrt(0.8)))
    assert next_runs(c, wanted, 0.0, 1)[1][1] == pytest.approx(0.0)
    assert next_runs(c, wanted, 0.5, 1)[1][1] == pytest.approx(np.sqrt(1 - 1 / 1.25))


def test_groups_of_a_device_count_alike():
    assert group_shares(np.array([0, 0, 0, 1]), np.array([5, 5, 6, 5])).tolist() == [0.5, 0.5, 1, 1]
    assert _standard_error(np.array([1.0, 2.0, 3.0, 9.0]), np.array([0, 0, 4, 7])) == pytest.approx(
        np.std([3.0, 3.0, 9.0], ddof=1) / np.sqrt(3))  # fmt: skip
    assert _standard_error(np.array([1.0, 2.0]), np.array([3, 3])) == np.inf


def test_a_device_without_runs_is_answered_as_all_are():
    errors = -np.log([[1.5, 1.5, 1.0, 1.0], [1.0, 1.0, 1.1, 1.1]])
    errors = np.tile(errors, 8)
    device, groups = np.tile([0, 0, 1, 1], 8), np.arange(32)
    made = chosen_weights(errors, device, groups, 3, 0.0)
    assert made.tolist() == [[0, 1], [1, 0], [0, 1]]
    much = chosen_weights(errors, device, groups, 2, 1e6)  # all devices beside each: part two
    assert much[0].tolist() == [0, 1]


def test_errors_left_out_are_quantiles_and_widths_of_devices():
    """Levels are wider by (n + 1) / n; of few networks mirrored, and by half of that."""
    rng = np.random.default_rng(0)
    device, one = np.array([0, 0, 0, 1, 1]), np.arange(5)
    errors = StackedErrors(np.ones((3, 1)), rng.standard_normal(5), rng.uniform(0.5, 2.0, 5))
    z = errors.error / errors.spread
    still = Repeats(one, np.zeros(5))
    made = error_scores(errors, device, one, 2.0, 4, still)
    size, mean = np.abs(z), np.abs(z).mean()
    assert made.widths == pytest.approx(
        [(size[:3].sum() / mean + 2) / 5, (size[3:].sum() / mean + 2) / 4, 1.0])  # fmt: skip
    level = 0.5 + (np.array([0.125, 0.375, 0.625, 0.875]) - 0.5) * 6 / 5
    assert made.quantiles == pytest.approx(np.interp(level, (np.arange(5) + 0.5) / 5, np.sort(z)))
    networks = np.array([0, 0, 1, 1, 1])
    both = error_scores(errors, np.zeros(5, int), networks, 2.0, 4, still)
    share = np.array([0.5, 0.5, *[1 / 3] * 3])
    mirrored, weight = np.concatenate([z, -z]), np.tile(share, 2)
    order = np.argsort(mirrored)
    place = (np.cumsum(weight[order]) - 0.5 * weight[order]) / 4
    wide = 0.5 + (np.array([0.125, 0.375, 0.625, 0.875]) - 0.5) * 2.5 / 2
    assert both.quantiles == pytest.approx(np.interp(wide, place, mirrored[order]))
    again = Repeats(np.array([0, 0, 1, 2, 3, 4]), np.array([0.3, -0.1, 0, 0, 0, 0]))
    run = error_scores(errors, device, one, 2.0, 1, again)
    spread = np.array([(errors.error[0] + 0.3) / errors.spread[0],
                       (errors.error[0] - 0.1) / errors.spread[0], *z[1:]])  # fmt: skip
    order = np.argsort(spread)
    part = np.array([0.5, 0.5, 1, 1, 1, 1])[order]
    assert run.quantiles == pytest.approx(
        [np.interp(0.5, (np.cumsum(part) - part / 2) / 5, spread[order])])  # fmt: skip


def test_repeated_runs_are_one_row_with_their_median_and_tell_the_noise():
    asked = {"app": ["LeNet5"] * 6, "device": ["A", "A", "A", "B", "A", "A"],
             "batch_size": [8, 8, 8, 8, 16, 16]}  # fmt: skip
    rows = TrainingRows.of(table(asked))
    log_y = np.array([1.0, 1.1, 1.5, 2.0, 3.0, 3.2])
    less, median, repeats = _distinct(rows, log_y)
    assert sorted(zip(less.device.tolist(), less.batch.tolist(), median.tolist(), strict=True)) == [
        ("A", 8.0, 1.1), ("A", 16.0, 3.1), ("B", 8.0, 2.0)]  # fmt: skip
    assert repeats.away == pytest.approx([-0.1, 0.0, 0.4, 0.0, -0.1, 0.1])
    scaled = [0.1 * 1.5**0.5, 0.0, 0.4 * 1.5**0.5, 0.1 * 2**0.5, 0.1 * 2**0.5]
    assert _repeat_spread(repeats) == pytest.approx(np.median(scaled) / 0.6745)
    assert _repeat_spread(Repeats(np.arange(3), np.zeros(3))) == 0.0
    kept = repeats.of(np.array([repeats.which[4], repeats.which[3]]))
    assert (kept.which.tolist(), kept.away.tolist()) == ([1, 0, 0], pytest.approx([0, -0.1, 0.1]))


def test_time_of_a_pass_is_whole_steps_and_what_was_seen_besides():
    model = StepCost(n_draws=3)
    seen = table({"samples": [100, 100, 100], "batch_size": [30, 30, 30],
                  "runtime_s": [2.0, 2.0, 0.0], "epoch_s": [8.0, 16.0, 4.0]})  # fmt: skip
    model.epoch_overhead_ = model._overhead(seen)
    level = np.quantile(np.log([1.0, 2.0]), [1 / 6, 0.5, 5 / 6])
    assert sorted(model.epoch_overhead_) == pytest.approx(level)
    assert StepCost(n_draws=3)._overhead(seen.select(["samples"])).tolist() == [0, 0, 0]
    made = model._of_time(np.ones((3, 1)), table({"samples": [70]}), np.array([30.0]))
    assert made["sample_s"].tolist() == [[1 / 30]] * 3
    assert made["epoch_s"][:, 0] == pytest.approx(3 * np.exp(model.epoch_overhead_))


def test_what_has_no_graph_is_named_once_for_each_kind_and_at_most_five():
    asked = {"app": ["a", "a", *"bcdef"], "batch_size": [1, 1, 2, 2, 2, 2, 2]}
    jobs = table(asked)
    said = without_graph(jobs, TrainingRows.of(jobs))
    assert len(said) == 6
    assert said[0] == "no graph of app=a, batch_size=1"
    assert "LeNet5".lower() in said[-1].lower()


# ---------------------------------------------------------------- the joint Gaussian


def joint(**more) -> TransferGP:
    """Nine runs on two devices of three, of two networks, with lengths of their own."""
    rng = np.random.default_rng(1)
    terms = rng.uniform(0.1, 3.0, (9, len(TERMS)))
    device, app = np.array([0, 0, 0, 0, 0, 1, 1, 0, 0]), np.array([0, 1, 0, 1, -1, 0, 0, 1, 1])
    known = Known(terms, device, app, rng.choice([8.0, 16.0, 64.0], 9))
    log_y = np.log(terms @ rng.uniform(0.1, 1.0, len(TERMS))) + 0.1 * rng.standard_normal(9)
    p = rng.normal(0, 0.2, len(TERMS) * 4 + 3)
    lengths = rng.uniform(1.0, 9.0, len(COORDINATES) + 1)
    gp = TransferGP.of(AdditiveCost(p, 3, len(TERMS)), known, log_y)
    return replace(
        gp, lengths=lengths, doubt=rng.uniform(0.8, 3.0, 9), noise=0.2, scale=1.3, **more
    )


def kernel(gp: TransferGP, a: Known, b: Known, follows) -> np.ndarray:
    """Entry by entry: the law's uncertain rates, what steps and sizes of a network have in common.

    ``follows`` (devices,) is how far each follows the others.
    """
    places = [TERMS.index(c) for c in COORDINATES]

    def raw(rows):
        floor = 1e-6 * gp.terms[:, places].max(axis=0) + 1e-12
        return np.column_stack([np.log(rows.terms[:, places] + floor), np.log(rows.batch)])

    mean, spread = raw(gp.known).mean(axis=0), raw(gp.known).std(axis=0)
    x, y = ((raw(r) - mean) / spread / gp.lengths for r in (a, b))
    slopes = [gp.law.slopes(r.terms, r.device) for r in (a, b)]
    made = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            far = ((x[i] - y[j]) ** 2).sum()
            near, same = np.exp(-far / 2), a.device[i] == b.device[j]
            app = np.exp(-(1.5**2) * far / 2) * (a.app[i] == b.app[j] and a.app[i] >= 0)
            load = 1.0 if same else follows[a.device[i]] * follows[b.device[j]]
            own = same * (0.07**2 * near + 0.05**2 * app)
            residual = 1.3**2 * (load * (0.15**2 * near + 0.1**2 * app) + own)
            made[i, j] = residual + slopes[0][i] @ (gp.law.prior_variance * slopes[1][j])
    return made


def test_the_joint_gaussian_is_conditioned_on_its_runs():
    """Averaged over how far the device with the fewest runs follows, by their likelihoods."""
    gp, rng = joint(), np.random.default_rng(2)
    asked = Known(rng.uniform(0.1, 3.0, (4, len(TERMS))), np.array([0, 1, 1, 2]),
                  np.array([0, 1, -1, 0]), np.array([8.0, 32.0, 8.0, 16.0]))  # fmt: skip

    def center(rows):
        away = gp.law.prior_mean - gp.law.parameters
        return gp.law.predict(rows.terms, rows.device) + (
            gp.law.slopes(rows.terms, rows.device) @ away)  # fmt: skip

    left, top, answers = gp.log_y - center(gp.known), None, []
    for follow in (0.0, 0.4, 0.7, 0.9, 1.0):
        follows = np.array([1.0, follow, 1.0])
        inner = kernel(gp, gp.known, gp.known, follows) + 0.2**2 * np.diag(gp.doubt)
        cross = kernel(gp, asked, gp.known, follows)
        likely = -0.5 * left @ np.linalg.solve(inner, left) - 0.5 * np.linalg.slogdet(inner)[1]
        law = (gp.law.slopes(asked.terms, asked.device) ** 2) @ gp.law.prior_variance
        top = law + 1.3**2 * (0.15**2 + 0.1**2 + 0.07**2 + 0.05**2) + 0.2**2
        answers.append((likely, center(asked) + cross @ np.linalg.solve(inner, left),
                        top - np.einsum("ij,ji->i", cross, np.linalg.solve(inner, cross.T)),
                        follows))  # fmt: skip
    weight = np.exp(np.array([a[0] for a in answers]) - max(a[0] for a in answers))
    weight = np.where(weight / weight.sum() > 0.01, weight, 0.0)
    means, variances = np.array([a[1] for a in answers]), np.array([a[2] for a in answers])
    mean = np.average(means, axis=0, weights=weight)
    variance = np.average(variances + (means - mean) ** 2, axis=0, weights=weight)
    got = gp.predict(asked)
    assert got[0] == pytest.approx(mean)
    assert got[1] == pytest.approx(np.sqrt(variance))
    best = answers[int(np.argmax(weight))][3]
    inner = kernel(gp, gp.known, gp.known, best) + 0.2**2 * np.diag(gp.doubt)
    cross = kernel(gp, asked, gp.known, best)
    given = kernel(gp, asked, asked, best) - cross @ np.linalg.solve(inner, cross.T)
    assert gp.covariance(asked) == pytest.approx(given)
    follow = np.ones(3)
    every = kernel(gp, gp.known, gp.known, follow) + 0.2**2 * np.diag(gp.doubt)
    short = np.log(gp.lengths / 3.0)
    wanted = 0.5 * left @ np.linalg.solve(every, left) + 0.5 * np.linalg.slogdet(every)[1]
    at = np.log([0.2, 1.3, *gp.lengths])
    unlikely, slopes = gp._unlikely(at)
    assert unlikely == pytest.approx(wanted + 0.5 * short @ short)
    for k in (0, 1, 2, 9):
        step = 1e-5 * np.eye(len(at))[k]
        difference = (gp._unlikely(at + step)[0] - gp._unlikely(at - step)[0]) / 2e-5
        assert slopes[k] == pytest.approx(difference, abs=1e-4)


def test_the_device_with_the_fewest_runs_may_follow_in_part_while_they_are_few():
    gp = joint()
    assert [float(v[1]) for v in gp._loadings()] == [0.0, 0.4, 0.7, 0.9, 1.0]
    assert all((v[[0, 2]] == 1).all() for v in gp._loadings())
    for runs, count in ((99, 5), (100, 1)):
        device = np.repeat([0, 1], [runs + 1, runs])
        many = SimpleNamespace(loadings=None, device=device, law=gp.law)
        assert len(TransferGP._loadings(many)) == count
    alone = SimpleNamespace(loadings=None, device=np.zeros(3, int), law=gp.law)
    assert [v.tolist() for v in TransferGP._loadings(alone)] == [[1, 1, 1]]
    held = joint(loadings=np.array([0.5, 1.0, 1.0]))
    assert [v.tolist() for v in held._loadings()] == [[0.5, 1, 1]]


def test_a_group_left_out_is_answered_by_the_others():
    gp = joint(loadings=np.ones(3))
    error, spread = gp.scores(np.array([0, 0, 1, 2, 3, 4, 5, 6, 7]))
    inner = kernel(gp, gp.known, gp.known, np.ones(3)) + 0.2**2 * np.diag(gp.doubt)
    away = gp.law.prior_mean - gp.law.parameters
    left = (
        gp.log_y - gp.law.predict(gp.terms, gp.device) - gp.law.slopes(gp.terms, gp.device) @ away
    )
    rest = slice(2, 9)
    solved = np.linalg.solve(inner[rest, rest], np.column_stack([left[rest], inner[rest, :2]]))
    assert error[:2] == pytest.approx(left[:2] - inner[:2, rest] @ solved[:, 0])
    plain = np.diag(inner[:2, :2] - inner[:2, rest] @ solved[:, 1:])
    wanted = np.maximum(plain - 0.2**2 * (gp.doubt[:2] - 1), 0.2**2)
    assert spread[:2] == pytest.approx(np.sqrt(wanted))


def test_noise_and_scale_stay_within_their_bounds():
    """Runs that the law explains exactly, and such as nothing explains."""
    gp = joint()
    away = gp.law.prior_mean - gp.law.parameters
    exact = gp.law.predict(gp.terms, gp.device) + gp.law.slopes(gp.terms, gp.device) @ away
    made = replace(gp, log_y=exact).chosen(0)
    assert (made.noise, made.scale) == pytest.approx((0.02, 0.125))
    assert replace(gp, log_y=exact).chosen(0, 0.3).noise == pytest.approx(0.3)
    wild = replace(gp, log_y=exact + 50.0 * (-1.0) ** np.arange(9)).chosen(0)
    assert (wild.noise, wild.scale) == pytest.approx((0.5, 8.0))
    assert made.lengths == pytest.approx(np.full(len(gp.lengths), 3.0))  # too few to learn one


def test_a_graph_of_its_name_counts_before_the_network():
    own = np.arange(len(TERMS)) + 1.0
    asked = table({"app": ["LeNet5"] * 3, "batch_size": [8] * 3, "graph": ["g", "h", None]})
    rows = TrainingRows.of(asked, {"g": own})
    assert rows.terms[0].tolist() == own.tolist()
    assert rows.terms[1].tolist() == rows.terms[2].tolist() != own.tolist()


def test_a_fit_of_few_runs_says_these_numbers():
    """Golden: another prior, length or share is another answer."""
    asked = {"app": ["LeNet5", "MNIST_CNN"] * 5 + ["secret"],
             "device": ["A"] * 7 + ["B"] * 3 + ["A"], "image_px": [32] * 11,
             "batch_size": [8, 8, 16, 16, 32, 32, 64, 8, 16, 64, 8]}  # fmt: skip
    took = [1.0, 1.2, 1.3, 1.4, 1.9, 2.2, 3.1, 2.0, 2.6, 6.5, 9.0]
    runs = table({**asked, "runtime_s": [t * 1e-3 for t in took]})
    assert StepCost().n_draws == 200
    model = StepCost(n_draws=5).fit(runs)
    assert [(n.count, n.dropped) for n in model.notes_] == [(1, True)]
    assert "secret" in model.notes_[0].message
    said = model.predict(runs.rows(np.array([0, 6, 9]))).draws["runtime_s"] * 1e3
    assert said == pytest.approx(np.array([
        [0.9335, 2.6788, 5.7894], [0.987, 2.8308, 6.1815], [1.0181, 2.919, 6.4109],
        [1.0789, 3.0917, 6.8637], [1.1529, 3.3018, 7.4211]]), rel=2e-3)  # fmt: skip
