"""Every record of the problem is tested before it is believed, and a trial outranks it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from benchmarks.confounding_lib.confounded_site import ConfoundedSite
from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.decision.trials.trial import plan_trial
from rheostat.errors import LeakError
from rheostat.explanation.identification import identification_words
from rheostat.prediction.effects import WithinApplication, plausible
from rheostat.prediction.effects.believed import _size_error, examine
from rheostat.prediction.effects.doubts import (
    LEAST_NOISE,
    MOST_NOISE,
    noise_of_repeats,
)
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.questions.logs.log_answer import log_answer


def site_log(proxy: str, share: float = 0.0, within: float = 0.5, jobs: int = 1500):
    site = ConfoundedSite(3, 0.5, within, proxy, n_apps=20, law="communication")
    month = site.month(jobs)
    if not share:
        return month.run()
    nodes = plan_trial(month.requests, share, "nodes", seed=3).table.frame["nodes"]
    return month.run(nodes.to_numpy())


@pytest.mark.parametrize("within", [0.0, 1.0])
def test_a_script_that_is_used_for_other_inputs_is_no_record_of_the_problem(within) -> None:
    asked = WithinApplication(("nodes",)).fit(site_log("reused-script", 0.0, within))
    found = asked.identification_
    assert (found.by, found.answers, found.repeats) == ("nothing", False, 0)
    assert "runs: those of one script at equal settings differ by" in found.doubts[0]
    assert any("Script is not believed" in w for w in identification_words(found))


def test_a_script_that_is_the_problem_is_believed_with_and_without_a_trial() -> None:
    for share, by in ((0.0, "repeats"), (0.05, "trial")):
        found = WithinApplication(("nodes",)).fit(site_log("script", share)).identification_
        assert (found.by, found.answers, found.conflict) == (by, True, "")
        assert not any("2,000 of" in d for d in found.doubts)
        assert found.repeats > 50


def test_a_trial_outranks_the_script_that_contradicts_it() -> None:
    found = WithinApplication(("nodes",)).fit(site_log("reused-script", 0.05)).identification_
    assert (found.by, found.answers, found.repeats) == ("trial", True, 0)
    assert "not believed" in found.doubts[0]


def test_a_script_whose_exponent_chance_contradicts_is_left_out_with_both_exponents(
    monkeypatch,
) -> None:
    """What runs of a script forecast for the turned jobs is 0.5 steeper than as they ran."""

    def turned(self, frame):
        by = np.log(frame["nodes"] / frame["nodes_requested"]).to_numpy()
        return np.random.default_rng(0).normal(-1.5, 0.01, (200, 1)) * by, by

    monkeypatch.setattr(WithinApplication, "_turned_changes", turned)
    found = WithinApplication(("nodes",), n_draws=16).fit(site_log("script", 0.05)).identification_
    assert found.by == "trial"
    assert found.doubts[0].startswith("script is not believed: its exponent is -1.5")
    assert found.doubts[0].endswith(" as they ran")


def test_a_column_that_chance_moves_is_a_consequence_and_left_out() -> None:
    """Memory asked for per node: the total follows the nodes that the trial drew."""
    log = site_log("none", 0.1)
    noise = np.exp(0.3 * np.random.default_rng(0).normal(size=len(log)))
    more = table({**log.frame.to_dict(), "memory_b": 2.0**30 * log.numpy("nodes") * noise})
    model = WithinApplication(("nodes",)).fit(more)
    assert model.coding_.sizes == ()
    assert "memory_b is left out: it changes" in model.identification_.doubts[0]
    assert WithinApplication(("nodes",)).fit(site_log("memory", 0.1)).coding_.sizes == ("memory_b",)


def weak_scaling(seed: int = 0, n: int = 2400):
    """Six applications, memory recorded; the users of one ask for more nodes as problems grow."""
    rng = np.random.default_rng(seed)
    exponent = np.array([0.18, 0.9, 0.8, 0.95, 0.7, 0.85])
    app = rng.integers(0, 6, n)
    user = app * 3 + rng.integers(0, 3, n)
    size = np.exp(rng.normal(0, 0.7, n) + 0.4 * rng.normal(size=18)[user])
    level = 2.5 + rng.normal(size=18)[user] + rng.normal(0, 1, n) * np.where(app == 1, 0.3, 1.0)
    level += np.log2(size) * np.select([app == 1, app == 0], [1.0, 0.35])
    nodes = np.clip(2 ** np.rint(level), 1, 64).astype(int)
    runtime = 8000 * size * nodes ** -exponent[app] * np.exp(0.05 * rng.normal(size=n))
    log = table({
        "job_id": np.arange(n), "user": [f"u{u}" for u in user], "app": [f"a{a}" for a in app],
        "submit_s": 1e9 + 600.0 * np.arange(n), "nodes": nodes, "runtime_s": runtime,
        "memory_b": (2.0**33 * size * (1 + app) * np.exp(0.04 * rng.normal(size=n))),
        "power_w": 60 + 330.0 * nodes,
    })  # fmt: skip
    return log, exponent


def test_a_habit_of_asking_for_more_is_not_taken_for_the_effect_of_nodes() -> None:
    """One application gains 12 % from twice the nodes; 42 % was forecast, and advised."""
    log, exponent = weak_scaling()
    model = WithinApplication(("nodes",)).fit(log)
    assert model.identification_.answers
    for a in range(6):
        past = log.frame.filter((pl.col("app") == f"a{a}") & pl.col("nodes").is_in([2, 4]))
        one = past[[0, 0]].with_columns(
            nodes_requested=pl.Series([2, 2]), nodes=pl.Series([2, 4])
        ).drop("runtime_s", "power_w")  # fmt: skip
        out = model.predict(table(one.to_dict()))["runtime_s"]
        change = float(out[:, 1].mean() / out[:, 0].mean())
        assert change == pytest.approx(2.0 ** -exponent[a], abs=0.09)


def test_two_forms_that_disagree_are_no_forecast() -> None:
    log, _ = weak_scaling(n=600)
    model = WithinApplication(("nodes",)).fit(log)
    asked = table({"job_id": [1, 1], "user": ["u0"] * 2, "app": ["a0"] * 2, "nodes": [2, 8],
                   "nodes_requested": [2, 2], "memory_b": [2.0**33] * 2})  # fmt: skip
    assert np.isfinite(model.predict(asked).mean("runtime_s")).all()
    width = model.fitted_["runtime_s"].weights.weights
    begin = model.coding_.rows(asked.frame).effect["runtime_s"].shape[1]
    width[:, :, begin] += 1.0  # what requests betray, beyond all intervals
    out = model.predict(asked)
    assert np.isfinite(out.mean("runtime_s")).tolist() == [True, False]
    assert [n.message for n in out.notes] == [plausible.DISAGREE]


def test_an_application_whose_setting_tells_the_run_before_is_left_alone() -> None:
    log, _ = weak_scaling(n=1200)
    frame = log.frame.sort("app", "user", "submit_s")
    hidden = pl.col("nodes").shift(-1).over("app", "user").fill_null(4) / 4
    moved = pl.when(pl.col("app") == "a2").then(hidden**0.5).otherwise(1.0)
    model = WithinApplication(("nodes",)).fit(
        table(frame.with_columns(pl.col("runtime_s") * moved).to_dict())
    )
    assert np.flatnonzero(model.placebo_).tolist() == [2]
    assert model.placebo_[2] == pytest.approx(0.5, abs=0.15)


def test_no_name_and_no_directory_is_taken_for_the_problem_and_one_that_is_named_is_tested() -> (
    None
):
    """A project's jobs have one name and one directory, whatever they compute."""
    log = site_log("reused-script", 0.0)
    named = table({**log.frame.drop("script").to_dict(), "job_name": log.frame["script"],
                   "work_dir": log.frame["script"]})  # fmt: skip
    assert WithinApplication(("nodes",)).fit(named).identification_.by == "nothing"
    for column in ("job_name", "work_dir"):
        found = WithinApplication(("nodes",), problem=column).fit(named).identification_
        assert (found.by, found.answers, found.repeats) == ("nothing", False, 0)
        assert found.doubts[0].startswith(f"{column} is not believed for")


