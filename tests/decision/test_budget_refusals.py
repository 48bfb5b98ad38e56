"""Budgets where nothing can be done, few may change, or watts must be rounded; plans in files."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.outcome import Outcome
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.actuate.cap_files import AmdGpus, Powercap
from rheostat.decision.budget.allocate import Allocation, allocate, whole
from rheostat.decision.budget.allocate_power import PowerLimits, allocate_power
from rheostat.decision.budget.branch_and_bound import frontier
from rheostat.decision.budget.cap_plan import CapPlan, facts, read_plan
from rheostat.decision.budget.change_limit import Side, at_most, programme
from rheostat.decision.budget.groups import grouped
from rheostat.decision.budget.hull import Level
from rheostat.decision.budget.max_min import lift_worst
from rheostat.decision.budget.node_options import BudgetObjective, value_draws
from rheostat.decision.budget.nodes import fleet, idle_surface
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.surface import Surface

WATTS, VALUE = np.array([[0.0, 10.0], [0.0, 10.0]]), np.array([[0.0, 2.0], [0.0, 3.0]])
STAYS = np.array([[True, False], [True, False]])


def test_what_changes_few_enough_by_itself_is_the_free_answer() -> None:
    levels = [whole(2, 10.0)]
    free = allocate(WATTS, VALUE, levels)
    one = at_most(WATTS, VALUE, levels, STAYS, 1)
    assert one.choice.tolist() == free.choice.tolist() == [0, 1]
    none = at_most(WATTS, VALUE, levels, STAYS, 0)
    assert (none.choice.tolist(), none.value, none.used_w) == ([0, 0], 0.0, 0.0)
    assert none.price == free.price


@pytest.mark.parametrize("nodes", [3, 300])
def test_a_budget_that_asks_for_more_changes_is_refused(nodes) -> None:
    watts, value = np.tile([10.0, 0.0], (nodes, 1)), np.tile([0.0, -1.0], (nodes, 1))
    stays = np.tile([True, False], (nodes, 1))
    said = "no answer holds all limits" if nodes == 3 else "cannot be met by changing 1 nodes"
    with pytest.raises(Infeasible, match=said):
        at_most(watts, value, [whole(nodes, 10.0 * nodes - 20.0)], stays, 1)
    found = at_most(watts, value, [whole(nodes, 10.0 * nodes - 10.0)], stays, 1)
    assert (found.value, found.used_w) == (-1.0, 10.0 * nodes - 10.0)


def test_side_constraints_hold_up_to_and_with_their_limit() -> None:
    levels, weight = [whole(2, 20.0)], np.array([[0.0, 1.0], [0.0, 2.0]])
    for most, value in ((3.0, 5.0), (2.9, 3.0), (1.9, 2.0), (0.5, 0.0)):
        found = programme(WATTS, VALUE, levels, [Side(weight, most)])
        assert (found.value, found.exact) == (value, True)
        assert found.bound == pytest.approx(value)
    outside = [Level(np.array([-1, 0]), np.array([5.0])), whole(2, 20.0)]
    assert programme(WATTS, VALUE, outside).choice.tolist() == [1, 0]


def test_the_gap_is_a_share_of_the_bound_and_none_where_proven() -> None:
    made = Allocation(np.zeros(1, dtype=np.int64), 3.0, 4.0, 0.0, 0.0, False)
    assert made.gap == pytest.approx(0.25)
    assert Allocation(made.choice, 3.0, 4.0, 0.0, 0.0, True).gap == 0.0
    assert Allocation(made.choice, 4.0, 4.0, 0.0, 0.0, False).gap == 0.0
    assert Allocation(made.choice, -4.0, -2.0, 0.0, 0.0, False).gap == pytest.approx(1.0)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_rounded_watts_bound_the_best_from_both_sides(data) -> None:
    n, k = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    cells = st.lists(st.integers(0, 40), min_size=n * k, max_size=n * k)
    watts = np.array(data.draw(cells)).reshape(n, k) / 3.0
    value = np.array(data.draw(cells)).reshape(n, k).astype(float)
    limit = float(watts.min(axis=1).sum() + data.draw(st.integers(0, 30)) / 7.0)
    keep = np.ones(watts.shape, dtype=bool)
    picks = [np.array(p) for p in itertools.product(range(k), repeat=n)]
    rows = np.arange(n)
    best = max(value[rows, p].sum() for p in picks if watts[rows, p].sum() <= limit + 1e-9)
    up, down = (frontier(watts, value, keep, limit, most=0.0, down=d) for d in (False, True))
    choice = up.options(int(up.points[-1]))
    assert watts[rows, choice].sum() <= limit + 1e-6
    assert value[rows, choice].sum() == pytest.approx(up.values[-1])
    assert watts[rows, choice].sum() == pytest.approx(up.watts[-1])
    assert up.values[-1] - 1e-9 <= best <= down.values[-1] + 1e-9
    exact = frontier(watts, value, keep, limit)
    assert exact.values[-1] == pytest.approx(best)
    assert frontier(watts, value, keep, float(watts.min(axis=1).sum()) - 1.0) is None


def test_groups_that_lie_partly_in_a_coarser_one_or_exceed_it_are_not_rows() -> None:
    fine = Level(np.array([0, 0]), np.array([10.0]))
    assert grouped(WATTS, VALUE, [fine, whole(2, 9.0)]) is not None
    assert grouped(WATTS, VALUE, [fine, Level(np.array([0, -1]), np.array([9.0]))]) is None
    assert grouped(WATTS + 9.0, VALUE, [fine, whole(2, 99.0)]) is None
    loose = [Level(np.array([1, -1]), np.array([99.0, 10.0])), whole(2, 10.0)]
    made = grouped(WATTS, VALUE, loose)  # nobody is in the first group
    assert [m.tolist() for m in made.members] == [[0]]
    assert made.alone.tolist() == [1]
    assert made.lifted(loose[1]).member.tolist() == [0, 0]
    assert made.expanded(np.array([1, 1]), 2).tolist() == [1, 1]
    assert made.whole


def surface(app: str, seconds, power=None) -> Surface:
    draws = {"runtime_s": np.array([seconds], dtype=float)}
    if power is not None:
        draws["power_w"] = np.array([power], dtype=float)
    return Surface(app, ("cap_w",), np.array([[100.0], [200.0]]), Outcome(draws))


def test_an_idle_node_saves_no_energy_and_one_without_power_cannot() -> None:
    energy = BudgetObjective("energy", slowdown=0.1)
    idle = idle_surface([surface("a", [2, 1])])
    assert value_draws(idle, 0, energy).tolist() == [[0.0, 0.0]]
    assert idle.values.tolist() == [[100.0], [200.0]]
    with pytest.raises(DataError, match="has no power, so energy cannot be saved"):
        value_draws(surface("a", [2, 1]), 0, energy)
    known = surface("a", [2, 1], [50, 120])
    assert value_draws(known, 1, energy).tolist() == [[pytest.approx(1 - 100 / 120), 0.0]]


def test_the_worst_off_come_first_where_that_is_the_objective() -> None:
    known = {"a": surface("a", [4, 1]), "b": surface("b", [3, 2])}
    f = fleet(pl.DataFrame({"app": ["a", "b"], "cap_w": [100.0, 100.0]}), known)
    assert allocate_power(f, 300.0).rows.tolist() == [1, 0]
    assert allocate_power(f, 400.0, BudgetObjective("max-min")).rows.tolist() == [1, 1]
    least = lift_worst(WATTS, np.array([[0.0, 2.0], [1.0, 3.0]]), [whole(2, 10.0)])
    assert least.choice.tolist() == [1, 0]


def test_caps_that_change_are_those_whose_watts_do() -> None:
    plan = CapPlan("n", {"cpu_cap_w": 100.0, "gpu_cap_w": 50.0}, {"cpu_cap_w": 100.0,
                   "gpu_cap_w": 60.0, "cap_w": 5.0})  # fmt: skip
    changes = plan.changes
    assert list(changes) == ["gpu_cap_w", "cap_w"]
    assert changes["gpu_cap_w"] == (50.0, 60.0)
    assert np.isnan(changes["cap_w"][0])
    assert changes["cap_w"][1] == 5.0
    assert CapPlan("n", {"cap_w": 5.0}, {}).changes == {}


def test_a_plan_as_values_names_idle_unknown_and_kept_nodes() -> None:
    nodes = pl.DataFrame({"node": list("abc"), "app": ["a", None, "new"], "rack": ["r", "r", "s"],
                          "cap_w": [100.0, 200.0, 170.0]})  # fmt: skip
    f = fleet(nodes, {"a": surface("a", [4, 1])})
    plan = facts(allocate_power(f, PowerLimits(600.0, {"rack": {"r": 400.0}})))
    a, idle, unknown = plan["nodes"]
    assert [n["app"] for n in plan["nodes"]] == ["a", "(idle)", "(unknown)"]
    assert [n["kept"] for n in plan["nodes"]] == [False, False, True]
    assert [n["rack"] for n in plan["nodes"]] == ["r", "r", "s"]
    assert [n["gain"] is None for n in plan["nodes"]] == [False, True, False]
    assert a["gain"] == {"value": 3.0, "low": 3.0, "high": 3.0}
    assert (a["watts_before"], a["watts_after"]) == (100.0, 200.0)
    assert (a["before"], a["after"]) == ({"cap_w": 100.0}, {"cap_w": 200.0})
    assert a["because"]["last_step_per_w"] == pytest.approx(0.03)
    assert np.isnan(a["because"]["next_step_per_w"])
    assert plan["limits"] == {"total_w": 600.0, "groups": {"rack": {"r": 400.0}}}
    assert plan["mean_gain"]["value"] == pytest.approx(1.0)
    assert plan["least_gain"] == 0.0
    assert plan["caps_w"]["before"] == 470.0
    assert unknown["watts_after"] == 170.0
    assert idle["watts_after"] == 100.0
    assert plan["baselines"]["fair share, even"] is not None
    assert "baselines" not in facts(allocate_power(f, 600.0), baselines=False)
    assert set(facts(allocate_power(f, 470.0))["baselines"].values()) != {None}


@pytest.mark.parametrize(("nodes", "said"), [
    ([], ["names no nodes"]), (None, ["names no nodes"]),
    ([{"node": "a", "before": {}}], ["nodes[0]: expected node, before and after"]),
    ([{"node": "a", "before": {"k": 1}, "after": {"k": 0, "l": "inf", "m": 1e-9}}, 3],
     ["nodes[0] (a): k: expected watts above 0, got 0.0", "nodes[0] (a): l: expected watts above 0",
      "nodes[1]: expected node"]),
])  # fmt: skip
def test_all_mistakes_of_a_plan_file_are_said(tmp_path, nodes, said) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"schema": "rheostat.plan/1", "nodes": nodes}))
    with pytest.raises(DataError) as caught:
        read_plan(path)
    assert len(caught.value.problems) == len(said)
    for problem, start in zip(caught.value.problems, said, strict=True):
        assert problem.startswith(start)


def test_a_kept_node_of_a_plan_file_changes_nothing(tmp_path) -> None:
    path = tmp_path / "plan.json"
    row = {"node": 7, "before": {"cap_w": 1}, "after": {"cap_w": 2}}
    path.write_text(
        json.dumps({"schema": "rheostat.plan/1", "nodes": [row, {**row, "kept": True}]})
    )
    (moved, kept), whole_plan = read_plan(path)
    assert (moved.node, moved.changes) == ("7", {"cap_w": (1.0, 2.0)})
    assert kept.changes == {}
    assert len(whole_plan["nodes"]) == 2


def test_an_address_says_which_device_sets_a_knob(tmp_path) -> None:
    tree, own = DeviceAddress(str(tmp_path)), DeviceAddress(gpu="none", rapl="/r")
    for address in (tree, own, DeviceAddress(gpu="amd")):
        assert DeviceAddress.of(address.text()) == address
        assert isinstance(address.device("n", "cpu_cap_w"), Powercap)
        assert address.device("n", "cap_w") is None
    assert isinstance(tree.device("n", "gpu_cap_w"), AmdGpus)
    assert isinstance(DeviceAddress(gpu="amd").device("n", "gpu_cap_w"), AmdGpus)
    assert own.device("n", "gpu_cap_w") is None
    with pytest.raises(DataError, match="expected nvml, amd, none, got 'intel'"):
        DeviceAddress(gpu="intel")
    for name in ("..", ".a", "a/b", "a|b", "", "a\n"):
        with pytest.raises(DataError, match="is no name of a node"):
            tree.device(name, "cpu_cap_w")
