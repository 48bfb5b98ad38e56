"""What an advice says in figures: tables, accuracy, users, splits, totals; all worked by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rheostat import Deadline, Knee, Knob, MaxSlowdown, Moment, Outcome, PowerCap, Weighted, table
from rheostat.core.space import Space
from rheostat.core.vocabulary import column
from rheostat.decision.accuracy import LEVELS, accuracy, accuracy_facts
from rheostat.decision.backtest import backtest, divided, end_s
from rheostat.decision.batch_choice import BatchChoice, choose
from rheostat.decision.batch_fronts import stack
from rheostat.decision.decide import decide
from rheostat.errors import DataError, Infeasible

NAN = math.nan


class Halves:
    """Runtime 100 / n s at 10 n W, three draws of -50, 0 and +100 % in runtime; up to 8 nodes."""

    factor = np.array([[0.5], [1.0], [2.0]])

    def fit(self, jobs):
        self.seen = jobs
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")
        known = np.where(n <= 8, 1.0, NAN)
        runtime = self.factor * 100 / n * known
        return Outcome({"runtime_s": runtime, "power_w": 10.0 * n * n * known + 0 * runtime},
                       np.where(n <= 8, 10.0 * n, 0.0))  # fmt: skip


def queue(**more):
    return table({"job_id": [1, 2, 3], "nodes": [1, 4, 16], "end_s": [5.0, 6.0, 7.0]} | more)


def test_the_table_of_an_advice_has_a_unit_and_a_meaning_for_every_column() -> None:
    jobs = queue(user=["ann", "bob", "ann"], app=["a", "b", "c"])
    found = decide(jobs, Halves(), Knob("nodes", [1, 2, 4]), Weighted({"energy_j": 1})).table
    assert found.columns[:6] == ("job_id", "user", "app", "nodes", "nodes_requested",
                                 "runtime_s_advised")  # fmt: skip
    assert "end_s" not in found.columns
    units = {c: found.schema[c].unit for c in found.columns}
    assert units["runtime_s_advised_low"] == "s"
    assert units["power_w_requested"] == "W"
    assert units["energy_j_advised"] == "J"
    assert {units[c] for c in found.columns if "_change" in c} == {""}
    assert all(found.schema[c].meaning for c in found.columns)
    assert found.frame["nodes_requested"].to_list() == [1, 4, 16]
    weighted = decide(jobs, Halves(), Knob("nodes", [1, 2]), objectives=("runtime_s", "edp_js"))
    assert weighted.table.schema["edp_js_advised"].unit == "J s"


def test_predictions_stand_beside_the_request_with_their_intervals() -> None:
    advice = decide(queue(), Halves(), Knob("nodes", [1, 2, 4]), Weighted({"runtime_s": 1}),
                    level=0.8)  # fmt: skip
    rows = advice.table.frame.rows(named=True)
    assert [r["status"] for r in rows] == ["advised", "kept", "advised"]
    assert [r["support"] for r in rows] == [40.0, 40.0, 40.0]
    first = rows[0]
    assert first["runtime_s_requested"] == pytest.approx(100 * 3.5 / 3)
    assert first["runtime_s_advised"] == pytest.approx(25 * 3.5 / 3)
    assert first["runtime_s_advised_low"] == pytest.approx(25 * 0.6)  # 10 % of three draws
    assert first["runtime_s_advised_high"] == pytest.approx(25 * 1.8)
    assert first["runtime_s_change"] == pytest.approx(-0.75)
    assert first["runtime_s_change_low"] == pytest.approx(-0.75)
    assert first["power_w_change"] == pytest.approx(15.0)
    assert first["energy_j_change_high"] == pytest.approx(3.0)
    assert rows[2]["runtime_s_change"] is None  # nothing is known of 16 nodes
    assert rows[2]["runtime_s_requested"] is None
    total = advice.totals["runtime_s"]
    assert total.before == pytest.approx(125 * 3.5 / 3)
    assert total.after == pytest.approx(50 * 3.5 / 3)
    assert total.change == pytest.approx((-0.6, -0.6, -0.6))
    assert advice.counts() == {"advised": 2, "kept": 1, "infeasible": 0, "abstained": 0}
    assert (advice.knobs, advice.objectives) == (("nodes",), ("runtime_s", "energy_j"))
    assert [n.rows for n in advice.table.notes] == [(2,)]


def test_without_any_comparison_a_total_is_unknown() -> None:
    blind = decide(queue().rows([2]), Halves(), Knob("nodes", [1, 2]), Knee())
    assert all(math.isnan(v) for v in (blind.totals["energy_j"].before, *blind.totals[
        "energy_j"].change))  # fmt: skip
    assert str(blind.rule) == str(Knee())


def test_many_rows_are_noted_with_their_number_and_the_first_twenty() -> None:
    jobs = table({"job_id": list(range(25)), "nodes": [16] * 25})
    advice = decide(jobs, Halves(), Knob("nodes", [32]), Knee(), Deadline(1))
    (note,) = advice.table.notes
    assert (note.count, note.rows) == (25, tuple(range(20)))
    assert "no similar past runs" in note.message
    tight = decide(queue().rows([0, 1]), Halves(), Knob("nodes", [2]), Knee(), (Deadline(1),))
    assert tight.counts()["infeasible"] == 2
    assert "no setting meets runtime at most 1 s" in tight.table.notes[0].message
    assert tight.limits == ("runtime at most 1 s",)
    assert len(tight.decision) == 0


def test_reasons_name_the_second_best_and_the_support() -> None:
    advice = decide(queue(), Halves(), Knob("nodes", [1, 2, 4]), Weighted({"runtime_s": 1}))
    first, second, third = advice.decision.assignments
    assert (first.job, first.setting, first.index) == (1, {"nodes": 4}, 2)
    assert first.because.runner_up == {"nodes": 2}
    assert first.because.compared == pytest.approx({"runtime_s": 0.5, "energy_j": 2.0})
    assert first.because.support == 40.0
    assert second.because.rule == "least runtime"
    alone = decide(queue().rows([2]), Halves(), Knob("nodes", [2]), Weighted({"runtime_s": 1}))
    assert alone.decision.assignments[0].because.runner_up is None
    assert alone.decision.assignments[0].because.compared == {}
    assert third.job == 3


def test_limits_of_a_slowdown_refer_to_what_they_say() -> None:
    many = stack(queue(), Halves(), Space.of(Knob("nodes", [1, 2, 4])), ("runtime_s", "energy_j"))
    assert many.size == 4
    assert many.requested.tolist() == [0, 2, 3]
    assert many.base(None).tolist() == [2, 2, 2]
    assert many.base("requested").tolist() == [0, 2, 3]
    assert many.base({"nodes": 2}).tolist() == [1, 1, 1]
    with pytest.raises(DataError, match="no alternative has"):
        many.base({"nodes": 3})
    excess = many.excess(MaxSlowdown(2.0, {"nodes": 2}))
    assert excess[0, :3] == pytest.approx([0.0, -0.5, -0.75])
    assert np.isnan(many.values[0, 3]).all()  # the request is among the settings already
    assert len(many.front(1)) == 4
    assert many.front(1).mean("runtime_s")[2] == pytest.approx(25 * 3.5 / 3)
    with pytest.raises(Infeasible, match="leave no setting"):
        stack(queue(), Halves(), Space((Knob("nodes", [1]),), (lambda s: False,)), ("runtime_s",))


def test_blocks_of_choices_are_joined_row_by_row_and_summed_draw_by_draw() -> None:
    space, wanted = Space.of(Knob("nodes", [1, 2, 4])), ("runtime_s", "energy_j")
    rule, limits = Weighted({"runtime_s": 1}), [PowerCap(1000)]
    whole = choose(stack(queue(), Halves(), space, wanted), rule, limits, 0.9)
    parts = [choose(stack(queue().rows([i]), Halves(), space, wanted), rule, limits, 0.9)
             for i in range(3)]  # fmt: skip
    joined = BatchChoice.joined(parts)
    for name in ("pick", "second", "status", "support", "compared"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert joined.settings == whole.settings
    for q in whole.quantities:
        for a, b in zip(joined.sums[q], whole.sums[q], strict=True):
            np.testing.assert_allclose(a, b)
        np.testing.assert_allclose(joined.advised[q], whole.advised[q])
        np.testing.assert_allclose(joined.requested[q], whole.requested[q])
        np.testing.assert_allclose(joined.change[q], whole.change[q])


# accuracy


def test_error_is_the_median_and_coverage_the_share_inside() -> None:
    draws = np.linspace(0.0, 100.0, 101)[:, None] + np.zeros(5)
    truth = [50.0, 100.0, 4.9, 5.0, None]
    found = accuracy(Outcome({"runtime_s": draws}), table({"runtime_s": truth}),
                     ["runtime_s", "power_w"])  # fmt: skip
    assert set(found) == {"runtime_s"}
    one = found["runtime_s"]
    assert (one.rows, one.coverage, one.level) == (4, 0.5, 0.9)
    assert list(LEVELS) == sorted(set(LEVELS))
    assert [x for x, _ in one.curve] == list(LEVELS)
    assert one.error == pytest.approx(np.median([0.0, 0.5, 50 / 4.9 - 1, 9.0]))
    assert dict(one.curve) == pytest.approx({x: 0.5 if x >= 0.9 else 0.25 for x in LEVELS}
                                            | {0.95: 0.75})  # fmt: skip
    half = accuracy(Outcome({"runtime_s": draws}), table({"runtime_s": truth}), ["runtime_s"], 0.5)
    assert half["runtime_s"].coverage == 0.25
    assert accuracy_facts(half)["runtime_s"]["rows"] == 4


def test_nothing_to_compare_is_no_accuracy_and_a_run_of_unknown_end_does_not_count() -> None:
    out = Outcome({"runtime_s": np.array([[1.0, NAN, 3.0]])})
    jobs = table({"runtime_s": [None, 2.0, 3.0], "censored": [False, False, None]})
    none = accuracy(out, jobs, ["runtime_s"])["runtime_s"]
    assert (none.rows, none.curve) == (0, ())
    assert math.isnan(none.error)
    assert math.isnan(none.coverage)


# back-tests


def past_and_recent():
    return table({
        "job_id": [1, 2, 3, 4, 5], "user": ["a", "b", "a", "b", "a"],
        "submit_s": [0.0, 10.0, 20.0, 100.0, 110.0], "end_s": [50.0, 100.0, 101.0, 160.0, 170.0],
        "nodes": [1, 2, 4, 1, 4], "runtime_s": [50.0, 60.0, 70.0, 60.0, 40.0],
    })  # fmt: skip


def test_a_split_leaves_out_of_the_past_what_had_not_ended() -> None:
    past, recent, unfinished = divided(past_and_recent(), 0.6)
    assert past.frame["job_id"].to_list() == [1, 2]  # the third ended after the fourth came
    assert (recent.frame["job_id"].to_list(), unfinished) == ([4, 5], 1)
    past, recent, _ = divided(past_and_recent(), "10s")
    assert recent.frame["job_id"].to_list() == [5]
    with pytest.raises(DataError, match="got 0 and 5"):
        divided(past_and_recent(), "1h")
    with pytest.raises(DataError, match="no job had ended"):
        divided(past_and_recent().rows([2, 3]), 0.5)
    with pytest.raises(DataError, match="submit_s is missing"):
        divided(table({"nodes": [1, 2]}), "1h")


def test_when_a_run_ended_is_what_the_log_says_else_what_follows_from_it() -> None:
    jobs = table({"submit_s": [1.0, 2.0, 3.0, None], "runtime_s": [10.0, None, 20.0, 5.0],
                  "end_s": [99.0, None, None, None]})  # fmt: skip
    np.testing.assert_equal(end_s(jobs), [99.0, 2.0, 23.0, NAN])


def test_users_are_told_their_own_totals_largest_first() -> None:
    jobs = past_and_recent()
    made = backtest(jobs, Halves(), Knob("nodes", [1, 2]), Weighted({"energy_j": 1}), split=0.6)
    users = made.by_user
    assert users["user"].to_list() == ["a", "b"]
    assert users["jobs"].to_list() == [1, 1]
    assert users["changed"].to_list() == [1, 0]
    assert users["energy_j_change"].to_list() == pytest.approx([-0.75, 0.0])
    assert users["runtime_s_advised"].to_list() == pytest.approx([100 * 3.5 / 3] * 2)
    assert (made.learnt, made.unfinished, made.edge_s) == (2, 1, 100.0)
    assert made.true is None
    assert set(made.accuracy) == {"runtime_s"}
    nobody = jobs.select([c for c in jobs.columns if c != "user"])
    alone = backtest(nobody, Halves(), Knob("nodes", [1, 2]), split=0.6).by_user
    assert alone["user"].to_list() == ["all"]
    assert alone["jobs"].to_list() == [2]


def test_the_true_change_counts_what_would_really_have_run() -> None:
    def truth(jobs):
        assert all(jobs.schema[c].known is Moment.SUBMIT for c in jobs.columns)
        n = jobs.numpy("nodes")[None, :]
        return Outcome({"runtime_s": 10.0 / n, "power_w": n * n})

    made = backtest(past_and_recent(), Halves(), Knob("nodes", [1, 2]), Weighted({"energy_j": 1}),
                    split=0.6, truth=truth)  # fmt: skip
    runtime, energy = made.true["runtime_s"], made.true["energy_j"]
    assert (runtime.before, runtime.after) == (10 + 2.5, 20.0)
    assert runtime.change == pytest.approx((0.6, 0.6, 0.6))
    assert (energy.before, energy.after) == (10 + 40.0, 20.0)
    nothing = backtest(
        past_and_recent(),
        Halves(),
        Knob("nodes", [1]),
        split=0.6,
        truth=lambda jobs: Outcome({"runtime_s": np.zeros((1, len(jobs)))}),
    )
    assert math.isnan(nothing.true["runtime_s"].change[0])
    assert "energy_j" not in nothing.true


def test_only_settings_of_the_knobs_are_advised_and_jobs_keep_their_other_columns() -> None:
    jobs = queue(cap_w=[100.0, 200.0, 300.0]).with_columns([column("user")], user=pl.lit("u"))
    advice = decide(jobs, Halves(), [Knob("nodes", [1, 2]), Knob("cap_w", [100, 300])])
    assert set(advice.table.frame["cap_w"].to_list()) <= {100, 200, 300}
    assert advice.table.frame["user"].to_list() == ["u"] * 3
    assert advice.decision.assignments[0].setting.keys() == {"nodes", "cap_w"}
