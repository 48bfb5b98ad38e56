"""Blocks, groups and classes of any size give the same starts: those of the plain oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision.policies.batch_policy import BACKFILLING, OVERDUE, batch_policy
from rheostat.simulation.simulate import simulate_run
from tests.simulation.conftest import trace
from tests.simulation.oracle import oracle
from tests.simulation.small_blocks import small_blocks

SIZES = (
    {"WIDTH": 2, "DEEP": 1, "GROUPS": 2, "CLASSES": 1, "FEW": 2, "MANY": 0, "SPARE": 0},
    {"WIDTH": 4, "DEEP": 2, "GROUPS": 4, "CLASSES": 3, "FEW": 6, "MANY": 4, "SPARE": 2},
)
HOW = [(semantics, ties) for semantics in ("textbook", "cqsim") for ties in ("event", "batch")]


@st.composite
def crowds(draw, most=30):
    """(submit, run, procs, request, machine): many jobs at once, sizes and lengths of all kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, size = draw(st.integers(1, most)), draw(st.sampled_from([2, 6, 20, 50]))
    submit = np.sort(rng.integers(0, draw(st.sampled_from([1, 9, 40])), n))
    run = rng.integers(0, draw(st.sampled_from([4, 30])), n)
    few = rng.geometric(0.4, n).clip(max=size)
    procs = few if draw(st.booleans()) else rng.integers(1, size + 1, n)
    ask = np.maximum(run > 0, run + rng.integers(-2, draw(st.sampled_from([3, 30])), n))
    return submit, run, procs, ask, size


@settings(max_examples=250)
@given(
    crowds(), st.sampled_from(["fcfs", "saf", "ljf", "wfp3", "lxf", "unicef"]),
    st.sampled_from(SIZES), st.sampled_from(BACKFILLING), st.sampled_from(HOW),
    st.sampled_from(OVERDUE),
)  # fmt: skip
def test_small_blocks_start_jobs_when_the_oracle_does(load, name, sizes, backfill, how, overdue):
    submit, run, procs, ask, size = load
    semantics, ties = how
    rule = batch_policy(
        name if backfill == "none" else f"{name}+{backfill}",
        semantics=semantics,
        ties=ties,
        overdue=overdue,
    )

    def score(now, j, _):
        r = float(max(ask[j], 1))
        seconds = float(now - submit[0]), float(submit[j] - submit[0])
        return rule.order.score(*seconds, r, float(procs[j]))

    with small_blocks(**sizes):
        starts = simulate_run(trace(*load[:4]), rule, size).jobs.numpy("start_s")
    expected = oracle(
        submit, run, procs, size,
        planned=run if semantics == "cqsim" else ask, booked=ask,
        backfill=backfill, score=score, batch=ties == "batch", overdue=overdue,
    )  # fmt: skip
    assert starts.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("rule", "size", "span"),
    [
        ("conservative", 300, 400), ("sjf+conservative", 300, 400), ("ljf+conservative", 60, 9000),
        ("saf+easy", 300, 400), ("wfp3+easy", 300, 400), ("unicef", 60, 9000),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("how", HOW)
def test_the_size_of_blocks_changes_no_start(rule, size, span, sizes, how):
    """A queue of 200 on a machine that runs 30 at a time, and one that empties now and then."""
    rng = np.random.default_rng(3)
    n = 250
    submit, run = np.sort(rng.integers(0, span, n)), rng.integers(1, 900, n)
    procs = rng.geometric(30 / size, n).clip(max=size // 3)
    jobs = trace(submit, run, procs, np.maximum(1, run + rng.integers(-50, 900, n)))
    rule = batch_policy(rule, semantics=how[0], ties=how[1])
    compiled = simulate_run(jobs, rule, size).jobs.numpy("start_s")
    with small_blocks(**sizes):
        interpreted = simulate_run(jobs, rule, size).jobs.numpy("start_s")
    assert interpreted.tolist() == compiled.tolist()
