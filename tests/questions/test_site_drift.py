"""A model in use is watched by week: an alarm, with its reason, where something changes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rheostat as rh
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError

DAY_S = 86_400.0
SPREAD = 0.2


class Usual:
    """Says of every job what such jobs took before: log-normal around a hundred seconds."""

    def fit(self, jobs: JobTable) -> Usual:
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        assert all(jobs.schema[c].known is Moment.SUBMIT for c in jobs.columns)
        draws = 100.0 * np.exp(SPREAD * np.random.default_rng(0).standard_normal((400, len(jobs))))
        return Outcome({"runtime_s": draws})


def log(weeks=6, each=120, changed=(), factor=1.0, seed=0):
    """Jobs of ten applications; in the newest week those of ``changed`` take another time."""
    rng = np.random.default_rng(seed)
    week = np.repeat(np.arange(weeks), each)
    app = np.array([f"app{k}" for k in rng.integers(10, size=len(week))])
    runtime = 100.0 * np.exp(SPREAD * rng.standard_normal(len(week)))
    runtime = np.where((week == weeks - 1) & np.isin(app, changed), factor * runtime, runtime)
    submit = (week + rng.uniform(0.01, 0.99, len(week))) * 7 * DAY_S
    submit[-1] = weeks * 7 * DAY_S
    return rh.table({"app": app.tolist(), "user": ["ann"] * len(week), "nodes": [1] * len(week),
                     "submit_s": submit, "runtime_s": runtime})  # fmt: skip


@pytest.mark.parametrize("seed", range(10))
def test_where_nothing_changes_there_is_no_alarm(seed):
    answer = rh.site.drift(log(seed=seed), Usual())
    assert answer.alarms == ()
    assert answer.weeks["jobs"].to_list() == [120] * 6
    assert answer.weeks["alarm"].to_list() == [False] * 6
    assert answer.weeks["coverage"].mean() == pytest.approx(0.9, abs=0.05)


def test_a_change_of_all_raises_an_alarm_in_its_week_alone():
    every = [f"app{k}" for k in range(10)]
    answer = rh.site.drift(log(changed=every, factor=2.0), Usual())
    assert answer.weeks["alarm"].to_list() == [False] * 5 + [True]
    assert "held" in answer.alarms[0]
    assert str(answer).startswith("drift")


def test_the_reason_names_the_application_that_is_missed_most_and_by_how_much():
    answer = rh.site.drift(log(changed=["app1", "app2", "app3", "app4"], factor=3.0), Usual())
    (said,) = answer.alarms
    assert "are of app" in said
    assert any(f"of app{k}, which took {v} times" in said for k in "1234"
               for v in ("2.6", "2.7", "2.8", "2.9", "3", "3.1", "3.2", "3.3", "3.4"))  # fmt: skip


def test_few_jobs_are_no_evidence_and_runs_that_were_cut_off_do_not_count():
    few = log(weeks=2, each=20, changed=[f"app{k}" for k in range(10)], factor=9.0)
    answer = rh.site.drift(few, Usual())
    assert answer.weeks["alarm"].to_list() == [None, None]
    assert "too few" in str(answer)
    cut = few.frame.with_columns(pl.lit(value=True).alias("censored"))
    with pytest.raises(DataError, match="no job has ended by itself"):
        rh.site.drift(rh.table(cut), Usual())


def test_jobs_of_one_application_are_one_witness():
    """Misses of one application say little of the others: coverage is known less surely."""
    one = log(each=120, changed=["app1"], factor=3.0)
    answer = rh.site.drift(one, Usual())
    newest = answer.weeks.row(-1, named=True)
    assert newest["coverage"] < 0.87
    assert newest["coverage_high"] > newest["coverage"] + 0.1
    assert answer.alarms == ()


def test_a_model_that_knows_the_weeks_before_by_heart_raises_no_alarm():
    """What it had learned from is nearer than what comes; its own forecasts say by how much."""
    jobs = rh.table(log().frame.sort("submit_s"))
    known = jobs.numpy("submit_s") < 5 * 7 * DAY_S

    class ByHeart(Usual):
        def predict(self, asked: JobTable) -> Outcome:
            draws = Usual().predict(asked)["runtime_s"]
            nearer = (jobs.numpy("runtime_s") / 100.0) ** 0.6
            return Outcome({"runtime_s": np.where(known, draws * nearer, draws)})

    errors = rh.site.drift(jobs, ByHeart()).weeks["error"].to_list()
    assert errors[-1] > 1.5 * np.median(errors[:-1])
    assert rh.site.drift(jobs, ByHeart()).alarms == ()


def test_an_interval_that_misses_by_rounding_holds():
    class Constant(Usual):
        def predict(self, asked: JobTable) -> Outcome:
            draws = np.full((400, len(asked)), 321.0)
            return Outcome({**Usual().predict(asked).draws, "power_w": draws})

    jobs = log()
    for off, held in ((1.004, 1.0), (1.02, 0.0)):
        measured = rh.table(jobs.frame.with_columns(power_w=pl.lit(off * 321.0)))
        weeks = rh.site.drift(measured, Constant()).weeks.filter(pl.col("quantity") == "power_w")
        assert weeks["coverage"].to_list() == [held] * 6
