"""Trees of who goes first, against closed forms: likelihood, its optimum, slopes, which tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.training.distill import fit_tree as fit
from rheostat.training.distill.decision_states import States
from rheostat.training.distill.fit_tree import (
    Likelihood,
    SlopeFit,
    _levelled,
    _size,
    _sloped_leaves,
    _with_slope,
    bends_of,
    best_tree,
    grown,
    polishes,
    stakes_of,
    value_tree,
)
from rheostat.training.distill.grow_tree import FAR, _lines, _sums, bent, cut, grow


def states_of(value, rows, x=None, units=("s",)):
    """Decisions of so many ``rows`` each; one feature unless ``x`` is given."""
    value, rows = np.asarray(value, float), np.asarray(rows)
    x = value[:, None] if x is None else np.asarray(x, float)
    first = np.concatenate([[0], np.cumsum(rows)[:-1]])
    names = tuple(TreeFeature(f"f{i}", u) for i, u in enumerate(units))
    return States(names, x, first, rows, value, rows)


def drawn(k=150, d=2, seed=0):
    """Decisions of two to five jobs whose value is noisy: no tree puts all of them in order."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(2, 6, k)
    x = rng.uniform(1, 10, (rows.sum(), d))
    value = x @ np.array([1.0, -0.5][:d]) + rng.normal(0, 2.0, len(x))
    return states_of(value, rows, x, ("s",) * d)


def leaf_of(tree, states):
    return np.searchsorted(tree.leaves, tree.apply(states.x))


def stub(states, slope=0, scale=2.0, steep=1.0, value=0.0):
    return PriorityTree.of(states.features, feature=[-1], threshold=[0.0], left=[-1], right=[-1],
                           value=[value], slope=[slope], scale=[scale], steep=[steep])  # fmt: skip


# ---------------------------------------------------------------- likelihood


def test_shares_of_rows_with_a_lower_value_count_equals_half():
    assert _levelled(np.array([3.0, 1.0, 1.0, 5.0])).tolist() == [0.625, 0.25, 0.25, 0.875]
    assert _levelled(np.array([-1e300, 0.0, 1e300])).tolist() == pytest.approx([1 / 6, 0.5, 5 / 6])


def test_the_loss_is_plackett_luces_of_the_first_three_places_each_half_of_the_one_before():
    """Four jobs of which the teacher wants 2, 0, 3, 1; and two that matter three times as much."""
    states = states_of([5.0, 1.0, 9.0, 2.0, 1.0, 0.0], [4, 2])
    told = np.array([0.3, -1.0, 0.2, 0.9, 0.5, -0.4])
    loss, slope = Likelihood(states, np.array([1.0, 3.0])).at(told)

    def surprise(first, *others):
        return np.log(np.exp(told[[first, *others]]).sum()) - told[first]

    four = surprise(2, 0, 1, 3) + 0.5 * surprise(0, 1, 3) + 0.25 * surprise(3, 1)
    two = surprise(4, 5) + 0.5 * surprise(5)
    assert loss == pytest.approx((four + 3 * two) / 2, rel=1e-12)
    for row in range(6):
        up, down = (Likelihood(states, np.array([1.0, 3.0])).at(told + e * (np.arange(6) == row))[0]
                    for e in (1e-5, -1e-5))  # fmt: skip
        assert slope[row] == pytest.approx((up - down) / 2e-5, abs=1e-8)


def test_likelihood_stays_finite_where_values_are_far_apart():
    states = states_of([1.0, 0.0], [2])
    loss, slope = Likelihood(states, np.ones(1)).at(np.array([-2000.0, 2000.0]))
    assert loss == pytest.approx(4000.0)
    assert slope.tolist() == [-1.0, 1.0]


# ---------------------------------------------------------------- the optimum of leaves


def two_leaves(states, slopes=1):
    """A tree that asks for the first feature, each leaf with slopes along some of the features."""
    cols = [[-1] * slopes, *[[k % 2 for k in range(slopes)]] * 2]
    return PriorityTree.of(
        states.features, feature=[0, -1, -1], threshold=[5.0, 0, 0], left=[1, -1, -1],
        right=[2, -1, -1], value=[0.0, 1.0, 2.0], slope=np.array(cols),
        scale=np.array([[1.0] * slopes, [2.0 + k for k in range(slopes)], [3.0] * slopes]),
        steep=np.array([[1.0] * slopes, [2.0] * slopes, [-4.0] * slopes]),
    )  # fmt: skip


