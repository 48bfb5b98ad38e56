"""Co-scheduling by hand: profiles, predictions, scores, places and plans of a few jobs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.decision.coschedule.ecosched import EcoSched
from rheostat.decision.coschedule.expected_schedule import (
    ExpectedSchedule,
    NodeSite,
    Plan,
    Planned,
    cost,
    foresee,
)
from rheostat.decision.coschedule.gpu_profiles import (
    Mode,
    has_signals,
    predict,
    profiles_of,
    signal,
)
from rheostat.decision.coschedule.many_nodes import Matched
from rheostat.decision.coschedule.packed import Packed, _changed, _picks
from rheostat.decision.coschedule.shared_node import (
    Node,
    NodeState,
    Tenant,
    Waiting,
    best_place,
    place,
)
from rheostat.decision.coschedule.simple_policies import (
    Marble,
    Sequential,
    fastest,
    most_gpus,
    near_fastest,
    next_domain,
)
from rheostat.errors import DataError

NODE = Node(idle_w=50.0)


def waiting(*apps) -> list[Waiting]:
    return [Waiting(f"{a}#{i}", a) for i, a in enumerate(apps)]


def tenant(*gpus, domain=0, end_s=9.0) -> Tenant:
    return Tenant(Waiting("t", "t"), Mode("t", len(gpus), 9.0, 1.0), gpus, domain, 0.0, end_s)


# profiles


def test_repeated_runs_of_a_mode_are_averaged_and_signals_kept() -> None:
    jobs = table(
        {
            "app": ["a", "a", "a", "b"],
            "gpus": [2, 1, 1, 1],
            "cap_w": [300.0] * 3 + [None],
            "runtime_s": [5.0, 8.0, 10.0, 3.0],
            "power_w": [200.0, 90.0, 110.0, 50.0],
            "dram_active": [0.4, 0.1, 0.3, None],
            "fp_active": [0.0, 0.0, 0.0, 0.5],
        }
    )
    found = profiles_of(jobs)
    one, two = found["a"]
    assert (one.gpus, one.runtime_s, one.power_w, one.cap_w, one.dram) == (
        1,
        9.0,
        100.0,
        300.0,
        0.2,
    )
    assert (two.gpus, two.energy_j, two.fp) == (2, 1000.0, 0.0)
    (b,) = found["b"]
    assert (b.cap_w, b.fp) == (None, 0.5)
    assert math.isnan(b.dram)
    assert math.isnan(b.clock)


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("app", [None, "a"], "app: missing in row 1"),
        ("gpus", [0, 1], "gpus: expected whole numbers from 1 to 10000, got 0 in row 1"),
        ("gpus", [1.5, 1], "expected whole numbers"),
        ("runtime_s", [1.0, 0.0], "expected numbers from 1e-06 to 1e.09, got 0.0 in row 2"),
        ("power_w", [-1.0, None], "power_w: expected numbers .* got -1.0, None in rows 1, 2"),
        ("cap_w", [None, -5.0], "cap_w: expected numbers .* got -5.0 in row 2"),
        ("dram_active", [-0.1, None], "dram_active: expected numbers from 0 to 1e.09, got -0.1"),
    ],
)  # fmt: skip
def test_a_profile_that_cannot_be_is_refused_with_its_rows(column, values, said) -> None:
    good = {"app": ["a", "a"], "gpus": [1, 2], "runtime_s": [2.0, 1.0], "power_w": [1.0, 2.0]}
    with pytest.raises(DataError, match=said) as caught:
        profiles_of(table(good | {column: values}))
    assert len(caught.value.problems) == 1
    assert len(profiles_of(table(good | {"cap_w": [None, 5.0], "dram_active": [0.0, None]}))) == 1


def test_a_signal_is_memory_else_floating_point_else_clock_per_gpu() -> None:
    nan = math.nan
    for signals, want in (
        ((0.2, 0.4, 0.0, 0.0), [0.2, 0.0]),
        ((0.0, 0.6, 0.0, 0.8), [0.6, 0.4]),
        ((nan, 0.6, nan, 0.8), [0.6, 0.4]),
    ):
        a, b, c, d = signals
        modes = [Mode("a", 1, 1, 1, None, a, b), Mode("a", 2, 1, 1, None, c, d)]
        assert signal(modes).tolist() == want
    clocks = [Mode("a", 1, 1, 1, clock=900.0), Mode("a", 2, 1, 1, clock=1000.0)]
    assert signal(clocks).tolist() == [900.0, 500.0]
    assert has_signals({"a": tuple(clocks)})
    assert not has_signals({"a": (Mode("a", 1, 1, 1, dram=0.0),)})
    assert not has_signals({"a": (*clocks, Mode("a", 4, 1, 1))})
    assert not has_signals({"a": tuple(clocks), "b": (Mode("b", 1, 1, 1),)})


def test_relative_runtimes_and_energies_follow_from_signals_or_runtimes() -> None:
    modes = [Mode("a", 1, 10.0, 100.0, dram=0.2), Mode("a", 2, 6.0, 150.0, dram=0.4)]
    told = predict(modes)
    assert told.nrt.tolist() == [2.0, 1.0]
    assert told.ne == pytest.approx([200 / 150, 1.0])
    assert told.nedp == pytest.approx([400 / 150, 1.0])
    measured = predict(modes, by="runtime")
    assert measured.nrt == pytest.approx([10 / 6, 1.0])
    assert [m.gpus for m in told.within(1.0).modes] == [1, 2]
    assert [m.gpus for m in told.within(0.99).modes] == [2]
    assert told.within(-0.5).ne.tolist() == [1.0]
    never = predict([Mode("a", 1, 1, 1, dram=0.0), Mode("a", 2, 1, 1, dram=0.5)])
    assert never.nrt.tolist() == [math.inf, 1.0]
    with pytest.raises(DataError, match="not every mode has a signal"):
        predict([Mode("a", 1, 1, 1)])


# places


def test_a_place_is_at_home_first_and_never_more_than_is_free() -> None:
    state = NodeState(NODE, (tenant(0), tenant(3, domain=1)))
    assert NODE.gpus == 4
    assert state.free == (1, 2)
    assert place(state, 2, 1) == ((2, 1), 1)
    assert place(state, 1, 0) == ((1,), 0)
    with pytest.raises(DataError, match="3 GPUs asked for, 2 are free"):
        place(state, 3, 0)
    assert best_place(state, 1) == ((1,), 0)
    assert best_place(NodeState(NODE, (tenant(0),)), 1) == ((1,), 0)  # the tighter fit
    assert best_place(NodeState(NODE, (tenant(2),)), 1) == ((3,), 1)
    assert best_place(NodeState(NODE, (tenant(0, 1),)), 1) == ((2,), 1)
    assert next_domain(NodeState(NODE)) == 0
    assert next_domain(NodeState(NODE, (tenant(0),))) == 1
    assert next_domain(NodeState(NODE, (tenant(0), tenant(2, domain=1)))) == 0


# what sites do without

ALONE = {"a": (Mode("a", 1, 10.4, 1), Mode("a", 2, 10.0, 1), Mode("a", 4, 10.0, 1)),
         "b": (Mode("b", 3, 5.0, 1),)}  # fmt: skip


def test_sequential_runs_one_at_a_time() -> None:
    assert most_gpus(ALONE["a"]).gpus == 4
    assert fastest(ALONE["a"]).gpus == 2  # the fewest of those that are equally fast
    assert near_fastest(ALONE["a"]).gpus == 1
    assert near_fastest(ALONE["a"], 0.03).gpus == 2
    (start,) = Sequential(ALONE).choose(waiting("a", "b"), NodeState(NODE))
    assert (start.job.app, start.mode.gpus, start.gpus, start.domain) == ("a", 2, (0, 1), 0)
    assert Sequential(ALONE, "most").choose(waiting("a"), NodeState(NODE))[0].mode.gpus == 4
    assert Sequential(ALONE).choose(waiting("a"), NodeState(NODE, (tenant(3),))) == ()
    assert Sequential(ALONE).choose([], NodeState(NODE)) == ()


def test_marble_takes_the_first_that_fits_while_fewer_than_two_run() -> None:
    policy = Marble(ALONE)
    (start,) = policy.choose(waiting("b", "a"), NodeState(NODE, (tenant(0, 1),)))
    assert (start.job.app, start.gpus, start.domain) == ("a", (2,), 1)  # three GPUs are not free
    (start,) = policy.choose(waiting("b"), NodeState(NODE, (tenant(0),)))
    assert (start.gpus, start.domain) == ((2, 3, 1), 1)
    two = NodeState(NODE, (tenant(0), tenant(2, domain=1)))
    assert policy.choose(waiting("a"), two) == ()
    assert len(Marble(ALONE, tenants=3).choose(waiting("a"), two)) == 1


# EcoSched

SIGNALS = {
    "m": (Mode("m", 1, 12.0, 100.0, dram=0.5), Mode("m", 2, 10.0, 190.0, dram=0.55)),
    "w": (Mode("w", 3, 10.0, 450.0, dram=0.4),),
}


def test_a_score_is_excess_energy_and_idle_share() -> None:
    """m on 1 GPU: nrt 1.1, ne 1; on 2 GPUs ne 190/110; a GPU draws 115 W on average."""
    policy = EcoSched(SIGNALS, 23.0, bandit=False)
    busy = (100 + 95 + 150) / 3
    assert policy.busy_w == pytest.approx(busy)
    assert policy.idle_weight == pytest.approx(23 / busy)
    starts = policy.choose(waiting("m", "w"), NodeState(NODE))
    assert [(s.job.app, s.mode.gpus, s.gpus) for s in starts] == [
        ("w", 3, (0, 1, 2)), ("m", 1, (3,))]  # fmt: skip
    assert starts[0].score == pytest.approx(0.0)  # nothing wasted and nothing idle
    (alone,) = policy.choose(waiting("m"), NodeState(NODE))
    assert alone.mode.gpus == 1
    assert alone.score == pytest.approx(policy.idle_weight * 3 / 4)
    strict = EcoSched(SIGNALS, 23.0, bandit=False, tolerance=0.05)
    assert strict.choose(waiting("m"), NodeState(NODE))[0].mode.gpus == 2
    assert policy.choose([], NodeState(NODE)) == ()
    assert policy.choose(waiting("m"), NodeState(NODE, (tenant(0), tenant(1)))) == ()
    assert policy.choose(waiting("w"), NodeState(NODE, (tenant(0, 1),))) == ()
    dear = EcoSched(SIGNALS, 23.0, bandit=False, busy_w=23.0)
    assert dear.idle_weight == 1.0
    assert dear.choose(waiting("m"), NodeState(NODE))[0].mode.gpus == 1  # .75 against .73 + .5


def test_an_anchor_holds_for_the_first_action_alone_and_metrics_differ() -> None:
    policy = EcoSched(SIGNALS, 23.0, bandit=False, anchor="w", tenants=1)
    queue = waiting("m", "w")
    assert policy.choose(queue, NodeState(NODE))[0].job.app == "w"
    again = EcoSched(SIGNALS, 23.0, bandit=False, tenants=1)
    assert policy.choose(queue, NodeState(NODE)) == again.choose(queue, NodeState(NODE))
    slow = {"m": (Mode("m", 1, 1, 100.0, dram=0.5), Mode("m", 2, 1, 105.0, dram=0.525))}
    energy = EcoSched(slow, 0.0, bandit=False).choose(waiting("m"), NodeState(NODE))
    product = EcoSched(slow, 0.0, bandit=False, metric="nedp").choose(waiting("m"), NodeState(NODE))
    assert energy[0].mode.gpus == 2  # equal energy: less is idle
    assert product[0].mode.gpus == 2
    assert energy[0].score == pytest.approx(0.0)


def test_an_anchor_may_run_beside_another_application() -> None:
    pairs = {a: (Mode(a, g, 1.0, 100.0 * g, dram=0.5),) for a, g in (("x", 2), ("y", 2), ("w", 1))}
    queue = waiting("x", "y", "w")
    free = EcoSched(pairs, 50.0, bandit=False).choose(queue, NodeState(NODE))
    assert {s.job.app for s in free} == {"x", "y"}  # nothing is left idle
    held = EcoSched(pairs, 50.0, bandit=False, anchor="w").choose(queue, NodeState(NODE))
    assert {s.job.app for s in held} == {"w", "x"}


def test_a_penalty_for_blocking_leaves_room_for_the_others() -> None:
    wide = {"x": (Mode("x", 2, 1, 100.0, dram=0.5), Mode("x", 3, 1, 100.0, dram=0.5)),
            "y": (Mode("y", 2, 1, 100.0, dram=0.5),)}  # fmt: skip
    queue, state = waiting("x", "y"), NodeState(NODE)
    free = EcoSched(wide, 50.0, bandit=False, tenants=1)
    assert free.choose(queue, state)[0].mode.gpus == 3  # least idle
    polite = EcoSched(wide, 50.0, bandit=False, tenants=1, blocking=5.0)
    assert polite.choose(queue, state)[0].mode.gpus == 2


def test_the_bandit_adds_what_it_saw() -> None:
    policy = EcoSched(SIGNALS, 23.0)
    assert policy.theta == pytest.approx([-1.0, -policy.idle_weight])
    policy.observe(1.0, 1.0, 1)  # before any action nothing is learnt
    assert policy.theta == pytest.approx([-1.0, -policy.idle_weight])
    policy.choose(waiting("m"), NodeState(NODE))
    x = policy._last.copy()
    policy.observe(500.0, 0.0, 2)  # no time, no reward
    np.testing.assert_array_equal(policy._last, x)
    policy.observe(500.0, 10.0, 2)
    reward = -(500.0 / (policy.busy_w * 20) + policy.idle_weight * x[1])
    assert pytest.approx(10 * np.eye(2) + np.outer(x, x)) == policy.A
    assert policy.b == pytest.approx(-10 * np.array([1, policy.idle_weight]) + reward * x)
    plain = EcoSched(SIGNALS, 23.0, bandit=False)
    plain.choose(waiting("m"), NodeState(NODE))
    plain.observe(500.0, 10.0, 2)
    assert pytest.approx(10 * np.eye(2)) == plain.A


def test_a_pair_goes_where_it_spills_least() -> None:
    state = NodeState(Node(domains=((0, 1, 2), (3,))))
    two = {"x": (Mode("x", 3, 1, 300.0, dram=1.0),), "y": (Mode("y", 1, 1, 100.0, dram=1.0),)}
    starts = EcoSched(two, 10.0, bandit=False).choose(waiting("y", "x"), state)
    assert {s.job.app: (s.gpus, s.domain) for s in starts} == {"x": ((0, 1, 2), 0), "y": ((3,), 1)}


# plans


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
