"""Plans begin with the caps that stand: read, stated, or the plan is refused; never assumed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rheostat.cli import run
from rheostat.core.outcome import Outcome
from rheostat.decision.actuate.actuators import DeviceAddress, write_tree
from rheostat.decision.budget.allocate_power import allocate_power
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.budget.standing import with_setting
from rheostat.errors import DataError
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.prediction.surface import Surface
from rheostat.recipes.ecoshift import read_caps

CAPS = np.array([[100.0], [200.0], [300.0]])
SEEN = {"runtime_s": np.array([[12.0, 8.0, 6.0]]), "power_w": np.array([[90.0, 180.0, 250.0]])}
KNOWN = {"hungry": Surface("hungry", ("cap_w",), CAPS, Outcome(SEEN))}


def one(cap_w: float | None, app: str | None = "hungry"):
    frame = pl.DataFrame({"node": ["a"], "app": [app], "cap_w": [cap_w]},
                         schema_overrides={"cap_w": pl.Float64})  # fmt: skip
    return fleet(frame, KNOWN)


@pytest.mark.parametrize("app", ["hungry", "new", None])
def test_a_cap_that_nobody_states_is_refused(app) -> None:
    with pytest.raises(DataError, match="cap_w as it stands is not known of node a"):
        one(None, app)
    nodes = pl.DataFrame({"node": ["a"], "app": [app]})
    with pytest.raises(DataError, match="--from device"):
        fleet(nodes, KNOWN)
    assert fleet(nodes, KNOWN, start={"cap_w": 200.0}).now_w.tolist() == [200.0]
    assert fleet(nodes, KNOWN, start="lowest").now_w.tolist() == [100.0]


@pytest.mark.parametrize("cap_w", [-5.0, 0.0, float("nan"), float("inf"), 1e9])
def test_a_cap_that_cannot_be_is_refused(cap_w) -> None:
    with pytest.raises(DataError, match="cap_w: expected watts above 0"):
        one(cap_w)


def test_what_nobody_measured_stands_where_it_stands() -> None:
    below, between, above = one(50.0), one(150.0), one(540.0)
    assert [f.now_w[0] for f in (below, between, above)] == [50.0, 150.0, 540.0]
    assert [f.notes[0].message.split(" that ")[0] for f in (below, between, above)] == [
        "caps below the lowest", "caps between those", "caps above the highest"]  # fmt: skip
    assert (
        allocate_power(below, 1000.0).after.now_w[0] == 50.0
    )  # kept: nobody knows what it is worth
    assert allocate_power(between, 1000.0).after.now_w[0] == 300.0
    assert (
        allocate_power(between, 150.0).after.now_w[0] == 150.0
    )  # stays rather than falls to 100 W
    assert allocate_power(above, 540.0).after.now_w[0] == 300.0  # as fast, says the surface
    assert one(50.0, None).now_w[0] == allocate_power(one(50.0, None), 1e3).after.now_w[0] == 50.0
    gain = allocate_power(between, 1000.0).gain[0][0]
    assert gain == pytest.approx((1 / 6) / (0.5 * (1 / 12 + 1 / 8)) - 1)


@settings(max_examples=50)
@given(st.tuples(st.floats(60, 320), st.floats(60, 320)))
def test_an_unmeasured_speed_lies_between_the_measured_ones_around_it(caps) -> None:
    grid = np.array([[c, g] for c in (100.0, 150.0, 200.0) for g in (100.0, 200.0, 300.0)])
    rate = grid[:, 0] ** 0.5 + grid[:, 1] ** 0.7
    whole = Surface("a", ("cpu_cap_w", "gpu_cap_w"), grid, Outcome({"runtime_s": 1 / rate[None]}))
    more, kind = with_setting(whole, np.array(caps))
    assert more.values[-1].tolist() == list(caps)
    under, over = (grid <= caps).all(axis=1), (grid >= np.minimum(caps, [200.0, 300.0])).all(axis=1)
    if kind != "below":
        assert rate[under].max() - 1e-9 <= more.rate[0, -1] <= rate[over].min() + 1e-9
    assert (kind == "below") == (min(caps) < 100.0)


RUNS = capped_runs(3, noise=0.01, seed=0).frame
APPS = RUNS["app"].unique().sort().to_list()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("standing") / "runs.csv"
    RUNS.write_csv(path)
    return path


def contents(tree: Path) -> dict[str, int]:
    files = [*tree.rglob("*power_limit_uw"), *tree.rglob("power1_cap")]
    return {str(f.relative_to(tree)): int(f.read_text()) for f in sorted(files)}


def told(capsys, *argv):
    capsys.readouterr()
    code = run(["budget", *(str(a) for a in argv)])
    found = capsys.readouterr()
    return code, found.out, found.err


standing = st.sampled_from([40.0, 133.3, 140.0, 180.0, 250.0, 540.0])


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(standing, standing, st.sampled_from([*APPS, "new", ""])),
                min_size=2, max_size=4))  # fmt: skip
def test_what_is_planned_from_devices_keeps_the_budget_on_them(runs, tmp_path, capsys, nodes):
    tree = tmp_path / f"tree{len(list(tmp_path.iterdir()))}"
    rows = [f"n{i},{app}" for i, (_, _, app) in enumerate(nodes)]
    table = tree.with_suffix(".csv")
    table.write_text("\n".join(["node,app", *rows]) + "\n")
    for i, (cpu, gpu, _) in enumerate(nodes):
        write_tree(tree, f"n{i}", cpu_w=cpu, gpu_w=gpu)
    before, plan = contents(tree), tree.with_suffix(".json")
    total = sum(c + g for c, g, _ in nodes)
    argv = ("plan", runs, "--nodes", table, "--budget", f"{total}W", "--tree", tree)
    assert told(capsys, *argv, "--out", plan)[0] == 0
    book = ("--journal", tree.with_suffix(".journal"), "--settle", 0)
    assert told(capsys, "apply", plan, "--tree", tree, *book)[0] == 0
    after, kept = contents(tree), json.loads(plan.read_text())["nodes"]
    assert sum(after[k] for k in after if "constraint_1" not in k) <= total * 1e6 + 1
    for node in kept:
        here = {k for k in before if k.startswith(node["node"] + "/")}
        if node["kept"]:
            assert {k: after[k] for k in here} == {k: before[k] for k in here}
    assert any(n["kept"] for n in kept) == any(
        a and (a == "new" or c < RUNS["cpu_cap_w"].min() or g < RUNS["gpu_cap_w"].min())
        for c, g, a in nodes
    )


def test_a_node_table_without_caps_is_refused_and_the_way_out_works(runs, tmp_path, capsys) -> None:
    (tmp_path / "nodes.csv").write_text(f"node,app,cpu_cap_w\nn1,{APPS[0]},180\nn2,new,\n")
    write_tree(tmp_path / "tree", "n1", cpu_w=180.0, gpu_w=200.0)
    write_tree(tmp_path / "tree", "n2", cpu_w=180.0, gpu_w=250.0)
    before = contents(tmp_path / "tree")
    argv = ("plan", runs, "--nodes", tmp_path / "nodes.csv", "--budget", "900W")
    code, _, err = told(capsys, *argv)
    assert code == 1
    assert "cpu_cap_w as it stands is not known of node n2" in err
    assert "gpu_cap_w as it stands is not known of node n1, n2" in err
    code, _, err = told(capsys, *argv, "--from", "device")
    assert (code, "cannot be read on" in err) == (1, True)
    code, out, err = told(capsys, *argv, "--tree", tmp_path / "tree", "--json",
                          "--out", tmp_path / "plan.json")  # fmt: skip
    assert (code, "caps are left as they are" in err) == (0, True)
    n2 = json.loads(out)["nodes"][1]
    assert n2["before"] == n2["after"] == {"cpu_cap_w": 180.0, "gpu_cap_w": 250.0}
    where = ("--tree", tmp_path / "tree", "--journal", tmp_path / "j", "--settle", 0)
    assert told(capsys, "apply", tmp_path / "plan.json", *where)[0] == 0
    after = contents(tmp_path / "tree")
    assert {k: v for k, v in after.items() if k < "n2"} != {
        k: v for k, v in before.items() if k < "n2"}  # fmt: skip
    assert {k: v for k, v in after.items() if k > "n2"} == {
        k: v for k, v in before.items() if k > "n2"}  # fmt: skip


def test_a_plan_for_assumed_caps_is_not_applied_to_others(runs, tmp_path, capsys) -> None:
    for i in (1, 2, 3):
        write_tree(tmp_path / "tree", f"n{i}", cpu_w=180.0, gpu_w=250.0)
    before = contents(tmp_path / "tree")
    code, _, err = told(capsys, "plan", runs, "--extra", 10, "--out", tmp_path / "plan.json")
    assert (code, "assumed to be the lowest" in err) == (0, True)
    where = ("--tree", tmp_path / "tree", "--journal", tmp_path / "j", "--settle", 0)
    code, _, err = told(capsys, "apply", tmp_path / "plan.json", *where)
    assert (code, "was planned for caps that were assumed" in err) == (1, True)
    assert contents(tmp_path / "tree") == before


def test_gpus_of_one_node_must_stand_alike_to_be_read(tmp_path) -> None:
    write_tree(tmp_path, "n1", cpu_w=180.0, gpu_w=250.0, gpus=2)
    caps, nodes = ["cpu_cap_w", "gpu_cap_w"], pl.DataFrame({"node": ["n1"], "app": ["a"]})
    found = read_caps(nodes, caps, DeviceAddress(tree=str(tmp_path)))
    assert found.select(caps).rows() == [(180.0, 250.0)]
    (tmp_path / "n1/drm/card1/device/hwmon/hwmon1/power1_cap").write_text("150000000\n")
    with pytest.raises(DataError, match=r"found 250 W, 150 W: set them alike"):
        read_caps(nodes, caps, DeviceAddress(tree=str(tmp_path)))
