"""Scores computed lazily start the jobs that scores computed for every job at every event start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.decision.policies.batch_policy import OVERDUE, batch_policy
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS
from rheostat.simulation.simulate import simulate_run
from tests.simulation.conftest import trace

FALLING = sorted(n for n, o in PRIORITY_FUNCTIONS.items() if o.falling)
SECONDS = st.floats(0, 1e9)


@given(
    st.sampled_from(FALLING), SECONDS, SECONDS, SECONDS, st.floats(1, 1e7), st.integers(1, 10**6)
)
def test_a_falling_score_never_rises_while_the_job_waits(name, submit, wait, more, r, n):
    score = PRIORITY_FUNCTIONS[name].score
    now = submit + wait
    assert score(now + more, submit, r, float(n)) <= score(now, submit, r, float(n))


@given(
    st.sampled_from(FALLING), SECONDS, SECONDS, SECONDS, st.floats(1, 1e7), st.integers(1, 10**6)
)
def test_of_equal_requests_the_first_to_come_is_not_behind(name, submit, later, wait, r, n):
    score, second = PRIORITY_FUNCTIONS[name].score, submit + later
    now = second + wait
    assert score(now, submit, r, float(n)) <= score(now, second, r, float(n))


def both_ways(jobs, policy, **how):
    """Starts with lines and scores computed lazily, and with all of them at every event."""
    rule = batch_policy(policy, **how)
    orders = (replace(rule.order, falling=falling) for falling in (True, False))
    runs = (simulate_run(jobs, replace(rule, order=order), 160) for order in orders)
    return [run.jobs.numpy("start_s").tolist() for run in runs]


@pytest.mark.parametrize("backfill", ["none", "easy"])
@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("span", [0, 3_000, 60_000])
@pytest.mark.parametrize("kinds", [5, 500, 900])
def test_lazily_or_all_at_every_event_the_starts_are_the_same(name, backfill, span, kinds):
    """Up to 1,200 waiting; jobs of 5 kinds have equal scores all the time and stand in 5 lines."""
    rng = np.random.default_rng(span + kinds)
    n = 1_200
    run, procs = rng.lognormal(4, 1.5, kinds).round(), rng.geometric(0.05, kinds).clip(max=80)
    kind, submit = rng.integers(0, kinds, n), np.sort(rng.integers(0, span + 1, n))
    jobs = trace(submit, run[kind], procs[kind], run[kind] * rng.integers(1, 3, kinds)[kind])
    how = {"ties": "batch" if kinds == 5 else "event", "overdue": OVERDUE[span % 7 % 3]}
    lazily, all_of_them = both_ways(jobs, f"{name}+{backfill}", **how)
    assert lazily == all_of_them


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", FALLING)
def test_of_many_small_jobs_that_could_pass_a_large_one_the_first_by_score_does(name, seed):
    """Large jobs block the machine; hundreds of small ones fit, and their order changes in time."""
    rng = np.random.default_rng(seed)
    n = 1_200
    run, large = rng.lognormal(6, 1.2, n).round(), rng.random(n) < 0.15
    procs = np.where(large, rng.integers(60, 160, n), rng.integers(1, 4, n))
    jobs = trace(np.sort(rng.integers(0, 3_001, n)), run, procs, run * rng.integers(1, 3, n))
    lazily, all_of_them = both_ways(jobs, f"{name}+easy")
    assert lazily == all_of_them
