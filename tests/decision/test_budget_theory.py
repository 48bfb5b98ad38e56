"""Budgets against other ways of finding the same: a linear programme, a search, arithmetic."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from rheostat.core.outcome import Outcome
from rheostat.core.series import Series
from rheostat.decision.budget.allocate import Allocation, allocate, room, spend_rest, whole
from rheostat.decision.budget.allocate_power import (
    PowerLimits,
    allocate_power,
    gains,
    reclaimed,
    slopes,
)
from rheostat.decision.budget.branch_and_bound import frontier, improve_exactly
from rheostat.decision.budget.changing_budget import planned
from rheostat.decision.budget.hull import Level, fill, hull
from rheostat.decision.budget.max_min import lift_worst
from rheostat.decision.budget.node_options import (
    BudgetObjective,
    node_options,
    not_below,
    setting_value,
)
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.budget.sharing_rules import BASELINES, _lift
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.surface import Surface


@st.composite
def nested(draw):
    """Up to five rows of up to five options, racks in a site; some rows in no rack."""
    n, k = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    cells = st.lists(st.integers(0, 9), min_size=n * k, max_size=n * k)
    watts = 10.0 * np.array(draw(cells)).reshape(n, k)
    value = np.array(draw(cells)).reshape(n, k) / 7.0
    rack = np.array(draw(st.lists(st.integers(-1, 1), min_size=n, max_size=n)))
    least = watts.min(axis=1)
    racks = [least[rack == r].sum() + draw(st.integers(0, 60)) for r in (0, 1)]
    total = least.sum() + draw(st.integers(0, 120))
    return watts, value, [Level(rack, np.array(racks, float)), whole(n, float(total))]


def relaxed(watts, value, levels) -> float:
    """The optimum of the linear relaxation, by a solver that knows nothing of hulls."""
    n, k = watts.shape
    one = np.kron(np.eye(n), np.ones(k))
    use, most = [], []
    for level in levels:
        for g, budget in enumerate(level.budget_w):
            use.append((watts * (level.member == g)[:, None]).ravel())
            most.append(budget)
    found = linprog(-value.ravel(), np.array(use), most, one, np.ones(n), bounds=(0, 1))
    return -found.fun


@given(nested())
@settings(max_examples=60)
def test_the_bound_is_the_optimum_of_the_linear_relaxation(problem) -> None:
    watts, value, levels = problem
    first, steps = hull(watts, value)
    rows = np.arange(len(watts))
    filled = fill(steps, watts[rows, first], levels)
    assert value[rows, first].sum() + filled.bound == pytest.approx(relaxed(watts, value, levels))
    found = allocate(watts, value, levels)
    assert found.value <= found.bound + 1e-9
    assert found.gap == (0.0 if found.exact else pytest.approx(
        max(0.0, found.bound - found.value) / max(abs(found.bound), 1e-12)))  # fmt: skip


@given(nested())
@settings(max_examples=40)
def test_the_price_is_what_the_relaxation_gains_from_a_watt_more(problem) -> None:
    watts, value, levels = problem
    n = len(watts)
    site = float(levels[1].budget_w[0])
    first, steps = hull(watts, value)
    spent = watts[np.arange(n), first]
    more = 1e-3
    now, then = (fill(steps, spent, [whole(n, site + x)]).bound for x in (0.0, more))
    price = fill(steps, spent, [whole(n, site)]).price
    assert price == pytest.approx((then - now) / more, abs=1e-6)


def test_a_hull_keeps_options_of_falling_gain_per_watt_and_the_best_of_equal_cost() -> None:
    watts = np.array([[20.0, 0.0, 10.0, 30.0, 0.0, np.inf]])
    value = np.array([[1.0, 0.0, 0.2, 1.1, 0.1, 9.0]])
    first, steps = hull(watts, value)
    assert first.tolist() == [4]  # of two that cost nothing the better one
    assert steps.option.tolist() == [0, 3]  # 10 W lies below the line from 0 to 20 W
    assert steps.gain == pytest.approx([0.9, 0.1])
    assert steps.watts.tolist() == [20.0, 10.0]
    _, fine = hull(np.array([[0.0, 0.5]]), np.array([[0.0, 0.25]]))
    assert fine.option.tolist() == [1]  # steps of less than a watt count too
    flat, none = hull(np.array([[0.0, 5.0]]), np.array([[1.0, 1.0]]))
    assert (flat.tolist(), len(none.row)) == ([0], 0)


@given(nested(), st.integers(0, 3))
@settings(max_examples=40)
def test_a_better_answer_is_found_or_none_exists(problem, seed) -> None:
    """From any answer at all, with the true bound and price of the relaxation."""
    watts, value, levels = problem
    limit = float(levels[1].budget_w[0])
    n, k = watts.shape
    fits = {c: value[np.arange(n), c].sum() for c in itertools.product(range(k), repeat=n)
            if watts[np.arange(n), c].sum() <= limit + 1e-9}  # fmt: skip
    start = np.array(sorted(fits)[seed % len(fits)])
    first, steps = hull(watts, value)
    filled = fill(steps, watts[np.arange(n), first], [whole(n, limit)])
    bound = value[np.arange(n), first].sum() + filled.bound
    choice, above = improve_exactly(watts, value, start, limit=limit, bound=bound,
                                    price=filled.price)  # fmt: skip
    best = max(fits.values())
    assert above >= best - 1e-9
    assert value[np.arange(n), choice].sum() == pytest.approx(best)
    assert watts[np.arange(n), choice].sum() <= limit + 1e-6


def test_a_proof_that_would_take_too_long_is_not_begun() -> None:
    watts = np.array([[0.0, 3.0], [0.0, 4.0], [0.0, 5.0]])
    value = np.array([[0.0, 3.1], [0.0, 4.0], [0.0, 5.3]])
    start, ask = np.zeros(3, dtype=np.int64), {"limit": 7.0, "bound": 7.3, "price": 1.03}
    best, above = improve_exactly(watts, value, start, **ask)
    assert (best.tolist(), above) == ([1, 1, 0], pytest.approx(7.1))  # proven: its own value
    coarse = frontier(watts, value, np.isfinite(value), 7.0, most=1.0)
    assert not coarse.whole  # watts were rounded up: within the limit, and not proven
    assert coarse.watts[-1] <= 7.0
    assert frontier(watts, value, np.isfinite(value), 7.0).whole


def test_what_is_left_of_groups_is_what_their_nodes_do_not_use() -> None:
    levels = [Level(np.array([0, 0, 1, -1]), np.array([30.0, 9.0])), whole(4, 100.0)]
    left = room(np.array([10.0, 5.0, 9.0, 50.0]), levels)
    assert [x.tolist() for x in left] == [[15.0, 0.0], [26.0]]
    watts = np.array([[0.0, 16.0], [0.0, 15.0], [0.0, 9.5], [0.0, 70.0]])
    value = np.array([[0.0, 9.0], [0.0, 1.0], [0.0, 9.0], [0.0, 2.0]])
    taken = spend_rest(watts, value, np.zeros(4, dtype=np.int64), levels)
    assert taken.tolist() == [1, 0, 0, 1]  # 16 + 15 W and 9.5 W exceed their racks
    gap = Allocation(taken, 1.0, 1.25, 0.0, 0.0, exact=False)
    assert (gap.gap, replace(gap, exact=True).gap) == (0.2, 0.0)
    assert replace(gap, bound=0.5).gap == 0.0


@given(nested())
@settings(max_examples=30)
def test_the_worst_off_is_lifted_as_far_as_any_answer_can_under_nested_budgets(problem) -> None:
    watts, value, levels = problem
    n, k = watts.shape
    found = lift_worst(watts, value, levels)
    best = max(
        min(value[np.arange(n), c])
        for c in itertools.product(range(k), repeat=n)
        if all(watts[np.arange(n), c][lv.member == g].sum() <= b + 1e-9
               for lv in levels for g, b in enumerate(lv.budget_w))
    )  # fmt: skip
    assert value[np.arange(n), found.choice].min() == pytest.approx(best)


# fleets

CAPS = (100.0, 200.0, 300.0)


def surface(app, seconds, power=None, caps=CAPS):
    draws = {"runtime_s": np.atleast_2d(np.asarray(seconds, float))}
    if power is not None:
        draws["power_w"] = np.tile(np.asarray(power, float), (len(draws["runtime_s"]), 1))
    return Surface(app, ("cap_w",), np.array(caps)[:, None], Outcome(draws))


KNOWN = {
    "hungry": surface("hungry", [12.0, 8.0, 6.0], [100.0, 200.0, 290.0]),
    "full": surface("full", [10.0, 10.0, 10.0], [80.0, 80.0, 80.0]),
}


def test_worth_is_speed_gained_or_energy_saved_over_the_present_caps() -> None:
    hungry = KNOWN["hungry"]
    assert setting_value(hungry, 0, BudgetObjective()) == pytest.approx([0.0, 0.5, 1.0])
    assert setting_value(hungry, 1, BudgetObjective()) == pytest.approx(
        [8 / 12 - 1, 0.0, 8 / 6 - 1]
    )
    energy = setting_value(hungry, 2, BudgetObjective("energy", slowdown=0.5))
    assert energy == pytest.approx([-np.inf, 1 - 1600 / 1740, 0.0])
    with pytest.raises(DataError, match=r"surface of bare: .*has no power"):
        setting_value(surface("bare", [3.0, 2, 1]), 0, BudgetObjective("energy", slowdown=0.1))


def test_options_of_a_node_rise_in_watts_and_worth_and_keep_the_present_one() -> None:
    f = fleet(pl.DataFrame({"app": ["hungry", "full", "hungry"], "cap_w": [200.0, 300.0, 200.0],
                            "weight": [1.0, 1.0, 2.0]}), KNOWN)  # fmt: skip
    found = node_options(f, BudgetObjective())
    assert len(found.class_watts) == 3  # as many as differ: another weight is another class
    assert found.watts[0].tolist() == [100.0, 200.0, 300.0]
    assert found.value[0] == pytest.approx([-1 / 3, 0.0, 1 / 3])
    assert found.value[2] == pytest.approx([-2 / 3, 0.0, 2 / 3])
    assert np.isfinite(found.watts[1]).sum() == 1  # 300 W are no better than 100 W
    assert found.rows(np.zeros(3, dtype=np.int64)).tolist() == [0, 0, 0]
    floor = not_below(f, 0, np.array([200.0]))
    assert floor.tolist() == [-np.inf, 0.0, 0.0]
    held = node_options(
        f, BudgetObjective(change=0.5), lambda node: not_below(f, node, np.array([200.0]))
    )
    assert held.value[0][np.isfinite(held.value[0])] == pytest.approx([0.5])


def test_prices_of_the_steps_around_a_choice_tell_why_it_stands_there() -> None:
    f = fleet(pl.DataFrame({"app": ["hungry"], "cap_w": [100.0]}), KNOWN)
    found = node_options(f, BudgetObjective())
    below, above = slopes(found, np.array([1]))
    assert (below[0], above[0]) == (pytest.approx(0.005), pytest.approx(0.005))
    bottom, top = slopes(found, np.array([0])), slopes(found, np.array([2]))
    assert np.isnan(bottom[0][0])
    assert bottom[1][0] == pytest.approx(0.005)
    assert np.isnan(top[1][0])


def test_gains_are_over_the_caps_before_with_their_interval() -> None:
    wild = surface("wild", np.column_stack([np.full(101, 10.0), 10 / np.linspace(1, 2, 101),
                                            np.full(101, 5.0)]))  # fmt: skip
    f = fleet(pl.DataFrame({"app": ["wild"] * 2, "cap_w": [100.0, 100.0]}), {"wild": wild})
    mean, low, high = gains(f, np.array([1, 2]))
    assert (mean[0], low[0], high[0]) == pytest.approx((0.5, 0.05, 0.95))
    assert (mean[1], low[1], high[1]) == pytest.approx((1.0, 1.0, 1.0))
    assert gains(f, np.array([1, 1]), 0.5)[1] == pytest.approx([0.25, 0.25])


def test_the_price_of_a_watt_is_sure_where_the_surfaces_are() -> None:
    sure = allocate_power(fleet(pl.DataFrame({"app": ["hungry"], "cap_w": [100.0]}), KNOWN), 150.0)
    assert sure.price[0] == pytest.approx(0.005)
    assert np.isnan(sure.price[1:]).all()
    draws = np.column_stack([np.full(32, 12.0), np.linspace(7.0, 9.0, 32), np.full(32, 6.0)])
    wild = {"wild": surface("wild", draws)}
    unsure = allocate_power(fleet(pl.DataFrame({"app": ["wild"], "cap_w": [100.0]}), wild), 150.0)
    value, low, high = unsure.price
    assert low < value < high
    # 12 / t - 1 per 100 W, or straight to 300 W where that is steeper
    slopes_ = np.maximum(12 / draws[:, 1] - 1, 0.5) / 100
    assert (low, high) == pytest.approx(tuple(np.quantile(slopes_, [0.05, 0.95])))


def test_nodes_that_stay_take_their_watts_and_leave_the_price_to_the_others() -> None:
    draws = np.column_stack([np.full(32, 12.0), np.linspace(7.0, 9.0, 32), np.full(32, 6.0)])
    wild = {"wild": surface("wild", draws)}
    alone = allocate_power(fleet(pl.DataFrame({"app": ["wild"], "cap_w": [100.0]}), wild), 150.0)
    beside = fleet(pl.DataFrame({"app": ["wild", "new"], "cap_w": [100.0, 300.0]}), wild)
    assert beside.fixed.tolist() == [1]
    assert allocate_power(beside, 450.0).price == pytest.approx(alone.price)


def test_donors_come_down_to_the_lowest_cap_that_leaves_draw_and_margin() -> None:
    f = fleet(pl.DataFrame({"app": ["full"] * 5 + ["new"], "cap_w": [300.0] * 6,
                            "draw_w": [90.0, 91.0, 190.0, 290.5, None, 10.0]}), KNOWN)  # fmt: skip
    floors, donors = reclaimed(f, 10.0)
    assert floors[:5, 0].tolist() == [100.0, 200.0, 200.0, 300.0, 300.0]
    assert donors.tolist() == [0, 1, 2]


def nodes(caps, apps, **more):
    return fleet(pl.DataFrame({"app": apps, "cap_w": caps, **more}), KNOWN)


def test_the_usual_rules_do_what_their_names_say() -> None:
    f = nodes([100.0, 100.0], ["hungry", "full"], draw_w=[100.0, 50.0])
    for name, watts, rows in (
        ("fair share, even", 400.0, [1, 1]),
        ("fair share, even", 399.0, [0, 0]),  # rounded down to caps that exist
        ("fair share, proportional", 400.0, [1, 1]),
        ("fair share, best", 400.0, [1, 0]),  # the full one gains nothing by more
        ("fair share, best", 200.0, [0, 0]),
        ("utilisation", 350.0, [1, 0]),  # 100 and 50 W of 150 W more
        ("utilisation", 500.0, [2, 1]),
    ):
        assert BASELINES[name](f, watts).tolist() == rows, (name, watts)
    idle = nodes([200.0, 300.0], ["full", "new"])
    for rule in BASELINES.values():
        assert rule(idle, 500.0)[1] == idle.now[1]  # nobody moves a node without a surface


@pytest.mark.parametrize(("gpu_w", "more_w", "caps"), [
    (201.0, 201.0, (200.0, 201.0)),  # half a watt that the processor cannot take
    (260.0, 260.0, (200.0, 260.0)),
    (201.0, 200.99, (200.0, 100.0)),  # rounded down
    (100.1, 0.2, (100.0, 100.1)),  # 0.1 W each, exactly
])  # fmt: skip
def test_what_one_device_cannot_take_goes_to_the_other(gpu_w, more_w, caps) -> None:
    grid = np.array(list(itertools.product((100.0, 200.0), (100.0, gpu_w))))
    two = Surface("two", ("cpu_cap_w", "gpu_cap_w"), grid,
                  Outcome({"runtime_s": np.array([[4.0, 3.0, 2.0, 1.0]])}))  # fmt: skip
    f = fleet(pl.DataFrame({"app": ["two"], "cpu_cap_w": [100.0], "gpu_cap_w": [100.0]}),
              {"two": two})  # fmt: skip
    (row,) = BASELINES["fair share, even"](f, 200.0 + more_w)
    assert tuple(grid[row]) == caps


def test_all_devices_with_room_share_what_one_cannot_take() -> None:
    caps = ((100.0, 110.0), (100.0, 115.0), (100.0, 115.0))
    grid = np.array(list(itertools.product(*caps)))
    three = Surface(
        "three", ("cpu_cap_w", "gpu_cap_w", "cap_w"), grid, Outcome({"runtime_s": np.ones((1, 8))})
    )
    assert grid[_lift(three, 0, 40.0)].tolist() == [110.0, 115.0, 115.0]
    assert grid[_lift(three, 0, 39.8)].tolist() == [110.0, 100.0, 100.0]
    assert grid[_lift(three, 7, 9.0)].tolist() == [110.0, 115.0, 115.0]  # all at their highest
    assert grid[_lift(three, 7, -90.0)].tolist() == [100.0, 100.0, 100.0]  # none low enough


def test_equal_slowdown_gives_all_the_same_slowdown_that_the_budget_allows() -> None:
    straight = {  # slowdown falls straight with watts: b (1 - x), b = 3 and 1.5
        "steep": surface("steep", 1.0 + 3.0 * (1 - np.array([0.25, 0.5, 0.75, 1.0])),
                         caps=(100.0, 200.0, 300.0, 400.0)),
        "mild": surface("mild", 1.0 + 1.5 * (1 - np.array([0.25, 0.5, 0.75, 1.0])),
                        caps=(100.0, 200.0, 300.0, 400.0)),
    }  # fmt: skip
    f = fleet(pl.DataFrame({"app": ["steep", "mild"], "cap_w": [100.0, 100.0]}), straight)
    rule = BASELINES["equal slowdown (GEOPM)"]
    assert rule(f, 800.1).tolist() == [3, 3]
    assert rule(f, 501.0).tolist() == [2, 1]  # 1.75 at 300 W and at 200 W
    assert rule(f, 200.0).tolist() == [0, 0]


def test_limits_name_groups_that_are_there_and_nest() -> None:
    f = nodes([100.0] * 4, ["hungry"] * 4, rack=["a", "a", "b", "b"], row=["x"] * 4)
    levels = PowerLimits(900.0, {"row": {"x": 800.0}, "rack": {"a": 300.0, "b": 500.0}}).levels(f)
    assert [len(level.budget_w) for level in levels] == [2, 1, 1]  # the finest first
    assert levels[0].member.tolist() == [0, 0, 1, 1]
    assert levels[2].budget_w.tolist() == [900.0]
    spent = allocate_power(f, PowerLimits(900.0, {"rack": {"a": 300.0}}))
    assert spent.after.now_w[:2].sum() <= 300.0
    assert spent.after.now_w.sum() <= 900.0
    with pytest.raises(DataError) as caught:
        PowerLimits(1.0, {"rack": {"c": 1.0}, "hall": {"h": 1.0}}).levels(f)
    assert caught.value.problems == (
        "no node is in rack c", "the nodes have no column hall (columns: rack, row)")  # fmt: skip
    with pytest.raises(Infeasible) as none:
        allocate_power(f, PowerLimits(900.0, {"rack": {"a": 150.0}}))
    assert none.value.nearest == 0


def test_changes_are_those_of_setting_or_watts() -> None:
    f = nodes([100.0, 100.0], ["hungry", "full"])
    spent = allocate_power(f, 300.0)
    assert spent.changed.tolist() == [0]
    assert spent.after.now_w.tolist() == [200.0, 100.0]
    assert len(allocate_power(f, 200.0).changed) == 0
    few = allocate_power(nodes([100.0] * 3, ["hungry"] * 3), 900.0, most_changes=2)
    assert len(few.changed) == 2


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 12))
def test_the_planned_budget_is_the_least_that_comes_within_the_lead(levels, lead) -> None:
    budget = Series(tuple(10.0 * i for i in range(len(levels))), tuple(map(float, levels)))
    found = planned(budget, 0.0, 80.0, float(lead))
    for t in np.arange(0.0, 80.0, 0.5):
        now = [w for at, w in found if at <= t][-1]
        ahead = np.arange(t, t + lead + 0.25, 0.25)
        assert now == budget.at(ahead).min()
    assert all(a[1] != b[1] for a, b in itertools.pairwise(found))


def test_a_fleet_says_what_is_wrong_with_its_table() -> None:
    for columns, said in (
        ({"cap_w": [1.0]}, "column app is missing"),
        ({"app": pl.Series([], dtype=pl.String), "cap_w": []}, "has no rows"),
        ({"app": ["full"] * 2, "node": ["a", "a"], "cap_w": [1.0] * 2}, "node a is there twice"),
        ({"app": ["full"], "weight": [0.0], "cap_w": [1.0]}, "weight: expected numbers above 0"),
        ({"app": ["full"], "draw_w": [-1.0], "cap_w": [1.0]}, "draw_w: expected numbers from 0"),
    ):
        with pytest.raises(DataError, match=said):
            fleet(pl.DataFrame(columns), KNOWN)
    other = {**KNOWN, "two": replace(KNOWN["full"], app="two", knobs=("gpu_cap_w",))}
    with pytest.raises(DataError, match="expected surfaces over the same knobs"):
        fleet(pl.DataFrame({"app": ["full"], "cap_w": [100.0]}), other)
    named = fleet(pl.DataFrame({"app": ["full", "None"], "cap_w": [100.0, 300.0]}), KNOWN)
    assert named.names == ("0", "1")
    assert named.surfaces[named.app[1]].app == "(idle)"
    assert named.setting(1, 2) == {"cap_w": 300.0}
