"""What holds for every front: invariants, and exact formulas against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rheostat import Front, Outcome, table
from rheostat.core.dominance import hypervolume_2d, knee_index, non_dominated
from rheostat.errors import Infeasible
from rheostat.tradeoff.front_metrics import Box, attainable, hypervolume
from rheostat.tradeoff.limits import Deadline, EnergyBudget, MaxSlowdown, PowerCap
from rheostat.tradeoff.propose.acquisition import (
    chebyshev,
    hypervolume_improvement,
    infer_reference,
)
from rheostat.tradeoff.rules import Knee, Weighted, knee_height

R = (10.0, 10.0)
# Halves make ties and duplicates common.
coordinate = st.integers(1, 24).map(lambda i: i / 2)


def points(least=0, most=8):
    return st.integers(least, most).flatmap(lambda n: arrays(float, (n, 2), elements=coordinate))


@given(points(), points())
def test_hypervolume_never_falls_when_points_are_added(a, b):
    assert hypervolume_2d(np.concatenate([a, b]), R) >= hypervolume_2d(a, R) - 1e-9


@given(points(1), st.randoms(use_true_random=False))
def test_hypervolume_and_front_do_not_depend_on_the_order(y, random):
    order = list(range(len(y)))
    random.shuffle(order)
    assert hypervolume_2d(y[order], R) == pytest.approx(hypervolume_2d(y, R))
    assert (non_dominated(y[order]) == non_dominated(y)[order]).all()


@given(points(1))
def test_the_front_of_the_front_is_the_front_and_dominates_as_much(y):
    front = y[non_dominated(y)]
    assert len(front) >= 1
    assert non_dominated(front).all()
    assert hypervolume_2d(front, R) == pytest.approx(hypervolume_2d(y, R))
    for row in y[~non_dominated(y)]:
        assert ((front <= row).all(axis=1) & (front < row).any(axis=1)).any()


@given(points())
def test_two_implementations_of_the_hypervolume_agree(y):
    assert hypervolume(y, reference=10.0).value == pytest.approx(hypervolume_2d(y, R))


@given(points(), points(1, 4), points(1, 4))
def test_exact_improvement_is_the_difference_of_two_hypervolumes(known, first, second):
    draws = np.stack([first[:1], second[:1]])
    gain = hypervolume_improvement(draws, known, R)
    for d, candidates in enumerate(draws):
        for i, row in enumerate(candidates):
            with_it = hypervolume_2d(np.vstack([known, row[None]]), R)
            assert gain[d, i] == pytest.approx(with_it - hypervolume_2d(known, R), abs=1e-9)


@given(points(1, 5), points(1, 5), points(1, 5))
def test_each_draw_may_have_its_own_front(first, second, candidates):
    n = min(len(first), len(second))
    known = np.stack([first[:n], second[:n]])
    both = np.stack([candidates, candidates])
    gain = hypervolume_improvement(both, known, R)
    assert gain[0] == pytest.approx(hypervolume_improvement(both, first[:n], R)[0])
    assert gain[1] == pytest.approx(hypervolume_improvement(both, second[:n], R)[1])


@given(points(2, 7), st.integers(1, 3))
def test_no_subset_beats_the_attainable(y, k):
    box = Box((1.0, 1.0), (10.0, 10.0), log=False)
    bound = attainable(y, [k, k + 1], box=box, reference=1.0)
    assert hypervolume(y[:k], box=box, reference=1.0).value <= bound[0] + 1e-9
    assert bound[0] <= bound[1] + 1e-12


@given(points(1))
def test_the_inferred_reference_lies_beyond_the_front(y):
    assert (infer_reference(y) > y[non_dominated(y)].max(axis=0)).all()


@given(points(1), st.floats(0.01, 0.99))
def test_the_chebyshev_minimum_is_on_the_front(y, w):
    value = chebyshev(y, np.array([w, 1 - w]), y.min(axis=0), np.ptp(y, axis=0) + 1.0)
    assert non_dominated(y)[np.argmin(value)]


def a_front(y):
    draws = {"runtime_s": y[None, :, 0], "energy_j": y[None, :, 1]}
    nodes = list(range(len(y)))
    return Front(table({"nodes": nodes}), Outcome(draws), ("runtime_s", "energy_j"))


RULES = st.one_of(
    st.just(Knee()),
    coordinate.map(Deadline),
    coordinate.map(EnergyBudget),
    st.floats(1.0, 3.0).map(MaxSlowdown),
    st.floats(0.1, 3.0).map(lambda w: Weighted({"runtime_s": w, "energy_j": 1.0})),
)
LIMITS = st.lists(st.one_of(coordinate.map(Deadline), coordinate.map(EnergyBudget)), max_size=2)


@given(points(1), RULES, LIMITS)
def test_a_rule_takes_a_feasible_row_that_no_feasible_row_beats(y, rule, limits):
    front = a_front(y)
    every = [*limits, rule] if hasattr(rule, "excess") else limits
    feasible = np.all([c.excess(front) <= 0 for c in every] or [np.ones(len(y), bool)], axis=0)
    if not feasible.any():
        worst = np.max([c.excess(front) for c in every], axis=0)
        with pytest.raises(Infeasible) as none:
            front.choose(rule, limits)
        assert worst[none.value.nearest] == worst.min()
        return
    chosen = front.choose(rule, limits).index
    assert feasible[chosen]
    assert non_dominated(y[feasible])[np.flatnonzero(feasible).tolist().index(chosen)]
    assert front.mask[chosen]  # limits on the objectives never force a dominated row


@given(points(1), coordinate)
def test_a_cap_beside_the_objectives_still_leaves_the_best_of_what_fits(y, cap):
    front = a_front(y)
    feasible = PowerCap(cap).excess(front) <= 0
    if feasible.any():
        chosen = front.choose(Knee(), PowerCap(cap)).index
        assert feasible[chosen]
        assert non_dominated(y[feasible])[np.flatnonzero(feasible).tolist().index(chosen)]


@given(points(1))
def test_the_knee_rule_and_the_front_agree(y):
    at = int(np.argmin(knee_height(y)))
    assert (y[at] == y[knee_index(y)]).all()


@given(points(3), st.floats(0.1, 100.0), st.floats(0.1, 100.0))
@settings(max_examples=50)
def test_the_knee_does_not_depend_on_units(y, a, b):
    scaled = y * np.array([a, b])
    height, same = knee_height(y), knee_height(scaled)
    assert same == pytest.approx(height, abs=1e-9)
