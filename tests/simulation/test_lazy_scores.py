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


@pytest.mark.parametrize("backfill", ["none", "easy"])
@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("span", [0, 3_000, 60_000])
@pytest.mark.parametrize("kinds", [5, 900])
def test_lazily_or_all_at_every_event_the_starts_are_the_same(name, backfill, span, kinds):
    """Up to 1,200 waiting; jobs of 5 kinds have equal scores all the time."""
    rng = np.random.default_rng(span + kinds)
    n = 1_200
    run, procs = rng.lognormal(4, 1.5, kinds).round(), rng.geometric(0.05, kinds).clip(max=80)
    kind, submit = rng.integers(0, kinds, n), np.sort(rng.integers(0, span + 1, n))
    jobs = trace(submit, run[kind], procs[kind], run[kind] * rng.integers(1, 3, kinds)[kind])
    starts = []
    for falling in (True, False):
        order = replace(PRIORITY_FUNCTIONS[name], falling=falling)
        how = {"ties": "batch" if kinds == 5 else "event", "overdue": OVERDUE[span % 7 % 3]}
        rule = replace(batch_policy(f"{name}+{backfill}", **how), order=order)
        starts.append(simulate_run(jobs, rule, 160).jobs.numpy("start_s").tolist())
    assert starts[0] == starts[1]
