"""Messages name the first few and count the rest; what is too long is planned in short."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat import table
from rheostat.core.outcome import Outcome
from rheostat.decision.actuate.cap_files import Powercap
from rheostat.decision.actuate.cap_journal import CapJournal
from rheostat.decision.budget.hull import hull
from rheostat.decision.budget.nodes import fleet
from rheostat.decision.coschedule.gpu_profiles import Mode, profiles_of
from rheostat.decision.coschedule.packed import IMPROVED_UP_TO, Packed
from rheostat.decision.coschedule.shared_node import Node, NodeState, Tenant, Waiting
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.errors import DataError, MeterUnavailable
from rheostat.prediction.surface import Surface

KNOWN = {"full": Surface("full", ("cap_w",), np.array([[100.0], [200.0]]),
                         Outcome({"runtime_s": np.ones((1, 2))}))}  # fmt: skip


def problems(**columns) -> list[str]:
    with pytest.raises(DataError) as caught:
        fleet(pl.DataFrame({"app": ["full"] * len(columns["node"]), **columns}), KNOWN)
    return list(caught.value.problems)


def test_of_bad_caps_three_are_shown_and_of_their_nodes_five() -> None:
    for count, more in ((5, ""), (6, " and 1 more"), (8, " and 3 more")):
        names = [f"n{i}" for i in range(count)]
        assert problems(node=names, cap_w=[-1.0 - i for i in range(count)]) == [
            "cap_w: expected watts above 0, got -1.0, -2.0, -3.0 at node "
            f"n0, n1, n2, n3, n4{more}"]  # fmt: skip
        unknown, hint = problems(node=names)
        assert unknown == f"cap_w as it stands is not known of node n0, n1, n2, n3, n4{more}"
        assert hint.startswith("give it in the table")


def test_of_bad_weights_draws_and_profiles_three_are_shown() -> None:
    names, caps = list("abcde"), [100.0] * 5
    assert problems(node=names, cap_w=caps, weight=[0.0, -1.0, 1.0, -2.0, -3.0],
    draw_w=[0.0] * 4 + [-1.0]
                    ) == ["weight: expected numbers above 0, got 0.0, -1.0, -2.0",
                          "draw_w: expected numbers from 0 on, got -1.0"]  # fmt: skip
    with pytest.raises(DataError) as caught:
        profiles_of(table({"app": ["a"] * 5, "gpus": [1.5, 0, 1, 20_000, 3],
                           "runtime_s": [1e-7, 1e-6, 1e9, 2e9, 1.0],
                           "power_w": [1e-6, 1e8, 0.001, 1.0, 2e8], "cap_w": [1e-7, 1e-6, 0.001,
                           1e8, 1e9],
                           "sm_clock": [0.0, 1e9, 2e9, 0.5, 1.0]}))  # fmt: skip
    assert list(caught.value.problems) == [
        "gpus: expected whole numbers from 1 to 10000, got 1.5, 0.0, 20000.0 in rows 1, 2, 4",
        "runtime_s: expected numbers from 1e-06 to 1e+09, got 1e-07, 2000000000.0 in rows 1, 4",
        "power_w: expected numbers from 1e-06 to 1e+08, got 200000000.0 in row 5",
        "cap_w: expected numbers from 1e-06 to 1e+08, got 1e-07, 1000000000.0 in rows 1, 5",
        "sm_clock: expected numbers from 0 to 1e+09, got 2000000000.0 in row 3"]  # fmt: skip
    with pytest.raises(DataError, match="app: missing in row 2"):
        profiles_of(table({"app": ["a", None], "gpus": [1, 1], "runtime_s": [1.0, 1.0],
                           "power_w": [1.0, 1.0]}))  # fmt: skip


def test_five_nodes_of_a_tree_are_named() -> None:
    with pytest.raises(DataError) as caught:
        PriorityTree.of([TreeFeature("x")], feature=[-1] * 7, threshold=[0.0] * 7, left=[-1] * 7,
                        right=[-1] * 7, value=[np.nan] * 7)  # fmt: skip
    assert list(caught.value.problems) == ["nodes [0, 1, 2, 3, 4]: value is no number"]


def test_damaged_lines_of_a_journal_are_said_in_two_hundred_characters(tmp_path) -> None:
    book = CapJournal(tmp_path / "journal")
    book.path.write_text("x" * 900 + "\nn1|cap_w|a 100 50\n" + "torn")
    try:
        _, said = book.entries()
    except DataError as error:
        said = list(error.problems)
    assert all(len(x) <= 200 for x in said if x.startswith("line"))
    with pytest.raises(DataError, match="there is no journal here: nothing to restore"):
        CapJournal(tmp_path / "other").entries()


def test_a_hull_of_single_options_has_no_steps() -> None:
    first, steps = hull(np.array([[5.0, 7.0], [3.0, 3.0]]), np.array([[1.0, 1.0], [0.0, 2.0]]))
    assert first.tolist() == [0, 1]
    assert [len(x) for x in (steps.row, steps.option, steps.watts, steps.gain)] == [0] * 4


def test_a_zone_within_a_package_or_of_memory_is_no_package(tmp_path) -> None:
    for zone, name in (("intel-rapl:0", "package-0"), ("intel-rapl:1", "psys"),
                       ("intel-rapl:0:0", "package-core"), ("intel-rapl:2",
                        "package-1")):  # fmt: skip
        (tmp_path / zone).mkdir()
        (tmp_path / zone / "name").write_text(name)
    assert [z.name for z in Powercap(tmp_path).packages()] == ["intel-rapl:0", "intel-rapl:2"]


def test_a_package_without_a_limit_beside_one_with_limits_is_refused(tmp_path) -> None:
    for zone in (0, 1):
        folder = tmp_path / f"intel-rapl:{zone}"
        folder.mkdir()
        (folder / "name").write_text(f"package-{zone}")
    (tmp_path / "intel-rapl:0" / "constraint_0_name").write_text("long_term")
    (tmp_path / "intel-rapl:0" / "constraint_0_power_limit_uw").write_text("5")
    with pytest.raises(MeterUnavailable, match="show energy but no limit to set"):
        Powercap(tmp_path).limits()


MODES = {"s": (Mode("s", 1, 10.0, 200.0), Mode("s", 2, 6.0, 300.0))}


def test_queues_up_to_forty_are_improved_and_longer_ones_planned_by_area(monkeypatch) -> None:
    assert IMPROVED_UP_TO == 40
    packed, state = Packed(MODES, 50.0, iterations=1), NodeState(Node(idle_w=50.0))
    used = []
    for name in ("by_area", "by_deadline"):
        real = getattr(packed, name)
        monkeypatch.setattr(
            packed, name, lambda *a, name=name, real=real: (used.append(name), real(*a))[1]
        )
    for count in (40, 41):
        packed._plan([Waiting(f"s#{i}", "s") for i in range(count)], state)
    assert used == ["by_deadline", "by_area"]


def test_a_plan_is_kept_until_a_job_comes_that_it_does_not_know() -> None:
    packed, node = Packed(MODES, 50.0, tenants=2, iterations=5), Node(idle_w=50.0)
    queue = [Waiting(f"s#{i}", "s") for i in range(3)]
    assert packed.choose([], NodeState(node)) == ()
    (first,) = packed.choose(queue, NodeState(node))
    plan, rest = packed.planned, [w for w in queue if w != first.job]
    running = Tenant(first.job, first.mode, first.gpus, first.domain, 0.0, first.mode.runtime_s)
    one = NodeState(node, (running,), 1.0)
    (second,) = packed.choose(rest, one)
    assert packed.planned is plan
    assert second.job != first.job
    full = NodeState(node, (running, running), 1.0)
    assert packed.choose(rest, full) == ()
    packed.choose([*rest, Waiting("new", "s")], one)
    assert packed.planned is not plan