@pytest.mark.parametrize("slopes", [1, 2])
def test_fitted_leaves_leave_no_slope_of_the_likelihood(slopes):
    """At the optimum no value and no slope of any leaf lowers the loss any further."""
    states = drawn()
    tree, likely = two_leaves(states, slopes), Likelihood(states, np.ones(len(states)))
    leaf = leaf_of(tree, states)
    made = _sloped_leaves(tree, likely, leaf)
    before, after = (likely.at(t.predict(states.x))[0] for t in (tree, made))
    _, pull = likely.at(made.predict(states.x))
    assert after < before - 0.05
    for k in range(2):
        here = leaf == k
        assert abs(pull[here].sum()) < 1e-4
        for s in range(slopes):
            at = made.leaves[k]
            along = bent(states.x[here, made.slope[at, s]], made.scale[at, s])
            assert abs((pull[here] * along).sum()) < 1e-4


def test_values_that_tell_everything_are_held_back_only_a_little():
    """The teacher is obeyed everywhere: the larger the values the likelier, but they stay small."""
    states = states_of(np.tile([1.0, 2.0], 40), [2] * 40, np.tile([1.0, 9.0], 40)[:, None])
    tree = two_leaves(replace(states, features=(TreeFeature("f0"),)))
    tree = replace(tree, slope=np.full((3, 1), -1))
    made = _sloped_leaves(tree, Likelihood(states, np.ones(40)), leaf_of(tree, states))
    assert 10 < made.value[2] - made.value[1] < 20
    assert (made.slope == -1).all()


def test_a_leaf_without_rows_or_whose_rows_are_alike_gets_a_value_and_keeps_the_others_right():
    states = drawn()
    tree = replace(two_leaves(states), threshold=np.array([99.0, 0, 0]))
    made = _sloped_leaves(tree, Likelihood(states, np.ones(len(states))), leaf_of(tree, states))
    assert np.isfinite(made.value).all()
    single = stub(states)
    alone = _sloped_leaves(
        single, Likelihood(states, np.ones(len(states))), leaf_of(single, states)
    )
    wanted = alone.predict(states.x)
    np.testing.assert_allclose(np.diff(made.predict(states.x)), np.diff(wanted), atol=2e-3)
    flat = replace(states, x=np.ones_like(states.x))
    made = _sloped_leaves(
        stub(flat), Likelihood(flat, np.ones(len(flat))), leaf_of(stub(flat), flat)
    )
    assert np.isfinite(made.predict(flat.x)).all()


# ---------------------------------------------------------------- slopes


def test_a_slope_may_bend_at_the_median_and_where_a_tenth_has_less_or_more():
    x = np.stack([np.arange(1.0, 102.0), np.arange(1.0, 102.0) / 101, np.full(101, 7.0)], axis=1)
    states = states_of(np.arange(101.0), [101], x, ("s", "0 to 1", "s"))
    bends = bends_of(states)
    assert bends.of.tolist() == [0, 0, 0, 1, 2]  # a share is straight; what is constant as well
    assert bends.scale.tolist() == [51.0, 11.0, 91.0, FAR, 7.0]
    np.testing.assert_array_equal(bends.shape[:, 1], x[:, 0] / (x[:, 0] + 11.0))


def test_the_next_slope_is_along_what_the_likelihood_still_pulls_at():
    states = drawn(d=2)
    states = replace(states, value=10.0 * states.x[:, 1])
    fits, tree = Likelihood(states, np.ones(len(states))), stub(states, slope=-1)
    bends = SlopeFit(np.array([0, 1, 1]), np.array([2.0, 3.0, 1e6]),
                     np.stack([bent(states.x[:, 0], 2.0), bent(states.x[:, 1], 3.0),
                               bent(states.x[:, 1], 1e6)], axis=1))  # fmt: skip
    leaf = leaf_of(tree, states)
    _, pull = fits.at(tree.predict(states.x))
    told = []
    for row in bends.shape.T:
        told.append(abs((pull * (row - row.mean())).sum()) / row.std())
    best = int(np.argmax(told))
    wider = _with_slope(tree, fits, leaf, bends)
    assert wider.slope.tolist() == [[-1, bends.of[best]]]
    assert wider.scale[0, 1] == bends.scale[best]
    assert wider.steep[0, 1] == fit.FLAT
    np.testing.assert_allclose(wider.predict(states.x), tree.predict(states.x), atol=1e-8)


