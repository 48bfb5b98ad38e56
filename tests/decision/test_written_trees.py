"""Trees as source, backtests and totals: against the same written out plainly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from rheostat import Knob, Outcome, table
from rheostat.decision.backtest import backtest, changes_by, divided, end_s
from rheostat.decision.decide import decide
from rheostat.decision.policies.export import export, plain, worths
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.decision.totals import _resampled
from rheostat.errors import DataError
from rheostat.tradeoff.limits import Deadline
from rheostat.tradeoff.rules import Weighted

FEATURES = [TreeFeature("wait_s", "s", "time waited"), TreeFeature("relative_wait"),
            TreeFeature("area_s", "s")]  # fmt: skip
TREE = PriorityTree.of(
    FEATURES, feature=[0, -1, 2, -1, -1], threshold=[60.0, 0, 90.0, 0, 0], left=[1, -1, 3, -1, -1],
    right=[2, -1, 4, -1, -1], value=[0.0, 2.0, 0.0, -1.0, 5.0],
    slope=[[-1], [1], [-1], [-1], [0]], scale=[[1.0], [2.0], [1.0], [1.0], [4.0]],
    steep=[[1.0], [-0.5], [1.0], [1.0], [2.0]],
)  # fmt: skip


def _chain(deep: int) -> PriorityTree:
    """A tree in which the way to the right goes through so many questions."""
    inner = [i % 2 == 0 and i < 2 * deep for i in range(2 * deep + 1)]
    left = [i + 1 if ask else -1 for i, ask in enumerate(inner)]
    right = [i + 2 if ask else -1 for i, ask in enumerate(inner)]
    zero = [0] * len(inner)
    return PriorityTree.of(FEATURES, feature=zero, threshold=zero, left=left, right=right,
                           value=zero)  # fmt: skip


def test_a_tree_too_deep_to_be_drawn_or_compiled_is_refused() -> None:
    with pytest.raises(DataError, match="at most 500 questions in a row, got 501"):
        _chain(501)
    with pytest.raises(DataError, match="at most 95 questions in a row, got 96: no compiler"):
        export(_chain(96), "python")
    scope: dict[str, Any] = {}
    exec(export(_chain(95), "python"), scope)
    assert scope["worth"](1.0, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("name", "unit", "words"),
    [("a):\n  import os\ndef b(", "", ""), ("a", '"""', ""), ("a", "", "*/ x"), ("a", "", "x\ny"),
     ("a", "\\", ""), ("", "", ""), ("a b", "", ""), ("a\n", "", "")],
)  # fmt: skip
def test_no_name_in_a_tree_becomes_a_part_of_its_source(name, unit, words) -> None:
    """A tree is a file that somebody sends, its source runs in the scheduler."""
    with pytest.raises(DataError, match="a feature's name is a word"):
        PriorityTree.of([TreeFeature(name, unit, words)], feature=[-1], threshold=[0], left=[-1],
                        right=[-1], value=[1])  # fmt: skip


def test_python_source_gives_the_worth_of_the_tree() -> None:
    scope: dict = {}
    exec(export(TREE, "python"), scope)
    rng = np.random.default_rng(0)
    for x in rng.uniform(0, 200, (40, 3)):
        assert scope["worth"](*x) == pytest.approx(TREE.predict(x)[0])
    for wait, request, procs in rng.uniform(0, 30, (20, 3)):
        facts = [wait, wait / max(request, 1.0), request * procs]
        assert scope["worth_of_job"](wait, request, procs) == pytest.approx(TREE.predict(facts)[0])


def test_worths_lie_between_bounds_of_values_and_slopes() -> None:
    assert worths(TREE) == (-1.0, 5.5)
    low = PriorityTree.of(FEATURES, feature=[-1], threshold=[0], left=[-1], right=[-1], value=[3.0],
                          slope=[[0]], scale=[[1.0]], steep=[[-0.25]])  # fmt: skip
    assert worths(low) == (-1.0, 7.0)


