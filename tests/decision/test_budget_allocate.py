"""Allocation: the optimum where it can be enumerated, the certificate where it cannot."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision.budget import branch_and_bound as exact
from rheostat.decision.budget import groups
from rheostat.decision.budget.allocate import allocate, spend_rest, whole
from rheostat.decision.budget.change_limit import Side, at_most, programme
from rheostat.decision.budget.hull import Level, fill, hull
from rheostat.decision.budget.max_min import lift_worst
from rheostat.errors import Infeasible


@st.composite
def problems(draw):
    """Up to five nodes of up to five options, a budget and two racks with budgets."""
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    cells = st.lists(st.integers(0, 6), min_size=n * k, max_size=n * k)
    watts = np.sort(10.0 * np.array(draw(cells)).reshape(n, k), axis=1)
    value = np.array(draw(cells)).reshape(n, k) / 7 + 0.001 * np.arange(n * k).reshape(n, k)
    gone = np.array(draw(st.lists(st.booleans(), min_size=n * k, max_size=n * k))).reshape(n, k)
    gone[:, 0] = False
    value = np.where(gone, -np.inf, value)
    rack = np.array(draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n)))
    least = watts[:, 0]
    total = least.sum() + draw(st.integers(0, 100))
    budgets = [least[rack == r].sum() + draw(st.integers(0, 60)) for r in (0, 1)]
    return watts, value, float(total), Level(rack, np.array(budgets, dtype=float))


def best(watts, value, levels, ok=lambda choice: True):
    """The best sum over every combination that fits."""
    n, k = watts.shape
    found = -np.inf
    for choice in itertools.product(range(k), repeat=n):
        used = watts[np.arange(n), choice]
        if all(used[lv.member == g].sum() <= b + 1e-9
               for lv in levels for g, b in enumerate(lv.budget_w)) and ok(choice):  # fmt: skip
            found = max(found, value[np.arange(n), choice].sum())
    return found


@given(problems())
@settings(max_examples=60)
def test_one_budget_is_solved_exactly_and_the_bound_holds(problem) -> None:
    watts, value, total, _ = problem
    truth = best(watts, value, [whole(len(watts), total)])
    found = allocate(watts, value, total)
    assert found.exact
    assert found.value == pytest.approx(truth, abs=1e-9)
    assert found.bound >= truth - 1e-9
    assert found.used_w <= total + 1e-6


@given(problems())
@settings(max_examples=40)
def test_nested_budgets_hold_and_the_best_is_found_and_proven(problem) -> None:
    watts, value, total, racks = problem
    levels = rows_of(watts, racks, total)
    found = allocate(watts, value, levels)
    assert found.value == pytest.approx(best(watts, value, levels), abs=1e-9)
    assert found.exact
    assert held(watts, found.choice, levels)


def rows_of(watts, racks, total):
    """Both racks in one row of a site; nodes in no rack are in no row."""
    inside = racks.member >= 0
    row = Level(np.where(inside, 0, -1), np.array([watts[inside, 0].sum() + 40.0]))
    return [racks, row, whole(len(watts), total)]


def held(watts, choice, levels) -> bool:
    used = watts[np.arange(len(watts)), choice]
    return all(used[level.member == g].sum() <= budget + 1e-6
               for level in levels for g, budget in enumerate(level.budget_w))  # fmt: skip


@given(problems(), st.sampled_from([1 / 7, 1 / 3, 0.0625]))
@settings(max_examples=25)
def test_watts_need_not_be_whole_to_be_solved_exactly(problem, unit) -> None:
    watts, value, total, racks = problem
    racks = Level(racks.member, racks.budget_w * unit)
    levels = [racks, whole(len(watts), total * unit)]
    found = allocate(watts * unit, value, levels)
    assert found.value == pytest.approx(best(watts * unit, value, levels), abs=1e-9)
    assert found.exact
    assert held(watts * unit, found.choice, levels)


@pytest.mark.parametrize("steps", [4, 7, 64])
def test_where_watts_must_be_rounded_limits_and_bound_still_hold(monkeypatch, steps) -> None:
    monkeypatch.setattr(groups, "MOST_WORK", 1.0)
    monkeypatch.setattr(exact, "ROUNDED", steps)
    racks, rows = np.array([0, 0, 0, 1, 1]), np.arange(5)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        watts = np.sort(rng.uniform(0, 60, (5, 4)), axis=1)
        value = np.sort(rng.uniform(0, 1, (5, 4)), axis=1)
        limits = np.bincount(racks, watts[:, 0]) + rng.uniform(0, 60, 2)
        levels = [Level(racks, limits), whole(5, watts[:, 0].sum() + rng.uniform(0, 100))]
        found, truth = allocate(watts, value, levels), best(watts, value, levels)
        assert held(watts, found.choice, levels)
        assert found.value == pytest.approx(value[rows, found.choice].sum())
        assert found.bound >= truth - 1e-9
        assert not found.exact or found.value == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize(("nodes", "rack"), [(1000, 8), (1000, 40)])
def test_a_thousand_nodes_in_racks_are_proven_best(nodes, rack) -> None:
    rng = np.random.default_rng(0)
    watts = 290.0 + np.cumsum(rng.integers(0, 3, (nodes, 17)) * 10.0, axis=1)
    value = np.cumsum(rng.exponential(0.05, (nodes, 17)) * rng.random((nodes, 1)), axis=1)
    member = np.arange(nodes) // rack
    least = np.bincount(member, watts[:, 0])
    levels = [Level(member, least + rack * rng.integers(25, 60, len(least))),
              whole(nodes, float(least.sum() + 35 * nodes))]  # fmt: skip
    found = allocate(watts, value, levels)
    assert found.exact
    assert held(watts, found.choice, levels)
    near = allocate(watts, value, levels, exact=False)
    assert near.value < found.value <= near.bound + 1e-9


def test_work_is_limited_by_what_is_done_and_not_by_time(monkeypatch) -> None:
    import scipy.optimize

    asked, milp = [], scipy.optimize.milp

    def spied(*given, options, **more):
        asked.append(dict(options))
        return milp(*given, options=options, **more)

    monkeypatch.setattr(scipy.optimize, "milp", spied)
    rng = np.random.default_rng(3)
    watts, value = np.tile(np.arange(4) * 10.0, (30, 1)), np.cumsum(rng.random((30, 4)), axis=1)
    stays = np.zeros(watts.shape, dtype=bool)
    stays[:, 0] = True
    found = at_most(watts, value, [whole(30, 300.0)], stays, 5)
    assert found.exact
    assert asked == [{"node_limit": 2_000, "mip_rel_gap": 1e-9}]


@given(problems())
@settings(max_examples=12)
def test_highs_agrees_with_enumeration_under_racks_and_few_changes(problem) -> None:
    watts, value, total, racks = problem
    levels = [racks, whole(len(watts), total)]
    stays = np.zeros(watts.shape, dtype=bool)
    stays[:, 0] = True
    found = programme(watts, value, levels, [Side((~stays).astype(float), 1.0)])
    truth = best(watts, value, levels, lambda c: np.count_nonzero(c) <= 1)
    assert found.value == pytest.approx(truth, abs=1e-6)


@given(problems())
@settings(max_examples=60)
def test_nobody_can_be_worse_off_than_necessary(problem) -> None:
    watts, value, total, _ = problem
    levels = [whole(len(watts), total)]
    found = lift_worst(watts, value, levels)
    least = value[np.arange(len(watts)), found.choice].min()
    n, k = watts.shape
    truth = max(
        min(value[np.arange(n), c])
        for c in itertools.product(range(k), repeat=n)
        if watts[np.arange(n), c].sum() <= total + 1e-9
    )
    assert least == pytest.approx(truth, abs=1e-9)


def test_the_price_is_the_slope_at_which_the_money_runs_out() -> None:
    watts = np.array([[0.0, 10.0, 20.0], [0.0, 10.0, 20.0]])
    value = np.array([[0.0, 5.0, 6.0], [0.0, 3.0, 5.0]])  # slopes .5 .1 and .3 .2
    prices = [allocate(watts, value, b).price for b in (5.0, 15.0, 25.0, 35.0, 45.0)]
    assert prices == pytest.approx([0.5, 0.3, 0.2, 0.1, 0.0])
    assert allocate(watts, value, 10.0).price == pytest.approx(0.3)  # the next watt's, at a corner


def test_classes_with_counts_have_the_price_of_their_nodes() -> None:
    rng = np.random.default_rng(0)
    watts = np.tile(np.arange(5) * 10.0, (3, 1))
    value = np.cumsum(rng.random((3, 5)), axis=1)
    count = np.array([4.0, 1.0, 7.0])
    first, steps = hull(watts, value)
    spent = watts[np.arange(3), first]
    short = fill(steps, spent, [whole(3, 200.0)], count)
    many = allocate(np.repeat(watts, count.astype(int), axis=0),
                    np.repeat(value, count.astype(int), axis=0), 200.0)  # fmt: skip
    assert short.price == pytest.approx(many.price)
    assert short.bound + (value[:, 0] * count).sum() == pytest.approx(many.bound)


def test_too_small_a_budget_says_what_is_needed() -> None:
    with pytest.raises(Infeasible, match="need 30 W, the budget is 20 W"):
        allocate(np.array([[10.0], [20.0]]), np.zeros((2, 1)), 20.0)


def test_few_changes_on_a_large_fleet() -> None:
    rng = np.random.default_rng(1)
    watts = np.tile(np.arange(4) * 10.0, (300, 1))
    value = np.concatenate([np.zeros((300, 1)), np.cumsum(rng.random((300, 3)), axis=1)], axis=1)
    stays = np.zeros(watts.shape, dtype=bool)
    stays[:, 0] = True
    found = at_most(watts, value, [whole(300, 3000.0)], stays, 40)
    assert np.count_nonzero(found.choice) <= 40
    free = allocate(watts, value, 3000.0)
    top = np.sort(value.max(axis=1))[-40:].sum()  # 40 changes at most 40 x 30 W: all fit
    assert found.value >= 0.9 * min(top, free.value)
    assert found.value <= found.bound < free.value


def test_leftover_watts_go_where_they_gain_most() -> None:
    watts = np.array([[0.0, 30.0], [0.0, 8.0], [0.0, 9.0]])
    value = np.array([[0.0, 9.0], [0.0, 0.1], [0.0, 0.2]])
    start = np.zeros(3, dtype=np.int64)
    for unit in (1.0, 1e-6):  # however little it is
        found = spend_rest(watts, value * unit, start, [whole(3, 39.0)])
        assert found.tolist() == [1, 0, 1]
    assert spend_rest(watts, value * 0.0, start, [whole(3, 39.0)]).tolist() == [0, 0, 0]


def test_ten_thousand_nodes_are_quick_and_certified() -> None:
    rng = np.random.default_rng(0)
    watts = 290.0 + np.cumsum(rng.integers(0, 3, (10_000, 17)) * 10.0, axis=1)
    value = np.cumsum(rng.exponential(0.05, (10_000, 17)) * rng.random((10_000, 1)), axis=1)
    total = float(watts[:, 0].sum() + 400_000)
    began = time.process_time()
    found = allocate(watts, value, total, exact=False)
    assert time.process_time() - began < 0.6  # measured 0.03 s; room for a busy machine
    assert found.gap <= 1e-4
