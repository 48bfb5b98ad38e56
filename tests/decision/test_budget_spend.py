"""Fleets and plans: donors, objectives, risk, hysteresis; the measured A100 tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rheostat.core.outcome import Outcome
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.decision.budget.allocate_power import PowerLimits, allocate_power, gains, reclaimed
from rheostat.decision.budget.changing_budget import follow, planned
from rheostat.decision.budget.node_options import BudgetObjective
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.budget.sharing_rules import BASELINES
from rheostat.errors import DataError, Infeasible
from rheostat.measurement.read import read
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.surface import Surface, surfaces
from rheostat.recipes.ecoshift import limits_file, node_fleet


def surface(app, seconds, power=None, caps=(100.0, 200.0, 300.0)):
    draws = {"runtime_s": np.atleast_2d(np.asarray(seconds, dtype=float))}
    if power is not None:
        draws["power_w"] = np.tile(np.asarray(power, dtype=float), (len(draws["runtime_s"]), 1))
    return Surface(app, ("cap_w",), np.array(caps)[:, None], Outcome(draws))


KNOWN = {
    "hungry": surface("hungry", [12.0, 8.0, 6.0], [100.0, 200.0, 290.0]),
    "full": surface("full", [10.0, 10.0, 10.0], [80.0, 80.0, 80.0]),
}


def nodes(**columns):
    return fleet(pl.DataFrame(columns), KNOWN, start="lowest")


def test_watts_go_from_the_full_to_the_hungry() -> None:
    f = nodes(node=["a", "b"], app=["hungry", "full"], cap_w=[200.0, 200.0])
    spent = allocate_power(f, 400.0)
    assert spent.after.now_w.tolist() == [300.0, 100.0]
    assert spent.gain[0].tolist() == pytest.approx([8 / 6 - 1, 0.0])
    assert spent.certificate.exact


def test_the_least_gain_and_the_least_speed_are_two_objectives() -> None:
    """Low caps cost "deep" half its speed, "flat" a tenth; the first watts buy "flat" little."""
    known = {"deep": surface("deep", [20.0, 13.0, 10.0]), "flat": surface("flat", [11, 10.5, 10])}
    fleet_of_two = pl.DataFrame({"app": ["deep", "flat"]})
    f = fleet(fleet_of_two, known, start="lowest")
    gain, speed = (
        allocate_power(f, 400.0, BudgetObjective(o)).rows.tolist()
        for o in ("max-min", "max-min-speed")
    )
    assert gain == [1, 1]  # gains of 54 % and 5 %; [2, 0] leaves "flat" without any
    assert speed == [2, 0]  # speeds of 1 and 0.91 of the best; [1, 1] leaves "deep" at 0.77


@pytest.mark.parametrize("objective", ["max-min", "max-min-speed"])
def test_a_node_without_a_choice_does_not_end_the_lifting_of_others(objective) -> None:
    known = {"a": surface("a", [4.0, 1.0, 0.9]), "b": surface("b", [3.0, 2.0, 1.9])}
    two = pl.DataFrame({"app": ["a", "b"]})
    three = pl.DataFrame({"app": ["a", "b", None]}, schema={"app": pl.String})
    alone = allocate_power(fleet(two, known, start="lowest"), 400.0, BudgetObjective(objective))
    beside = allocate_power(fleet(three, known, start="lowest"), 500.0, BudgetObjective(objective))
    assert beside.rows.tolist()[:2] == alone.rows.tolist() == [1, 1]


def test_reclaiming_leaves_everybody_their_draw_and_the_margin() -> None:
    f = nodes(node=["a", "b"], app=["hungry", "full"], cap_w=[200.0, 300.0], draw_w=[195.0, 150.0])
    spent = allocate_power(f, float(f.now_w.sum()), reclaim_w=10.0)
    assert [f.names[i] for i in spent.donors] == ["b"]
    assert spent.after.now_w.tolist() == [300.0, 200.0]  # 150 W and 10 W fit under 200 W, not 100 W


def test_a_cap_comes_down_to_the_lowest_that_leaves_the_draw_and_the_margin() -> None:
    caps = np.array([[c, g] for c in (100.0, 150.0, 200.0) for g in (50.0, 100.0)])
    draws = {"runtime_s": np.linspace(9.0, 4.0, 6)[None, :]}
    known = {"two": Surface("two", ("cpu_cap_w", "gpu_cap_w"), caps, Outcome(draws))}
    nodes = pl.DataFrame({
        "node": list("abcd"), "app": ["two", "two", "two", "new"],
        "cpu_cap_w": [200.0, 200.0, 150.0, 200.0], "gpu_cap_w": [100.0] * 4,
        "cpu_draw_w": [140.0, 141.0, 139.0, 50.0], "gpu_draw_w": [None, 40.0, 91.0, 20.0],
    })  # fmt: skip
    floors, donors = reclaimed(fleet(nodes, known), 10.0)
    assert floors[:3].tolist() == [[150.0, 100.0], [200.0, 50.0], [150.0, 100.0]]
    assert donors.tolist() == [0, 1]  # the last node is left alone


def test_idle_nodes_fall_to_the_lowest_cap_and_unknown_ones_stay() -> None:
    f = nodes(node=["a", "b", "c"], app=["hungry", None, "new"], cap_w=[200.0, 200.0, 170.0])
    spent = allocate_power(f, 570.0)
    assert spent.after.now_w.tolist() == [300.0, 100.0, 170.0]
    assert [(n.message[:10], n.count) for n in f.notes] == [("no surface", 1)]


def test_energy_is_saved_within_the_slowdown() -> None:
    known = {"app": surface("app", [10.6, 10.0, 9.9], [100.0, 150.0, 200.0])}
    f = fleet(pl.DataFrame({"app": ["app"], "cap_w": [300.0]}), known)
    assert allocate_power(
        f, 300.0, BudgetObjective("energy", slowdown=0.10)
    ).after.now_w.tolist() == [100.0]
    assert allocate_power(
        f, 300.0, BudgetObjective("energy", slowdown=0.05)
    ).after.now_w.tolist() == [200.0]
    assert allocate_power(
        f, 300.0, BudgetObjective("energy", slowdown=0.001)
    ).after.now_w.tolist() == [300.0]


def test_risk_prefers_the_sure_gain() -> None:
    sure = surface("sure", np.tile([10.0, 9.0, 9.0], (40, 1)))
    rng = np.random.default_rng(0)
    wild = np.column_stack([np.full(40, 10.0), np.exp(rng.normal(2.1, 0.4, 40)), np.full(40, 8.0)])
    known = {"sure": sure, "wild": replace(surface("wild", wild), app="wild")}
    f = fleet(pl.DataFrame({"app": ["sure", "wild"]}), known, start="lowest")
    assert allocate_power(f, 300.0).after.now_w.tolist() == [100.0, 200.0]
    assert allocate_power(f, 300.0, BudgetObjective(risk=0.95)).after.now_w.tolist() == [
        200.0,
        100.0,
    ]


def test_hysteresis_leaves_small_gains_alone() -> None:
    known = {"app": surface("app", [10.0, 9.9, 9.8])}
    f = fleet(pl.DataFrame({"app": ["app"], "cap_w": [100.0]}), known)
    assert len(allocate_power(f, 300.0).changed) == 1
    assert len(allocate_power(f, 300.0, BudgetObjective(change=0.05)).changed) == 0


def test_racks_hold_and_unknown_ones_are_told() -> None:
    f = nodes(node=["a", "b"], app=["hungry"] * 2, rack=["r1", "r2"])
    spent = allocate_power(f, PowerLimits(600.0, {"rack": {"r1": 200.0, "r2": 900.0}}))
    assert spent.after.now_w.tolist() == [200.0, 300.0]
    assert spent.certificate.exact
    with pytest.raises(DataError, match="no node is in rack r9"):
        allocate_power(f, PowerLimits(600.0, {"rack": {"r9": 200.0}}))
    with pytest.raises(DataError, match="have no column row"):
        allocate_power(f, PowerLimits(600.0, {"row": {"r1": 200.0}}))
    with pytest.raises(Infeasible, match="need 200 W, the budget is 150 W"):
        allocate_power(f, 150.0)


def test_levels_that_cross_are_refused() -> None:
    f = nodes(node=list("abcd"), app=["hungry"] * 4, rack=["1", "1", "2", "3"], row=list("xyxy"))
    limits = PowerLimits(900.0, {"rack": {"1": 400.0, "2": 300.0, "3": 300.0},
                            "row": {"x": 500.0, "y": 500.0}})  # fmt: skip
    with pytest.raises(DataError, match="two levels cross"):
        allocate_power(f, limits)


def test_weights_count() -> None:
    f = nodes(node=["a", "b"], app=["hungry", "hungry"], weight=[1.0, 3.0])
    assert allocate_power(f, 300.0).after.now_w.tolist() == [100.0, 200.0]


def test_the_price_of_a_watt_has_an_interval_that_holds_it() -> None:
    f = node_fleet(capped_runs(6, repeats=3, noise=0.02, seed=1), start="lowest", seed=0)
    value, low, high = allocate_power(f, float(f.now_w.sum()) + 25 * len(f)).price
    assert low <= value <= high
    assert low < high


def test_a_falling_budget_is_kept_before_it_falls() -> None:
    f = nodes(node=["a", "b"], app=["hungry", "hungry"])
    budget = Series((0.0, 100.0, 200.0), (600.0, 300.0, 500.0))
    moments = list(follow(f, budget, BudgetObjective(), end_s=300.0, lead_s=10.0))
    assert [(m.at_s, m.budget_w) for m in moments] == [(0.0, 600.0), (90.0, 300.0), (200.0, 500.0)]
    assert [float(m.spent.after.now_w.sum()) for m in moments] == [600.0, 300.0, 500.0]
    dips = Series((0.0, 5.0, 6.0), (9.0, 1.0, 9.0))
    later = Series((0.0, 100.0, 200.0), (9.0, 5.0, 7.0))
    assert planned(later, 0.0, 150.0, 60.0) == [(0.0, 9.0), (40.0, 5.0)]  # nothing after the end
    assert planned(later, 50.0, 300.0, 10.0) == [(50.0, 9.0), (90.0, 5.0), (200.0, 7.0)]
    assert planned(dips, 0.0, 20.0, 2.0) == [(0.0, 9.0), (3.0, 1.0), (6.0, 9.0)]


def test_limits_come_from_toml_and_every_mistake_is_told(tmp_path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text('[site]\ntotal = {from_s = [0, 60], value = [900, 500]}\n[rack]\nr1 = "0.3kW"')
    assert limits_file(path, 10.0) == PowerLimits(900.0, {"rack": {"r1": 300.0}})
    assert limits_file(path, 70.0).total_w == 500.0
    path.write_text('[rack]\nr1 = "much"\n')
    with pytest.raises(DataError) as told:
        limits_file(path)
    assert len(told.value.problems) == 2


@pytest.fixture(scope="module")
def a100(shared_data):
    runs = read(shared_data / "power" / "open_dualcap_a100" / "dualcap_raw_aggregated.csv")
    return surfaces(runs.rows(pl.col("cpu_cap_w") >= 140), n_draws=2)


def test_forty_watts_gain_more_than_any_usual_rule_on_the_a100_tables(a100) -> None:
    f = fleet(pl.DataFrame({"app": list(a100)}), a100, start="lowest")
    total = float(f.now_w.sum() + 40 * len(f))
    spent = allocate_power(f, total)
    ours = spent.gain[0].mean()
    theirs = {name: gains(f, rule(f, total))[0].mean() for name, rule in BASELINES.items()}
    assert len(f) == 28
    assert spent.certificate.exact
    assert ours > 0.2
    assert ours >= 2 * theirs["fair share, proportional"]
    assert ours >= 1.45 * theirs["fair share, even"]
    assert ours > max(theirs.values())


def test_a_cap_of_a_gpu_counts_for_each_of_a_nodes_gpus() -> None:
    """Caps of 400 W on two nodes of four GPUs came to 3,200 W of a budget of 2,400."""
    rows = {"app": ["a"] * 3 + ["b"] * 3, "gpu_cap_w": [200.0, 300.0, 400.0] * 2,
            "runtime_s": [900.0, 700.0, 640.0, 500.0, 430.0, 415.0]}  # fmt: skip
    alone, four = (node_fleet(table({**rows, "gpus": [n] * 6}), start="lowest") for n in (1, 4))
    assert alone.now_w.tolist() == [200.0, 200.0]
    assert four.now_w.tolist() == [800.0, 800.0]
    assert allocate_power(four, 2400.0).after.now_w.tolist() == [1200.0, 1200.0]
    assert [n.message for n in four.notes] == ["gpu_cap_w counts for each of 4 GPUs of a node"]
    assert not alone.notes
    measured = {"app": ["a"], "gpu_draw_w": [100.0], "gpu_cap_w": [200.0]}
    runs = table({**rows, "gpus": [4] * 6})
    drawing = node_fleet(runs, pl.DataFrame(measured))
    assert (drawing.devices(0) * drawing.draw_w[0]).tolist() == [400.0]
