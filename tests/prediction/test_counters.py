"""Models from counters find a known law, never see a meter, and cover applications not seen."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.jobs import Column, Moment
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.counters import read_pcm
from rheostat.measurement.synthetic.counter_runs import write_pcm
from rheostat.prediction.counters.chain import CounterChain
from rheostat.prediction.counters.counter_columns import (
    averaged,
    counters_of,
    groups_of,
    run_codes,
    runs_of,
)
from rheostat.prediction.counters.counter_model import CounterModel
from rheostat.prediction.counters.learners import LEARNERS, Tuned
from rheostat.prediction.counters.leave_application_out import compare_counters
from rheostat.prediction.counters.leverage import leverage, what_if
from rheostat.prediction.counters.methods import make_method
from rheostat.prediction.counters.power_law import PowerLaw


@pytest.fixture(scope="module")
def model(jobs):
    return CounterModel("law", ("package_power_w", "dram_power_w"), folds=3).fit(jobs)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    return read_pcm(write_pcm(tmp_path_factory.mktemp("pcm") / "pcm.csv", intervals=12, n_apps=6))


def test_a_run_is_the_mean_of_its_intervals_weighted_by_time(jobs):
    t = table(
        {"run_id": ["a", "a", "b"], "span_s": [1.0, 3.0, 2.0], "ipc": [1.0, 2.0, 5.0]},
        [Column("run_id", "", Moment.SUBMIT), Column("span_s", "s", Moment.END),
         Column("ipc", "", Moment.END)],
    )  # fmt: skip
    runs = runs_of(t)
    assert runs.numpy("ipc").tolist() == [1.75, 5.0]
    assert runs.numpy("runtime_s").tolist() == [4.0, 2.0]
    assert averaged(t, t.numpy("ipc")).tolist() == [1.75, 5.0]
    assert len(runs_of(jobs)) == 6 * 5


def test_no_meter_is_ever_a_feature(jobs):
    names = counters_of(runs_of(jobs))
    assert "cpu_cap_w" in names
    assert not set(names) & {"package_power_w", "dram_power_w", "power_w", "runtime_s", "span_s"}


def test_a_total_gives_the_runtime_away_and_is_no_feature():
    t = table(
        {"app": list("abcdef"), "runtime_s": [1.0, 2, 3, 4, 5, 6], "ipc": [3.0, 1, 2, 1, 3, 2],
         "samples": [11, 19, 31, 40, 52, 60]},
        [Column("samples", "", Moment.END), Column("ipc", "", Moment.END)],
    )  # fmt: skip
    assert counters_of(t) == ("ipc",)


def test_runs_without_the_target_are_left_out_of_it_alone(jobs):
    power = jobs.numpy("package_power_w").copy()
    power[:12] = np.nan
    some = jobs.with_columns([], package_power_w=power)
    marks = compare_counters(some, [], ["package_power_w", "dram_power_w"],
                             splits=("application",))  # fmt: skip
    assert [m.runs for m in marks] == [29, 30]


def test_poisoned_meters_change_no_prediction(jobs):
    for method in ("mummi", "tree"):
        model = CounterModel(method).fit(jobs)
        clean = model.predict_runs(jobs)[1].mean("package_power_w")
        bad = jobs.with_columns([], package_power_w=jobs.numpy("package_power_w") * 0 + 1e6)
        bad = bad.with_columns([], dram_power_w=bad.numpy("dram_power_w") * 0 - 1)
        assert (model.predict_runs(bad)[1].mean("package_power_w") == clean).all()


def test_the_chain_drops_noise_and_copies_and_finds_the_coefficients():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:, 3] = 2 * X[:, 0]
    y = 7 + 3 * X[:, 0] - 2 * X[:, 1] + 0.01 * rng.normal(size=300)
    chain = CounterChain().fit(X, y)
    effect = chain.coef_[0] + 2 * chain.coef_[3]
    assert effect == pytest.approx(3, abs=0.01)
    assert chain.coef_[1] == pytest.approx(-2, abs=0.01)
    assert len(chain.kept_) == 2


def test_the_chain_keeps_the_law_of_scikit_learn():
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(CounterChain(), on_skip=None)


def test_tuning_never_shows_a_setting_the_group_it_is_judged_on():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 10)
    X = np.column_stack([groups, rng.normal(size=60)])  # the group's number gives it away
    y = np.exp(rng.normal(size=6))[groups]
    tuned = Tuned("tree").fit(X, y, groups)
    seen = np.abs(tuned.predict(X) / y - 1).mean()
    unseen = np.abs(tuned.unseen_ / y - 1).mean()
    assert seen < 0.01
    assert unseen > 0.3


@pytest.mark.slow
def test_the_law_is_found_and_beats_every_mean(jobs):
    marks = compare_counters(jobs, ["law", "mummi"], splits=("application",), folds=3)
    error = {m.method: m.mape[0] for m in marks}
    assert error["law"] < 0.04
    assert error["law"] < error["mummi"] < error["cap"]
    assert all(m.coverage >= 0.85 for m in marks)


def test_the_law_sees_in_intervals_what_the_mean_of_a_run_hides(jobs):
    truth = runs_of(jobs).numpy("package_power_w")
    fine, coarse = (_error(t, truth) for t in (jobs, runs_of(jobs)))
    assert fine < 0.5 * coarse


def test_a_random_split_flatters_a_learner(jobs):
    marks = compare_counters(jobs, ["vectors"], splits=("application", "random"))
    error = {m.split: m.mape[0] for m in marks if m.method == "vectors"}
    assert error["random"] < 0.7 * error["application"]


def test_what_if_moves_the_way_of_the_truth_and_says_what_is_no_counter(jobs, model):
    for found in what_if(model, jobs, {"memory_read_b_per_s": 0.8}):
        mean, low, high = found.change
        assert -0.1 < low <= mean <= high < 0
    first = leverage(model, jobs)[0]
    assert abs(first.change[0]) > 0.02
    with pytest.raises(DataError, match="llc_misses_per_s is no counter"):
        what_if(model, jobs, {"llc_misses_per_s": 0.8})


def test_draws_of_an_unseen_application_have_the_answer_in_their_middle(jobs, model):
    _, outcome = model.predict_runs(jobs)
    draws = outcome["package_power_w"]
    assert np.median(draws, axis=0) == pytest.approx(averaged(jobs, _mu(model, jobs)))


def _error(jobs, truth):
    """MAPE of runs by a law fitted on the rows of a table."""
    law = PowerLaw().fit(jobs, jobs.numpy("package_power_w"))
    return np.abs(averaged(jobs, law.predict(jobs)) / truth - 1).mean()


def _mu(model, jobs):
    return model.fitted_["package_power_w"].method.predict(jobs)


def test_the_law_takes_what_perf_counts_and_is_left_out_where_it_cannot_be(jobs):
    from rheostat.recipes.mummi import study

    cycles = jobs.numpy("instructions_per_s") / jobs.numpy("core_ipc")
    perf = jobs.with_columns([Column("cycles_per_s", "1/s", Moment.END)], cycles_per_s=cycles)
    keep = ("run_id", "app", "span_s", "cpu_cap_w", "cycles_per_s", "instructions_per_s",
            "memory_read_b_per_s", "package_power_w")  # fmt: skip
    perf = perf.select(keep)
    truth = runs_of(perf).numpy("package_power_w")
    assert _error(perf, truth) < 0.1
    bare = perf.select([c for c in keep if c != "cycles_per_s"])
    facts = study(bare, methods=("mummi", "law"), splits=("application",))
    assert "cycles_per_s" in facts["left_out"]["law"]
    assert [m["method"] for m in facts["marks"]][-1] == "mummi"


def test_ten_learners_have_ten_names_and_settings_to_try():
    assert len(LEARNERS) == 10
    assert all(len(v.settings(99, 99)) >= 2 for v in LEARNERS.values())


@pytest.mark.slow
def test_below_five_percent_on_measured_processors(shared_data):
    path = shared_data / "power" / "zzheng_power_caps" / "cpu_cap_pcm_samples.csv.gz"
    if not path.is_file():
        pytest.skip(f"measured counters not found at {path}")
    jobs = read_pcm(path)
    few = jobs.rows(np.arange(0, len(jobs), 16))  # every sixteenth interval: faster
    runs, code = runs_of(few), run_codes(few)
    truth, apps = runs.numpy("package_power_w"), groups_of(runs)
    error = np.zeros(len(runs))
    for app in np.unique(apps):
        seen, out = few.rows((apps != app)[code]), few.rows((apps == app)[code])
        law = make_method("law", "package_power_w").fit(seen, seen.numpy("package_power_w"), apps)
        error[apps == app] = averaged(out, law.predict(out)) / truth[apps == app] - 1
    assert np.abs(error).mean() < 0.05
