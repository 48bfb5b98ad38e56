"""Learned estimates know only what has ended, and a job that outlives its own is given more."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import Column, Moment
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError
from rheostat.simulation.policies import estimates
from rheostat.simulation.simulate import simulate_run
from tests.simulation.conftest import trace


def busy(seed=0, n=400, span=None):
    """A trace of five users who ask for much more than they need."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 5, n)
    run = np.maximum(1, (user + 1) * 200 * rng.lognormal(0, 0.5, n)).round()
    submit = np.sort(rng.uniform(0, span or 150 * n, n)).round()
    jobs = trace(submit, run, rng.integers(1, 6, n), run * rng.uniform(1, 9, n))
    return jobs.with_columns(
        [Column("user", "", Moment.SUBMIT, "who")], user=pl.Series([f"u{u}" for u in user])
    )


@pytest.mark.parametrize("policy", ["fcfs", "easy", "sjf+easy"])
def test_last_two_is_the_mean_of_the_users_last_two_that_had_ended(policy):
    jobs = busy()
    done = simulate_run(jobs, policy, 8, estimates="last2").jobs
    user, submit, end, run, ask, estimate = (
        done.frame[c].to_numpy()
        for c in ("user", "submit_s", "end_s", "runtime_s", "time_limit_s", "estimate_s")
    )
    for j in range(len(done)):
        before = np.flatnonzero((user == user[j]) & (end <= submit[j]))
        last = before[np.argsort(end[before], kind="stable")][-2:]
        mean = run[last].mean() if len(last) == 2 else np.inf
        assert estimate[j] == pytest.approx(min(ask[j], max(1.0, mean)))


def test_the_future_does_not_change_an_estimate():
    jobs = busy()
    late = jobs.numpy("submit_s") > 30_000
    poisoned = jobs.with_columns(
        [jobs.schema["runtime_s"]], runtime_s=np.where(late, 1.0, jobs.numpy("runtime_s"))
    )
    one, two = (simulate_run(j, "easy", 8, estimates="last2").jobs for j in (jobs, poisoned))
    assert (one.numpy("estimate_s") == two.numpy("estimate_s"))[~late].all()
    assert not (one.numpy("estimate_s") == two.numpy("estimate_s"))[late].all()


class Spy:
    """Predicts the mean; remembers what it was shown."""

    def __init__(self):
        self.fits, self.asked = [], []

    def fit(self, jobs):
        self.fits.append(jobs)
        self.mean = jobs.numpy("runtime_s").mean()
        return self

    def predict(self, jobs):
        self.asked.append(jobs)
        return Outcome({"runtime_s": np.full((1, len(jobs)), self.mean)})


def test_a_model_is_fitted_on_ended_jobs_and_asked_with_submission_columns():
    spy, jobs = Spy(), busy(n=1500, span=80 * 86_400)
    done = simulate_run(jobs, "sjf+easy", 8, estimates=spy).jobs
    end = dict(zip(done.frame["job_id"], done.frame["end_s"], strict=True))
    assert len(spy.fits) >= 2
    assert len(spy.asked) > len(spy.fits)
    for fitted, asked in zip(spy.fits, spy.asked[:: estimates.REFIT], strict=False):
        assert "runtime_s" not in asked.schema
        assert max(end[i] for i in fitted.frame["job_id"]) <= asked.numpy("submit_s").min()
    estimate, ask = done.numpy("estimate_s"), done.numpy("time_limit_s")
    assert (estimate <= ask).all()
    assert (estimate < ask).mean() > 0.5


def test_history_of_ended_jobs_leaves_the_job_itself_out():
    from rheostat.simulation.engine.user_history import history

    user, run = np.array([0, 0, 1, 0]), np.array([10.0, 20.0, 5.0, 40.0])
    found = history(user, run, np.array([0, 1, 2]), np.array([0, 1, 3]))
    assert np.isnan(found[0]).all()
    assert found[1, 0] == 10.0
    assert np.isnan(found[1, 1])
    assert found[2].tolist() == [20.0, 10.0, 15.0]


def test_a_job_that_outlives_its_estimate_is_given_the_next_step():
    """Two short jobs teach 100 s; the third runs 1,000 s, and the head's shadow moves with it."""
    jobs = trace(
        [0, 0, 300, 310, 1000],
        [100, 100, 1000, 500, 250],
        [1, 1, 3, 4, 1],
        [900, 900, 2000, 500, 250],
    ).with_columns([Column("user", "", Moment.SUBMIT, "who")], user=pl.Series(list("aaabc")))
    done = simulate_run(jobs, "easy", 4, estimates="last2").jobs
    # at 1000 s the job has run 700 s on an estimate of 100: expected to last 100 + 900 = 1,000 s,
    # so until 1300 there is room for a job of 250 s
    assert done.numpy("start_s").tolist() == [0, 0, 300, 1300, 1000]


def test_boosting_beats_the_requests_it_starts_from():
    jobs = busy(n=1500, span=60 * 86_400)
    done = simulate_run(jobs, "easy", 8, estimates="boost").jobs
    run, ask, estimate = (done.numpy(c) for c in ("runtime_s", "time_limit_s", "estimate_s"))
    learned = estimate != ask
    assert learned.mean() > 0.4
    error = np.abs(np.log(estimate / run))[learned].mean()
    assert error < 0.6 * np.abs(np.log(ask / run))[learned].mean()


def test_what_cannot_be_learned_is_said():
    with pytest.raises(DataError, match="fixed order"):
        simulate_run(busy(n=5), "lxf+easy", 8, estimates="last2")
    with pytest.raises(DataError, match="expected user, perfect"):
        simulate_run(busy(n=5), "easy", 8, estimates="perfct")
    with pytest.raises(DataError, match="seconds"):
        simulate_run(busy(n=5), "easy", 8, estimates=np.ones(3))


def test_a_surrogate_learns_as_time_goes_and_a_saved_one_is_used_as_it_is(tmp_path):
    from rheostat.prediction.saved_models.persist import save
    from rheostat.prediction.surrogate.surrogate import Surrogate

    jobs = busy(n=900, span=50 * 86_400)
    done = simulate_run(jobs, "easy", 8, estimates="forest").jobs
    assert (done.numpy("estimate_s") < done.numpy("time_limit_s")).mean() > 0.3
    past = jobs.rows(np.arange(450))
    kept = save(Surrogate("forest", targets=("runtime_s",), turned=None).fit(past), tmp_path / "m")
    used = simulate_run(jobs, "easy", 8, estimates=str(kept)).jobs
    assert (used.numpy("estimate_s") < used.numpy("time_limit_s"))[-400:].mean() > 0.5
    assert any("saved model" in n.message for n in used.notes)