def test_no_leaf_gets_the_same_slope_twice_nor_one_along_what_never_changes():
    states = drawn(d=2)
    fits = Likelihood(states, np.ones(len(states)))
    one = SlopeFit(np.array([1]), np.array([3.0]), bent(states.x[:, [1]], 3.0))
    fitted = stub(states, slope=1, scale=3.0, steep=0.5)
    leaf = leaf_of(fitted, states)
    assert _with_slope(fitted, fits, leaf, one).slope.tolist() == [[1, -1]]
    other = replace(one, scale=np.array([4.0]))  # another bend of the same feature is allowed,
    assert _with_slope(fitted, fits, leaf, other).slope.tolist() == [[1, 1]]
    waits = replace(fitted, steep=np.full((1, 1), fit.FLAT))  # unless one of it is not fitted yet
    assert _with_slope(waits, fits, leaf, other).slope.tolist() == [[1, -1]]
    still = SlopeFit(np.array([0]), np.array([1.0]), np.full((len(states.x), 1), 0.3))
    assert _with_slope(fitted, fits, leaf, still).slope.tolist() == [[1, -1]]


def test_polished_trees_have_one_slope_two_four_and_so_on_and_each_fits_better():
    states = drawn()
    start = grow(states.features, states.x, states.value, np.ones(len(states.x)), 1)
    trees = polishes(start, states, np.ones(len(states)), 6)
    assert [t.slope.shape[1] for t in trees] == [1, 2, 4, 6]
    fits = Likelihood(states, np.ones(len(states)))
    losses = [fits.at(t.predict(states.x))[0] for t in trees]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    assert [len(polishes(start, states, np.ones(len(states)), n)) for n in (1, 2, 3)] == [1, 2, 2]


def test_of_more_rows_than_are_polished_on_every_so_many_decisions_are_taken(monkeypatch):
    states, seen = states_of(np.arange(12.0), [2] * 6), []

    class Noted(Likelihood):
        def __init__(self, some, matter):
            seen.append((some.first.tolist(), some.value.tolist(), matter.tolist()))
            super().__init__(some, matter)

    monkeypatch.setattr(fit, "Likelihood", Noted)
    for most, kept in ((12, [0, 1, 2, 3, 4, 5]), (11, [0, 2, 4]), (4, [0, 3])):
        monkeypatch.setattr(fit, "POLISHED_ON", most)
        polishes(stub(states), states, np.arange(6.0), 1)
        _, value, matter = seen.pop()
        assert matter == kept
        assert value == [v for k in kept for v in (2.0 * k, 2.0 * k + 1)]


# ---------------------------------------------------------------- which tree


def test_stakes_are_spreads_over_their_mean_within_a_tenth_and_ten_times():
    spreads = np.concatenate([[4.0, 0.0, 1000.0], np.ones(97)])
    value = np.stack([np.zeros(100), spreads], axis=1).ravel()
    mean = (4.0 + 1000.0 + 97.0) / 100
    assert stakes_of(states_of(value, [2] * 100))[:4].tolist() == pytest.approx(
        [4.0 / mean, 0.1, 10.0, 0.1])  # fmt: skip
    nothing = states_of(np.ones(4), [2, 2])
    assert stakes_of(nothing).tolist() == [0.1, 0.1]
    one = states_of([0.0, np.inf, 0.0, 2.0, 0.0, 4.0], [2, 2, 2])
    assert stakes_of(one).tolist() == pytest.approx([10.0, 2 / 3, 4 / 3])


