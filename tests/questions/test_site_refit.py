"""A model is fitted anew and replaces the one in use only if it is not worse on the newest jobs."""

from __future__ import annotations

import numpy as np
import pytest

import rheostat as rh
from rheostat.decision.replacement import ModelComparison, compared, log_crps
from rheostat.errors import DataError

DAY_S = 86_400.0


def log(shift=1.0, weeks=5, each=150, seed=0):
    """Jobs of twelve applications; after the first week they take ``shift`` times as long."""
    rng = np.random.default_rng(seed)
    week = np.repeat(np.arange(weeks), each)
    app = rng.integers(12, size=len(week))
    runtime = (100.0 + 50 * app) * np.exp(0.1 * rng.standard_normal(len(week)))
    runtime *= np.where(week >= 1, shift, 1.0)
    submit = np.sort((week + rng.uniform(0.01, 0.99, len(week))) * 7 * DAY_S)
    apps, ones = [f"app{a}" for a in app], [1] * len(week)
    return rh.table({"app": apps, "nodes": ones, "submit_s": submit, "runtime_s": runtime})


def fit(jobs, file):
    rh.fit(jobs, out=file, method="lightgbm", test_fraction=0.0)


def test_where_jobs_have_changed_the_new_model_replaces_the_old_one_which_is_kept(tmp_path):
    file, changed = tmp_path / "model.rheo", log(shift=3.0)
    fit(changed.rows(np.arange(150)), file)  # before the change
    before = file.read_bytes()
    dry = rh.site.refit(changed, file, method="lightgbm", dry_run=True)
    assert dry.replaces
    assert dry.file is None
    assert file.read_bytes() == before
    answer = rh.site.refit(changed, file, method="lightgbm")
    assert answer.comparisons == dry.comparisons
    assert answer.comparisons[0].score_new < 0.7 * answer.comparisons[0].score_current
    assert answer.previous.read_bytes() == before
    assert file.read_bytes() != before
    assert "replaces" in str(answer)
    newest = changed.rows(np.arange(len(changed) - 50, len(changed)))
    error = [np.median(np.abs(np.log(rh.load(f).predict(newest).mean("runtime_s")
                                     / newest.numpy("runtime_s"))))
             for f in (file, answer.previous)]  # fmt: skip
    assert error[0] < 0.3 < error[1]


def test_a_worse_model_stays_out(tmp_path):
    """Most of the past is of other jobs than today's; the model in use knows today's."""
    file, jobs = tmp_path / "model.rheo", log()
    fit(jobs, file)
    before = file.read_bytes()
    spoiled = rh.table(jobs.frame.with_columns(
        runtime_s=np.where(np.arange(750) < 600, 7.0, 1.0) * jobs.numpy("runtime_s")))  # fmt: skip
    answer = rh.site.refit(spoiled, file, method="lightgbm")
    assert not answer.replaces
    assert "stays" in str(answer)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_few_new_jobs_are_no_evidence_and_the_first_model_needs_none(tmp_path):
    file, jobs = tmp_path / "model.rheo", log()
    first = rh.site.refit(jobs, file, method="lightgbm")
    assert (first.replaces, first.comparisons, first.previous) == (True, (), None)
    again = rh.site.refit(jobs, file, method="lightgbm", test_period="1d")
    assert not again.replaces
    assert "too few" in str(again)
    with pytest.raises(DataError, match="expected jobs before and after the split"):
        rh.site.refit(jobs, file, method="lightgbm", test_period="900d")


def test_the_score_is_that_of_the_normal_law():
    """Of N(0, 1) it is y (2 F(y) - 1) + 2 f(y) - 1/sqrt(pi), in closed form."""
    draws = np.exp(np.random.default_rng(0).standard_normal((200_000, 1)))
    for y, closed in ((0.0, 0.2337), (1.0, 0.6024)):
        assert log_crps(draws, np.exp([y]))[0] == pytest.approx(closed, abs=0.004)


def test_a_model_that_answers_for_fewer_jobs_is_worse():
    true, draws = np.full(40, 10.0), np.full((2, 40), 10.0)
    fewer = draws.copy()
    fewer[:, :3] = np.nan
    groups = np.arange(40)
    assert compared("runtime_s", draws, draws, true, groups).not_worse
    assert compared("runtime_s", fewer, draws, true, groups).not_worse
    assert not compared("runtime_s", draws, fewer, true, groups).not_worse


def test_witnesses_of_one_application_count_once():
    """The same difference on jobs of one application each, or ten: its error is sqrt(10) larger."""
    rng = np.random.default_rng(1)
    each = np.exp(0.2 * rng.standard_normal(40))
    new = np.repeat(each, 10)[None, :]
    current, true = np.ones((1, 400)), np.ones(400)
    one = compared("runtime_s", current, new, true, np.arange(400))
    ten = compared("runtime_s", current, new, true, np.repeat(np.arange(40), 10))
    assert ten.standard_error / one.standard_error == pytest.approx(np.sqrt(10), rel=0.02)


def written(jobs):
    """The log's first weeks with run times that many times as long."""

    def weeks(*times):
        part = jobs.frame.head(150 * len(times))
        long = np.repeat(np.array(times, dtype=float), 150) * part["runtime_s"].to_numpy()
        return rh.table(part.with_columns(runtime_s=long))

    return weeks