def test_source_of_other_languages_says_the_same() -> None:
    c, lua = export(TREE, "c").splitlines(), export(TREE, "lua").splitlines()
    head = "Made by rheostat; 3 groups, at most 2 questions. Highest worth goes first."
    said = "wait_s (time waited, s); relative_wait (relative_wait); area_s (area_s, s)"
    begin = c.index("double rheostat_worth(double wait_s, double relative_wait, double area_s)")
    assert c[:2] == [f"/* {head}", f" * worth: of a job, from {said}."]
    assert c[begin + 1 : begin + 11] == [
        "{", "    if (wait_s <= 60.0) {",
        "        return 2.0 + relative_wait / (fabs(relative_wait) + 2.0) / -0.5;", "    } else {",
        "        if (area_s <= 90.0) {", "            return -1.0;", "        } else {",
        "            return 5.0 + wait_s / (fabs(wait_s) + 4.0) / 2.0;", "        }",
        "    }"]  # fmt: skip
    assert ("    return rheostat_worth(wait_s, wait_s / (request_s > 1.0 ? request_s : 1.0), "
            "request_s * procs);") in c  # fmt: skip
    assert "    for (int i = 0; i < n; i++, x += 3) {" in c
    assert "        double w = rheostat_worth(x[0], x[1], x[2]);" in c
    assert lua[:2] == [f"-- {head}", f"-- worth: of a job, from {said}."]
    assert lua[3:6] == ["function rheostat_worth(wait_s, relative_wait, area_s)",
                        "  if wait_s <= 60.0 then",
                        "    return 2.0 + relative_wait / (math.abs(relative_wait) + 2.0)"
                        " / -0.5"]  # fmt: skip
    part = "  local part = (rheostat_worth_of_job(wait_s, request_s, procs) - -1.0) / 6.5"
    assert part in lua
    assert "  return math.floor(1000000 * part) + 1" in lua
    assert (
        "  return rheostat_worth(wait_s, wait_s / math.max(request_s, 1.0), request_s * procs)"
        in lua
    )
    flat = PriorityTree.of(FEATURES[:1], feature=[-1], threshold=[0], left=[-1], right=[-1],
                           value=[3.0])  # fmt: skip
    assert "- 3.0) / 1.0" in export(flat, "lua")
    assert "    (void)wait_s;" in export(flat, "c").splitlines()
    own = PriorityTree.of([TreeFeature("mine")], feature=[-1], threshold=[0], left=[-1], right=[-1],
                          value=[3.0])  # fmt: skip
    assert (plain(TREE), plain(own)) == (True, False)
    for language in ("python", "c", "lua"):
        assert "request_s" not in export(own, language)
    with pytest.raises(DataError, match="expected python, c, lua, got 'rust'"):
        export(own, "rust")


class Law:
    """Energy falls with nodes, runtime too; nothing is known of one application."""

    def fit(self, jobs):
        self.learnt = len(jobs)
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None, :]
        known = np.where(jobs.frame["app"].to_numpy() == "z", np.nan, 1.0)
        return Outcome({"runtime_s": 100 / n * known, "energy_j": (500 + 10 * n) * known})


def queue(n=30, **more):
    return table({"job_id": range(n), "app": ["a" if i % 2 else "b" for i in range(n)],
                  "user": [f"u{i % 3}" for i in range(n)], "nodes": [4] * n,
                  "submit_s": np.arange(float(n)), "runtime_s": [2.0] * n, **more})  # fmt: skip


def test_jobs_without_advice_are_noted_with_the_first_twenty() -> None:
    jobs = queue(app=["z"] * 25 + ["a"] * 5)
    advice = decide(jobs, Law(), Knob("nodes", [1, 2]), Weighted({"energy_j": 1}), Deadline(60))
    (note,) = advice.table.notes
    assert note.message == "no similar past runs at any setting: request left as it is"
    assert (note.rows, note.count) == (tuple(range(20)), 25)
    assert advice.counts() == {"advised": 5, "kept": 0, "infeasible": 0, "abstained": 25}
    tight = decide(queue(), Law(), Knob("nodes", [1, 2]), Weighted({"energy_j": 1}), [Deadline(9)])
    (note,) = tight.table.notes
    assert note.message == "no setting meets runtime at most 9 s: request left as it is"
    assert (note.rows, note.count) == (tuple(range(20)), 30)
    assert all(
        math.isnan(v) for v in (tight.totals["energy_j"].before, *tight.totals["energy_j"].change)
    )


