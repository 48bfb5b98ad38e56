"""Plans of co-scheduling by hand: what is foreseen, searched, matched and proven."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision.coschedule.expected_schedule import (
    ExpectedSchedule,
    NodeSite,
    Plan,
    Planned,
    cost,
    foresee,
)
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.many_nodes import Matched
from rheostat.decision.coschedule.packed import Packed, _changed, _picks
from rheostat.decision.coschedule.shared_node import NodeState
from rheostat.errors import DataError
from tests.decision.one_node import NODE, tenant, waiting


def test_what_is_minimised() -> None:
    assert [cost(o, 4.0, 3.0) for o in ("edp", "makespan", "energy")] == [12.0, 4.0, 3.0]
    assert ExpectedSchedule(4.0, 3.0).edp_js == 12.0
    with pytest.raises(DataError, match="expected one of edp, makespan, energy, got 'time'"):
        cost("time", 1.0, 1.0)


def test_neighbours_slow_each_other_and_idle_gpus_draw() -> None:
    a, b = Mode("a", 1, 10.0, 100.0), Mode("b", 2, 4.0, 300.0)
    site = NodeSite(4, 2, 50.0, crowd=0.5)
    # both run at the rate 1 / 1.5 until b has done its 4 s, then a alone does its other 6 s
    seen = foresee([a, b], site)
    assert seen.makespan_s == pytest.approx(4 * 1.5 + 6)
    active = (100 - 50) * 10 + (300 - 100) * 4
    assert seen.energy_j == pytest.approx(active + 50 * 4 * seen.makespan_s)
    assert foresee([a, b], NodeSite(4, 1, 50.0, 0.5)).makespan_s == 14.0
    assert foresee([a, b], NodeSite(2, 2, 0.0)).makespan_s == 14.0  # no room for both
    assert foresee([a], site, [(6.0, 4)]).makespan_s == 16.0
    assert foresee([a], site, stretch=1.5).makespan_s == 15.0
    assert foresee([a], site, stretch=1.5).energy_j == pytest.approx(500 + 200 * 15)
    assert foresee([], site).makespan_s == 0.0
    assert foresee([Mode("x", 5, 1, 1)], site).cost("energy") == math.inf
    later = foresee([b, Mode("x", 3, 1.0, 1.0), a], NodeSite(4, 3, 0.0))
    assert later.makespan_s == 10.0  # what does not fit is passed over


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 20)), min_size=1, max_size=5),
       st.integers(1, 3))  # fmt: skip
@settings(max_examples=40)
def test_a_plan_takes_no_less_than_its_area_and_its_longest_job(jobs, tenants) -> None:
    modes = [Mode(str(i), g, float(t), 100.0 * g) for i, (g, t) in enumerate(jobs)]
    seen = foresee(modes, NodeSite(4, tenants, 0.0))
    area = sum(m.gpus * m.runtime_s for m in modes) / 4
    alone = sum(m.runtime_s for m in modes)
    assert seen.makespan_s >= max(area, alone / tenants, *(m.runtime_s for m in modes)) - 1e-9
    assert seen.makespan_s <= alone + 1e-9
    assert seen.energy_j == pytest.approx(sum(m.energy_j for m in modes))


def test_a_plan_is_carried_out_in_its_order_as_far_as_it_fits() -> None:
    queue = waiting("a", "b", "c")
    big, small = Mode("a", 4, 1.0, 1.0), Mode("b", 1, 1.0, 1.0)
    plan = Planned([("a#0", big), ("b#1", small), ("c#2", small)], 3, "mine")
    (start,) = plan.choose(queue, NodeState(NODE, (tenant(0),)))
    assert start.job.name == "b#1"
    assert plan.choose(queue[:1], NodeState(NODE, (tenant(0),))) == ()
    assert plan.choose(queue, NodeState(NODE, (tenant(0), tenant(1), tenant(2)))) == ()
    assert plan.choose(queue, NodeState(NODE, (tenant(0, 1, 2, 3),))) == ()
    (start,) = plan.choose(queue[:1], NodeState(NODE))
    assert (start.mode, plan.name) == (big, "mine")
    assert list(plan.left) == ["c#2"]
    seen = Plan([big, small], [1, 0], NodeSite(4, 2, 0.0)).foreseen([])
    assert seen.makespan_s == 2.0


FOUR = {
    "p": tuple(Mode("p", g, 100.0 / g**0.5, 100.0 * g) for g in (1, 2, 4)),
    "q": tuple(Mode("q", g, 60.0 / g**0.9, 120.0 * g) for g in (1, 2)),
}


def brute(options, objective, site):
    """The least cost over all modes and orders."""
    return min(
        foresee([modes[i] for i in order], site).cost(objective)
        for modes in itertools.product(*options)
        for order in itertools.permutations(range(len(options)))
    )


@pytest.mark.parametrize("objective", ["edp", "makespan", "energy"])
def test_a_small_queue_is_planned_nearly_as_well_as_any_order_and_modes(objective) -> None:
    queue = waiting("p", "q", "p", "q")
    packed = Packed(FOUR, 50.0, crowd=0.0, objective=objective)
    plan = packed._plan(queue, NodeState(NODE))
    options = [FOUR[w.app] for w in queue]
    best = min(brute(options, objective, NodeSite(4, k, 50.0)) for k in (1, 2, 4))
    assert plan.foreseen([]).cost(objective) <= 1.02 * best


def test_cost_of_an_area_is_that_of_filled_gpus() -> None:
    packed = Packed(FOUR, 50.0, crowd=0.1, objective="energy")
    t, e, g = np.array([10.0, 20.0]), np.array([2000.0, 9000.0]), np.array([1.0, 2.0])
    count = np.array([6.0, 2.0])
    busy, alone = 60 + 80, 60 + 40
    span = max(busy / 4, alone / 3) * (1 + 0.1 * (alone / (busy / 4) - 1))
    above = 6 * 2000 + 2 * 9000 - 50 * busy
    assert packed._area_cost([t, e, g], count, NodeSite(4, 3, 50.0)) == pytest.approx(
        above + 50 * 4 * span)  # fmt: skip
    packed.crowd = 0.0
    long = packed._area_cost([t, e, g], np.array([0.0, 1.0]), NodeSite(4, 3, 50.0))
    assert long == pytest.approx(9000 - 50 * 40 + 200 * 20)  # no shorter than its longest job


def test_a_guard_penalises_what_does_not_beat_marble_in_both() -> None:
    packed = Packed(FOUR, 50.0, crowd=0.0, caution=0.1)
    plan = Plan([FOUR["p"][0]], [0], NodeSite(4, 1, 50.0))
    seen = plan.foreseen([], 1.1)
    loose = packed._guarded(plan, [], ExpectedSchedule(1e9, 1e9))
    assert loose == pytest.approx(seen.edp_js)
    slower = packed._guarded(plan, [], ExpectedSchedule(seen.makespan_s / 1.5, 1e9))
    assert slower == pytest.approx(seen.edp_js * (1 + 20 * 0.5))
    dearer = packed._guarded(plan, [], ExpectedSchedule(1e9, seen.energy_j * 1.1 / 1.25))
    assert dearer == pytest.approx(seen.edp_js * (1 + 20 * 0.25))
    plain = Packed(FOUR, 50.0, objective="makespan")
    assert plain._guarded(plan, [], ExpectedSchedule(0.1, 0.1)) == 100.0


def test_a_long_queue_gets_one_mode_per_application_longest_first() -> None:
    queue = waiting(*["p", "q"] * 25)
    plan = Packed(FOUR, 50.0)._plan(queue, NodeState(NODE))
    assert len({plan.modes[i] for i in range(0, 50, 2)}) == 1
    lengths = [plan.modes[i].runtime_s for i in plan.order]
    assert lengths == sorted(lengths, reverse=True)
    assert sorted(plan.order) == list(range(50))


def test_fewer_tenants_down_to_one_run_where_neighbours_cost_more() -> None:
    wide, queue = {"s": (Mode("s", 2, 10.0, 200.0),)}, waiting("s", "s", "s", "s")
    for crowd, most in ((5.0, 1), (0.0, 4)):
        plan = Packed(wide, 50.0, crowd=crowd, iterations=9)._plan(queue, NodeState(NODE))
        assert plan.site.tenants == most
    for crowd, beside in ((5.0, []), (0.0, [0, 1])):
        policy = Matched(wide, 50.0, crowd=crowd)
        first = policy.choose(queue, [NodeState(NODE)] * 2)
        assert [n for n, _ in first] == [0, 1]
        busy = [NodeState(NODE, (tenant(*s.gpus, domain=s.domain),)) for _, s in first]
        assert [n for n, _ in policy.choose(queue[2:], busy)] == beside


def test_a_change_of_a_plan_is_one_mode_or_one_place_each_half_of_the_time() -> None:
    options = [tuple(Mode("m", g, float(i), 1.0) for g in range(1, 200)) for i in range(1, 6)]
    plan = Plan([own[0] for own in options], [3, 1, 4, 0, 2], NodeSite(4, 2, 50.0))
    rng, modes = np.random.default_rng(0), 0
    for _ in range(1000):
        changed = _changed(plan, options, rng)
        others = [i for i in range(5) if changed.modes[i] != plan.modes[i]]
        assert all(changed.modes[i] in options[i] for i in others)
        assert len(others) + (changed.order != plan.order) <= 1
        left = [[i for i in p.order if i != j] for j in range(5) for p in (plan, changed)]
        assert any(a == b for a, b in zip(left[::2], left[1::2], strict=True))
        assert sorted(changed.order) == list(range(5))
        modes += len(others)
    assert 450 < modes < 550


def test_deadlines_reach_from_the_fastest_modes_to_the_thriftiest() -> None:
    options, count = [FOUR["p"], FOUR["q"]], np.array([25.0, 25.0])
    picks = [tuple(p) for p in _picks(options, count, NodeSite(4, 4, 50.0))]
    assert len(set(picks)) == len(picks)
    assert (0, 0) in picks  # one GPU each takes least energy and 100 s, well before twice 1000 s
    assert (2, 1) in picks  # what is fastest
    few = [tuple(p) for p in _picks(options, np.ones(2), NodeSite(4, 4, 50.0))]
    assert (1, 0) in few  # about 70 s for both


def test_jobs_are_matched_to_nodes_by_room_home_and_order() -> None:
    policy = Matched({"s": (Mode("s", 2, 10.0, 200.0),)}, 50.0)
    states = [NodeState(NODE, (tenant(0),)), NodeState(NODE, (tenant(0, 1),)), NodeState(NODE)]
    found = policy.choose(waiting("s", "s", "s", "s"), states)
    assert {n: s.gpus for n, s in found} == {0: (2, 3), 1: (2, 3), 2: (0, 1)}
    full = [NodeState(NODE, (tenant(0, 1, 2, 3),))]
    assert policy.choose(waiting("s"), full) == []
    assert policy.choose([], states) == []
    alone = Matched({"s": (Mode("s", 2, 10.0, 200.0),)}, 50.0, tenants=1)
    assert alone.choose(waiting("s"), states[:2]) == []  # each has its one tenant
    assert policy.choose(waiting("s"), [NodeState(NODE, (tenant(0, 1, 2),))]) == []
    value = policy._values(waiting("s", "s"), [0, 1], states)
    # GPUs filled, early, an exact fit and no spill: 2 + .5 and 2 + 0 on three free, + .25 on two
    assert value == pytest.approx(np.array([[2.5, 2.0], [2.75, 2.25]]))
    scattered = [NodeState(NODE, (tenant(0), tenant(2, domain=1)))]
    assert policy._values(waiting("s"), [0], scattered)[0, 0] == pytest.approx(2.5 + 0.25 - 0.3)


def test_the_exact_schedule_rounds_up_to_tenths_and_bounds_what_it_found() -> None:
    pytest.importorskip("ortools", reason="pip install 'rheostat[exact]'")
    from rheostat.decision.coschedule.constraint_programme import optimum

    profiles = {"a": (Mode("a", 4, 0.95, 400.0), Mode("a", 2, 1.2, 250.0)),
                "b": (Mode("b", 4, 2.0, 400.0), Mode("b", 8, 0.1, 1.0))}  # fmt: skip
    queue = waiting("a", "b")
    best = optimum(queue, profiles, NodeSite(4, 2, 10.0), minimise="makespan")
    (_, first, _), (second_s, second, _) = best.starts
    assert {first.app, second.app} == {"a", "b"}
    assert second_s == pytest.approx(1.0 if first.app == "a" else 2.0)  # 0.95 s take 1.0 s
    assert best.proven
    assert best.bound <= best.makespan_s + 0.1
    cheap = optimum(queue, profiles, NodeSite(4, 2, 10.0))
    modes = {j.app: m for _, j, m in cheap.starts}
    assert modes["a"].gpus == 2  # 300 J are less than 380 J
    held = optimum(queue, profiles, NodeSite(4, 2, 10.0), tolerance=0.2)
    assert {j.app: m.gpus for _, j, m in held.starts}["a"] == 4  # 1.2 s are too slow beside 0.95 s
    active = (250 - 20) * 1.2 + (400 - 40) * 2.0
    assert cheap.energy_j == pytest.approx(active + 10 * 4 * cheap.makespan_s)
    with pytest.raises(DataError, match="expected energy or makespan, got 'edp'"):
        optimum(queue, profiles, NodeSite(4, 2, 10.0), minimise="edp")


def test_the_exact_schedule_keeps_submissions_tenants_and_what_a_node_has() -> None:
    pytest.importorskip("ortools", reason="pip install 'rheostat[exact]'")
    from rheostat.decision.coschedule.constraint_programme import _allowed, _ticks, optimum

    assert [_ticks(s) for s in (0.0, 0.04, 0.1, 1.0, 1.01)] == [1, 1, 1, 10, 11]
    modes = (Mode("a", 1, 12.0, 9.0), Mode("a", 2, 11.9, 9.0), Mode("a", 4, 10.0, 9.0),
             Mode("a", 8, 1.0, 9.0))  # fmt: skip
    node = NodeSite(4, 2, 10.0)
    assert [m.gpus for m in _allowed(modes, node, None)] == [1, 2, 4]
    assert [m.gpus for m in _allowed(modes, node, 0.2)] == [1, 2, 4]  # 12 s are 1.2 times 10 s
    assert [m.gpus for m in _allowed(modes, node, 0.195)] == [2, 4]
    assert [m.gpus for m in _allowed(modes, node, 0.0)] == [4]
    one = {"a": (Mode("a", 1, 2.0, 100.0),)}
    at = [replace(w, submit_s=s) for w, s in zip(waiting("a", "a"), (3.0, 8.5), strict=True)]
    late = optimum(at, one, node, minimise="makespan")
    assert [t for t, _, _ in late.starts] == [0.0, 5.5]  # since the first
    assert late.makespan_s == 7.5
    assert late.bound == pytest.approx(7.5)
    three = waiting("a", "a", "a")
    both, alone = (optimum(three, one, replace(node, tenants=k)) for k in (2, 1))
    assert (both.makespan_s, alone.makespan_s) == (4.0, 6.0)
    assert both.energy_j == pytest.approx(3 * (100 - 10) * 2.0 + 10 * 4 * 4.0)
    assert both.bound == pytest.approx(both.energy_j)
