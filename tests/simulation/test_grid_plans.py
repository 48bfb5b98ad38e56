"""Plans for power that is short: what they hold, what they cost, what they may know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rheostat as rh
from rheostat.core.series import Series
from rheostat.errors import QuestionError
from rheostat.measurement.grid_conditions import GridConditions
from rheostat.questions.site.what_if import site_what_if
from rheostat.simulation.grid_plans import (
    Capped,
    GridPlan,
    believed_watts,
    held_in,
    worst_hours,
)

SITE = rh.Machine(8, idle_w=50.0, busy_w=100.0)
EVENING = Series((0.0, 17 * 3600.0, 20 * 3600.0), (1.0, 0.8, 1.0), repeat_s=86_400.0)


def log(rows):
    """Jobs of (submission, run time, processors, watts of each)."""
    submit, run, procs, watts = (np.array(c, float) for c in zip(*rows, strict=True))
    return rh.table({
        "job_id": np.arange(len(rows)), "submit_s": submit, "runtime_s": run, "cores": procs,
        "time_limit_s": 2 * run, "power_w": watts * procs,
        "user": [f"u{i % 3}" for i in range(len(rows))],
    })  # fmt: skip


WATTS = st.sampled_from([60.0, 80.0, 100.0])
JOB = st.tuples(st.integers(0, 200_000), st.integers(60, 20_000), st.integers(1, 6), WATTS)
JOBS = st.lists(JOB, min_size=3, max_size=25)


@settings(deadline=None, max_examples=15)
@given(JOBS)
def test_waiting_holds_the_power_at_every_moment(rows) -> None:
    """No job draws more than a busy processor, which planning believes of a user's first jobs."""
    told = GridConditions(available_w=replace(EVENING, values=(800.0, 640.0, 800.0)))
    answer = site_what_if(log(rows), told, machine=SITE, replays=0)
    named = {r.name: r for r in answer.results}
    assert named["jobs wait"].measures["over_s"] == 0
    assert named["do nothing"].later == 0
    taken = answer.results[answer.choice]
    assert taken.measures["over_s"] == 0


def test_what_a_plan_saves_is_what_is_metered() -> None:
    """One job of 100 s and 800 W; afterwards nothing runs, so that all of it is the job's."""
    one = log([(0, 1000, 8, 100.0)])
    tariff = GridConditions(price_per_kwh=Series((0.0, 500.0), (0.1, 0.5)))
    answer = site_what_if(one, tariff, machine=SITE, capped=Capped(0.5, 1.5), replays=0)
    named = {r.name: r.measures for r in answer.results}
    assert named["do nothing"]["cost"] == pytest.approx(0.8 * (500 * 0.1 + 500 * 0.5) / 3600)
    assert named["cap all jobs"]["energy_j"] == pytest.approx(400 * 1500)
    assert named["cap all jobs"]["cost"] == pytest.approx(0.4 * (500 * 0.1 + 1000 * 0.5) / 3600)


def test_a_capped_job_starts_where_its_full_power_does_not_last() -> None:
    two = log([(0, 1000, 4, 100.0), (0, 1000, 4, 100.0)])
    short = GridConditions(available_w=Series.of(650.0))
    answer = site_what_if(two, short, machine=SITE, capped=Capped(0.5, 1.2), replays=0)
    named = {r.name: r.measures for r in answer.results}
    assert named["do nothing"]["over_s"] == 1000
    assert named["do nothing"]["over_w"] == 150
    assert named["jobs wait"]["mean_wait_s"] > 0
    assert named["cap or wait"]["mean_wait_s"] == 0
    assert named["cap or wait"]["over_s"] == 0
    assert answer.results[answer.choice].name == "cap or wait"


def test_where_no_plan_holds_it_is_said() -> None:
    """Eight idle processors alone draw more than there is."""
    short = GridConditions(available_w=Series.of(300.0))
    answer = site_what_if(log([(0, 100, 1, 60.0)]), short, machine=SITE, replays=0)
    assert answer.choice is None
    assert "No plan holds" in str(answer)
    assert any("400 W that the site draws when idle" in n for n in answer.notes)


