"""A cap by the clock and other policies, on a site's last weeks; jobs count as whole processors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rheostat as rh
from rheostat.core.machine import Machine
from rheostat.errors import RheostatError
from rheostat.measurement.grid_conditions import daily_share
from rheostat.questions.site.drawn_power import site_power
from rheostat.questions.site.last_weeks import site_daily_cap, site_policies
from rheostat.questions.site.newest_jobs import newest

DAY_S = 86_400.0
SITE = Machine(128, idle_w=1.0, busy_w=4.0)


def log(jobs: int = 3) -> rh.JobTable:
    """Jobs of one node of 64 processors each, an hour long, all submitted at noon."""
    noon = 12 * 3600.0
    return rh.table({
        "job_id": np.arange(jobs), "submit_s": np.full(jobs, noon), "nodes": np.ones(jobs),
        "cores": np.full(jobs, 64), "runtime_s": np.full(jobs, 3600.0),
        "start_s": noon + 3600.0 * (np.arange(jobs) // 2),
        "time_limit_s": np.full(jobs, 3600.0), "power_w": np.full(jobs, 256.0),
    })  # fmt: skip


def test_jobs_wait_for_processors_where_the_log_has_nodes_too() -> None:
    answer = site_policies(log(), machine=SITE, policies=["easy"])
    assert (answer.schedule.frame["wait_s"]).to_list() == [0.0, 0.0, 3600.0]
    plan = site_daily_cap(log(), machine=SITE, cap_share=0.75, from_hour=12, to_hour=20)
    # 128 idle W + 3 W more for each of 64 processors: two jobs need 512 W, the cap is 384 W
    assert [r.measures["mean_wait_s"] for r in plan.results if r.name == "jobs wait"] == [3600.0]


def test_idle_processors_of_a_running_job_draw_nothing_beside_it() -> None:
    drawn = site_power(log(), machine=SITE, bins=2)
    assert drawn.series["power_w"] == pytest.approx([512.0, 256.0 + 64.0])


def test_jobs_without_watts_are_expected_to_draw_what_their_users_others_drew() -> None:
    frame = log(4).frame.with_columns(
        user=pl.Series(["ann", "bob", "ann", "new"]), power_w=pl.Series([256.0, 128.0, None, None])
    )
    series = site_power(rh.table(frame), machine=SITE, bins=2).series
    np.testing.assert_equal(series["power_w"], [256.0 + 128.0, np.nan])
    # ann's 256 W, and 192 W for who has no job with watts: the mean of the others
    np.testing.assert_equal(series["expected_w"], [np.nan, 256.0 + 192.0])


def test_joules_and_run_times_tell_the_power_of_jobs() -> None:
    frame = log(2).frame.with_columns(energy_j=pl.col("power_w") * 3600.0).drop("power_w")
    assert site_power(rh.table(frame), bins=1).series["power_w"] == [512.0]


def test_nothing_is_expected_where_no_job_has_watts() -> None:
    frame = log(2).frame.with_columns(power_w=pl.lit(None, pl.Float64))
    series = site_power(rh.table(frame), bins=2).series
    np.testing.assert_equal([series["power_w"], series["expected_w"]], np.full((2, 2), np.nan))


def test_a_daily_share_goes_over_midnight() -> None:
    night = daily_share(0.5, 22, 6).available_share
    hours = np.array([23.0, 3.0, 12.0, 47.0]) * 3600
    assert night.at(hours).tolist() == [0.5, 0.5, 1.0, 0.5]
    with pytest.raises(RheostatError, match="two different hours"):
        daily_share(0.5, 24, 0)


def test_the_newest_days_alone_are_asked_about() -> None:
    jobs = log(4)
    submit = np.array([0.0, 20.0, 39.9, 40.0]) * DAY_S
    some = newest(jobs.with_columns([jobs.schema["submit_s"]], submit_s=submit), 31, 50)
    assert some.frame["job_id"].to_list() == [1, 2, 3]


def test_watts_that_nobody_can_know_are_no_error_and_make_the_plan_clairvoyant() -> None:
    site = Machine(128, idle_w=1.0)
    run = site_policies(log(), machine=site, policies=["easy"], cap_w=500.0).runs[0]
    assert run.clairvoyant
    assert run.jobs.frame["start_s"].n_unique() == 3
    with pytest.raises(RheostatError, match="NaN where none are known, got -1"):
        rh.simulate(log(), "easy", site, power_w=np.array([1.0, -1.0, np.nan]))