def test_inputs_that_differ_a_little_within_a_script_are_seen() -> None:
    """A log-sd of .2: 44 to 66 % of the jobs that were moved broke their limit."""
    found = WithinApplication(("nodes",)).fit(site_log("varied-script")).identification_
    assert not found.answers
    with_trial = WithinApplication(("nodes",)).fit(site_log("varied-script", 0.05)).identification_
    assert (with_trial.by, with_trial.answers) == ("trial", True)


def test_the_placebo_is_said_of_each_application_where_users_chose() -> None:
    log, _ = weak_scaling()
    model = WithinApplication(("nodes",)).fit(log)
    for exponent, said in ((0.0, "in none of 6"), (0.5, "in 1 of 6 applications nodes tell")):
        model.placebo_[2] = exponent
        answer = log_answer(model, log, ("nodes",))
        (placebo,) = [w for w in answer.sentences if w.startswith("Placebo")]
        assert said in placebo
    assert "a2 (exponent 0.50: no advice beyond a factor of 1.11)" in placebo
    assert answer.facts["identification"]["doubted_applications"] == {"a2": 0.5}
    trial = site_log("none", 0.05)
    model = WithinApplication(("nodes",)).fit(trial)
    assert not any("Placebo" in w for w in log_answer(model, trial, ("nodes",)).sentences)


