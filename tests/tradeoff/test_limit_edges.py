"""Limits, rules and knees where it matters: at a limit, on a tie, without a value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat import Front, Outcome, table
from rheostat.core.dominance import non_dominated
from rheostat.core.front import Objective
from rheostat.errors import DataError, Infeasible
from rheostat.tradeoff.limits import Deadline, EnergyBudget, MaxSlowdown, NodeHours, PowerCap
from rheostat.tradeoff.many_fronts import dominance, fronts, knee_heights
from rheostat.tradeoff.parse_rule import parse_rule
from rheostat.tradeoff.rules import Knee, Weighted, knee_height
from tests.tradeoff.small_fronts import INF, NAN, front

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
def test_a_limit_holds_exactly_if_the_share_asked_for_and_the_mean_do(draws, limit, share) -> None:
    asked = front(("runtime_s",), runtime_s=np.array(draws, float)[:, None])
    rule = Deadline(limit, share)
    enough = sum(d <= limit for d in draws) >= share * len(draws) - 1e-9
    enough &= share < 0.5 or np.mean(draws) <= limit * (1 + 1e-9)
    assert (rule.excess(asked)[0] <= 0) == enough


def test_a_mean_over_the_limit_breaks_it_although_most_runs_hold() -> None:
    asked = front(runtime_s=[[33.0, 30.0]] * 3 + [[50.0, 30.0]] * 2, energy_j=[[8.0, 12.0]])
    assert Deadline(36).held(asked).tolist() == [0.6, 1.0]
    assert asked.choose(Deadline(36)).index == 1  # 39.8 s, as printed, are no 36
    assert asked.choose(Deadline(36, 0.4)).index == 0
    middle = replace(asked, statistic="median")
    assert middle.choose(Deadline(36)).index == 0  # 33 s are


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
        (lambda: Weighted({"runtime_s": -1, "energy_j": 1}), "expected weights from 0 to"),
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


def test_infeasible_fronts_name_the_nearest_through_every_rule() -> None:
    asked = front(runtime_s=[[10, 20]], energy_j=[[5, 4]])
    with pytest.raises(Infeasible, match=r"100\.0 % over"):
        asked.choose(Deadline(5))


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
