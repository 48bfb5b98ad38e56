"""Advice for a table is `Front.choose` job by job, and its savings are draw by draw."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat import (
    Deadline,
    EnergyBudget,
    Knee,
    Knob,
    MaxSlowdown,
    Outcome,
    PowerCap,
    Space,
    Weighted,
    table,
)
from rheostat.core.front import Front
from rheostat.core.jobs import Note
from rheostat.decision.batch_fronts import stack
from rheostat.decision.decide import OWN, decide
from rheostat.errors import DataError, Infeasible
from rheostat.explanation.choices.advice import _over_limit
from rheostat.explanation.narrate import explain
from rheostat.prediction.effects.plausible import DISAGREE, IMPOSSIBLE

NODES = (1, 2, 4, 8, 16)
RULES = (
    Knee(),
    Deadline(300),
    PowerCap("4kW"),
    Weighted({"runtime_s": 1, "energy_j": 1}),
    MaxSlowdown(1.5),
    Weighted({"energy_j": 1}, MaxSlowdown(1.5, {"nodes": 8})),
)
LIMITS = ((), (Deadline(200, 0.8),), (MaxSlowdown(2.0), PowerCap("3kW")))


class Rough:
    """Random but repeatable draws per row; some rows abstain."""

    def __init__(self, seed: int, blind: float = 0.1) -> None:
        self.seed, self.blind = seed, blind

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        columns = {"runtime_s": [], "power_w": []}
        support = []
        for job, nodes in zip(jobs.frame["job_id"], jobs.frame["nodes"], strict=True):
            rng = np.random.default_rng([self.seed, job, nodes])
            gone = np.nan if rng.random() < self.blind else 1.0
            noise = np.exp(rng.normal(0, 0.3, (2, 9)))
            t = (50 + 900 / nodes * rng.uniform(0.5, 2)) * noise[0]
            columns["runtime_s"].append(np.round(t, 1) * gone)
            columns["power_w"].append((200 + 250 * nodes) * noise[1] * gone)
            support.append(0.0 if np.isnan(gone) else rng.integers(1, 99))
        draws = {k: np.array(v).T for k, v in columns.items()}
        return Outcome(draws, np.array(support, dtype=float))


class Law:
    """Runtime 10 + 90 / n with a common factor per draw; power 100 n."""

    factor = np.array([0.5, 1.0, 2.0])[:, None]

    def fit(self, jobs):
        return self

    def predict(self, jobs):
        n = jobs.numpy("nodes")
        known = np.where(n <= 64, 1.0, np.nan)
        draws = {
            "runtime_s": self.factor * (10 + 90 / n) * known,
            "power_w": 100.0 * n * known + 0 * self.factor,
        }
        return Outcome(draws, np.where(n <= 64, 7.0, 0.0))


def queue(seed: int, n: int = 6):
    rng = np.random.default_rng(seed)
    return table({"job_id": list(range(n)), "nodes": rng.choice([1, 2, 3, 8, 16, 40], n).tolist()})


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(RULES), st.sampled_from(LIMITS))
def test_a_table_gets_the_choices_that_each_front_would_give(seed, rule, limits):
    jobs, model, knob = queue(seed), Rough(seed), Knob("nodes", NODES)
    advice = decide(jobs, model, knob, rule, limits)
    many = stack(jobs, model, Space.of(knob), ("runtime_s", "energy_j"))
    found = {a.job: a for a in advice.decision.assignments}
    for j in range(len(jobs)):
        front = many.front(j)
        try:
            alone = front.choose(rule, limits)
        except Infeasible:
            assert j not in found
            assert advice.table.frame["status"][j] in ("infeasible", "abstained")
            continue
        assert found[j].index == alone.index
        assert found[j].setting == {"nodes": front.setting(alone.index, ["nodes"])["nodes"]}
        for q, numbers in alone.because.numbers.items():
            np.testing.assert_allclose(found[j].because.numbers[q], numbers, rtol=1e-12)
        runner = alone.because.runner_up
        assert (found[j].because.runner_up is None) == (runner is None)
        if runner is not None:
            assert found[j].because.runner_up["nodes"] == runner["nodes"]
        assert found[j].because.support == alone.because.support


def test_a_rule_that_only_knows_one_front_is_asked_job_by_job():
    class Smallest:
        def score(self, front: Front):
            return front.alternatives.numpy("nodes")

        def __str__(self):
            return "fewest nodes"

    advice = decide(queue(1), Rough(1, blind=0.0), Knob("nodes", NODES), Smallest())
    assert advice.table.frame["nodes"].to_list() == [1] * 6


def test_errors_common_to_both_settings_cancel_in_the_saving():
    advice = decide(table({"job_id": [1], "nodes": [64]}), Law(), Knob("nodes", [1, 4, 16, 64]))
    row = advice.table.frame.row(0, named=True)
    assert row["runtime_s_advised_high"] > 1.5 * row["runtime_s_advised"] / 1.2
    assert row["runtime_s_change_low"] == pytest.approx(row["runtime_s_change_high"])
    assert row["energy_j_change"] == pytest.approx(row["energy_j_change_low"])
    total = advice.totals["energy_j"]
    assert total.change[1] == pytest.approx(total.change[0]) == pytest.approx(total.change[2])


def test_a_kept_request_changes_nothing_at_all():
    advice = decide(table({"job_id": [1], "nodes": [4]}), Law(), Knob("nodes", [1, 4, 64]))
    row = advice.table.frame.row(0, named=True)
    assert (row["status"], row["nodes"]) == ("kept", 4)
    assert row["energy_j_change"] == row["energy_j_change_low"] == row["energy_j_change_high"] == 0


def test_the_request_stays_on_the_menu_though_the_knob_lacks_it():
    advice = decide(
        table({"job_id": [1], "nodes": [3]}), Law(), Knob("nodes", [64]), Weighted({"energy_j": 1})
    )
    assert advice.table.frame.row(0, named=True)["nodes"] == 3
    assert advice.counts()["kept"] == 1


def test_jobs_that_cannot_be_judged_or_served_are_left_alone_and_noted():
    jobs = table({"job_id": [1, 2, 3], "nodes": [100, 8, 4]})
    advice = decide(jobs, Law(), Knob("nodes", [128, 256]), Knee(), Deadline(25))
    frame = advice.table.frame
    assert frame["status"].to_list() == ["abstained", "kept", "infeasible"]
    assert frame["nodes"].to_list() == [100, 8, 4]
    assert frame["energy_j_advised"].is_null().to_list() == [True, False, True]
    assert {n.count for n in advice.table.notes} == {1}
    assert [a.job for a in advice.decision.assignments] == [2]


def test_a_saving_without_a_forecast_of_the_request_is_unknown_not_zero():
    job = table({"job_id": [1], "nodes": [100]})
    advice = decide(job, Law(), Knob("nodes", [1, 2, 4]), Knee())
    row = advice.table.frame.row(0, named=True)
    assert row["status"] == "advised"
    assert row["energy_j_change"] is None
    assert "saving unknown" in advice.table.notes[0].message


def test_the_default_is_least_energy_at_a_tenth_more_runtime_at_most():
    jobs = table({"job_id": [1, 2, 3], "nodes": [64, 2, 100]})
    advice = decide(jobs, Law(), Knob("nodes", [1, 2, 4, 8, 16, 32, 64]))
    assert advice.table.frame["nodes"].to_list() == [64, 2, 100]  # 32 would take 12 % longer
    assert advice.table.frame["status"].to_list() == ["kept", "kept", "abstained"]
    assert advice.rule == "least energy"
    assert "1.1" in advice.limits[0]
    assert decide(jobs, Law(), Knob("nodes", [1, 60])).table.frame["nodes"][0] == 60


class Graded(Law):
    """The law, graded: measured up to 8 nodes, interpolated to 32, borrowed beyond."""

    def predict(self, jobs):
        n = jobs.numpy("nodes")
        grade = np.select([n <= 8, n <= 32], [3, 2], 1)
        found = super().predict(jobs)
        return Outcome(found.draws, found.support, found.notes, grade)


def test_borrowed_forecasts_are_hints_and_never_in_totals():
    jobs = table({"job_id": [1, 2, 3], "nodes": [8, 16, 64]})
    least = Weighted({"runtime_s": 1})
    advice = decide(jobs, Graded(), Knob("nodes", [8, 16, 32, 64]), least)
    frame = advice.table.frame
    assert frame["nodes"].to_list() == [32, 32, 64]
    assert frame["evidence"].to_list() == ["interpolated", "interpolated", "borrowed"]
    assert frame["status"].to_list() == ["advised", "advised", "abstained"]
    assert frame["nodes_hint"].to_list() == [64, 64, None]
    assert advice.hints() == 2
    assert advice.evidence() == {"measured": 0, "interpolated": 2}
    own = [Law().predict(table({"nodes": [n]})).mean("runtime_s")[0] for n in (8, 16, 32)]
    assert advice.totals["runtime_s"].before == pytest.approx(own[0] + own[1])
    assert advice.totals["runtime_s"].after == pytest.approx(2 * own[2])
    assert [a.because.evidence for a in advice.decision.assignments] == ["interpolated"] * 2
    assert decide(jobs, Law(), Knob("nodes", [8, 16]), least).evidence() == {}
    every = decide(jobs, Graded(), Knob("nodes", [8, 64]), least, grades=("borrowed", *OWN))
    assert every.table.frame["nodes"].to_list() == [64, 64, 64]


def test_what_the_model_leaves_out_is_counted_by_its_reason():
    class Doubts(Law):
        def predict(self, jobs):
            out = super().predict(jobs)
            wrong = jobs.numpy("nodes") == 4
            draws = {q: np.where(wrong, np.nan, out[q]) for q in out.names}
            return Outcome(
                draws, notes=(Note(IMPOSSIBLE, (), int(wrong.sum())), Note(DISAGREE, (), 3))
            )

    advice = decide(table({"job_id": [1, 2], "nodes": [8, 8]}), Doubts(), Knob("nodes", [4, 16]))
    assert (advice.impossible, advice.doubted) == (2, {DISAGREE: 3})
    assert 4 not in advice.table.frame["nodes"].to_list()


def test_intervals_of_totals_draw_applications_and_users():
    class Differs(Law):
        def predict(self, jobs):
            saved = jobs.frame["user"].replace_strict({"u": 0.2, "v": 0.9}).to_numpy()
            runtime = np.where(jobs.numpy("nodes") == 4, saved, 1.0)
            return Outcome(
                {"runtime_s": np.tile(runtime, (64, 1)), "power_w": np.ones((64, len(jobs)))}
            )

    jobs = table({"app": ["a"] * 40, "user": ["u", "v"] * 20, "nodes": [8] * 40})
    total = decide(jobs, Differs(), Knob("nodes", [4])).totals["energy_j"]
    assert total.change == pytest.approx((0.55 - 1, 0.2 - 1, 0.9 - 1))
    alone = decide(jobs.select(["app", "nodes", "user"]).rows(pl.col("user") == "u"), Differs(),
                   Knob("nodes", [4])).totals["energy_j"]  # fmt: skip
    assert alone.change == pytest.approx((-0.8, -0.8, -0.8))


def test_a_shown_energy_is_shown_power_times_shown_runtime():
    advice = decide(queue(5, 30), Rough(5), Knob("nodes", NODES), Knee())
    frame = advice.table.frame.filter(pl.col("status") == "advised")
    for which in ("advised", "requested"):
        t, p, e = (frame[f"{q}_{which}"].to_numpy() for q in ("runtime_s", "power_w", "energy_j"))
        assert p * t == pytest.approx(e, nan_ok=True)
        assert np.isfinite(e).sum() > 10
    assert "power_w" not in advice.totals


def test_a_total_knows_that_an_error_is_common_to_an_application():
    """Half of the applications gain, half lose: many jobs of few applications tell little."""

    class Apart(Law):
        def predict(self, jobs):
            n = jobs.numpy("nodes")[None]
            good = (jobs.frame["app"].str.slice(1).cast(int) % 2 == 0).to_numpy()
            return Outcome({"runtime_s": np.where(n == 2, np.where(good, 50.0, 90.0), 100.0),
                            "power_w": np.ones_like(n)})  # fmt: skip

    def width(apps):
        jobs = table({"app": [f"a{i % apps}" for i in range(400)], "nodes": [1] * 400})
        least = Weighted({"runtime_s": 1})
        found = decide(jobs, Apart(), Knob("nodes", [1, 2]), least).totals["runtime_s"].change
        assert found[0] == pytest.approx(-0.3)
        return found[2] - found[1]

    assert width(4) > 0.25
    assert 0.02 < width(100) < 0.1
    assert width(4) > 3 * width(100)


def test_slowdown_against_the_request_is_judged_per_job():
    jobs = table({"job_id": [1, 2], "nodes": [64, 2]})
    knob, least = Knob("nodes", [1, 2, 4, 8, 16, 32, 64]), Weighted({"energy_j": 1})
    advice = decide(jobs, Law(), knob, least, MaxSlowdown(1.5, against="requested"))
    for nodes, asked in zip(advice.table.frame["nodes"], (64, 2), strict=True):
        assert (10 + 90 / nodes) <= 1.5 * (10 + 90 / asked)
    assert advice.table.frame["nodes"].to_list() == [16, 2]


def test_blocks_of_jobs_give_the_same_as_one(monkeypatch):
    jobs, model, knob = queue(3, 20), Rough(3), Knob("nodes", NODES)
    whole = decide(jobs, model, knob)
    monkeypatch.setattr("rheostat.decision.decide.ROWS_AT_ONCE", 13)
    parts = decide(jobs, model, knob)
    assert whole.table.frame.equals(parts.table.frame, null_equal=True)
    assert whole.decision == parts.decision
    assert whole.totals["energy_j"].change == pytest.approx(parts.totals["energy_j"].change)


def test_an_empty_table_and_a_missing_knob_say_so():
    with pytest.raises(DataError, match="no rows"):
        decide(queue(0).rows([]), Law(), Knob("nodes", NODES))
    with pytest.raises(DataError, match="cap_w is missing"):
        decide(queue(0), Law(), Knob("cap_w", [100, 200]))


@pytest.mark.parametrize("level", [0.9, 0.5])
def test_the_interval_of_a_total_holds_its_level_of_the_draws(level):
    """101 draws of two jobs whose advised setting takes 0 to 100 % longer, the request 1 s."""
    many = np.linspace(0.0, 1.0, 101)[:, None]

    class Spread(Law):
        def predict(self, jobs):
            n = jobs.numpy("nodes")
            power = np.where(n == 2, 1.0, 100.0) + 0 * many
            return Outcome({"runtime_s": np.where(n == 2, 1 + many, 1.0), "power_w": power})

    queue_ = table({"job_id": [1, 2], "nodes": [1, 1]})
    least = Weighted({"energy_j": 1})
    given = {} if level == 0.9 else {"level": level}
    total = decide(queue_, Spread(), Knob("nodes", [1, 2]), least, **given).totals["runtime_s"]
    assert (total.before, total.after) == (2.0, pytest.approx(3.0))
    assert total.change == pytest.approx((0.5, (1 - level) / 2, (1 + level) / 2))


class Spread(Law):
    """The law with an exponent of runtime that is not sure: 0.1 on average, from -0.2 to 0.4."""

    def predict(self, jobs):
        n = jobs.numpy("nodes")[None, :]
        exponent = np.linspace(-0.2, 0.4, 64)[:, None]
        return Outcome({"runtime_s": 100.0 * n**-exponent, "power_w": 80.0 * n**0.15})


def test_what_is_advised_saves_energy_as_surely_as_it_holds_its_limit():
    """Twice the nodes cost more energy in three draws of five."""
    jobs, knob = table({"job_id": [1], "nodes": [8]}), Knob("nodes", [8, 16])
    assert decide(jobs, Spread(), knob, Weighted({"runtime_s": 1})).table.frame["nodes"][0] == 16
    assert decide(jobs, Spread(), knob).table.frame["nodes"][0] == 8
    sure = (
        MaxSlowdown(1, "requested", 0.8, "energy_j"),
        MaxSlowdown(1, "requested", 0.4, "energy_j"),
    )
    rule = Weighted({"runtime_s": 1})
    assert [decide(jobs, Spread(), knob, rule, s).counts()["advised"] for s in sure] == [0, 1]


def test_the_share_over_the_limit_is_that_of_the_draws_with_what_they_cannot_show():
    jobs, knob = table({"job_id": [1, 2], "nodes": [8, 8]}), Knob("nodes", [4, 8])
    fewer = Weighted({"power_w": 1})
    advice = decide(jobs, Spread(), knob, fewer, MaxSlowdown(1.2, "requested", 0.7))
    draws = np.linspace(-0.2, 0.4, 64)
    over = float(np.mean(2.0**draws > 1.2))
    assert advice.counts()["advised"] == 2
    mean, low, high = advice.over_limit
    assert (mean, low) == (pytest.approx(over), 0.0)
    assert high == pytest.approx(1.0)
    never = decide(jobs, Spread(), knob, fewer, MaxSlowdown(2, "requested")).over_limit
    assert never == (0.0, 0.0, pytest.approx(1 / 65))
    assert decide(jobs, Spread(), knob, fewer).over_limit is None


def test_a_log_promises_no_more_than_its_applications_can_show():
    """Of k + 1 applications one may miss in all its jobs, a fifth is expected to."""

    class Told(Spread):
        identification_ = SimpleNamespace(by="trial")

    fewer, knob = Weighted({"power_w": 1}), Knob("nodes", [4, 8])
    limits = (MaxSlowdown(2, "requested", 0.8), MaxSlowdown(3, "requested", 0.8, "energy_j"))
    for apps, k in (["abc", 3], ["aabbc", 5**2 / 9], ["aaab", 4**2 / (3**2 + 1**2)]):
        jobs = table({"job_id": range(len(apps)), "nodes": [8] * len(apps), "app": list(apps)})
        found = decide(jobs, Told(), knob, fewer, limits)
        expected, most = 0.2 / (k + 1), (k / 65 + 1) / (k + 1)
        most = most if k >= 2 else 1.0  # one application carries it: nothing is promised
        assert found.over_limit == (pytest.approx(expected), 0.0, pytest.approx(most))
        assert found.more_energy == found.over_limit
        said = " ".join(_over_limit(found))
        assert ("Nothing is promised" in said, "Promised is the upper end" in said) == (
            k < 2, k >= 2,
        )  # fmt: skip
    assert decide(jobs, Spread(), knob, fewer, limits).more_energy[2] == pytest.approx(1 / 65)
    assert decide(jobs, Told(), knob, fewer, limits[0]).more_energy is None


def test_where_nothing_is_advised_the_limits_at_which_something_is_are_told(monkeypatch):
    """Half the nodes take 1.18 times as long; blocks of jobs say so too, and in words."""

    class Slower(Law):
        def predict(self, jobs):
            n = jobs.numpy("nodes")[None, :]
            own = np.ones((64, 1))
            return Outcome({"runtime_s": own * 100.0 * n ** np.log2(1 / 1.18), "power_w": 80.0 * n})

    jobs, knob = table({"job_id": [1, 2], "nodes": [8, 8]}), Knob("nodes", [4, 8])
    found = decide(jobs, Slower(), knob)
    assert found.counts()["advised"] == 0
    assert [(w.factor, w.advised) for w in found.wider] == [(1.2, 2), (1.25, 2), (1.5, 2)]
    limits = (MaxSlowdown(1.25, "requested", 0.8), MaxSlowdown(1, "requested", 0.8, "energy_j"))
    asked = decide(jobs, Slower(), knob, Weighted({"energy_j": 1}, limits[0]), limits)
    told = found.wider[1]
    assert (told.totals, told.over_limit, told.more_energy) == (
        asked.totals, asked.over_limit, asked.more_energy,
    )  # fmt: skip
    assert asked.wider == ()
    monkeypatch.setattr("rheostat.decision.decide.ROWS_AT_ONCE", 3)
    assert decide(jobs, Slower(), knob).wider == found.wider
    report = explain(found)
    words = [s for s in report.sections[0].sentences if "--slowdown" in s]
    assert words[0].startswith("With --slowdown 20, 2 jobs would change: runtime +18 %; energy ")
    assert report.facts["wider"][0]["slowdown_percent"] == 20.0
    assert decide(jobs, Slower(), knob, Weighted({"energy_j": 1}), EnergyBudget("1 J")).wider == ()
    tight = (MaxSlowdown(1.1, "requested", 0.8), EnergyBudget("1 J"))
    few = decide(jobs, Slower(), knob, Weighted({"energy_j": 1}), tight)
    assert [(w.factor, w.advised) for w in few.wider] == [(1.5, 0)]
    assert "Nor would any job change at --slowdown 50." in explain(few).sections[0].sentences
