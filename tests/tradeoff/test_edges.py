"""Rules, metrics and proposers where it matters: at a limit, on a tie, with nothing to go by."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rheostat import Front, Knob, Outcome, Space, table
from rheostat.core.front import Objective, hypervolume_2d, non_dominated
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.gp import encode
from rheostat.tradeoff.acquisition import (
    chebyshev,
    hypervolume_improvement,
    improvement,
    infer_reference,
    project_out,
)
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
from rheostat.tradeoff.limits import Deadline, EnergyBudget, Limit, MaxSlowdown, NodeHours, PowerCap
from rheostat.tradeoff.lookahead import least_regret, plan, scaled
from rheostat.tradeoff.many_fronts import dominance, fronts, knee_heights
from rheostat.tradeoff.parse_rule import parse_rule
from rheostat.tradeoff.propose import (
    NSGA2,
    Exhaustive,
    ExpectedImprovement,
    NoisyHypervolume,
    Sobol,
)
from rheostat.tradeoff.propose.candidate_view import look
from rheostat.tradeoff.propose.climb import climbable, combinations, decode, reachable
from rheostat.tradeoff.propose.law_guided import HORIZON, LawGuided, past_jobs
from rheostat.tradeoff.propose.modelled import Modelled, ranked
from rheostat.tradeoff.propose.nehvi import _outputs
from rheostat.tradeoff.propose.observations import Observations, concat, stack
from rheostat.tradeoff.rules import Knee, Weighted, knee_height
from rheostat.tradeoff.search import search

NAN, INF = math.nan, math.inf


def front(objectives=("runtime_s", "energy_j"), **draws) -> Front:
    made = {k: np.atleast_2d(np.asarray(v, float)) for k, v in draws.items()}
    n = next(iter(made.values())).shape[1]
    return Front(table({"nodes": [2**i for i in range(n)]}), Outcome(made), objectives)


# limits


@pytest.mark.parametrize(
    ("rule", "quantity"),
    [
        (Deadline(10), "runtime_s"),
        (PowerCap(10), "power_w"),
        (EnergyBudget(10), "energy_j"),
        (NodeHours(10 / 3600), "runtime_s"),
    ],
)
def test_a_limit_is_held_up_to_and_with_its_value(rule, quantity) -> None:
    asked = Front(table({"nodes": [1] * 4}),
                  Outcome({quantity: np.array([[9.0, 10.0, 11.0, NAN]])}), (quantity,))  # fmt: skip
    assert rule.excess(asked) == pytest.approx([-0.1, 0.0, 0.1, NAN], nan_ok=True)
    np.testing.assert_equal(rule.held(asked), [1.0, 1.0, 0.0, NAN])


def test_a_share_held_counts_the_draws_that_are_there() -> None:
    asked = front(runtime_s=[[1.0, NAN], [5.0, 1.0], [9.0, NAN], [NAN, 9.0]], energy_j=[[1.0, 1.0]])
    assert Deadline(5).held(asked).tolist() == [2 / 3, 1 / 2]
    for confidence, least in ((0.3, 1.0), (0.34, 5.0), (0.6, 5.0), (0.67, 9.0), (0.99, 9.0)):
        assert Deadline(5, confidence).excess(asked)[0] == pytest.approx(least / 5 - 1)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 9),
       st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]))  # fmt: skip
def test_a_limit_holds_exactly_if_the_share_asked_for_does(draws, limit, share) -> None:
    asked = front(("runtime_s",), runtime_s=np.array(draws, float)[:, None])
    rule = Deadline(limit, share)
    enough = sum(d <= limit for d in draws) >= share * len(draws) - 1e-9
    assert (rule.excess(asked)[0] <= 0) == enough


def test_a_limit_as_a_rule_takes_the_least_of_the_first_other_objective() -> None:
    asked = front(("energy_j", "runtime_s"), runtime_s=[[1, 2, 3, 3]], energy_j=[[9, 5, 4, 4]])
    assert asked.choose(EnergyBudget(5)).index == 1  # the fastest within the budget
    assert asked.choose(Deadline(3)).index == 2  # the least energy in time
    assert asked.choose(PowerCap(2)).index == 2  # off the objectives: the first of them, then ties
    one = front(("runtime_s",), runtime_s=[[3, 1, 2]])
    assert one.choose(Deadline(5)).index == 1
    held = Deadline(2).score(asked)
    assert held[:2].tolist() == [2, 1]
    assert np.isinf(held[2:]).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Deadline(0), "runtime_s: expected a limit above 0, got 0"),
        (lambda: Deadline(INF), "duration: expected like 2h, 1h30m, 90 or 1-02:00:00, got inf"),
        (lambda: Deadline(NAN), "duration: expected like 2h, 1h30m, 90 or 1-02:00:00, got nan"),
        (lambda: Deadline(1, 0.0), "confidence: expected between 0 and 1, got 0.0"),
        (lambda: Deadline(1, 1.0), "confidence: expected between 0 and 1, got 1.0"),
        (lambda: MaxSlowdown(0.99), "expected factor >= 1"),
        (lambda: MaxSlowdown(NAN), "expected factor >= 1"),
        (lambda: MaxSlowdown(1, confidence=1.0), "confidence between 0 and 1"),
        (lambda: MaxSlowdown(1, confidence=0.0), "confidence between 0 and 1"),
        (lambda: Weighted({"runtime_s": -1, "energy_j": 1}), "expected weights >= 0"),
        (lambda: Weighted({"runtime_s": 0.0}), "one of them above 0"),
        (lambda: parse_rule("knee=1"), "expected one of knee"),
        (lambda: parse_rule("power"), "got 'power'"),
        (lambda: parse_rule("weighted="), "expected one of knee"),
        (lambda: parse_rule("deadline=2h@x"), "expected one of knee"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(make, said) -> None:
    with pytest.raises(DataError) as caught:
        make()
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1
    assert MaxSlowdown(1.0).factor == 1.0


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" knee ", Knee()),
        ("deadline=90", Deadline(90)),
        ("power=2kW@0.9", PowerCap(2000, 0.9)),
        ("energy=1kWh", EnergyBudget(3.6e6)),
        ("node-hours=5", NodeHours(5)),
        ("weighted=runtime_s, energy_j:2", Weighted({"runtime_s": 1.0, "energy_j": 2.0})),
    ],
)
def test_a_rule_is_read_as_it_is_written(text, rule) -> None:
    found = parse_rule(text)
    assert (type(found), found) == (type(rule), rule)
    asked = {"nodes": 4}
    assert parse_rule("slowdown=1.2@0.8", asked) == MaxSlowdown(1.2, asked, 0.8)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Deadline(60), "runtime at most 1m 0s"),
        (PowerCap(5, 0.75), "power at most 5 W with 75 % confidence"),
        (NodeHours(2.5), "node-hours at most 2.5"),
        (MaxSlowdown(1.5), "at most 1.5 times the runtime of the fastest setting"),
        (MaxSlowdown(2, "requested", 0.9),
         "at most 2 times the runtime as requested with 90 % confidence"),
        (MaxSlowdown(2, {"nodes": 1, "cap_w": 9}),
         "at most 2 times the runtime at nodes=1, cap_w=9"),
        (Weighted({"runtime_s": 1, "power_w": 0, "edp_js": 0.5}),
         "least runtime x energy-delay product^0.5"),
    ],
)  # fmt: skip
def test_a_rule_says_itself(rule, text) -> None:
    assert str(rule) == text


def test_a_slowdown_refers_to_the_fastest_or_the_setting_named() -> None:
    asked = front(runtime_s=[[9, NAN, 4, 6]], energy_j=[[1, 1, 4, 2]])
    assert MaxSlowdown(1.5).excess(asked) == pytest.approx([0.5, NAN, -1 / 3, 0], nan_ok=True)
    first = MaxSlowdown(1.0, {"nodes": 1}).excess(asked)
    assert first == pytest.approx([0, NAN, 4 / 9 - 1, 6 / 9 - 1], nan_ok=True)
    assert asked.choose(MaxSlowdown(1.5)).index == 3  # least energy among the fast enough
    with pytest.raises(DataError, match="name the setting in against="):
        MaxSlowdown(1.5, "requested").excess(asked)


def test_weights_are_powers_and_a_maximised_quantity_counts_against() -> None:
    asked = front((Objective("runtime_s"), Objective("rate", "max")),
                  runtime_s=[[1, 2, 4, 0, NAN]], rate=[[1, 8, 9, 5, 5]])  # fmt: skip
    score = Weighted({"runtime_s": 2, "rate": 1}).score(asked)
    assert score[:3] == pytest.approx(np.log([1, 4 / 8, 16 / 9]))
    assert np.isinf(score[3:]).all()


# knees


def test_layers_stand_three_apart_and_a_row_without_value_is_last() -> None:
    y = np.array([[1.0, 100], [10, 10], [100, 1], [200, 20], [20, 200], [300, 300], [NAN, 1]])
    height = knee_height(y)
    assert height[:3] == pytest.approx([0.0, 0.0, 0.0])
    assert height[3:5] == pytest.approx([4.0, 3.0])  # two points have no bend: place in the first
    assert height[5] == 6.0
    assert height[6] == INF
    assert np.argmin(height) == 0  # ties go to the better first objective


def test_many_fronts_are_judged_as_each_alone_whatever_the_block(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, (40, 6, 2)).astype(float)
    y[rng.random((40, 6)) < 0.1] = NAN
    alone = np.stack([knee_heights(one[None])[0] for one in y])
    np.testing.assert_array_equal(knee_heights(y), alone)
    for block in (100, 35):  # several jobs at a time; one, and its fronts peeled off
        monkeypatch.setattr("rheostat.tradeoff.many_fronts.BLOCK", block)
        np.testing.assert_array_equal(knee_heights(y), alone)
    assert knee_heights(np.empty((0, 3, 2))).shape == (0, 3)
    for one, mask, beats in zip(y, fronts(y), dominance(y), strict=True):
        np.testing.assert_array_equal(mask, non_dominated(one))
        better = [[bool((a <= b).all() and (a < b).any()) for b in one] for a in one]
        assert beats.tolist() == better


def test_the_knee_of_twenty_thousand_settings_compares_not_each_with_each(monkeypatch) -> None:
    """A hundred layers."""
    x = np.linspace(1, 2, 200)
    y = np.concatenate([np.column_stack([x, 1 / x]) * 1.01**k for k in range(100)])
    monkeypatch.setattr("rheostat.tradeoff.many_fronts.dominance", None)
    height = knee_heights(y[None])[0].reshape(100, 200)
    assert (np.floor(height.min(axis=1) / 3 + 0.5) == np.arange(100)).all()


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
    monkeypatch.setattr("rheostat.tradeoff.acquisition._CELLS", 5)
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


# proposers

GRID = Space((Knob("nodes", [1, 2, 4, 8]), Knob("mode", ["a", "b"])))


def costs(jobs) -> Outcome:
    n = jobs.numpy("nodes")[None, :]
    slow = np.where(jobs.frame["mode"].to_numpy() == "b", 2.0, 1.0)
    return Outcome({"runtime_s": slow * (1 + 9 / n), "power_w": 10.0 * n})


def test_questions_are_numbered_and_nothing_is_asked_twice() -> None:
    sobol = Sobol(GRID, seed=3)
    with pytest.raises(DataError, match="expected n >= 1, got 0"):
        sobol.ask(0)
    first = sobol.ask(3).frame.rows()
    second = sobol.ask(4).frame.rows()
    assert len({*first, *second}) == 7
    assert len(sobol.pending) == 7
    last = sobol.ask(5)
    assert len(last) == 1
    assert len(sobol.ask(1)) == 0
    sobol.tell(last, costs(last))
    assert len(sobol.pending) == 7
    assert len(sobol.front) == 1


def test_a_space_too_large_to_list_is_sampled(monkeypatch) -> None:
    assert len(Exhaustive(GRID).listed()) == 8
    monkeypatch.setattr("rheostat.tradeoff.propose.base.LISTED", 8)
    assert len(Exhaustive(GRID).listed()) == 8
    monkeypatch.setattr("rheostat.tradeoff.propose.base.LISTED", 7)
    assert Exhaustive(GRID).listed() is None
    with pytest.raises(DataError, match="too large to list: use Sobol"):
        Exhaustive(GRID).ask(1)
    assert len(Sobol(GRID, seed=1).ask(5)) == 5


def test_a_constraint_that_nearly_nothing_meets_is_still_met() -> None:
    rare = Space((Knob("x", range(3000)),), (lambda s: s["x"] % 1000 == 7,))
    assert sorted(Sobol(rare).ask(2).frame["x"].to_list())[0] % 1000 == 7
    assert sorted(Sobol(rare).ask(9).frame["x"].to_list()) == [7, 1007, 2007]


def test_results_are_kept_in_an_order_of_their_own_and_repeats_are_one_setting() -> None:
    rows = [{"nodes": 8, "mode": "a"}, {"nodes": 1, "mode": "b"}, {"nodes": 1, "mode": "a"}]
    seen = []
    for order in ((0, 1, 2), (2, 0, 1)):
        book = Observations(GRID, (Objective.of("runtime_s"),))
        for i in order:
            job = GRID.alternatives(None, [rows[i]])
            book.add(job, costs(job))
        again = GRID.alternatives(None, rows[:1])
        book.add(again, Outcome({"runtime_s": np.ones((1, 1)), "power_w": np.ones((1, 1))}))
        seen.append(book.front.alternatives.frame.rows())
        assert len(book) == 4
        assert book.front.mean("runtime_s").tolist() == [10.0, 20.0, (1.0 + 2.125) / 2]
    assert seen[0] == seen[1] == [(1, "a"), (1, "b"), (8, "a")]
    assert len(Observations(GRID, (Objective.of("runtime_s"),)).front) == 0
    learnt = book.table(["energy_j"])
    assert learnt.numpy("energy_j").tolist() == [100.0, 200.0, (1.0 + 170.0) / 2]
    assert {c: learnt.schema[c].known.name for c in ("nodes", "energy_j")} == {
        "nodes": "SUBMIT", "energy_j": "END"}  # fmt: skip


def test_outcomes_of_other_depth_or_names_are_joined_with_gaps() -> None:
    once = Outcome({"runtime_s": np.array([[2.0]]), "energy_j": np.array([[6.0]])}, np.ones(1))
    twice = Outcome({"runtime_s": np.array([[1.0], [3.0]]), "power_w": np.array([[5.0], [7.0]])})
    both = stack([once, twice])
    assert both.names == ("runtime_s", "energy_j", "power_w")
    np.testing.assert_equal(both["power_w"], [[3.0, 5.0], [NAN, 7.0]])  # derived where it can be
    np.testing.assert_equal(both["energy_j"], [[6.0, 5.0], [NAN, 21.0]])
    assert both.support is None
    assert stack([once, once]).support.tolist() == [1.0, 1.0]
    assert len(stack([])) == 0
    joined = concat([table({"nodes": [1]}), table({"nodes": [2], "user": ["a"]})])
    assert joined.frame.rows() == [(1, None), (2, "a")]
    assert len(concat([])) == 0


def test_a_breeder_needs_two_and_takes_its_limits_as_constraints() -> None:
    with pytest.raises(DataError, match="population of at least 2, got 1"):
        NSGA2(GRID, population=1)
    found = search(NSGA2(GRID, population=2, limits=(PowerCap(25),), seed=1), costs, 8)
    assert len(set(found.alternatives.frame.rows())) == 8
    some = Space(GRID.knobs, (lambda s: s["nodes"] < 8 or s["mode"] == "a",))
    held = search(NSGA2(some, population=4, seed=2), costs, 8)
    assert sorted(held.alternatives.frame.rows()) == sorted(
        tuple(s.values()) for s in some.settings())  # fmt: skip


class Told(Modelled):
    """Asks in the order of runtimes that it is told; notes what it saw."""

    def score(self, view, rng):
        self.view_ = view
        return -view.y[:, : view.candidates, 0].mean(axis=0)


class Law:
    def fit(self, jobs):
        self.shown = jobs
        return self

    def predict(self, jobs):
        return costs(jobs)


def test_a_model_is_asked_once_there_is_something_to_learn_from() -> None:
    asked = Told(GRID, model=Law(), seed=0)
    assert asked.initial == 3
    assert Told(GRID, model=Law(), initial=5).initial == 5
    for left in (3, 2, 1):
        assert asked.early()
        job = asked.ask(1)
        asked.tell(
            job,
            costs(job)
            if left > 1
            else Outcome({"runtime_s": np.full((1, 1), NAN), "power_w": np.ones((1, 1))}),
        )
    assert not asked.early()
    free = [costs(GRID.alternatives(None, [s])).mean("runtime_s")[0] for s in asked.free()]
    best = asked.ask(2)
    assert costs(best).mean("runtime_s").tolist() == sorted(free)[:2]
    assert len(asked.model.shown) == 2  # a row without value teaches nothing
    assert asked.view_.fixed == (len(free),) or len(asked.view_.fixed) == 1


def test_what_is_seen_of_candidates() -> None:
    told = front(runtime_s=[[1.0, 2.0, NAN]], energy_j=[[9.0, 4.0, 1.0]])
    guess = front(runtime_s=[[3.0, 4.0, 5.0], [5.0, 4.0, 5.0]], energy_j=[[2.0, 8.0, 3.0]] * 2)
    rows = [[{"nodes": 1}], [{"nodes": 2}], [{"nodes": 4}]]
    view = look(rows, guess, told, limits=(Deadline(1.5),))
    assert (view.candidates, view.fixed, view.baseline, view.log) == (1, (1,), (2,), True)
    assert view.observed == pytest.approx(np.log([[1.0, 9.0], [2.0, 4.0]]))
    assert view.known == pytest.approx(np.log([[1.0, 9.0]]))  # the only one in time
    assert not view.feasible.any()
    assert view.ideal == pytest.approx([0.0, np.log(2.0)])
    assert view.span == pytest.approx(view.reference - view.ideal)
    assert view.likely().tolist() == [0.0]
    assert view.given(0).fixed == (1, 0)
    set_ = look(rows, guess, told, reference=(6.0, 9.0), limits=(Deadline(4),))
    assert set_.reference == pytest.approx(np.log([6.0, 9.0]))
    assert set_.feasible.tolist() == [[True, True, False], [False, True, False]]
    assert set_.likely().tolist() == [0.5]
    plain = look(rows, guess, told, log=False)
    assert plain.y[0, 0].tolist() == [3.0, 2.0]
    spread_ = ((3.0 - 4) ** 2 + (5.0 - 4) ** 2) / 2 / plain.span[0] ** 2
    assert plain.uncertainty() == pytest.approx([spread_])
    assert replace(plain, fixed=(0,)).uncertainty() == pytest.approx([0.0])
    with pytest.raises(DataError, match="expected 2 values in the objectives' units"):
        look(rows, guess, told, reference=(0.0, 9.0))
    negative = front(runtime_s=[[-1.0]], energy_j=[[1.0]])
    with pytest.raises(DataError, match="log axes need positive"):
        look(rows, guess, negative, log=True)
    assert not look(rows, guess, negative).log


@pytest.mark.parametrize(
    ("space", "objectives", "said"),
    [
        (Knob("mode", ["a"]), ("runtime_s", "energy_j"), "mode: expected numbers"),
        (
            Knob("n", [1, 2]),
            ("runtime_s", "edp_js"),
            "expected two of runtime_s, power_w, energy_j",
        ),
        (Knob("n", [1, 2]), ("runtime_s",), "expected two of runtime_s"),
        (Knob("n", [1]), (Objective("runtime_s", "max"), "energy_j"), "expected two of runtime_s"),
        (Space((Knob("n", [1]),), (lambda s: False,)), ("runtime_s", "energy_j"), "no setting"),
    ],
)
def test_scaling_laws_say_what_they_cannot_do(space, objectives, said) -> None:
    with pytest.raises(DataError) as caught:
        LawGuided(space, objectives)
    assert said in str(caught.value)
    assert len(caught.value.problems) == 1


def test_the_past_teaches_means_of_logs_of_applications_run_often_enough() -> None:
    past = table({
        "app": ["a"] * 4 + ["b"] * 2 + ["c"] * 4, "nodes": [1, 2, 4, 4, 1, 2, 1, 2, 4, None],
        "runtime_s": [8.0, 4, 1, 4, 1, 1, 0, 2, 1, 1], "power_w": [1.0, 2, 4, 4, 1, 1, 1, 1, 1, 1],
    })  # fmt: skip
    (job,) = past_jobs(past, ["nodes"], ["app"])
    assert job.settings.ravel().tolist() == [1, 2, 4]
    assert job.logs[0] == pytest.approx(np.log([8, 4, 2]))
    assert job.logs[1] == pytest.approx(np.log([1, 2, 4]))
    with pytest.raises(DataError, match="power_w is missing"):
        past_jobs(past.select(["app", "nodes", "runtime_s"]), ["nodes"], ["app"])


def test_a_search_wants_at_least_one_of_everything() -> None:
    for wrong in ({"budget": 0}, {"budget": 1, "batch": 0}, {"budget": 1, "workers": 0}):
        with pytest.raises(DataError, match="expected at least 1, got 0"):
            search(Exhaustive(GRID), costs, **wrong)
    with pytest.raises(DataError, match="expected an Outcome for 1 row"):
        search(Exhaustive(GRID), lambda job: Outcome({"runtime_s": np.ones((1, 2))}), 1)
    seen = []
    search(Exhaustive(GRID), costs, 3, progress=lambda done, budget: seen.append((done, budget)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_infeasible_fronts_name_the_nearest_through_every_rule() -> None:
    asked = front(runtime_s=[[10, 20]], energy_j=[[5, 4]])
    with pytest.raises(Infeasible, match=r"100\.0 % over"):
        asked.choose(Deadline(5))


# climbing and breeding

RANGE = Knob("cap_w", low=100.0, high=400.0)


def test_a_setting_is_read_back_from_its_inputs() -> None:
    space = Space((Knob("compiler", ["gcc", "icx", "aocc"]), RANGE, Knob("nodes", [1, 2, 4, 8]),
                   Knob("mode", ["a", "b"])))  # fmt: skip
    for setting in space.sample(np.random.default_rng(0).random((20, 4))):
        x = encode(space, space.alternatives(None, [setting]))[0]
        assert decode(space, x) == pytest.approx(setting)
    few = Space((Knob("nodes", [1, 2]), RANGE, Knob("mode", ["a", "b"])))
    held = combinations(few)
    assert held == [{0: 0.0, 2: 1.0, 3: 0.0}, {0: 0.0, 2: 0.0, 3: 1.0},
                    {0: 1.0, 2: 1.0, 3: 0.0}, {0: 1.0, 2: 0.0, 3: 1.0}]  # fmt: skip


def test_the_gradient_wants_a_range_a_process_and_few_combinations() -> None:
    pytest.importorskip("gpytorch")

    def may(space, *objectives, **more):
        return climbable(NoisyHypervolume(space, objectives or ("runtime_s", "energy_j"), **more))

    four, five = Knob("nodes", [1, 2, 3, 4]), Knob("nodes", [1, 2, 3, 4, 5])
    two = Knob("mode", ["a", "b"])
    assert may(RANGE)
    assert may((RANGE, four, two))  # eight combinations
    assert not may((RANGE, five, two))
    assert not may(RANGE, model=Law())
    assert not may(four)
    assert not may(Space((RANGE,), (lambda s: True,)))
    assert may(RANGE, limits=(PowerCap(5),))
    assert not may(RANGE, limits=(NodeHours(5),))
    assert reachable("edp_js", ("runtime_s", "power_w"))  # by way of the energy
    assert reachable("power_w", ("energy_j", "runtime_s"))
    assert not reachable("energy_j", ("runtime_s",))
    assert not reachable("node_hours", ("runtime_s", "power_w"))


def test_a_breeder_knows_by_how_much_a_setting_misses_its_limits() -> None:
    told = GRID.alternatives(None, [{"nodes": 8, "mode": "a"}, {"nodes": 1, "mode": "a"},
                                    {"nodes": 2, "mode": "b"}])  # fmt: skip
    breeder = NSGA2(GRID, limits=(PowerCap(40), Deadline(5)))
    assert breeder._known() == {}
    breeder.tell(told.rows([0, 1]), costs(told.rows([0, 1])))
    breeder.tell(told.rows([2]), Outcome({"runtime_s": np.full((1, 1), NAN),
                                          "power_w": np.ones((1, 1))}))  # fmt: skip
    known = breeder._known()
    assert known[8, "a"] == pytest.approx([1.0, 2.125, 170.0])  # 80 W under a cap of 40 W
    assert known[1, "a"] == pytest.approx([1.0, 10.0, 100.0])  # 10 s where 5 s are allowed
    assert (known[2, "b"] > 1e20).all()  # no value: worse than whatever has one


def test_a_plan_of_one_takes_the_best_alone_and_of_more_looks_ahead() -> None:
    pytest.importorskip("gpytorch")
    x = np.linspace(0, 1, 13)[None]
    draws = {"runtime_s": x, "energy_j": 1 - x, "power_w": x}

    def first(budget, n=1):
        search_ = LawGuided(Knob("nodes", range(1, 14)), budget=budget)
        search_._logs = lambda settings: (np.arange(13), draws)
        return search_.ask(n).frame["nodes"].to_list()

    assert first(1) == first(0) == [7]
    assert first(2) != [7]
    assert first(None) == first(HORIZON) == first(HORIZON + 3)
    assert len(first(2, n=3)) == 3


def test_a_journal_makes_its_folder(tmp_path) -> None:
    path = tmp_path / "a" / "b" / "run.jsonl"
    search(Exhaustive(GRID), costs, 1, journal=path)
    assert len(path.read_text().splitlines()) == 3


def test_improvement_is_taken_on_log_axes_only_where_everything_is_positive() -> None:
    knob = Knob("x", [1, 2, 3, 4])

    class Shifted:
        def __init__(self, least):
            self.least = least

        def fit(self, jobs):
            return self

        def predict(self, jobs):
            x = jobs.numpy("x")
            return Outcome({"cost": np.stack([x - 1 + self.least, 2 * (x - 1) + self.least])})

    for least, log in ((0.5, True), (0.0, False), (-0.5, False)):
        one = ExpectedImprovement(Space.of(knob), ("cost",), model=Shifted(least), initial=1)
        told = Space.of(knob).alternatives(None, [{"x": 3}, {"x": 4}])
        values = np.array([[2.0 + least, 3.0 + least]])
        one.tell(told, Outcome({"cost": values}))
        found = one.score(one.view([{"x": 1}, {"x": 2}], []), np.random.default_rng(0))
        draws = np.array([[0.0, 1.0], [0.0, 2.0]]) + least
        axis = np.log if log else np.asarray
        gain = np.clip(axis(np.array(2.0 + least)) - axis(draws), 0, None).mean(axis=0)
        assert found == pytest.approx(gain), least
    limited = ExpectedImprovement(Space.of(knob), ("cost",), model=Shifted(0.5), initial=1,
                                  limits=(Limit("cost", 3.0, ""),))  # fmt: skip
    told = Space.of(knob).alternatives(None, [{"x": 3}, {"x": 4}])
    limited.tell(told, Outcome({"cost": np.array([[3.5, 3.0]])}))
    assert limited._told_feasible().tolist() == [3.0]  # the limit holds with its value
    assert limited.quantity == "cost"


def logs(law: LawGuided) -> np.ndarray:
    """Log draws of runtime and power at all settings, (d, N, 2)."""
    expected = law.forecast(law.listed())
    return np.log(np.stack([expected["runtime_s"], expected["power_w"]], axis=2))


def test_a_scaling_law_believes_what_it_was_told() -> None:
    pytest.importorskip("gpytorch")
    nodes = Knob("nodes", [1, 2, 4, 8, 16])
    law = LawGuided(nodes, ("runtime_s", "power_w"), seed=1)
    told = Space.of(nodes).alternatives(None, [{"nodes": 1}, {"nodes": 16}])
    before = logs(law)
    law.tell(told, Outcome({"runtime_s": np.array([[900.0, 80.0]]),
                            "power_w": np.array([[100.0, 1500.0]])}))  # fmt: skip
    after = logs(law)
    assert after[:, [0, 4], 0].mean(axis=0) == pytest.approx(np.log([900.0, 80.0]), abs=0.1)
    assert after[:, [0, 4], 1].mean(axis=0) == pytest.approx(np.log([100.0, 1500.0]), abs=0.1)
    assert (after.std(axis=0) < 0.5 * before.std(axis=0)).all()
    asked = law.ask(2).frame["nodes"].to_list()
    assert len(set(asked)) == 2
    assert set(asked) <= {2, 4, 8}
    blind = Space.of(nodes).alternatives(None, [{"nodes": 2}])
    law.tell(blind, Outcome({"runtime_s": np.full((1, 1), NAN), "power_w": np.ones((1, 1))}))
    again = logs(law)
    np.testing.assert_allclose(again, after)  # a run without value teaches nothing


class Bowl:
    """Runtime is least at 237 W; the same at every draw."""

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        x = jobs.numpy("cap_w")[None, :]
        return Outcome({"runtime_s": 1 + ((x - 237) / 100) ** 2, "power_w": x})


def test_an_endless_space_is_looked_at_all_over_then_around_the_best() -> None:
    asked = Told(RANGE, ("runtime_s", "power_w"), model=Bowl(), initial=2, seed=3)
    told = Space.of(RANGE).alternatives(None, [{"cap_w": 100.0}, {"cap_w": 400.0}])
    asked.tell(told, Bowl().predict(told))
    (first,) = asked.ask(1).frame["cap_w"].to_list()
    assert first == pytest.approx(237, abs=0.5)
    last = asked.view_
    best = int(np.argmax(-last.y[:, : last.candidates, 0].mean(axis=0)))
    assert last.settings[best]["cap_w"] == first
    more = asked.ask(2).frame["cap_w"].to_list()
    assert len({first, *more}) == 3
    assert more == pytest.approx([237, 237], abs=2)
    near = asked.around([{"cap_w": 250.0}], 0.01, np.random.default_rng(0))
    caps = np.array([s["cap_w"] for s in near])
    assert 0.5 < np.std(caps[caps != 250.0]) / (0.01 * 300) < 1.5
    assert asked.unseen([{"cap_w": 5.0}, {"cap_w": 5.0}, {"cap_w": first}], [{"cap_w": 7.0}]) == [
        {"cap_w": 5.0}]  # fmt: skip
    assert asked.unseen([{"cap_w": 7.0}], [{"cap_w": 7.0}]) == []


def test_equal_scores_go_to_what_is_likely_to_fit_then_to_what_is_least_known() -> None:
    told = front(runtime_s=[[1.0, 2.0]], energy_j=[[9.0, 4.0]])
    draws = np.array([[3.0, 3.0, 2.0, 2.0], [3.0, 3.0, 6.0, 4.0]])
    guess = front(runtime_s=draws, energy_j=np.ones((2, 4)))
    view = look([[{}] * 4, [], []], guess, told, limits=(Deadline(4.5),))
    assert view.likely().tolist() == [1.0, 1.0, 0.5, 1.0]
    assert ranked(view, np.zeros(4)).tolist() == [3, 0, 1, 2]
    assert ranked(view, np.array([NAN, 1.0, 2.0, 0.0])).tolist() == [2, 1, 3, 0]


def test_a_candidate_without_forecast_is_handed_to_botorch_as_worse_than_the_reference() -> None:
    told = front(runtime_s=[[900.0, 1000.0]], energy_j=[[2.0, 1.0]])
    guess = front(runtime_s=[[950.0, NAN], [960.0, 950.0]], energy_j=[[1.5, NAN], [1.4, 1.5]])
    view = look([[{}] * 2, [], []], guess, told, limits=(Deadline(955),), log=False)
    out = _outputs(view, (Deadline(955),))
    assert out.shape == (2, 2, 3)
    assert (out[0, 1, :2] < -view.reference - view.span).all()
    assert out[0, 0] == pytest.approx([-950.0, -1.5, 1 - 950 / 955])
    assert out[1, 0, 2] < 0  # above the limit: nothing is left under it