def test_noise_is_told_from_the_median_gap_between_runs_in_a_row_of_one_request() -> None:
    """The median of |a - b| is 0.6745 times the square root of two spreads of normal noise."""
    y = np.tile([0.0, 0.05], 20)
    one = np.zeros(40, dtype=np.int64)
    assert noise_of_repeats(y, one, one) == pytest.approx(0.05 / (0.6745 * 2**0.5))
    apart = np.arange(40) % 2  # each request has one runtime
    assert noise_of_repeats(y, apart, one) == noise_of_repeats(y, one, apart) == LEAST_NOISE
    assert noise_of_repeats(100 * y, one, one) == MOST_NOISE
    few = 13  # twelve pairs of runs in a row
    assert noise_of_repeats(y[:few], one[:few], one[:few]) > LEAST_NOISE
    assert noise_of_repeats(y[: few - 1], one[1:few], one[1:few]) == LEAST_NOISE


def rows(log_asked, problem) -> Rows:
    """Runs of one user's application that ran as they asked."""
    zero, none = np.zeros(len(problem), dtype=np.int64), np.zeros((len(problem), 0))
    asked = np.asarray(log_asked, dtype=float)[:, None]
    return Rows(zero, zero, zero, np.asarray(problem), {}, np.zeros(len(problem), dtype=bool), none,
                none, none, asked, asked, zero - 1)  # fmt: skip


@pytest.mark.parametrize(("spread", "log_step", "believed"), [
    (0.05, 1.0, True),  # hardly more than true repeats
    (0.5, 20.0, True),  # much more, but requests differ so much that exponents stay known
    (0.5, 1.0, False),
])  # fmt: skip
def test_problems_are_believed_unless_repeats_differ_and_leave_exponents_open(
    spread, log_step, believed
) -> None:
    n = 200
    problem = np.arange(n) // 20
    asked = log_step * (np.arange(n) // 10 % 2)  # ten runs at each of two settings
    y = spread * np.random.default_rng(0).standard_normal(n)
    found = examine(rows(asked, problem), y, 1, "script", ())
    assert (found.words == ()) is believed
    own = len(np.unique(found.rows.problem))
    assert own == (10 if believed else n)


def test_a_column_that_is_known_only_later_answers_nothing() -> None:
    log = table({"app": ["a", "b"] * 60, "user": ["u"] * 120, "nodes": [1, 1, 2, 2] * 30,
                 "submit_s": np.arange(120.0), "power_w": [200.0] * 120,
                 "runtime_s": 100.0 + np.arange(120) % 7})  # fmt: skip
    model = WithinApplication(("nodes",)).fit(log)
    later = log.with_columns([Column("nodes", "", Moment.END)], nodes=log.frame["nodes"])
    with pytest.raises(LeakError, match="nodes is known later"):
        model.predict(later)


def test_what_sizes_miss_leaves_so_much_of_an_exponent_open() -> None:
    """Partly (0.6): spread of times that neither request nor size tells over that of requests."""
    draw, n = np.random.default_rng(2), 400
    size, asked, hidden = draw.normal(size=(3, n))
    zero = np.zeros(n, dtype=int)
    rows = Rows(zero, zero, zero, np.arange(n), {}, zero > 0, zero[:, None], size[:, None],
                zero[:, None], 2 * asked[:, None], 2 * asked[:, None], zero)  # fmt: skip
    wanted = 0.6 * np.sqrt(0.3**2 - LEAST_NOISE**2) / 2.0
    assert _size_error(rows, 2.0 * size - asked + 0.3 * hidden) == pytest.approx(wanted, rel=0.1)
