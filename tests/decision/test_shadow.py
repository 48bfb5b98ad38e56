"""What advice would have told jobs, and what a trial of it measured, against what is known."""

from __future__ import annotations

import math

import lupa
import numpy as np
import polars as pl
import pytest

import rheostat as rh
from rheostat.decision.submission.advice_file import advice_bytes
from rheostat.decision.submission.randomised import effect
from rheostat.decision.submission.shadow import HALF_WIDTHS, advice_rows, expected_loss
from rheostat.decision.submission.slurm_files import submission_files
from rheostat.errors import DataError
from rheostat.questions.site.install import _kinds

TOLD = pl.DataFrame({
    "user": ["ann", "bob"], "app": ["cfd", "cfd"], "nodes_requested": [4, 4], "nodes": [2, 4],
    "status": ["advised", "kept"], "submit_s": [1.0, 2.0], "energy_j_change": [-0.3, 0.0],
    "energy_j_change_low": [-0.5, 0.0], "energy_j_change_high": [0.1, 0.0],
    "runtime_s_change": [0.2, 0.0], "runtime_s_change_low": [0.1, 0.0],
    "runtime_s_change_high": [0.3, 0.0],
})  # fmt: skip


def log(**columns):
    rows = len(next(iter(columns.values())))
    return rh.table({"user": ["ann"] * rows, "app": ["cfd"] * rows, "nodes": [4] * rows,
                     "submit_s": [9.0] * rows, "runtime_s": [10.0] * rows, **columns})  # fmt: skip


def test_a_job_is_told_what_the_hook_would_have_told_it(tmp_path):
    """Every combination of known and unknown users and partitions, looked up by the Lua itself."""
    rng = np.random.default_rng(0)
    draw = lambda words, n: [words[k] for k in rng.integers(len(words), size=n)]  # noqa: E731
    told = pl.DataFrame({
        "user": draw(["ann", "bob", None], 60), "app": draw(["cfd", "md"], 60),
        "partition": draw(["p", "q", None], 60), "nodes_requested": draw([2, 4, 8], 60),
        "nodes": list(range(1, 61)), "status": ["advised"] * 60,
        "submit_s": rng.random(60), "energy_j_change": [-0.1] * 60,
    })  # fmt: skip
    asked = pl.DataFrame({
        "user": draw(["ann", "bob", "eve", None], 300), "app": draw(["cfd", "md", "x"], 300),
        "partition": draw(["p", "q", "r", None], 300), "nodes_requested": draw([2, 4, 8, 16], 300),
    })  # fmt: skip
    path = tmp_path / "advice"
    path.write_bytes(advice_bytes(_kinds(told, "record")))
    lua = lupa.LuaRuntime()
    text = submission_files(str(tmp_path), "record", b"")["job_submit.lua"].decode()
    lua.execute("slurm = {}\n" + text.replace("local function rheostat_advice",
                                              "function rheostat_advice"))  # fmt: skip
    look = lua.globals().rheostat_advice
    found = [look(str(path), *row[:3], str(row[3])) for row in asked.rows()]
    rows = advice_rows(asked, told)
    mine = [None if r is None else told["nodes"][r] for r in rows]
    assert mine == [None if f is None else f.nodes for f in found]
    assert 0 < sum(m is None for m in mine) < 300


@pytest.mark.parametrize(("mean", "low", "high"), [(-0.3, -0.5, 0.1), (0.1, -0.2, 0.4)])
def test_the_expected_loss_is_the_mean_over_draws_of_what_is_worse(mean, low, high):
    draws = np.random.default_rng(1).normal(mean, (high - low) / (2 * HALF_WIDTHS), 400_000)
    worse = np.maximum(draws, 0.0)
    found = expected_loss(*(np.array([v]) for v in (mean, low, high)))[0]
    assert abs(found - worse.mean()) < 4 * worse.std() / math.sqrt(len(draws))


def test_the_interval_of_a_trial_holds_as_often_as_it_says():
    """Three kinds of other sizes and spreads; of 400 trials 90 % hold the truth, give or take."""
    rng, held = np.random.default_rng(2), 0
    base, ratio = np.array([10.0, 100.0, 1000.0]), np.array([0.6, 0.9, 1.1])
    kind = np.repeat([0, 1, 2], [40, 24, 16])
    truth = (base * ratio)[kind].sum() / base[kind].sum() - 1
    for _ in range(400):
        advised = rng.random(len(kind)) < 0.4
        mean = base[kind] * np.where(advised, ratio[kind], 1.0)
        e = effect(mean * rng.gamma(20, 1 / 20, len(kind)), advised, kind)
        held += e.low <= truth <= e.high
    assert 0.9 - 4 * math.sqrt(0.09 / 400) < held / 400 < 0.9 + 4 * math.sqrt(0.09 / 400)