def test_watts_that_never_change_keep_no_better_model_out():
    """Forecasts of a constant differ in their last digits, which is no loss; one per cent is."""
    exact = ModelComparison("power_w", 90, 9, 1e-9, 4e-9, 1e-10, 1.0, 1.0)
    assert exact.not_worse
    assert not exact.better
    assert not ModelComparison("power_w", 90, 9, 0.01, 0.03, 1e-3, 1.0, 1.0).not_worse


def test_weeks_that_no_model_forecasts_are_not_learned_from(tmp_path):
    """Where minutes were written for seconds, the model in use stays until somebody has looked."""
    file, log_of = tmp_path / "model.rheo", written(log())
    rh.site.refit(log_of(1, 1, 1), file, method="lightgbm")
    before = file.read_bytes()
    answer = rh.site.refit(log_of(1, 1, 1, 1 / 60), file, method="lightgbm")
    assert (answer.replaces, answer.strange) == (False, True)
    assert "neither it nor the new one" in str(answer)
    assert file.read_bytes() == before


def test_the_model_before_that_is_kept_is_one_that_held(tmp_path):
    """A replacement of a model that failed leaves the copy of the one before it alone."""
    file, log_of = tmp_path / "model.rheo", written(log())
    rh.site.refit(log_of(1, 1), file, method="lightgbm")
    good = file.read_bytes()
    assert rh.site.refit(log_of(1, 9, 9), file, method="lightgbm").previous.read_bytes() == good
    assert file.read_bytes() != good
    fit(log_of(50, 50, 50), file)
    again = rh.site.refit(log_of(1, 9, 9), file, method="lightgbm")
    assert again.replaces
    assert again.previous.read_bytes() == good


def weekly(file, jobs, weeks, **how):
    """`refit` and then `drift` after each of these weeks, as cron asks them."""
    for week in weeks:
        seen = jobs.rows(np.arange(150 * week))
        yield rh.site.refit(seen, file, method="lightgbm", **how), rh.site.drift(seen, file)


MISTAKES = {
    "minutes for seconds": lambda runtime_s: runtime_s / 60,
    "a clock an hour ahead at the end": lambda runtime_s: runtime_s + 3600.0,
    "one value for all": lambda runtime_s: 0.0 * runtime_s + 60.0,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_recorded_wrongly_is_an_alarm_until_a_person_accepts_it(tmp_path, name):
    """From the fifth week on; models that have learned such weeks hold them."""
    file, right = tmp_path / "model.rheo", log(weeks=9)
    wrong = MISTAKES[name](right.numpy("runtime_s"))
    clean = np.arange(len(right)) < 600
    jobs = rh.table(right.frame.with_columns(
        runtime_s=np.where(clean, right.numpy("runtime_s"), wrong)))  # fmt: skip
    before = list(weekly(file, jobs, (2, 3, 4)))
    assert [(a.alarms, b.alarms) for a, b in before] == [((), ())] * 3
    kept = (tmp_path / "model.rheo.previous").read_bytes()
    for refitted, watched in weekly(file, jobs, (5, 6, 7, 8)):
        assert any("--accept" in alarm for alarm in refitted.alarms), refitted
        assert any("--accept" in alarm for alarm in watched.alarms)
        assert (tmp_path / "model.rheo.previous").read_bytes() == kept
    accepted, watched = next(weekly(file, jobs, (8,), accept=True))
    assert accepted.alarms == ()
    assert not any("--accept" in alarm for alarm in watched.alarms)
    later, watched = next(weekly(file, jobs, (9,)))
    assert later.alarms == ()


@pytest.mark.slow
def test_a_change_that_is_real_is_learned_and_an_alarm_until_it_is_accepted(tmp_path):
    file, jobs = tmp_path / "model.rheo", log(weeks=7)
    faster = np.where(np.arange(len(jobs)) < 600, 1.0, 0.5) * jobs.numpy("runtime_s")
    jobs = rh.table(jobs.frame.with_columns(runtime_s=faster))
    for _ in weekly(file, jobs, (3, 4, 5)):
        pass
    for refitted, _ in weekly(file, jobs, (6, 7)):
        assert refitted.replaces
        assert "exceed 0.5" in refitted.alarms[0]
    newest = jobs.rows(np.arange(900, 1050))
    off = rh.load(file).predict(newest).mean("runtime_s") / newest.numpy("runtime_s")
    assert 0.7 < np.median(off) < 1.4


def test_a_tenfold_change_waits_for_a_person(tmp_path):
    """The new model is better on such a week, having learned one like it."""
    file, log_of = tmp_path / "model.rheo", written(log())
    rh.site.refit(log_of(1, 1), file, method="lightgbm")
    before = file.read_bytes()
    answer = rh.site.refit(log_of(1, 60, 60, 60), file, method="lightgbm")
    assert answer.comparisons[0].better
    assert not answer.replaces
    assert "too far" in str(answer) or "neither" in str(answer)
    assert file.read_bytes() == before
    accepted = rh.site.refit(log_of(1, 60, 60, 60), file, method="lightgbm", accept=True)
    assert accepted.replaces
    assert file.read_bytes() == accepted.previous.read_bytes() != before
