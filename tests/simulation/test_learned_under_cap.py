"""The learned order under a power cap: never above it, and without it the same order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rheostat as rh
from rheostat.core.series import Series
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy
from rheostat.questions.site.last_weeks import site_policies
from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.learned_priority.scoring_network import length
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.simulate import simulate_run

OURS = "agent:ours"
JOB = st.tuples(
    st.integers(0, 5000), st.integers(1, 900), st.integers(1, 7), st.sampled_from([60, 80, 100])
)
JOBS = st.lists(JOB, min_size=2, max_size=40)


def log(rows, users=3):
    """Jobs of (submission, run time, processors, watts of each)."""
    submit, run, procs, watts = (np.array(c, float) for c in zip(*sorted(rows), strict=True))
    return rh.table({
        "job_id": np.arange(len(rows)), "submit_s": submit, "runtime_s": run, "cores": procs,
        "time_limit_s": 2 * run, "power_w": watts * procs,
        "user": [f"u{i % users}" for i in range(len(rows))],
    })  # fmt: skip


def machine(cap_w: float | None = None):
    return rh.Machine(7, idle_w=50.0, busy_w=100.0, cap_w=cap_w and Series.of(cap_w))


@settings(deadline=None, max_examples=25)
@given(JOBS)
def test_a_cap_that_never_binds_changes_no_start(rows) -> None:
    free = simulate_run(log(rows), open_policy(OURS), machine())
    far = simulate_run(log(rows), open_policy(OURS), machine(1e5))
    assert far.jobs.frame["start_s"].to_list() == free.jobs.frame["start_s"].to_list()


@settings(deadline=None, max_examples=25)
@given(JOBS, st.integers(420, 700))
def test_neither_processors_nor_watts_are_ever_exceeded(rows, cap_w) -> None:
    jobs = log(rows)
    run = simulate_run(jobs, open_policy(OURS), machine(float(cap_w)))
    assert run.account.cap_exceeded_s == 0
    start, end, procs = (run.jobs.numpy(c) for c in ("start_s", "end_s", "procs"))
    busy = ((start <= start[:, None]) & (start[:, None] < end)) @ procs
    assert busy.max() <= 7
    most = cap_w - 350
    fits = jobs.numpy("power_w") - 50 * jobs.numpy("cores") <= most
    assert run.jobs.frame["job_id"].to_list() == np.flatnonzero(fits).tolist()


FCFS = LearnedPolicy(LearnedPriority((0.0,) * length(0), limit=math.inf))
"""All scores are equal and nobody is guarded: first come, first served under EASY."""


@settings(deadline=None, max_examples=25)
@given(JOBS, st.integers(450, 700))
def test_shares_of_jobs_alike_are_what_the_sites_engine_plans(rows, cap_w) -> None:
    """Where all processors draw the same, one resource is short for all: nothing is given away."""
    jobs = log([(s, r, n, 100) for s, r, n, _ in rows])
    own = simulate_run(jobs, FCFS, machine(float(cap_w)))
    both = simulate_run(jobs, batch_policy("easy", overdue="extend"), machine(float(cap_w)))
    assert own.jobs.frame["start_s"].to_list() == both.jobs.frame["start_s"].to_list()


def test_planning_knows_what_is_believed_and_no_more() -> None:
    """Two jobs of 300 W above idle and a cap of 400: they wait for each other, as is believed."""
    jobs = log([(0, 100, 3, 150), (1, 100, 3, 150)])
    site = rh.Machine(7, idle_w=50.0, cap_w=Series.of(750.0))
    seen = simulate_run(jobs, open_policy(OURS), site)
    assert seen.clairvoyant
    assert seen.jobs.frame["start_s"].to_list() == [0.0, 100.0]
    told = simulate_run(jobs, open_policy(OURS), site, power_w=np.array([250.0, 250.0]))
    assert not told.clairvoyant
    assert told.jobs.frame["start_s"].to_list() == [0.0, 1.0]
    assert told.account.cap_exceeded_s == 99.0


def test_a_site_compares_it_with_simple_orders_under_one_cap() -> None:
    jobs = log([(60 * k, 300, 1 + k % 5, 100) for k in range(60)])
    answer = site_policies(
        jobs, machine=machine(), policies=["easy", "sjf+easy", OURS], cap_w=600.0
    )
    waits = {r.policy.name: r.jobs.numpy("wait_s").mean() for r in answer.runs}
    assert set(waits) == {"easy", "sjf+easy", OURS}
    assert all(r.account.cap_exceeded_s == 0 for r in answer.runs)
    by_default = site_policies(jobs, machine=machine(), cap_w=600.0)
    assert by_default.runs[-1].jobs.numpy("wait_s").mean() == waits[OURS]
    free = site_policies(jobs, machine=machine(), policies=[OURS]).runs[0]
    assert waits[OURS] > free.jobs.numpy("wait_s").mean()


def test_caps_that_change_and_sites_are_still_refused() -> None:
    jobs = log([(0, 100, 1, 60), (0, 100, 1, 60)])
    moves = rh.Machine(7, idle_w=50.0, busy_w=100.0, cap_w=Series((0.0, 9.0), (700.0, 600.0)))
    with pytest.raises(DataError, match="expected processors alone, or with a power cap"):
        simulate_run(jobs, open_policy(OURS), moves)
    with pytest.raises(DataError, match="power_w: this policy cannot plan with it"):
        simulate_run(jobs, open_policy(OURS), 7, power_w=np.ones(2))
    with pytest.raises(DataError, match="expected processors alone"):
        simulate_run(jobs, open_policy("best-of-past"), machine(600.0))
