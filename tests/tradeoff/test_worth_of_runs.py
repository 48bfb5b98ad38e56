"""What a run is worth, against loops over draws, pairs and fronts written out plainly."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from rheostat import Knob, Space, table
from rheostat.core.dominance import hypervolume_2d
from rheostat.tradeoff.decisive import _gain, most_decisive
from rheostat.tradeoff.limits import Deadline, NodeHours, PowerCap
from rheostat.tradeoff.propose.acquisition import hypervolume_improvement
from rheostat.tradeoff.propose.candidates import layers, promising
from rheostat.tradeoff.propose.hypervolume import expected_improvement_of_front
from rheostat.tradeoff.propose.improvement import scored
from rheostat.tradeoff.propose.law_guided import LawGuided, _noise, past_jobs
from rheostat.tradeoff.propose.lookahead import plan, value_of_a_run

R = (1.1, 1.1)


def area(points) -> float:
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    return hypervolume_2d(points, R) if len(points) else 0.0


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_an_improvement_is_the_area_with_less_the_area_without(seed, known) -> None:
    rng = np.random.default_rng(seed)
    y, z = rng.integers(0, 14, (3, 4, 2)) / 10, rng.integers(0, 14, (3, known, 2)) / 10
    each = hypervolume_improvement(y, z, R)
    same = hypervolume_improvement(y, z[0], R)
    for d, i in itertools.product(range(3), range(4)):
        assert each[d, i] == pytest.approx(area([*z[d], y[d, i]]) - area(z[d]), abs=1e-12)
        assert same[d, i] == pytest.approx(area([*z[0], y[d, i]]) - area(z[0]), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_value_of_a_run_is_what_it_adds_to_the_front_of_expected_values(seed) -> None:
    rng = np.random.default_rng(seed)
    logs = 3.0 + rng.normal(0, 0.3, (1, 5, 2)) + rng.normal(0, 0.2, (6, 5, 2))
    noise, measured = np.array([0.02, 0.05]), [1, 3]
    mean, variance = logs.mean(axis=0), logs.var(axis=0)
    low, span = mean.min(axis=0), np.ptp(mean, axis=0)
    place = (mean - low) / span
    wanted = np.zeros(5)
    for i in range(5):
        others = [place[j] for j in measured if j != i]
        before = area([*others, place[i]] if i in measured else others)
        for d in range(6):
            share = np.sqrt(variance[i] / (variance[i] + noise))
            moved = place[i] + (logs[d, i] - mean[i]) * share / span
            wanted[i] += (area([*others, moved]) - before) / 6
    assert value_of_a_run(logs, noise, measured) == pytest.approx(wanted)
    flat = np.stack([np.zeros((6, 5)), logs[:, :, 1]], axis=2)
    assert np.isfinite(value_of_a_run(flat, np.zeros(2), measured)).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_plan_of_two_is_the_best_pair_when_exchanges_end(seed) -> None:
    y = np.random.default_rng(seed).random((3, 5, 2))

    def mean_area(rows) -> float:
        return float(np.mean([area(y[d, list(rows)]) for d in range(3)]))

    first = max(range(5), key=lambda i: mean_area([i]))
    assert plan(y, [], 1) == [first]
    assert plan(y, [], 0) == plan(y, range(5), 3) == []
    chosen = plan(y, [], 2, passes=9)
    for j, other in itertools.product(range(2), range(5)):
        assert mean_area(chosen) >= mean_area([chosen[1 - j], other]) - 1e-9
    greedy = plan(y, [4], 2, passes=0)
    free = [0, 1, 2, 3]
    one = max(free, key=lambda i: mean_area([4, i]))
    two = max((i for i in free if i != one), key=lambda i: mean_area([4, one, i]))
    assert greedy == [one, two]
    assert sorted(plan(y, [4], 9)) == free


def expected_loss(mean, covariance, b, j) -> float:
    """Of taking b where j is better: E max(0, b - j) of two normals."""
    s = math.sqrt(covariance[j, j] + covariance[b, b] - 2 * covariance[b, j])
    d = (mean[j] - mean[b]) / s
    return s * (norm.pdf(d) - d * norm.cdf(-d))


@pytest.mark.parametrize("seed", range(4))
def test_each_measurement_is_the_one_that_removes_most_of_the_loss(seed) -> None:
    rng = np.random.default_rng(seed)
    n, noise = 6, 0.3
    mean, root = rng.normal(0, 0.4, n), rng.normal(0, 0.4, (n, n))
    first = root @ root.T + 0.01 * np.eye(n)
    groups = [np.array([0, 1, 2]), np.array([2, 3, 4]), np.array([5])]
    chosen = most_decisive(mean, first, groups, 3, noise=noise, measured=[1])
    left = first.copy()
    for row in chosen:
        gain = np.zeros(n)
        for group in groups:
            b = min(group, key=lambda i: mean[i])
            for j in (j for j in group if j != b):
                loss = expected_loss(mean, left, b, j)
                var = left[j, j] + left[b, b] - 2 * left[b, j]
                for x in range(n):
                    cov = left[x, j] - left[x, b]
                    gain[x] += loss * cov**2 / (var * (left[x, x] + noise**2))
        gain[[1, *chosen[: chosen.index(row)]]] = -1
        assert row == int(np.argmax(gain))
        assert 1 not in chosen
        left = left - np.outer(left[:, row], left[row]) / (left[row, row] + noise**2)
    assert len(chosen) == len(set(chosen)) == 3


def test_the_gain_of_every_measurement_is_by_the_formula() -> None:
    rng = np.random.default_rng(7)
    mean, root = rng.normal(0, 0.4, 5), rng.normal(0, 0.5, (5, 5))
    spread = root @ root.T + 0.05 * np.eye(5)
    best, other = np.array([0, 0, 3]), np.array([1, 2, 4])
    wanted = np.zeros(5)
    for b, j in zip(best, other, strict=True):
        var = spread[j, j] + spread[b, b] - 2 * spread[b, j]
        for x in range(5):
            told = (spread[x, j] - spread[x, b]) ** 2 / (var * (spread[x, x] + 0.04))
            wanted[x] += told * expected_loss(mean, spread, b, j)
    assert _gain(mean, spread, best, other, 0.2) == pytest.approx(wanted)
    alike = np.ones((2, 2))  # nothing tells the two apart
    assert _gain(np.zeros(2), alike, np.array([0]), np.array([1]), 0.1).tolist() == [0.0, 0.0]


def test_no_more_is_measured_than_there_is_or_than_decides() -> None:
    mean, spread = np.array([0.0, 0.1, 0.2]), np.diag([0.1, 0.1, 0.1])
    every = [np.array([0, 1, 2])]
    assert len(most_decisive(mean, spread, every, 9)) == 3
    assert most_decisive(mean, spread, every, 9, measured=[0, 2]) == [1]
    assert most_decisive(mean, spread, every, 0) == []
    assert most_decisive(mean, spread, [np.array([2])], 2) == []
    assert most_decisive(mean, np.zeros((3, 3)), every, 2) == []
    beside = most_decisive(mean, spread, [np.array([0, 1])], 9)
    assert sorted(beside) == [0, 1]  # the third tells nothing of these two


def peeled(values, count) -> list[int]:
    """Front by front, of the last one an even selection by the first objective."""
    left, chosen = list(range(len(values))), []
    while left and len(chosen) < count:
        layer = [i for i in left
                 if not any((values[j] <= values[i]).all() and (values[j] < values[i]).any()
                            for j in left)]  # fmt: skip
        left = [i for i in left if i not in layer]
        layer.sort(key=lambda i: values[i][0])
        room = count - len(chosen)
        if len(layer) > room:
            layer = [layer[round(p)] for p in np.linspace(0, len(layer) - 1, room)]
        chosen += layer
    return chosen


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 14))
def test_layers_are_fronts_taken_one_by_one(seed, count) -> None:
    values = np.random.default_rng(seed).random((12, 2))
    assert layers(values, count).tolist() == peeled(values, count)


@pytest.mark.parametrize("limited", [False, True])
def test_candidates_are_the_expected_front_the_possible_one_the_ends_and_a_sprinkling(
    limited,
) -> None:
    rng = np.random.default_rng(3)
    mean, spread = rng.random((200, 2)), rng.random((200, 2)) / 5
    excess = rng.normal(0.2, 0.3, 200) if limited else None
    count, seed = 24, 5
    among = np.arange(200)
    if limited:
        among = np.argsort(np.maximum(excess, 0), kind="stable")
        among = among[: max(count, (excess <= 0).sum())]
    chosen = set(np.random.default_rng(seed).choice(200, 3, replace=False).tolist())  # an eighth
    chosen |= {int(among[i]) for i in peeled(mean[among], 6)}  # a quarter
    for i in peeled(mean[among] - spread[among], count):
        if len(chosen) < count:
            chosen.add(int(among[i]))
    ends = {int(i) for j in (0, 1) for k in (slice(4), slice(-4, None))
            for i in np.argsort(mean[:, j], kind="stable")[k]}  # fmt: skip
    found = promising(mean, spread, count, excess=excess, seed=seed)
    assert found.tolist() == sorted(chosen | ends)
    assert promising(mean[:24], spread[:24], 24).tolist() == list(range(24))
    assert len(promising(mean[:25], spread[:25], 24)) <= 25


def test_an_expected_improvement_is_that_on_the_best_known_or_coming_in_each_draw() -> None:
    rng = np.random.default_rng(0)
    draws, feasible = rng.random((5, 6)), rng.random((5, 6)) < 0.7
    for fixed, observed in (((), [0.6, 0.4]), ((4, 5), [0.6, 0.4]), ((5,), [])):
        view = SimpleNamespace(fixed=fixed, feasible=feasible, candidates=4)
        if not observed and not feasible[:, 5].all():
            feasible[:, 5] = True
        wanted = np.zeros(4)
        for d in range(5):
            best = min([*observed, *(draws[d, r] for r in fixed if feasible[d, r])])
            wanted += [feasible[d, i] * max(best - draws[d, i], 0) / 5 for i in range(4)]
        assert scored(view, draws, np.array(observed)) == pytest.approx(wanted)


@pytest.mark.parametrize("fixed", [(), (4,), (4, 5)])
def test_an_expected_area_counts_what_is_coming_where_it_is_feasible(fixed) -> None:
    rng = np.random.default_rng(1)
    y, feasible, known = rng.random((5, 6, 2)), rng.random((5, 6)) < 0.7, rng.random((2, 2)) + 0.4
    view = SimpleNamespace(y=y, feasible=feasible, known=known, fixed=fixed, candidates=4,
                           reference=np.array(R))  # fmt: skip
    wanted = np.zeros(4)
    for d in range(5):
        before = [*known, *(y[d, r] for r in fixed if feasible[d, r])]
        for i in range(4):
            wanted[i] += feasible[d, i] * (area([*before, y[d, i]]) - area(before)) / 5
    assert expected_improvement_of_front(view) == pytest.approx(wanted)


CAPS = Space.of([Knob("nodes", [1, 2]), Knob("cap_w", [100, 150, 200, 250])])


def law(limits=(), space=CAPS, **more) -> LawGuided:
    return LawGuided(space, ("runtime_s", "power_w"), limits=limits, **more)


def test_noise_is_pooled_over_repeats() -> None:
    cells = [np.array([[0.0, 1.0], [0.2, 1.4], [0.4, 1.2]]), np.array([[5.0, 5.0]]),
             np.array([[1.0, 2.0], [1.2, 2.0]])]  # fmt: skip
    assert _noise(cells) == pytest.approx([(0.08 + 0.02) / 3, 0.08 / 3])
    assert _noise(cells[1:2]).tolist() == _noise([]).tolist() == [0.0, 0.0]


def test_a_setting_that_misses_a_limit_adds_nothing_in_that_draw() -> None:
    asked = law((Deadline(math.exp(2.0)), PowerCap(math.exp(5.0))))
    runtime = np.array([[1.0, 2.0, 3.0, 0.5], [9.0, 9.0, 9.0, 9.0], [1.0, 1.0, 2.0, 0.0]])
    power = np.array([[4.0, 5.0, 3.0, 6.0], [1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]])
    y = np.stack([runtime, power], axis=2) / 10
    none = np.zeros(runtime.shape, dtype=bool)
    found = asked._limited(y.copy(), {"runtime_s": runtime, "power_w": power}, none)
    assert found[0].tolist() == [[0.0, 0.0], [1.0, 1.0], [1.1, 1.1], [1.1, 1.1]]
    assert found[1:].tolist() == y[1:].tolist()  # all miss it, none does


def test_caps_that_do_not_bind_are_one_setting() -> None:
    every = CAPS.settings()
    place = {(s["nodes"], s["cap_w"]): i for i, s in enumerate(every)}

    def pairs(told, noise=()):
        model = SimpleNamespace(measured=[place[k] for k in told], noise=list(noise),
                                logs=list(told.values()))  # fmt: skip
        found = law()._caps_alike(every, model)
        return sorted((tuple(every[i].values()), tuple(every[j].values())) for i, j in found)

    apart, near = (2.0, 3.0), (2.01, 2.99)
    assert pairs({(1, 150): apart, (1, 200): near}) == [((1, 250), (1, 150))]
    assert pairs({(1, 150): apart, (1, 250): near}) == [((1, 200), (1, 150))]
    assert pairs({(1, 150): apart, (1, 250): (2.011, 3.0)}) == []
    assert pairs({(1, 150): apart, (1, 250): (2.0, 3.011)}) == []
    assert pairs({(1, 150): apart, (2, 200): apart}) == []
    assert pairs({(2, 100): apart, (2, 150): (9.0, 9.0), (2, 200): (9.0, 9.0)}) == [
        ((2, 250), (2, 150))]  # fmt: skip
    wide = {(1, 150): apart, (1, 250): (2.5, 3.5)}
    assert pairs(wide, [(0.0625, 0.01), (0.01, 0.0625)]) == [((1, 200), (1, 150))]
    assert pairs(wide, [(0.0624, 0.0625)]) == []
    capless = law(space=Space.of([Knob("nodes", [1, 2])]))
    assert capless._caps_alike(capless.listed(), SimpleNamespace(measured=[], logs=[])) == []


def test_node_hours_follow_from_nodes_and_logs_have_every_quantity() -> None:
    asked = law((NodeHours(3.0),))
    settings_ = [{"nodes": 2, "cap_w": 100}, {"nodes": 1, "cap_w": 150}]
    logs = asked._every(settings_, np.log([[3600.0, 7200.0]]), np.zeros((1, 2)), np.ones((1, 2)))
    assert np.exp(logs["node_hours"]) == pytest.approx(np.array([[2.0, 2.0]]))
    assert set(logs) == {"runtime_s", "power_w", "energy_j", "node_hours"}
    capped = law(space=Space.of([Knob("cap_w", [100, 150])]))
    assert "node_hours" not in capped._every(settings_, *np.zeros((3, 1, 2)))


def test_past_runs_of_a_setting_are_means_of_logs_and_those_without_a_value_are_left_out() -> None:
    prior = table({"app": ["a"] * 6 + ["b"] * 2, "nodes": [4, 1, 2, 2, 4, 8, 1, 2],
                   "runtime_s": [5.0, 9.0, 4.0, 16.0, 5.0, 0.0, 1.0, 1.0],
                   "power_w": [100.0, 100.0, 100.0, 400.0, 100.0, 1.0, 1.0, 1.0]})  # fmt: skip
    (job,) = past_jobs(prior, ["nodes"], ["app"])
    assert job.settings.tolist() == [[1.0], [2.0], [4.0]]
    assert np.exp(job.logs) == pytest.approx(np.array([[9.0, 8.0, 5.0], [100.0, 200.0, 100.0]]))
