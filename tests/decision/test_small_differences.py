"""A hundredth of a watt, of a second or of a gain counts; what floats leave over does not."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from rheostat.core.outcome import Outcome
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.actuate.prolog import scripts
from rheostat.decision.actuate.watchdog import watch
from rheostat.decision.budget.allocate import whole
from rheostat.decision.budget.allocate_power import _interval
from rheostat.decision.budget.cap_plan import baseline_gains
from rheostat.decision.budget.change_limit import programme
from rheostat.decision.budget.hull import fill, hull
from rheostat.decision.budget.max_min import lift_worst
from rheostat.decision.budget.node_options import BudgetObjective, forbidden, not_below
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.budget.pareto import Price, sums
from rheostat.decision.budget.sharing_rules import BASELINES
from rheostat.decision.budget.standing import with_setting
from rheostat.decision.coschedule.gpu_profiles import Mode, PredictedProfile
from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.prediction.surface import Surface
from tests.decision.emulated_nodes import rehearsal

CAPS = np.array([[100.0], [200.0], [300.0]])


def surface(app: str, seconds) -> Surface:
    return Surface(app, ("cap_w",), CAPS, Outcome({"runtime_s": np.array([seconds], dtype=float)}))


KNOWN = {"hungry": surface("hungry", [12, 8, 6]), "full": surface("full", [10, 10, 10])}


def two(*caps):
    return fleet(pl.DataFrame({"app": ["hungry", "hungry"], "cap_w": list(caps)}), KNOWN)


def test_caps_are_not_below_a_floor_by_a_hundredth_of_a_watt() -> None:
    f = two(200.0, 200.0)
    for floor, lowest in ((200.0, 0.0), (200.0 + 1e-12, 0.0), (200.005, -np.inf)):
        assert not_below(f, 0, np.array([floor])).tolist() == [-np.inf, lowest, 0.0]


def test_a_slowdown_bound_is_kept_to_less_than_a_hundredth() -> None:
    for slowdown, level in ((0.5, 0.0), (0.5 - 1e-14, 0.0), (0.495, -np.inf)):
        objective = BudgetObjective(slowdown=slowdown)
        assert forbidden(KNOWN["hungry"], 1, objective).tolist() == [level, 0.0, 0.0]


def test_budgets_are_kept_to_less_than_a_hundredth_of_a_watt() -> None:
    f = two(100.0, 100.0)
    for name in ("fair share, even", "fair share, best", "utilisation"):
        assert BASELINES[name](f, 400.0).tolist() == [1, 1]
        assert BASELINES[name](f, 399.99).tolist() == [0, 0]
    watts, value = np.array([[0.0, 10.0], [0.0, 10.0]]), np.array([[0.0, 2.0], [0.0, 3.0]])
    for budget_w, best in ((20.0, 5.0), (20.0 - 1e-9, 5.0), (19.995, 3.0)):
        levels = [whole(2, budget_w)]
        assert programme(watts, value, levels).value == best
        assert lift_worst(watts, value, levels).value == best
        found = sums(watts, value, [np.array([0, 1])] * 2, budget_w, 1e6, None)
        assert found.values[-1] == best
        first, steps = hull(watts, value)
        assert first.tolist() == [0, 0]
        taken = fill(steps, np.zeros(2), levels)
        assert len(taken.steps.row) == (2 if best == 5.0 else 1)


def test_of_gains_a_thousandth_apart_the_larger_counts() -> None:
    watts, value = np.array([[0.0, 10.0], [0.0, 20.0]]), np.array([[0.0, 0.9], [0.0, 0.905]])
    found = sums(watts, value, [np.array([0, 1])] * 2, 25.0, 1e6, None)
    assert found.values.tolist() == [0.0, 0.9, 0.905]
    least = lift_worst(watts, np.array([[0.9, 0.905], [0.0, 0.9]]), [whole(2, 30.0)])
    assert least.choice.tolist() == [1, 1]
    held = np.array([[0.895, 0.9, 5.0], [0.9, 0.9, 0.9]])
    lifted = lift_worst(np.array([[0.0, 10.0, 20.0], [0.0, 1.0, 2.0]]), held, [whole(2, 15.0)])
    assert lifted.choice.tolist() == [1, 0]  # nobody stays at 0.895 for the sum's sake
    for behind, left in ((0.003, [0.9, 1.805]), (0.0005, [0.9])):  # reduced: 0.447 and 0.446
        near = sums(watts, value, [np.array([0, 1])] * 2, 30.0, 1e6, Price(0.0453, behind))
        assert near.values.tolist() == pytest.approx(left)


def test_a_rule_that_breaks_the_total_by_a_hundredth_of_a_watt_is_not_compared(monkeypatch) -> None:
    f = two(200.0, 200.0)
    rules = {"as it is": lambda fleet, total: fleet.now}
    monkeypatch.setattr("rheostat.decision.budget.cap_plan.BASELINES", rules)
    for total, gain in ((400.0, 0.0), (399.995, None), (399.0, None)):
        spent = SimpleNamespace(limits=SimpleNamespace(total_w=total), fleet=f)
        assert baseline_gains(spent) == {"as it is": gain}


def test_an_interval_is_the_middle_nine_tenths_of_the_draws() -> None:
    draws = np.arange(101.0)
    assert _interval(draws, 7.0) == (7.0, pytest.approx(5.0), pytest.approx(95.0))
    assert _interval(draws, 7.0, 0.5) == (7.0, pytest.approx(25.0), pytest.approx(75.0))
    assert np.isnan(_interval(np.zeros(0), 7.0)[1:]).all()


def test_caps_a_hundredth_of_a_watt_from_a_setting_are_between_settings() -> None:
    for watts, where in ((200.005, "between"), (300.005, "above"), (99.995, "below")):
        assert with_setting(KNOWN["hungry"], np.array([watts]))[1] == where


def test_a_lowered_cap_may_be_drawn_until_its_lag_is_over() -> None:
    r = rehearsal({"a": {"cap_w": 100.0}}, lag_s=1.0)
    r.panel().put("a|cap_w|emulated", 60.0)
    for until, watts in ((0.995, 100.0), (0.005, 60.0)):
        r.sleep(until)
        assert r.worst_w() == watts
    assert r.seen == [(0.0, 100.0), (0.0, 100.0), (0.995, 100.0), (1.0, 60.0)]
    r.panel().put("a|cap_w|emulated", 80.0)
    assert r.worst_w() == 80.0  # the higher of both
    slow = rehearsal({"a": {"cap_w": 100.0}, "b": {"cap_w": 10.0}}, lag_s=2.0,
                     fails=lambda n: n == 2)  # fmt: skip
    slow.set("a|cap_w|emulated", 70.0)
    with pytest.raises(OSError, match=r"b\|cap_w\|emulated: write 2 failed"):
        slow.set("b|cap_w|emulated", 5.0)
    slow.set("a|cap_w|emulated", 60.0)
    assert (slow.worst_w(), slow.caps["b|cap_w|emulated"]) == (110.0, 10.0)


def test_modes_lose_no_more_than_the_tolerance() -> None:
    modes = tuple(Mode("a", g, 1.0, 1.0) for g in (1, 2, 4))
    rows = np.array([1.205, 1.2, 1.1])
    made = PredictedProfile(modes, rows, rows * 2, rows * 3)
    assert [m.gpus for m in made.within(0.2).modes] == [2, 4]
    assert [m.gpus for m in made.within(0.05).modes] == [4]  # none does: the best
    assert made.within(0.2).ne.tolist() == [2.4, 2.2]
    assert made.within(0.2).nedp.tolist() == pytest.approx([3.6, 3.3])


def test_a_request_of_no_cost_costs_a_nanosecond() -> None:
    order = ServiceOrder("shortest-prompt", head_start_s=10.0)
    keys = [order.key("", 5.0, prompt_tokens=t) for t in (1e-3, 1e-9, 1e-12)]
    assert keys == pytest.approx([5.0 - 30, 5.0 - 90, 5.0 - 90])


def test_a_guard_without_a_journal_ends_well(tmp_path, monkeypatch, capsys) -> None:
    where = DeviceAddress(tree=str(tmp_path))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x" * 5_000)))
    assert watch(tmp_path / "none", where, 0.0) == 0
    assert capsys.readouterr().out == "ready\n"
    (tmp_path / "odd").write_text("no journal")
    assert watch(tmp_path / "odd", where, 0.0) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"rheostat: {tmp_path / 'odd'}: ")
    assert said.endswith("; run rheostat budget restore\n")


def test_a_prolog_sets_nothing_without_a_plan_and_an_epilog_nothing_without_a_journal() -> None:
    made = scripts("/p q/plan.json", "/j", "rheostat", "amd")
    prolog, epilog = (made[n].splitlines() for n in ("prolog.sh", "epilog.sh"))
    assert prolog[-3:] == [
        '[ -f "$PLAN" ] || exit 0',
        'rheostat budget apply "$PLAN" --node "$SLURMD_NODENAME" --journal "$JOURNAL" --gpu amd'
        " 2>&1 | logger -t rheostat", "exit 0"]  # fmt: skip
    assert epilog[-3:] == [
        '[ -f "$JOURNAL" ] || exit 0',
        'rheostat budget restore --journal "$JOURNAL" --gpu amd 2>&1 | logger -t rheostat',
        "exit 0"]  # fmt: skip
    assert prolog[:-3] != epilog[:-3]
    assert [x for x in prolog if x.startswith("PLAN=")] == ["PLAN='/p q/plan.json'"]
