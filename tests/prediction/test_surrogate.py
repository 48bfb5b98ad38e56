"""A surrogate predicts what was and what was not run, sees no future, and knows its limits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.space import Knob, Space
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, LeakError, NotFitted
from rheostat.measurement.synthetic import World
from rheostat.prediction.surrogate.surrogate import Surrogate

WORLD = World(seed=1)
PAST, RECENT = WORLD.jobs(2500).split_by_time(0.8)


def trees(n: int = 20) -> RandomForestRegressor:
    return RandomForestRegressor(n_estimators=n, max_features=0.5, random_state=0)


@pytest.fixture(scope="module")
def model() -> Surrogate:
    return Surrogate(trees()).fit(PAST)


def turned(jobs: JobTable) -> JobTable:
    space = Space.of(Knob("nodes", [1, 4, 16, 64]))
    parts = [space.alternatives(jobs.rows([i])) for i in range(len(jobs))]
    return JobTable(pl.concat([p.frame for p in parts]), parts[0].schema)


def test_settings_never_run_are_predicted_close_to_the_truth(model: Surrogate) -> None:
    """The question this library is for: the truth of every alternative is known here."""
    asked = turned(RECENT.rows(np.arange(0, 400, 4)))
    out, truth = model.predict(asked), WORLD.truth(asked)
    answered = ~out.abstained
    assert answered.mean() > 0.6
    for name, limit in (("runtime_s", 0.3), ("power_w", 0.25), ("energy_j", 0.4)):
        error = np.abs(np.log(out.quantile(name, 0.5) / truth.mean(name)))[answered]
        assert np.median(error) < limit, name


def test_what_follows_the_knob_would_mislead(model: Surrogate) -> None:
    """The same model with time limit, cores and tasks as features is several times worse."""
    asked = turned(RECENT.rows(np.arange(0, 400, 4)))
    truth = np.log(WORLD.truth(asked).mean("runtime_s"))
    naive = Surrogate(trees(), turned=None, scaled=False).fit(PAST)
    errors = [np.median(np.abs(m.predict_log(asked)[:, 0] - truth)) for m in (model, naive)]
    assert errors[1] > 2 * errors[0]
    assert "time_limit_s" in naive.features_
    assert {"time_limit_s", "cores", "tasks", "gpus"}.isdisjoint(model.features_)
    assert "only follow nodes" in model.notes_[-1].message


def test_censored_runs_are_not_learnt_from_and_counted() -> None:
    jobs = WORLD.jobs(200)
    cut = jobs.frame["censored"].to_numpy()
    wild = jobs.with_columns((), runtime_s=np.where(cut, 1e9, jobs.numpy("runtime_s")))
    a, b = Surrogate(Ridge()).fit(jobs), Surrogate(Ridge()).fit(wild)
    assert a.notes_[0].count == cut.sum() > 0
    assert a.n_learnt_ == 200 - cut.sum()
    assert np.array_equal(a.predict_log(jobs), b.predict_log(jobs))


def test_rows_without_a_positive_target_are_noted_not_learnt() -> None:
    jobs = table({"nodes": [1, 2, 4, 8], "runtime_s": [8.0, 0.0, None, 1.0]})
    model = Surrogate(Ridge(), targets=("runtime_s",)).fit(jobs)
    assert [(n.rows, n.count) for n in model.notes_] == [((1, 2), 2)]
    with pytest.raises(DataError, match="no row has runtime_s > 0"):
        Surrogate(Ridge(), targets=("runtime_s",)).fit(jobs.rows([1, 2]))


def test_training_order_does_not_matter() -> None:
    jobs = WORLD.jobs(150)
    mixed = jobs.rows(np.random.default_rng(0).permutation(150))
    a, b = (Surrogate(trees(5)).fit(j).predict(jobs) for j in (jobs, mixed))
    assert a["runtime_s"].tobytes() == b["runtime_s"].tobytes()


def test_a_later_known_feature_is_a_leak_that_is_named() -> None:
    with pytest.raises(LeakError, match="wait_s is known later") as caught:
        Surrogate(Ridge(), features=["nodes", "energy_j", "wait_s"]).fit(
            PAST.with_columns([Column("wait_s", "s", Moment.START)], wait_s=1.0)
        )
    assert caught.value.columns == ("energy_j", "wait_s")


def test_asked_at_start_may_see_the_start() -> None:
    jobs = PAST.rows(np.arange(100)).with_columns([Column("wait_s", "s", Moment.START)], wait_s=1.0)
    model = Surrogate(Ridge(), features=["nodes", "wait_s"], asked_at=Moment.START).fit(jobs)
    assert model.predict(jobs).mean("runtime_s").shape == (100,)


def test_a_column_that_became_later_known_is_refused_when_asked() -> None:
    model = Surrogate(Ridge(), features=["nodes"]).fit(PAST.rows(np.arange(50)))
    late = JobTable(pl.DataFrame({"nodes": [4]}), table({"nodes": [4]}).schema.with_columns(
        [Column("nodes", "", Moment.START)]
    ))  # fmt: skip
    with pytest.raises(LeakError, match="nodes"):
        model.predict(late)


def test_every_missing_feature_is_named(model: Surrogate) -> None:
    asked = RECENT.select([c for c in RECENT.columns if c not in ("app", "nodes")])
    with pytest.raises(DataError, match="column app is missing; column nodes is missing"):
        model.predict(asked)


def test_features_that_cannot_be_read_are_named() -> None:
    jobs = table({"nodes": [1, 2], "samples": [[1, 2], [3]], "runtime_s": [1.0, 2.0]})
    with pytest.raises(DataError, match="samples"):
        Surrogate(Ridge(), targets=("runtime_s",), features=["samples"]).fit(jobs)
    assert Surrogate(Ridge(), targets=("runtime_s",)).fit(jobs).features_ == ("nodes",)


def test_asking_before_fitting() -> None:
    with pytest.raises(NotFitted, match="Surrogate is not fitted"):
        Surrogate().predict(PAST)


def test_an_empty_question_has_an_empty_answer(model: Surrogate) -> None:
    out = model.predict(RECENT.rows([]))
    assert out["energy_j"].shape == (64, 0)


def test_outside_the_support_it_abstains_and_says_where(model: Surrogate) -> None:
    asked = RECENT.rows([0, 1]).with_columns((), nodes=np.array([1, 100_000]))
    out = model.predict(asked)
    assert out.abstained.tolist()[1]
    assert out.notes[0].rows[-1] == 1
    assert "outside the support" in out.notes[0].message
    everywhere = Surrogate(Ridge(), min_support=0).fit(PAST.rows(np.arange(99))).predict(asked)
    assert not everywhere.abstained.any()


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_a_handful_of_runs_is_enough_to_answer_with_wide_intervals(n: int) -> None:
    nodes = 2 ** (np.arange(n) % 4)
    runs = table({"nodes": nodes, "runtime_s": 80.0 / nodes, "power_w": 100.0 * nodes})
    out = Surrogate("forest", min_support=0).fit(runs).predict(runs)
    low, high = out.interval("runtime_s")
    assert (low <= 80.0 / nodes * (1 + 1e-6)).all()
    assert (high >= 80.0 / nodes * (1 - 1e-6)).all()


def test_energy_is_derived_from_targets_and_targets_from_parts() -> None:
    jobs = PAST.rows(np.arange(60))
    power = jobs.numpy("energy_j") / jobs.numpy("runtime_s")
    bare = jobs.select([c for c in jobs.columns if c != "power_w"])
    a = Surrogate(Ridge()).fit(bare).predict_log(jobs)
    b = Surrogate(Ridge()).fit(
        bare.with_columns([Column("power_w", "W", Moment.END)], power_w=power)
    )
    assert a == pytest.approx(b.predict_log(jobs))


def test_weights_are_used() -> None:
    nodes = np.tile([1, 1], 50)
    t = table(
        {"nodes": nodes, "priority": np.arange(100) % 7, "runtime_s": np.tile([1.0, 100.0], 50)}
    )
    only_long = t.with_columns([Column("weight", "", Moment.END)], weight=np.tile([1e-9, 1.0], 50))
    a, b = (
        Surrogate(Ridge(), targets=("runtime_s",)).fit(j).predict_log(t).mean()
        for j in (t, only_long)
    )
    assert a == pytest.approx(np.log(10), abs=0.05)
    assert b == pytest.approx(np.log(100), abs=0.05)


@pytest.mark.slow
def test_ten_thousand_jobs_at_sixteen_settings_in_seconds(model: Surrogate) -> None:
    import time

    jobs = WORLD.jobs(10_000, seed=2).known_at(Moment.SUBMIT)
    knob = pl.DataFrame({"nodes": [*(2**i for i in range(9)), 3, 6, 12, 24, 48, 96, 192]})
    asked = table(jobs.frame.drop("nodes").join(knob, how="cross"))
    began = time.process_time()
    out = model.predict(asked)
    assert len(out) == 160_000
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize("kind", ["forest", "xgboost", "lightgbm"])
def test_one_target_alone_is_learned_as_well_as_several(kind: str) -> None:
    one = Surrogate(kind, targets=("runtime_s",)).fit(PAST.rows(np.arange(600)))
    out = one.predict(RECENT.rows(np.arange(100)).known_at(Moment.SUBMIT))
    assert out.names == ("runtime_s",)
    right = np.log(out.mean("runtime_s") / RECENT.numpy("runtime_s")[:100])
    assert np.nanmedian(np.abs(right)) < 1.0


def test_an_application_never_seen_has_no_forecast_where_few_others_tell_how_unlike_they_are():
    """Three codes that differ by a factor of two made a narrow interval for a fourth."""
    rng = np.random.default_rng(3)
    app, n = np.tile(["a", "b", "c"], 60), rng.choice([1, 2, 4], 180)
    base = np.array([345.0, 517.0, 690.0])[np.arange(180) % 3]
    runtime = 2 * base / n * rng.lognormal(0, 0.05, 180)
    past = table({"app": app.tolist(), "nodes": n, "runtime_s": runtime, "power_w": 300.0 * n})
    asked = table({"app": ["a", "new"], "nodes": [2, 2]})
    out = Surrogate("forest").fit(past).predict(asked)
    assert np.isfinite(out.mean("runtime_s")).tolist() == [True, False]
    assert [(n.rows, n.count) for n in out.notes if "never seen" in n.message] == [((1,), 1)]
    anyway = Surrogate("forest", min_support=0).fit(past).predict(asked)
    assert np.isfinite(anyway.mean("runtime_s")).all()
