"""The number of jobs a trial needs, and what is read back of it."""

import json

import numpy as np
import polars as pl
import pytest

from benchmarks.confounding_lib.confounded_site import ConfoundedSite
from rheostat.cli import run
from rheostat.core.outcome import Outcome
from rheostat.decision.trials.trial import plan_trial
from rheostat.decision.trials.trial_size import (
    TrialResult,
    _spread,
    trial_for,
    trial_result,
    trial_size,
    with_trial,
)
from rheostat.errors import DataError
from rheostat.prediction.effects.predictor import WithinApplication

from rheostat import table  # isort: skip


def tried(seed, spread=0.5, follow=1.0, jobs=3000):
    """A log where users scale nodes with a hidden size, and a trial turned a few.

    Codes scale differently; the third value is the exponent averaged over the jobs that turned.
    """
    rng = np.random.default_rng(seed)
    size = rng.normal(0, spread, jobs)
    asked = np.maximum(np.rint(np.exp(3 + follow * size + rng.normal(0, 0.3, jobs))), 4).astype(int)
    queue = table({"job_id": np.arange(jobs), "nodes": asked})
    plan = plan_trial(queue, 0.05, high=10_000, seed=seed)
    nodes = plan.table.frame["nodes"].to_numpy()
    app = rng.permutation(np.arange(jobs) % 30)
    exponent = rng.normal(-0.6, 0.4, 30)[app]
    runtime = np.exp(8 + size + exponent * np.log(nodes))
    turned = np.log(nodes / asked) ** 2
    log = table(
        {"job_id": np.arange(jobs), "app": [f"a{a}" for a in app], "nodes": nodes,
         "nodes_requested": asked, "runtime_s": runtime}
    )  # fmt: skip
    return plan, log, float((turned * exponent).sum() / turned.sum())


def test_so_many_jobs_tell_the_exponent_so_well():
    plans, logs, true = zip(*(tried(seed) for seed in range(20)), strict=True)
    value, low, high = np.transpose([trial_result(log, "nodes").by_trial for log in logs])
    past = logs[0].with_columns((), nodes=logs[0].frame["nodes_requested"])
    size = trial_size(plans[0], past.rows(pl.col("nodes") == logs[0].frame["nodes"]), 0.05)
    assert size.measured
    assert np.median(high - low) / 2 == pytest.approx(size.reached, rel=0.15)
    assert np.quantile(np.abs(value - true), 0.9) <= size.reached
    half = trial_size(plans[0], None, 0.1)
    quarter = trial_size(plans[0], None, 0.05)
    assert quarter.needed == pytest.approx(4 * half.needed, abs=4)


def test_the_trial_is_right_where_the_log_misleads_and_its_interval_holds():
    held = 0
    for seed in range(20):
        _, log, true = tried(100 + seed)
        result = trial_result(log, "nodes")
        held += result.by_trial[1] <= true <= result.by_trial[2]
        assert result.by_log[0] > true + 0.3  # weak scaling looks like a code that does not scale
    assert held >= 14  # 90 % of 20, less three standard errors


def test_a_trial_of_codes_with_a_best_number_of_nodes_is_read_right():
    """Larger jobs are drawn more often and scale worse: one slope for all requests is far off."""
    errors, half = [], []
    for seed in range(8):
        month = ConfoundedSite(900 + seed, between=0.5, within=1.0).month(3000)
        nodes = plan_trial(month.requests, 0.05, seed=seed).table.frame["nodes"].to_numpy()
        asked = month.requests
        turned = np.log(nodes / asked.numpy("nodes"))
        ran = month.truth(asked.with_columns((), nodes=nodes))["runtime_s"][0]
        change = np.log(ran / month.truth(asked)["runtime_s"][0])
        value, low, high = trial_result(month.run(nodes), "nodes").by_trial
        errors.append(value - (turned @ change) / (turned @ turned))
        half.append((high - low) / 2)
    assert np.sqrt(np.mean(np.square(errors))) < 0.06  # 0.13 with one slope
    assert (np.abs(errors) <= half).sum() >= 6


def test_a_plan_is_read_back_whatever_the_log_kept():
    plan, log, _ = tried(1)
    bare = log.select([c for c in log.columns if c != "nodes_requested"])
    again = with_trial(bare, plan.table, "nodes")
    assert again.frame["nodes_requested"].to_list() == log.frame["nodes_requested"].to_list()
    part = plan.table.frame["takes_part"].to_numpy()
    refused = bare.with_columns(
        (), nodes=np.where(part, plan.table.frame["nodes_requested"], bare.frame["nodes"])
    )
    notes = with_trial(refused, plan.table, "nodes").notes
    assert [n.count for n in notes if "as planned" in n.message] == [part.sum()]
    with pytest.raises(DataError, match="nodes_requested"):
        with_trial(bare, bare, "nodes")
    for column in ("job_id", "nodes"):
        with pytest.raises(DataError, match=column):
            with_trial(bare.select([c for c in bare.columns if c != column]), plan.table, "nodes")


