"""Co-scheduling by hand: profiles, predictions, places and scores of a few jobs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.decision.coschedule.ecosched import EcoSched
from rheostat.decision.coschedule.gpu_profiles import (
    Mode,
    has_signals,
    predict,
    profiles_of,
    signal,
)
from rheostat.decision.coschedule.shared_node import Node, NodeState, best_place, place
from rheostat.decision.coschedule.simple_policies import (
    Marble,
    Sequential,
    fastest,
    most_gpus,
    near_fastest,
    next_domain,
)
from rheostat.errors import DataError
from tests.decision.one_node import NODE, tenant, waiting

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
