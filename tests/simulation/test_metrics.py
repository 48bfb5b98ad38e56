"""Metrics in closed form, groups against plain numpy, intervals against a known distribution."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.simulation import schedule_metrics as metrics
from rheostat.simulation.comparison import paired_comparison as compare


def schedule(submit, wait, run, procs=None, **more):
    """A simulated table, as `simulate` makes it."""
    submit, wait, run = (np.asarray(x, float) for x in (submit, wait, run))
    columns = {
        "job_id": np.arange(len(submit)),
        "submit_s": submit,
        "wait_s": wait,
        "start_s": submit + wait,
        "end_s": submit + wait + run,
        "runtime_s": run,
        "procs": np.asarray([1] * len(submit) if procs is None else procs),
        "estimate_s": run,
    }
    return table(columns | more)


def test_three_jobs_by_hand():
    jobs = schedule([0, 0, 10], [0, 10, 20], [10, 20, 5], [2, 4, 1], user=["a", "a", "b"])
    found = metrics.metrics(jobs, 4)
    assert found["wait_s"]["mean"] == 10
    assert found["wait_s"]["p50"] == 10
    assert found["wait_s"]["max"] == 20
    assert found["response_s"]["mean"] == pytest.approx((10 + 30 + 25) / 3)
    assert found["bounded_slowdown"]["mean"] == pytest.approx((1 + 1.5 + 2.5) / 3)
    assert found["makespan_s"] == 35
    assert found["throughput_per_h"] == pytest.approx(3 * 3600 / 35)
    assert found["utilisation"] == pytest.approx((20 + 80 + 5) / (4 * 35))
    x = np.array([1.25, 2.5])
    assert found["fairness_jain"] == pytest.approx(x.sum() ** 2 / (2 * (x**2).sum()))
    assert found["starvation_rate"] == 0


def test_no_user_no_fairness():
    jobs = schedule([0], [0], [1])
    assert np.isnan(metrics.metrics(jobs, 1)["fairness_jain"])
    assert metrics.breakdown(jobs, 1)["by_user"] == []


def test_classes_and_their_edges():
    sizes = metrics.size_class(np.array([1, 2, 5, 6, 25, 26, 50, 51, 100]), 100)
    assert sizes.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    lengths = metrics.length_class(np.array([0, 59, 60, 599, 600, 3600, 21600, 86400]))
    assert lengths.tolist() == [0, 0, 1, 1, 2, 3, 4, 5]


@pytest.fixture
def many():
    rng = np.random.default_rng(0)
    n = 2000
    users = [None if u == 9 else f"u{u}" for u in rng.integers(0, 10, n)]
    parts = rng.uniform(0, 1e6, n), rng.exponential(3e4, n), rng.lognormal(7, 2, n)
    return schedule(*parts, rng.integers(1, 129, n), user=users)


def test_groups_equal_the_metrics_of_their_jobs(many):
    """Each group's spreads are those of a table with the group's jobs alone."""
    found = metrics.breakdown(many, 128)
    index = metrics.size_class(many.numpy("procs"), 128)
    assert sum(g["jobs"] for g in found["by_size"]) == len(many)
    assert sum(g["share"] for g in found["by_length"]) == pytest.approx(1)
    for group in found["by_size"]:
        alone = metrics.metrics(many.rows(index == metrics.SIZES.index(group["name"])), 128)
        for name in compare.QUANTITIES:
            assert group[name] == pytest.approx(alone[name])
        assert group["starvation_rate"] == pytest.approx(alone["starvation_rate"])
    assert len(found["by_user"]) == 9
    shares = [g["share"] for g in found["by_user"]]
    assert shares == sorted(shares, reverse=True)
    for group in found["by_user"]:
        alone = metrics.metrics(many.rows(pl.col("user") == group["name"]), 128)
        assert group["bounded_slowdown"] == pytest.approx(alone["bounded_slowdown"])


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=30), st.floats(0.1, 10))
def test_jain_lies_between_one_over_n_and_one_and_has_no_unit(values, factor):
    x = np.array(values)
    index = metrics.jain(x)
    assert 1 / len(x) - 1e-9 <= index <= 1 + 1e-9
    assert metrics.jain(factor * x) == pytest.approx(index)


def test_a_policy_paired_with_itself_differs_by_nothing(many):
    found = compare.paired(many, many)
    assert found["wait_s"]["difference"] == found["wait_s"]["low"] == found["wait_s"]["high"] == 0
    assert found["jobs_sooner"] == found["jobs_later"] == 0
    assert compare.gains(many, many)["biggest_losers"] == []


def shifted(jobs, by):
    wait = jobs.numpy("wait_s") + by
    submit, run = jobs.numpy("submit_s"), jobs.numpy("runtime_s")
    return jobs.with_columns((), wait_s=wait, start_s=submit + wait, end_s=submit + wait + run)


def test_a_constant_shift_is_found_exactly(many):
    found = compare.paired(shifted(many, 60.0), many)
    assert [found["wait_s"][k] for k in ("difference", "low", "high", "max")] == pytest.approx(
        [60.0] * 4
    )
    assert found["wait_s"]["change"] == pytest.approx(60 / many.numpy("wait_s").mean())
    assert (found["jobs_sooner"], found["jobs_later"]) == (0, 1)


def test_same_seed_same_interval_other_seed_another(many):
    other = shifted(many, np.random.default_rng(1).normal(0, 100, len(many)))
    first = compare.paired(other, many, seed=3)
    assert first == compare.paired(other, many, seed=3)
    assert first["wait_s"]["low"] != compare.paired(other, many, seed=4)["wait_s"]["low"]


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """Independent blocks of equal size: the 95 % interval of the mean covers 90 to 99 % of 200."""
    rng = np.random.default_rng(0)
    held = 0
    for trial in range(200):
        sums = rng.normal(0, 1, (60, 1))
        means = compare.drawn_means(np.ones(60), sums, seed=trial)
        low, high = compare.interval(means[:, 0])
        held += low <= 0 <= high
    assert 180 <= held <= 198


def test_blocks_cover_the_trace_and_keep_order():
    submit = np.sort(np.random.default_rng(0).uniform(0, 400 * 86400, 3000))
    block, length = compare.blocks(submit)
    assert length == 7 * 86400
    assert (np.diff(block) >= 0).all()
    assert block.max() == int(np.ceil((submit[-1] - submit[0]) / length)) - 1


def test_winners_and_losers_by_hand():
    base = schedule([0, 1, 2], [100, 100, 100], [1, 1, 1], user=["a", "a", "b"])
    new = schedule([0, 1, 2], [0, 100, 500], [1, 1, 1], user=["a", "a", "b"])
    found = compare.gains(new, base)
    assert found["jobs_gain"] == found["jobs_lose"] == pytest.approx(1 / 3)
    assert found["users_lose"] == 0.5
    assert found["biggest_losers"][0]["job_id"] == 2
    assert found["biggest_losers"][0]["change_s"] == 400
    assert found["biggest_gaining_users"][0]["change_s"] == -50
    assert found["users_gain"] == 0  # less than a minute is no gain


def test_different_jobs_are_not_compared(many):
    with pytest.raises(DataError, match="the same jobs"):
        compare.paired(many, many.rows(np.arange(10)))


def test_a_job_starves_above_a_day_and_above_ten_times_its_estimate():
    hour = 3600.0
    wait = np.array([23.9, 24.1, 24.1, 24.1, 2400]) * hour
    estimate = np.array([0.1, 0.1, 2.40, 2.42, 100]) * hour
    assert metrics.starved(wait, estimate).tolist() == [False, True, True, False, True]


@pytest.mark.parametrize(("hours", "name"), [(5.9, "1 to 6 h"), (6, "6 to 24 h"), (13, "6 to 24 h"),
                                             (23.9, "6 to 24 h"), (24, "over 24 h")])  # fmt: skip
def test_a_job_of_half_a_day_is_not_one_of_a_day(hours, name):
    assert metrics.LENGTHS[int(metrics.length_class(np.array([3600.0 * hours]))[0])] == name


def test_utilisation_counts_from_the_first_submission_waits_included():
    """Two processors, one job of 30 s on both that waits 10 s: busy for 30 of 40 s."""
    found = metrics.metrics(schedule([100], [10], [30], [2]), 2)
    assert found["makespan_s"] == 40
    assert found["utilisation"] == pytest.approx(30 / 40)
    assert found["throughput_per_h"] == pytest.approx(3600 / 40)
