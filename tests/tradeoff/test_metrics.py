"""Metrics against closed forms and against a second implementation."""

import itertools

import numpy as np
import pytest

from rheostat import Front, Outcome, table
from rheostat.core.dominance import hypervolume_2d
from rheostat.errors import DataError, Infeasible
from rheostat.tradeoff.front_metrics import (
    Box,
    Hypervolume,
    attainable,
    decision_regret,
    epsilon,
    evaluations_to,
    fraction,
    hypervolume,
    igd_plus,
    spread,
    trace,
)
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.rules import Weighted

UNIT = Box((0.0, 0.0), (1.0, 1.0), log=False)


def line(n):
    """n points of the front y = 1 - x, ends included."""
    x = np.linspace(0.0, 1.0, n)
    return np.column_stack([x, 1.0 - x])


@pytest.mark.parametrize("n", [2, 5, 50])
def test_hypervolume_of_a_straight_front_has_a_closed_form(n):
    # n - 1 steps of width and height 1/(n-1) under reference (1, 1)
    expected = 0.5 * (n - 2) / (n - 1)
    assert hypervolume(line(n), reference=1.0).value == pytest.approx(expected)
    assert hypervolume_2d(line(n), (1.0, 1.0)) == pytest.approx(expected)


def test_hypervolume_in_three_objectives():
    y = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]])
    assert hypervolume(y, reference=2.0).value == pytest.approx(8.0)


def test_hypervolume_agrees_with_the_two_objective_one_of_the_core():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = rng.uniform(0, 1.3, (30, 2))
        ours = hypervolume_2d(y, (1.1, 1.1))
        assert hypervolume(y).value == pytest.approx(ours, abs=1e-12)


def test_a_hypervolume_carries_reference_and_box():
    truth = np.array([[1.0, 100.0], [10.0, 10.0], [100.0, 1.0]])
    box = Box.of(truth)
    hv = hypervolume(truth, box=box)
    assert isinstance(hv, Hypervolume)
    assert (hv.reference, hv.low, hv.high, hv.log) == ((1.1, 1.1), (1.0, 1.0), (100.0, 100.0), True)
    assert "log box [1, 1]..[100, 100]" in str(hv)
    # normalised points (0, 1), (.5, .5), (1, 0)
    assert float(hv) == pytest.approx(1.1 * 0.1 + 0.6 * 0.5 + 0.1 * 0.5)


def test_the_fraction_does_not_depend_on_units():
    rng = np.random.default_rng(1)
    truth = np.exp(rng.normal(size=(20, 2)))
    some = truth[:5]
    scaled = np.array([3600.0, 1e-6])
    assert fraction(some, truth) == pytest.approx(fraction(some * scaled, truth * scaled))
    assert fraction(truth, truth) == pytest.approx(1.0)


def test_attainable_is_the_best_subset():
    rng = np.random.default_rng(2)
    for _ in range(10):
        truth = np.exp(rng.normal(size=(9, 2)))
        box = Box.of(truth)
        z = box.scale(truth)
        for k in (1, 2, 3):
            brute = max(
                hypervolume_2d(z[list(c)], (1.1, 1.1)) for c in itertools.combinations(range(9), k)
            )
            assert attainable(truth, [k])[0] == pytest.approx(brute)
    assert attainable(truth, [99])[0] == pytest.approx(hypervolume(truth, box=box).value)
    assert attainable(truth, [0]) == [0.0]


def test_igd_plus_and_epsilon_of_a_shifted_front():
    t = line(11)
    assert igd_plus(t, t, box=UNIT) == 0.0
    assert epsilon(t, t, box=UNIT) == 0.0
    assert epsilon(t + 0.25, t, box=UNIT) == pytest.approx(0.25)
    assert igd_plus(np.array([[0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), box=UNIT) == 0.5
    # only what is worse counts: 0.25 to the right of its true point, better in nothing
    assert igd_plus(np.array([[0.25, 1.0]]), np.array([[0.0, 1.0]]), box=UNIT) == 0.25
    assert igd_plus(np.array([[-3.0, 1.25]]), np.array([[0.0, 1.0]]), box=UNIT) == 0.25
    assert igd_plus(np.empty((0, 2)), t, box=UNIT) == np.inf


def test_spread_prefers_even_points_over_a_crowd():
    even, crowd = line(5), np.array([[0.0, 1.0], [0.01, 0.99], [0.02, 0.98], [1.0, 0.0]])
    one = line(5)[:1]
    assert spread(even, line(5), box=UNIT) == pytest.approx(0.0)
    assert spread(even, line(5), box=UNIT) < spread(crowd, line(5), box=UNIT)
    assert spread(one, line(5), box=UNIT) == pytest.approx(1.0)
    # gaps .01 sqrt2, .01 sqrt2, .98 sqrt2 around their mean 1/3 sqrt2
    expected = (2 * (1 / 3 - 0.01) + (0.98 - 1 / 3)) / 1.0
    assert spread(crowd, line(5), box=UNIT) == pytest.approx(expected)


def test_the_trace_never_falls_and_ends_at_the_whole():
    y = np.array([[2.0, 2.0], [np.nan, 1.0], [3.0, 3.0], [1.0, 4.0], [4.0, 1.0]])
    truth = y[[0, 3, 4]]
    box = Box.of(truth)
    steps = trace(y, box=box)
    assert (np.diff(steps) >= 0).all()
    assert steps[0] == steps[1] == steps[2] > 0
    assert steps[-1] == pytest.approx(hypervolume(truth, box=box).value)
    assert evaluations_to(0.95, y, truth) == 5.0


def test_box_refuses_what_has_no_log():
    with pytest.raises(DataError, match="log=False"):
        Box.of(np.array([[0.0, 1.0]]))
    assert Box.of(np.array([[0.0, 1.0]]), log=False).high == (1.0, 2.0)


def front(runtime, energy):
    draws = {"runtime_s": np.array([runtime]), "energy_j": np.array([energy])}
    return Front(table({"nodes": [1, 2, 4]}), Outcome(draws), ("runtime_s", "energy_j"))


def test_decision_regret_is_what_the_belief_costs():
    truth = front([100.0, 60.0, 30.0], [10.0, 15.0, 30.0])
    least, within = Weighted({"energy_j": 1}), [Deadline(70)]

    def cost(f):
        return f.mean("energy_j")

    assert decision_regret(truth, truth, least, within, cost).regret == 0.0
    slow = front([100.0, 80.0, 30.0], [10.0, 15.0, 30.0])  # believes two nodes too slow
    got = decision_regret(slow, truth, least, within, cost)
    assert (got.regret, got.violated) == (1.0, False)
    rash = front([65.0, 60.0, 30.0], [10.0, 15.0, 30.0])  # believes one node fast enough
    got = decision_regret(rash, truth, least, within, cost)
    assert (round(got.regret, 3), got.violated) == (-0.333, True)
    hopeless = front([100.0, 90.0, 80.0], [10.0, 15.0, 30.0])  # takes the nearest
    assert decision_regret(hopeless, truth, least, within, cost).regret == 1.0
    assert decision_regret(rash, truth, Deadline(70), [], cost).violated
    with pytest.raises(Infeasible):
        decision_regret(truth, truth, least, [Deadline(1)], cost)
    nothing = front([np.nan] * 3, [np.nan] * 3)
    assert np.isnan(decision_regret(nothing, truth, least, within, cost).regret)