def test_beliefs_know_only_jobs_that_had_ended() -> None:
    rows = [(0, 100, 1, 90.0), (50, 10, 2, 95.0), (150, 10, 1, 70.0), (200, 10, 1, 60.0)]
    jobs = log(rows).with_columns([], user=["a", "a", "a", "b"])
    blind = rh.Machine(8, idle_w=50.0)
    assert np.isnan(believed_watts(jobs, blind)[:2]).all()
    assert believed_watts(jobs, blind)[2:].tolist() == [95.0, 95.0]  # a's own; b's, of all
    assert believed_watts(jobs, SITE).tolist() == [100.0, 200.0, 95.0, 100.0]
    changed = jobs.with_columns([], power_w=np.where(np.arange(4) == 3, 1e6, jobs.numpy("power_w")))
    assert believed_watts(changed, SITE).tolist() == believed_watts(jobs, SITE).tolist()


def test_the_worst_hours_of_each_day_are_held_and_no_other() -> None:
    price = Series(tuple(3600.0 * k for k in range(48)), tuple(float(k % 24) for k in range(48)))
    hours = worst_hours(price, 0.25, 0.0, 2 * 86_400.0)
    assert [a / 3600 for a, _ in hours] == [*range(18, 24), *range(42, 48)]
    cap = held_in(hours, 1.0, 9.0)
    at = cap.at(3600.0 * np.arange(48) + 1.0)
    assert [k for k in range(48) if at[k] == 1.0] == [*range(18, 24), *range(42, 48)]


def test_times_without_anything_in_common_are_refused() -> None:
    far = GridConditions(available_w=Series((1.7e9, 1.8e9), (1e3, 2e3)))
    with pytest.raises(QuestionError, match="expected times in common"):
        site_what_if(log([(0, 100, 1, 60.0)]), far, machine=SITE)


def test_a_number_that_comes_again_is_another_job() -> None:
    twice = log([(0, 100, 4, 60.0), (5, 100, 4, 60.0)]).with_columns([], job_id=[7, 7])
    answer = site_what_if(
        twice, GridConditions(available_w=Series.of(900.0)), machine=SITE, replays=0
    )
    assert answer.results[0].measures["turnaround_s"] == 100.0
    assert any("numbered by their rows" in n for n in answer.notes)


def test_no_plan_knows_the_power_of_a_job_before_it_ends() -> None:
    """The last job's own watts change nothing of when it starts, capped or not."""
    rows = [(0, 1000, 3, 100.0), (10, 1000, 3, 90.0), (20, 500, 2, 80.0)]
    site = replace(SITE, cap_w=Series.of(700.0))
    for capped in (None, Capped(0.5, 1.2)):
        starts = []
        for watts in (80.0, 40.0):
            jobs = log([*rows[:2], (*rows[2][:3], watts)])
            run = GridPlan("x", site, capped=capped).run(jobs, "easy", believed_watts(jobs, site))
            assert not run.clairvoyant
            starts.append(run.jobs.numpy("start_s").tolist())
        assert starts[0] == starts[1]


def test_a_plan_that_can_never_run_a_job_is_not_taken() -> None:
    """Eight processors of 100 W never fit below 700 W: to leave the job out saves its energy."""
    short = GridConditions(available_w=Series.of(700.0), price_per_kwh=Series.of(0.1))
    rows = [(0, 1000, 8, 60.0), (0, 1000, 2, 60.0)]
    answer = site_what_if(log(rows), short, machine=SITE, replays=0)
    named = {r.name: r for r in answer.results}
    assert named["jobs wait"].left_out == 1
    assert answer.results[answer.choice].left_out == 0


def test_a_sites_own_cap_goes_on_under_every_plan() -> None:
    """With prices alone, power is held in dear hours below the cap that the site has."""
    capped = replace(SITE, cap_w=Series.of(600.0))
    hours = tuple(3600.0 * k for k in range(24))
    price = Series(hours, tuple(0.1 + (k >= 18) for k in range(24)), repeat_s=86_400.0)
    rows = [(1500 * k, 2000, 2, 100.0) for k in range(60)]
    told = GridConditions(price_per_kwh=price)
    results = site_what_if(log(rows), told, machine=capped, replays=0).results
    cost = {r.name: r.measures["cost"] for r in results}
    assert list(cost) == ["do nothing", "idle nodes off", "hold 90%", "hold 75%"]
    assert cost["hold 75%"] < cost["do nothing"]