def test_totals_are_sums_over_jobs_that_compare() -> None:
    advice = decide(queue(), Law(), Knob("nodes", [1, 2]), Weighted({"energy_j": 1}))
    energy = advice.totals["energy_j"]
    assert (energy.before, energy.after) == (30 * 540.0, 30 * 510.0)
    assert energy.change == pytest.approx((510 / 540 - 1,) * 3)
    assert set(advice.totals) == {"runtime_s", "energy_j"}
    assert advice.objectives == ("runtime_s", "energy_j")
    assert (advice.rule, advice.limits, advice.knobs) == ("least energy", (), ("nodes",))
    with pytest.raises(DataError, match="has no rows: nothing to advise"):
        decide(queue().rows(np.zeros(30, dtype=bool)), Law(), Knob("nodes", [1]))


def test_owners_are_drawn_with_replacement_as_often_as_there_are() -> None:
    times = _resampled(np.array([0, 0, 2, 1]), 500, np.random.default_rng(0))
    assert times.shape == (500, 4)
    assert (times[:, 0] == times[:, 1]).all()
    assert (times[:, 0] + times[:, 2] + times[:, 3] == 3).all()
    assert times.mean(axis=0) == pytest.approx([1.0] * 4, abs=0.15)


def test_the_past_is_what_had_ended_when_the_recent_part_began() -> None:
    jobs = queue(10, end_s=[*np.arange(2.0, 7.0), None, 50.0, 9.0, 10.0, 11.0])
    past, recent, unfinished = divided(jobs, 0.8)
    assert recent.frame["job_id"].to_list() == [8, 9]
    assert past.frame["job_id"].to_list() == [0, 1, 2, 3, 4, 5]  # 5 as if it had not waited
    assert unfinished == 2
    recent = divided(jobs, "3s")[1]
    assert recent.frame["job_id"].to_list() == [7, 8, 9]  # after 9 s - 3 s
    assert end_s(queue(3)).tolist() == [2.0, 3.0, 4.0]
    assert end_s(table({"submit_s": [1.0, None]})).tolist() == pytest.approx(
        [1.0, math.nan], nan_ok=True
    )
    for split, said in (("1h", "got 0 and 10"), (0.0, "expected")):
        with pytest.raises(DataError, match=said):
            divided(jobs, split)
    late = queue(10, end_s=[99.0] * 10)
    with pytest.raises(DataError, match="no job had ended before the recent part begins"):
        divided(late, 0.5)


def test_a_backtest_says_what_was_learnt_and_what_the_truth_would_have_been() -> None:
    model = Law()
    found = backtest(queue(), model, Knob("nodes", [1, 2]), Weighted({"energy_j": 1}), split=0.5,
                     truth=Law().predict)  # fmt: skip
    assert (found.learnt, found.unfinished, found.edge_s) == (model.learnt, 15 - model.learnt, 15.0)
    assert len(found.advice) == 15
    assert found.true["energy_j"].change[0] == pytest.approx(510 / 540 - 1)
    assert (found.true["energy_j"].before, found.true["energy_j"].after) == (15 * 540, 15 * 510)
    assert set(found.true) == {"runtime_s", "energy_j", "power_w"}
    assert set(found.accuracy) == {"runtime_s"}
    users = found.by_user
    assert users["user"].to_list() == ["u0", "u1", "u2"]
    assert users["jobs"].to_list() == users["changed"].to_list() == [5, 5, 5]
    assert users["energy_j_change"].to_list() == pytest.approx([510 / 540 - 1] * 3)
    assert users["runtime_s_advised"].to_list() == [500.0] * 3
    whole = changes_by(found.advice, "team")
    assert whole["team"].to_list() == ["all"]
    assert whole["energy_j_requested"].to_list() == [15 * 540.0]


def test_groups_are_listed_by_energy_and_then_by_name() -> None:
    jobs = queue(6).with_columns((), user=pl.Series(["c", "a", "b", "b", "z", "z"]))
    blind = jobs.with_columns((), app=pl.Series(["a"] * 4 + ["z"] * 2))
    advice = decide(blind, Law(), Knob("nodes", [1, 2]), Weighted({"energy_j": 1}))
    made = changes_by(advice, "user")
    assert made["user"].to_list() == ["b", "a", "c", "z"]
    assert made["changed"].to_list() == [2, 1, 1, 0]
    assert made["energy_j_change"].to_list()[-1] is None
