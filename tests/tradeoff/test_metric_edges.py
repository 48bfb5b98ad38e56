"""Metrics, improvements and plans where it matters: flat boxes, no value, nothing to cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rheostat.core.dominance import hypervolume_2d
from rheostat.errors import DataError
from rheostat.tradeoff.front_metrics import (
    Box,
    Hypervolume,
    attainable,
    decision_regret,
    epsilon,
    evaluations_to,
    hypervolume,
    igd_plus,
    spread,
    trace,
)
from rheostat.tradeoff.propose.acquisition import (
    chebyshev,
    hypervolume_improvement,
    improvement,
    infer_reference,
    project_out,
)
from rheostat.tradeoff.propose.lookahead import least_regret, plan, scaled
from rheostat.tradeoff.rules import Knee
from tests.tradeoff.small_fronts import INF, NAN, front

# metrics


def test_a_box_reaches_from_ideal_to_nadir_and_is_never_flat() -> None:
    assert Box.of(np.array([[2.0, 3.0]])) == Box((2.0, 3.0), (2.0 * np.e, 3.0 * np.e))
    flat = Box.of(np.array([[2.0, 3.0], [1.0, 3.0], [NAN, 9.0]]), log=False)
    assert flat == Box((1.0, 3.0), (2.0, 4.0), log=False)
    assert Box((1.0,), (100.0,)).scale(np.array([[10.0], [NAN]])).tolist() == [[0.5]]
    assert Box((1.0,), (3.0,), log=False).scale(np.array([[2.0]])).tolist() == [[0.5]]
    for wrong in ([[NAN, 1.0]], [[0.0, 1.0]], [[-1.0, 1.0]]):
        with pytest.raises(DataError, match="above 0 on log axes"):
            Box.of(np.array(wrong))


def test_a_hypervolume_without_a_box_says_so() -> None:
    bare = hypervolume(np.array([[1.0, 1.0], [NAN, 0.0]]), reference=(3.0, 2.0))
    assert (bare.value, bare.low, bare.high, bare.log) == (2.0, None, None, False)
    assert str(bare) == "hypervolume 2.0000 (reference 3, 2)"
    plain = Hypervolume(0.5, (1.1,), Box((1.0,), (2.0,), log=False))
    assert str(plain) == "hypervolume 0.5000 (reference 1.1 of box [1]..[2])"
    assert not plain.log
    assert float(hypervolume(np.empty((0, 2)))) == 0.0
    with pytest.raises(DataError, match="expected two objectives, got 3"):
        attainable(np.ones((2, 3)), [1])


def test_what_nothing_covers_is_infinitely_far_and_evenness_of_nothing_unknown() -> None:
    box = Box((0.0, 0.0), (1.0, 1.0), log=False)
    t = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    nothing = np.empty((0, 2))
    assert igd_plus(nothing, t, box=box) == epsilon(nothing, t, box=box) == INF
    assert math.isnan(spread(nothing, t, box=box))
    assert spread(t[:1], t[:1], box=box) == 0.0
    assert igd_plus(t, np.vstack([t, [[1.0, 1.0]]]), box=box) == 0.0  # the truth's front counts
    assert evaluations_to(1.0, t + 0.1, t + 0.1) == 3.0
    steps = trace(np.array([[NAN, 1.0], [0.0, 0.0]]), box=box)
    assert steps == pytest.approx([0.0, 1.1 * 1.1])


def test_regret_wants_the_same_alternatives_on_both_sides() -> None:
    truth = front(runtime_s=[[1, 2]], energy_j=[[2, 1]])
    other = front(runtime_s=[[1, 2, 3]], energy_j=[[2, 1, 1]])
    with pytest.raises(DataError, match="the same alternatives"):
        decision_regret(other, truth, Knee(), [], lambda f: f.mean("energy_j"))
    blind = front(runtime_s=[[NAN, NAN]], energy_j=[[NAN, NAN]])
    found = decision_regret(blind, truth, Knee(), [], lambda f: f.mean("energy_j"))
    assert math.isnan(found.regret)
    assert not found.violated


# what a setting is worth trying for


def test_an_improvement_is_what_lies_below_the_best() -> None:
    y = np.array([[1.0, 3.0, NAN], [2.0, 5.0, 1.0]])
    assert improvement(y, 2.5).tolist() == [[1.5, 0, 0], [0.5, 0, 1.5]]
    assert improvement(y, np.array([[2.0], [4.0]])).tolist() == [[1, 0, 0], [2, 0, 3]]
    assert improvement(y, INF).tolist() == [[4, 2, 0], [3, 0, 4]]  # the largest draw stands in
    assert improvement(np.full((1, 2), NAN), INF).tolist() == [[0, 0]]


def test_points_beyond_the_reference_or_without_value_add_nothing(monkeypatch) -> None:
    known = np.array([[1.0, 2.0], [NAN, 0.0], [4.0, 0.5], [2.0, 1.0]])
    y = np.array([[[3.0, 0.5], [0.5, 3.0], [NAN, 0.0], [0.5, 0.5], [1.0, 2.0]]])
    gain = hypervolume_improvement(y, known, (3.0, 3.0))
    assert gain.tolist() == [[0.0, 0.0, 0.0, 6.25 - 3.0, 0.0]]
    assert hypervolume_improvement(y, np.empty((0, 2)), (3.0, 3.0))[0, 3] == 6.25
    wide = hypervolume_improvement(np.array([[[0.0, 0.0]]]), np.array([[1.0, 2.0]]), (3.0, 5.0))
    assert wide.tolist() == [[15.0 - 2 * 3]]
    monkeypatch.setattr("rheostat.tradeoff.propose.acquisition._CELLS", 5)
    assert hypervolume_improvement(y, known, (3.0, 3.0)).tolist() == gain.tolist()


def test_an_augmented_distance_is_the_worst_part_and_a_little_of_all() -> None:
    y = np.array([[2.0, 6.0], [4.0, 4.0]])
    found = chebyshev(y, np.array([0.25, 0.75]), np.array([2.0, 2.0]), np.array([2.0, 4.0]))
    assert found == pytest.approx([0.75 + 0.05 * 0.75, 0.375 + 0.05 * (0.25 + 0.375)])
    flat = chebyshev(y, np.ones(2), np.zeros(2), np.array([0.0, 1.0]), rho=0.0)
    assert flat.tolist() == [6.0, 4.0]


def test_a_reference_is_a_tenth_of_the_range_beyond_the_nadir() -> None:
    assert infer_reference(np.array([[0.0, 4.0], [2.0, 0.0], [9.0, 9.0]])) == pytest.approx(
        [2.2, 4.4]
    )
    one = np.array([[1.0, 1.0], [3.0, 5.0]])  # one point on the front: the range of all
    assert infer_reference(one) == pytest.approx([1.2, 1.4])
    assert infer_reference(np.array([[4.0, -2.0]])) == pytest.approx([4.4, -1.8])
    assert infer_reference(np.array([[NAN, 1.0]])).tolist() == [1.0, 1.0]
    small = np.array([[0.0, 0.5], [0.25, 0.0]])
    assert infer_reference(small) == pytest.approx([0.275, 0.55])
    assert infer_reference(np.zeros((1, 2))) == pytest.approx([1e-10, 1e-10])


def test_what_is_known_of_one_takes_away_what_it_shares_with_others() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 3))
    z[:, 1] = 2 * z[:, 0]
    left = project_out(z, 0)
    assert left[:, :2] == pytest.approx(np.zeros((50, 2)), abs=1e-12)
    assert left[:, 0] @ left[:, 2] == pytest.approx(0.0)
    assert z[:, 0] @ left[:, 2] == pytest.approx(0.0, abs=1e-9)
    sure = np.zeros((5, 2))
    assert project_out(sure, 0) is sure


@given(arrays(float, (2, 4, 2), elements=st.integers(0, 6).map(lambda i: i / 4)))
def test_scaling_takes_each_draw_to_the_unit_square(y) -> None:
    z = scaled(y)
    for draw, found in zip(y, z, strict=True):
        for j in range(2):
            span = np.ptp(draw[:, j])
            want = (draw[:, j] - draw[:, j].min()) / span if span else np.zeros(4)
            assert found[:, j] == pytest.approx(want)


def test_a_plan_exchanges_until_nothing_improves() -> None:
    """Greedy takes the middle first; the best three of a straight front spread evenly."""
    x = np.linspace(0, 1, 13)
    y = np.stack([x, 1 - x], axis=1)[None]
    chosen = plan(y, [], 3)
    area = hypervolume_2d(y[0][chosen], (1.1, 1.1))
    every = [hypervolume_2d(y[0][[a, b, c]], (1.1, 1.1))
             for a in range(13) for b in range(a) for c in range(b)]  # fmt: skip
    assert area == pytest.approx(max(every))
    assert len(set(chosen)) == 3
    assert plan(y, [], 3, passes=0)[0] == 6


def test_regret_is_counted_against_the_best_that_fits_in_each_draw() -> None:
    limited = np.array([[2.0, 0.0, 0.0]])
    assert least_regret(np.array([[0.0, 1.0, 0.5]]), limited, 1.0) == 2
    # 1 over the limit in one draw of two is less than 3 dearer in the other
    assert least_regret(np.array([[0.0, 3.0]] * 2), np.array([[2.0, 0.0], [0.0, 0.0]]), 1.0) == 0
    assert least_regret(np.array([[0.0, 1.0, 1.0]]), np.zeros((1, 3)), 0.0) == 0