def test_what_all_jobs_of_a_decision_have_in_common_is_not_learned():
    """Decisions are 1000 apart from each other; within one the smaller first feature is first."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (600, 2))
    common = np.repeat(rng.integers(0, 5, 200) * 1000.0, 3)
    states = states_of(common - x[:, 0], [3] * 200, x, ("0", "0"))
    tree = grown(states, 2, np.ones(200))
    assert (states.best(tree.predict(x)) == states.best(states.value)).mean() > 0.9


def test_a_tree_is_grown_on_so_many_decisions_as_have_the_rows_that_are_allowed(monkeypatch):
    states, seen = states_of(np.arange(40.0), [4] * 10), []

    def noted(features, x, u, w, depth, **how):
        seen.append((len(x), len(u), len(w), depth))
        return grow(features, x, u, w, depth, **how)

    monkeypatch.setattr(fit, "grow", noted)
    for most, depth in ((40, 5), (39, 1), (1, 2)):
        grown(states, depth, np.ones(10), most=most)
    assert seen == [(40, 40, 40, 2), (40, 40, 40, 5), (36, 36, 36, 1), (36, 36, 36, 1),
                    (4, 4, 4, 2), (4, 4, 4, 2)]  # fmt: skip


def test_of_trees_that_agree_nearly_as_often_the_smallest_is_taken(monkeypatch):
    """The rule is one threshold: one question says it, and more are not asked."""
    states = drawn(k=120)
    states = replace(states, value=np.where(states.x[:, 0] > 5, 1.0, 0.0) + 1e-9 * states.x[:, 1])
    told = []
    tree = best_tree(states, states, 4, progress=lambda *seen: told.append(seen))
    assert told[0] == (0, 30)
    assert told[-1] == (30, 30)
    assert [d for d, _ in told] == [0, 2, 4, 6, 14, 22, 30]
    chosen = (states.best(tree.predict(states.x)) == states.best(states.value)).mean()
    sizes = {}
    for matter, most in ((stakes_of(states), fit.SLOPES), (np.ones(len(states)), fit.MANY)):
        whole = grown(states, 4, matter)
        for deep in (0, 3, 4):
            for made in polishes(cut(whole, deep), states, matter, most):
                alike = (states.best(made.predict(states.x)) == states.best(states.value)).mean()
                sizes.setdefault(_size(made), []).append(alike)
    most = max(max(v) for v in sizes.values())
    least = min(n for n, v in sizes.items() if max(v) >= most - fit.NEARLY)
    assert _size(tree) == least
    assert chosen >= most - fit.NEARLY


def test_the_size_of_a_tree_is_its_leaves_and_their_slopes():
    states = drawn()
    assert _size(two_leaves(states, 2)) == 2 + 4
    assert _size(stub(states, slope=-1)) == 1
    assert _size(stub(states)) == 2


def test_a_tree_of_values_asks_as_many_questions_as_it_may_and_says_how_many_rows_it_saw():
    states = states_of(np.repeat([0.0, 1.0, 5.0, 7.0], 2), [2] * 4)
    tree = value_tree(states, 2)
    assert tree.predict(states.x).tolist() == states.value.tolist()
    assert tree.depth == 2
    assert tree.support.tolist() == [8, 4, 2, 2, 4, 2, 2]
    assert (tree.threshold[tree.left < 0] == 0).all()
    assert (tree.feature[tree.left < 0] == -1).all()


# ---------------------------------------------------------------- growing


def test_lines_by_sums_are_least_squares():
    rng = np.random.default_rng(0)
    g, u, w = rng.normal(size=(30, 2)), rng.normal(size=30), rng.uniform(0.1, 2, 30)
    a, b, error = _lines(_sums(g, u, w).sum(axis=0)[None])
    for k in range(2):
        b1, a1 = np.polyfit(g[:, k], u, 1, w=np.sqrt(w))
        assert (a[0, k], b[0, k]) == (pytest.approx(a1), pytest.approx(b1))
        assert error[0, k] == pytest.approx((w * (u - a1 - b1 * g[:, k]) ** 2).sum())
    flat = _lines(_sums(np.ones((30, 1)), u, w).sum(axis=0)[None])
    assert flat[1].tolist() == [[0.0]]
    assert flat[0][0, 0] == pytest.approx(np.average(u, weights=w))


def test_a_question_is_asked_only_where_it_is_worth_it_and_both_sides_weigh_enough():
    x = np.arange(200.0)[:, None]
    names, w = (TreeFeature("a", "0"),), np.ones(200)
    for least, few in ((0.02, 4), (0.2, 40)):
        tree = grow(names, x, np.where(x[:, 0] < 2, 1.0, 0.0), w, 3, least=least)
        assert np.bincount(tree.apply(x))[tree.leaves].min() >= few
    assert grow(names, x, np.ones(200), w, 3).depth == 0
    half = grow(names, x, np.where(x[:, 0] < 100, 0.0, 1.0), w, 3)
    assert half.depth == 1
    assert half.threshold[0] == pytest.approx(99.5, abs=7)
    uneven = grow(
        names, x, np.where(x[:, 0] < 100, 0.0, 1.0), np.where(x[:, 0] < 100, 1e-9, 1.0), 3
    )
    assert uneven.depth == 0