@pytest.mark.slow
def test_the_command_line_plans_reads_and_decides_with_a_trial(tmp_path, capsys):
    month = ConfoundedSite(seed=5, between=0.5, within=1.0).month(1500)
    past, log, plan = (str(tmp_path / n) for n in ("past.parquet", "log.parquet", "plan.csv"))
    month.run().write_parquet(past)
    assert run(["trial", "plan", past, "--share", "0.1", "--out", plan, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "rheostat.trial/2"
    assert facts["size"]["needed"] > 10
    assert facts["size"]["measured"]
    ran = month.run(pl.read_csv(plan)["nodes"].to_numpy())
    ran.select([c for c in ran.columns if c != "nodes_requested"]).write_parquet(log)
    assert run(["decide", log]) == 3
    assert "Placebo: nodes tell runtime of the run before" in capsys.readouterr().err
    assert run(["trial", "read", log, "--plan", plan, "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["turned"] == facts["taking_part"]
    assert read["by_trial"][2] < read["by_log"][1]  # the trial: it scales; the log: it does not
    assert run(["decide", log, "--trial", plan, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert advice["identification"]["by"] == "trial"
    assert {p["outcome"]: p["passes"] for p in advice["identification"]["placebos"]} == {
        "runtime_s": False, "power_w": True,
    }  # fmt: skip
    values = advice["totals"]["energy_j"]["e_value"]
    assert values["mean"] >= values["limit"] >= 1


@pytest.mark.parametrize("cell", ["a", 1e308, 1.5, -1])
def test_a_plan_of_another_type_is_refused(cell):
    plan = table({"job_id": [1], "nodes": [cell], "nodes_requested": [8]})
    with pytest.raises(DataError, match="plan of a trial: nodes: expected whole numbers"):
        with_trial(table({"job_id": [1], "nodes": [2]}), plan, "nodes")


@pytest.mark.parametrize(("users", "known"), [(28, True), (29, False)])
def test_a_spread_needs_a_run_more_than_levels_and_slopes(users, known):
    """Of 30 runs each user's level and the slope of the application are taken away."""
    rng = np.random.default_rng(0)
    past = table({"app": ["a"] * 30, "user": [f"u{i % users}" for i in range(30)],
                  "nodes": rng.integers(1, 9, 30), "runtime_s": rng.uniform(1, 9, 30)})  # fmt: skip
    assert (_spread(past, "nodes") is not None) is known
    assert _spread(past.rows(np.arange(29)), "nodes") is None


@pytest.mark.parametrize("amount", [0, -1])
def test_a_request_of_no_amount_is_a_request_that_is_not_known(amount):
    def rows(odd):
        ran, asked = (1, 4, 2), (4, 4, 2)
        return table({
            "app": ["ab"[i % 2] for i in range(48)], "user": [f"u{i % 3}" for i in range(48)],
            "submit_s": [60.0 * i for i in range(48)], "nodes": [ran[i % 3] for i in range(48)],
            "nodes_requested": [odd if i == 27 else asked[i % 3] for i in range(48)],
            "runtime_s": [60 / ran[i % 3] + i % 4 for i in range(48)],
        })  # fmt: skip

    model = WithinApplication(targets=("runtime_s",))
    told = [trial_result(rows(odd), "nodes", model.fit(rows(odd))) for odd in (None, amount)]
    assert told[0] == told[1]


@pytest.mark.parametrize(("forecast", "agrees"), [
    (None, True), ((-0.8, -0.9, -0.7), True), ((-0.3, -0.4, -0.2), True),
    ((-0.5, -0.6, -0.4), True), ((-0.9, -1.0, -0.71), False), ((-0.1, -0.39, 0.1), False),
])  # fmt: skip
def test_a_trial_agrees_with_a_forecast_where_their_intervals_touch(forecast, agrees) -> None:
    trial = (-0.55, -0.7, -0.4)
    assert TrialResult("nodes", 9, 3, trial, trial, forecast).agrees is agrees


class Exponents:
    """A model that draws the exponent of runtime in nodes from 0, 0.01, ..., 1."""

    def predict(self, jobs):
        draws = np.linspace(0, 1, 101)[:, None]
        return Outcome({"runtime_s": 9 * jobs.numpy("nodes") ** draws})


def test_the_forecast_exponent_is_that_of_the_model_with_nine_tenths_of_its_draws() -> None:
    _, log, _ = tried(2, jobs=600)
    found = trial_result(log, "nodes", Exponents()).by_forecast
    assert found == pytest.approx((0.5, 0.05, 0.95))
    assert trial_result(log, "nodes").by_forecast is None


@pytest.mark.parametrize("gone", ["nodes", "nodes_requested", "runtime_s"])
def test_a_result_needs_what_ran_what_was_asked_for_and_how_long_it_took(gone) -> None:
    columns = {"app": ["a", "b"], "nodes": [1, 2], "nodes_requested": [2, 2], "runtime_s": [1, 2]}
    with pytest.raises(DataError, match=gone):
        trial_result(table({k: v for k, v in columns.items() if k != gone}), "nodes")


def test_no_trial_is_asked_for_where_jobs_have_no_numbers_or_settings_are_names() -> None:
    log = {"job_id": range(40), "app": ["a"] * 40, "nodes": [4] * 40, "mode": ["x"] * 40}
    assert trial_for(table(log), "mode") is None
    assert trial_for(table({k: v for k, v in log.items() if k != "job_id"}), "nodes") is None
    made = trial_for(table(log), "nodes", share=0.4)
    assert (made.spread, made.measured, made.accuracy) == (0.5, False, 0.05)
