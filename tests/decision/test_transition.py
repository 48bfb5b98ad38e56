"""The budget holds at every instant: in transition, with lag, idle nodes and failing writes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.outcome import Outcome
from rheostat.core.series import Series
from rheostat.decision.actuate.apply import apply, restore, steps
from rheostat.decision.actuate.cap_journal import CapJournal
from rheostat.decision.budget.cap_plan import CapPlan
from rheostat.decision.budget.changing_budget import follow
from rheostat.decision.budget.node_options import BudgetObjective
from rheostat.decision.budget.nodes import fleet
from rheostat.prediction.surface import Surface
from tests.decision.emulated_nodes import EmulatedNodes, rehearsal

LAG = 1.0
watts = st.integers(5, 30).map(lambda w: 10.0 * w)


@st.composite
def changes(draw):
    """Caps of up to six nodes with two knobs, before and after."""
    n = draw(st.integers(1, 6))
    pairs = st.lists(st.tuples(watts, watts), min_size=n, max_size=n)
    knobs = ("cpu_cap_w", "gpu_cap_w")
    before, after = ([dict(zip(knobs, p, strict=True)) for p in draw(pairs)] for _ in range(2))
    return [CapPlan(f"n{i}", b, a) for i, (b, a) in enumerate(zip(before, after, strict=True))]


def peak(r: EmulatedNodes) -> float:
    return max(w for _, w in r.seen)


def put_back_at_last(book: CapJournal, r: EmulatedNodes) -> None:
    """Restore; if a write of it fails, once more, as a person would."""
    if restore(book, r.panel(), settle_s=LAG, sleep=r.sleep).problems:
        r.sleep(LAG)
        assert not restore(book, r.panel(), settle_s=LAG, sleep=r.sleep).problems


@given(changes(), st.integers(0, 14), st.integers(0, 2**31))
@settings(max_examples=60)
def test_no_moment_of_a_transition_exceeds_the_larger_of_both_plans(plan, bad, seed) -> None:
    most = max(sum(sum(n.before.values()) for n in plan), sum(sum(n.after.values()) for n in plan))
    r = rehearsal({n.node: n.before for n in plan}, lag_s=LAG, fails=lambda k: k == bad)
    before = dict(r.caps)
    with tempfile.TemporaryDirectory() as folder:
        book = CapJournal(Path(folder) / "j")
        todo = steps(plan, r.panel())
        try:
            apply(todo, r.panel(), book, settle_s=LAG, sleep=r.sleep)
        except OSError:
            assert r.caps == before  # all or nothing
        else:
            r.sleep(LAG)
            if len(todo):
                put_back_at_last(book, r)
        assert r.caps == before
    assert peak(r) <= most + 1e-6


def test_the_rehearsal_can_catch_a_wrong_order() -> None:
    """Raising first, or not waiting, must be seen: else the property above proves nothing."""
    r = rehearsal({"a": {"cap_w": 100.0}, "b": {"cap_w": 50.0}}, lag_s=LAG)
    r.panel().put("b|cap_w|emulated", 100.0)
    r.panel().put("a|cap_w|emulated", 50.0)
    assert peak(r) == 200.0
    r = rehearsal({"a": {"cap_w": 100.0}, "b": {"cap_w": 50.0}}, lag_s=LAG)
    plan = [CapPlan("a", {}, {"cap_w": 50.0}), CapPlan("b", {}, {"cap_w": 100.0})]
    with tempfile.TemporaryDirectory() as folder:
        apply(steps(plan, r.panel()), r.panel(), CapJournal(Path(folder) / "j"),
              settle_s=LAG / 2, sleep=r.sleep)  # fmt: skip
    assert peak(r) == 200.0


@given(st.lists(st.integers(4, 12), min_size=2, max_size=5), st.integers(0, 99))
@settings(max_examples=15)
def test_a_budget_that_changes_is_kept_at_every_instant(levels, seed) -> None:
    """Four nodes, one idle, over a day of budgets; lag as long as the plan's lead allows."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.uniform(5.0, 12.0, (3, 3)), axis=1)[:, ::-1]
    caps = np.array([[100.0], [200.0], [300.0]])
    known = {
        f"a{i}": Surface(f"a{i}", ("cap_w",), caps, Outcome({"runtime_s": s[None]}))
        for i, s in enumerate(seconds)
    }
    f = fleet(pl.DataFrame({"node": list("wxyz"), "app": ["a0", "a1", "a2", "idle"]}), known,
              start="lowest")  # fmt: skip
    budget = Series(tuple(50.0 * i for i in range(len(levels))), tuple(100.0 * w for w in levels))
    r = rehearsal({n: {"cap_w": float(w)} for n, w in zip(f.names, f.now_w, strict=True)},
                  lag_s=LAG)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        book = CapJournal(Path(folder) / "j")
        for m in follow(f, budget, BudgetObjective(), end_s=300.0, lead_s=2.5 * LAG):
            r.sleep(max(0.0, m.at_s - r.now_s))
            plan = [CapPlan(n, {}, m.spent.after.setting(i, int(m.spent.rows[i])))
                    for i, n in enumerate(f.names)]  # fmt: skip
            apply(steps(plan, r.panel()), r.panel(), book, settle_s=LAG, sleep=r.sleep)
    for t, worst in r.seen:
        assert worst <= float(budget.at(np.array([t]))[0]) + 1e-6


def test_emulated_nodes_begin_at_zero_and_count_their_writes_from_one() -> None:
    r = rehearsal({"a": {"cap_w": 100.0}, "b": {"cap_w": 50.0}}, fails=lambda k: k == 2)
    panel, first = r.panel(), next(iter(r.caps))
    panel.put(first, 60.0)
    with pytest.raises(OSError, match="write 2 failed"):
        panel.put(first, 20.0)
    r.sleep(1.0)
    assert r.seen == [(0.0, 150.0), (0.0, 150.0), (1.0, 110.0)]
