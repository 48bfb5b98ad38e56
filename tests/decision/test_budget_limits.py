"""What a budget promises to the watt, and what a slowdown bound promises at a risk."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.outcome import Outcome
from rheostat.decision.budget.allocate import allocate, check, spend_rest, whole
from rheostat.decision.budget.allocate_power import PowerLimits, allocate_power
from rheostat.decision.budget.hull import Level
from rheostat.decision.budget.node_options import BudgetObjective, bounded, forbidden
from rheostat.decision.budget.nodes import fleet
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.surface import Surface

TWO_RACKS = Level(np.array([0, 0, 1, -1]), np.array([100.0, 50.0]))


def test_a_budget_beyond_all_power_stations_is_refused_by_its_name() -> None:
    with pytest.raises(DataError, match=r"total: expected at most 1e\+12 W.*; rack r1: expected"):
        PowerLimits(1e308, {"rack": {"r1": float("nan"), "r2": 5.0}})


@pytest.mark.parametrize("over_w", [0.01, 0.5, 1.0])
def test_no_fraction_of_a_watt_over_a_budget_is_allowed(over_w) -> None:
    with pytest.raises(Infeasible):
        allocate(np.array([[100.0 + over_w]]), np.zeros((1, 1)), 100.0)
    watts, value = np.array([[0.0, 50.0 + over_w], [50.0, 60.0]]), np.array([[0.0, 9.0], [0, 1.0]])
    found = allocate(watts, value, 100.0)
    assert found.used_w == 60.0
    assert spend_rest(watts, value, np.zeros(2, dtype=np.int64), [whole(2, 100.0)]).tolist() == [
        0, 1]  # fmt: skip


def test_the_group_over_its_budget_by_most_is_named_and_outsiders_do_not_count() -> None:
    check(np.array([60.0, 40.0, 50.0, 1e9]), [TWO_RACKS])
    with pytest.raises(Infeasible, match="need 53 W, the budget is 50 W") as caught:
        check(np.array([61.0, 40.0, 53.0, 0.0]), [TWO_RACKS])
    assert caught.value.nearest == 1


def noisy(*seconds) -> Surface:
    """Runtimes of the lowest cap by draw; at the other two caps 10 s and 9 s."""
    draws = np.array([[s, 10.0, 9.0] for s in seconds])
    power = np.tile([100.0, 200.0, 300.0], (len(draws), 1))
    return Surface("app", ("cap_w",), np.array([[100.0], [200.0], [300.0]]),
                   Outcome({"runtime_s": draws, "power_w": power}))  # fmt: skip


def test_a_slowdown_bound_holds_with_the_probability_asked_for() -> None:
    """The mean slowdown is 4 %, but in one run of ten it is 40 %."""
    surface = noisy(*[10.0] * 9, 14.0)
    for objective, lowest in (
        (BudgetObjective(slowdown=0.05), 0.0),
        (BudgetObjective(slowdown=0.05, risk=0.95), -np.inf),
        (BudgetObjective(slowdown=0.05, risk=0.5), 0.0),
        (BudgetObjective(slowdown=0.41, risk=0.95), 0.0),
        (BudgetObjective(), 0.0),
    ):
        assert forbidden(surface, 1, objective).tolist() == [lowest, 0.0, 0.0]
    f = fleet(pl.DataFrame({"app": ["app"], "cap_w": [200.0]}), {"app": surface})
    bold = allocate_power(f, 300.0, BudgetObjective("energy", slowdown=0.05))
    safe = allocate_power(f, 300.0, BudgetObjective("energy", slowdown=0.05, risk=0.95))
    assert (bold.after.now_w[0], safe.after.now_w[0]) == (100.0, 200.0)


def test_worth_at_a_risk_is_reached_that_often() -> None:
    draws = np.arange(101.0)[:, None]
    assert bounded(draws, None)[0] == 50.0
    assert bounded(draws, 0.9)[0] == pytest.approx(10.0)  # 90 % of the draws reach it


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"objective": "speed"}, "expected mean, max-min, max-min-speed, energy, got 'speed'"),
        ({"risk": 0.4}, "risk: expected from 0.5"),
        ({"risk": 1.0}, "risk: expected from 0.5"),
        ({"slowdown": -0.1}, "slowdown: expected 0 or more"),
        ({"objective": "energy"}, "slowdown: expected a bound"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(given, said) -> None:
    with pytest.raises(DataError, match=said):
        BudgetObjective(**given)
    assert BudgetObjective(risk=0.5, slowdown=0.0).risk == 0.5
