"""Jobsets: where weeks are cut, what made-up weeks keep of a trace, their order, their bytes."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.questions.scheduling.train import train
from rheostat.simulation.workload import workload
from rheostat.training.rl.jobsets import three_phases, weeks
from rheostat.training.rl.synthetic_weeks import hourly, sampled_week, synthetic_week
from tests.simulation.conftest import trace

HOUR, WEEK, SITE = 3600, 7 * 86_400, Machine(64)


@pytest.fixture(scope="module")
def site():
    """Four weeks, all work arrives between 8 and 16 o'clock; small jobs are short."""
    rng, n = np.random.default_rng(0), 4000
    day, hour = rng.integers(0, 28, n), rng.integers(8, 16, n)
    submit = np.sort(day * 24.0 + hour) * HOUR + np.floor(rng.random(n) * HOUR)
    submit[0] = 0
    procs = rng.choice([1, 4, 32], n, p=[0.6, 0.3, 0.1])
    run = np.exp(rng.normal(np.where(procs == 1, 4.0, 8.0), 0.5)).round()
    return trace(submit, run, procs, 2 * run)


def test_weeks_are_cut_at_whole_weeks_from_the_first_submission():
    jobs = trace([100, WEEK + 99, WEEK + 100, 3 * WEEK + 100, 3 * WEEK + 200], [5] * 5, [1] * 5)
    cut = weeks(jobs, 4)
    assert [len(w) for w in cut] == [2, 1, 2]
    assert [len(w) for w in weeks(jobs, 4, most=1)] == [2]


def test_a_sampled_week_has_jobs_of_the_trace_and_arrivals_without_a_pattern(site):
    made = sampled_week(site, SITE, np.random.default_rng(1))
    columns = ("runtime_s", "cores", "time_limit_s")
    own = set(zip(*(site.numpy(c) for c in columns), strict=True))
    assert set(zip(*(made.numpy(c) for c in columns), strict=True)) <= own
    submit = made.numpy("submit_s")
    assert (np.diff(submit) >= 0).all()
    assert 0 <= submit.min() <= submit.max() < WEEK
    assert abs(len(made) - 1000) < 5 * 1000**0.5  # a Poisson number
    night = np.isin(submit // HOUR % 24, range(8))
    assert abs(night.mean() - 1 / 3) < 0.06


def test_a_synthetic_week_keeps_hours_sizes_and_lengths_of_each_size(site):
    made = synthetic_week(site, SITE, np.random.default_rng(1))
    procs, run, ask = (made.numpy(c) for c in ("cores", "runtime_s", "time_limit_s"))
    worked = np.isin(made.numpy("submit_s") // HOUR % 24, range(8, 16))
    assert worked.mean() > 0.99  # the first submission of the trace is at midnight
    for size, share, center in ((1, 0.6, 4.0), (4, 0.3, 8.0), (32, 0.1, 8.0)):
        here = procs == size
        assert abs(here.mean() - share) < 0.06
        assert abs(np.log(run[here]).mean() - center) < 0.2
    np.testing.assert_allclose(ask / run, 2.0, rtol=0.02)


def test_the_hours_of_a_short_trace_that_it_never_saw_have_its_mean_rate():
    rate = hourly(workload(trace([0, 10, HOUR + 5], [1] * 3, [1] * 3), SITE))
    np.testing.assert_allclose(rate[:3] * HOUR, [2.0, 1.0, 1.5])
    np.testing.assert_allclose(rate[3:] * HOUR, 1.5)


def test_three_phases_come_in_order_and_are_the_same_for_the_same_seed(site):
    made = three_phases(site, 64, (2, 3, 1), seed=4)
    again = three_phases(site, 64, (2, 3, 1), seed=4)
    other = three_phases(site, 64, (2, 3, 1), seed=5)
    assert len(made) == 6
    same = [a.jobs.tobytes() == b.jobs.tobytes() for a, b in zip(made, again, strict=True)]
    assert all(same)
    kept = [a.jobs.tobytes() == b.jobs.tobytes() for a, b in zip(made, other, strict=True)]
    assert kept == [False, False, True, True, True, False]
    assert made[0].jobs.tobytes() != made[1].jobs.tobytes()
    assert [len(w) for w in made[2:5]] == [len(w) for w in weeks(site, 64, most=3)]


@pytest.mark.parametrize("counts", [(1, 2), (0, 0, 0), (1, -1, 2)])
def test_counts_of_phases_are_checked(site, counts):
    with pytest.raises(DataError, match="expected three counts"):
        three_phases(site, 64, counts)


def test_absurd_amounts_are_refused_before_any_week_is_made(site):
    with pytest.raises(DataError, match="at most 10,000 weeks together, got 10,018"):
        three_phases(site, SITE, (9, 9, 10_000))
    minutes = trace(np.arange(5000.0), [1] * 5000, [1] * 5000)  # one a second
    with pytest.raises(DataError, match=r"at most 10,000,000 jobs .*, got 55,047,810: .* 604,921"):
        three_phases(minutes, SITE, (9, 9, 82))
    centuries = trace(np.arange(10_001.0) * WEEK, [1] * 10_001, [1] * 10_001)
    with pytest.raises(DataError, match=r"at most 10,000 weeks with jobs, got 10,001; .*--jobsets"):
        weeks(centuries, SITE)
    assert len(weeks(centuries, SITE, most=2)) == 2


@pytest.mark.parametrize("name", ["jobsets", "updates", "search"])
def test_rounds_have_a_bound_in_python_too(site, tmp_path, name):
    with pytest.raises(DataError, match=f"{name}: expected 1 to 10,000, got 1,000,000"):
        train(site, tmp_path / "agent", **{name: 10**6})
    assert not list(tmp_path.iterdir())


def test_an_hour_counts_as_often_as_the_trace_lived_through_it_however_long_that_is():
    span = 10**9 * HOUR  # 10^9 hours: a list of them would fill memory
    rate = hourly(workload(trace([0, span], [1, 1], [1, 1]), SITE))
    lived = np.array([10**9 // 168 + (h < 10**9 % 168 + 1) for h in range(168)])
    expected = np.bincount([0, 10**9 % 168], minlength=168) / lived / HOUR
    np.testing.assert_allclose(rate, expected)