def test_kinds_are_compared_within_themselves_only():
    """Advised jobs are mostly of the large kind: means over all would say that advice costs."""
    kind = np.array([0] * 8 + [1] * 8)
    advised = np.array([1, 1, 0, 0, 0, 0, 0, 0] + [1] * 6 + [0] * 2, dtype=bool)
    values = np.where(kind == 0, 10.0, 1000.0) * np.where(advised, 0.8, 1.0)
    assert effect(values, advised, kind).change == pytest.approx(-0.2)
    assert values[advised].mean() > values[~advised].mean()


def test_a_kind_with_one_job_in_an_arm_and_jobs_of_unknown_energy_are_counted_as_left_out():
    values = np.array([1.0, 1, 2, 2, 5, 5, np.nan])
    advised = np.array([1, 1, 0, 0, 1, 0, 0], dtype=bool)
    e = effect(values, advised, np.array([0, 0, 0, 0, 1, 1, 0]))
    assert (e.kinds, e.advised, e.asked, e.left_out) == (1, 2, 2, 3)
    assert effect(values[4:], advised[4:], np.array([1, 1, 0])) is None


def test_the_forecast_is_of_jobs_that_came_after_the_advice_and_ran_as_asked():
    jobs = log(
        submit_s=[0.5, 9.0, 9.0, 9.0, 9.0], user=["ann", "ann", "ann", "bob", "ann"],
        nodes=[4, 4, 4, 4, 8], energy_j=[1e6, 100.0, 200.0, 400.0, 300.0],
    )  # fmt: skip
    answer = rh.site.shadow(jobs, TOLD)
    total = answer.total
    assert (total["jobs"], total["would_change"], total["took"]) == (4, 2, 1000.0)
    saved = (total["saved"], total["saved_low"], total["saved_high"])
    assert saved == pytest.approx((90.0, -30.0, 150.0))
    assert total["slower_s"] == pytest.approx(4.0)
    assert answer.by_group["user"]["user"].to_list() == ["ann", "bob"]
    assert answer.trial == ()
    assert "Nothing is measured" in str(answer)
    assert answer.to_dict()["forecast"]["figure"] == "forecast by the model"


def test_a_trial_is_measured_beside_the_forecast_for_the_same_jobs():
    arms = ["advised"] * 3 + ["asked"] * 3
    jobs = log(
        trial_arm=arms, nodes=[2, 2, 2, 4, 4, 4], nodes_requested=[4] * 6,
        energy_j=[60.0, 70, 80, 90, 100, 110], runtime_s=[13.0, 12, 11, 10, 10, 10],
    )  # fmt: skip
    answer = rh.site.shadow(jobs, TOLD)
    energy, runtime = answer.trial
    assert energy.effect.change == pytest.approx(-0.3)
    assert energy.forecast == pytest.approx((-0.3, -0.5, 0.1))
    assert (energy.inside, runtime.inside) == (True, True)
    assert runtime.effect.change == pytest.approx(0.2)
    assert answer.total["jobs"] == 3  # what ran as advised tells nothing of what it would have took
    assert answer.kinds.select("app", "nodes_requested").rows() == [("cfd", 4)]
    told = answer.to_dict()
    assert {t["figure"] for t in told["trial"]} == {"measured by randomisation"}
    assert told["regret"]["kinds_worse"] == 0


def test_advice_that_chance_showed_to_cost_is_counted_with_its_price():
    arms = ["advised"] * 3 + ["asked"] * 3
    jobs = log(trial_arm=arms, nodes_requested=[4] * 6, energy_j=[210.0, 200, 190, 99, 100, 101])
    answer = rh.site.shadow(jobs, TOLD)
    assert answer.to_dict()["regret"]["kinds_surely_worse"] == 1
    assert answer.to_dict()["regret"]["measured_upper"] == pytest.approx(600.0)
    assert not answer.trial[0].inside
    assert "bad for cfd where 4 nodes are asked for" in " ".join(answer.beside())


def test_joules_of_a_node_say_nothing_of_jobs_that_shared_it():
    jobs = log(energy_j=[100.0, 900.0, 50.0], shared=[False, True, True],
               energy_source=["accounting", "accounting", "monitoring"])  # fmt: skip
    answer = rh.site.shadow(jobs, TOLD)
    assert (answer.jobs, answer.total["jobs"], answer.total["took"]) == (3, 2, 150.0)
    assert any("shared a node" in note for note in answer.notes)


def test_a_log_without_joules_is_judged_by_node_hours_and_one_too_early_is_told():
    hours = TOLD.rename({c: c.replace("energy_j", "node_hours") for c in TOLD.columns})
    assert rh.site.shadow(log(nodes=[4]), hours).quantity == "node_hours"
    with pytest.raises(DataError, match="energy_j_change"):
        rh.site.shadow(log(nodes=[4]), TOLD.drop("runtime_s_change_low"))
    with pytest.raises(DataError, match="came after the newest job"):
        rh.site.shadow(log(submit_s=[1.5], energy_j=[1.0]), TOLD)
