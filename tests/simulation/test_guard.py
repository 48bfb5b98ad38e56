"""The guard around any order: against the plain engine, what it knows, how long jobs wait."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.bursts import KINDS, SIZE, burst
from rheostat.cli import run as command
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy, simulate
from rheostat.simulation.engine.fair_share import no_share
from rheostat.simulation.engine.jit import compiled_score
from rheostat.simulation.learned_priority.guarded_order import in_order, play_guarded
from rheostat.simulation.learned_priority.queue_features import table as queue_table
from rheostat.simulation.policies.dispatch import schedule, scores, zero
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.workload import workload
from rheostat.testing.policies import check_policy
from tests.simulation.conftest import trace
from tests.simulation.test_engine import workloads

NEVER = np.array([np.inf, np.inf, np.inf, 0.5])
LATE = {"past": 0, "now": 1, "extend": 2}


def unguarded(load, size, name, ties, overdue):
    """Starts by the guarded engine whose guard lets everybody wait."""
    rule, rank = batch_policy(name), np.zeros(0)
    if rule.order.fixed:
        rank = np.argsort(np.argsort(scores(rule, load, load.ask_s), kind="stable")).astype(float)
    score = compiled_score(zero if rule.order.fixed else rule.order.score)
    user = np.arange(len(load)) % 3
    known = queue_table(load.submit_s, load.run_s, load.procs, load.ask_s, user)
    jobs = (load.submit_s, load.run_s, load.procs, load.ask_s, load.ask_s.copy())
    how, joined = (size, ties == "batch", LATE[overdue]), True
    if rule.order.fixed:
        joined = in_order(load, jobs[3], jobs[4], rank)
    return play_guarded(known, jobs, (rank, no_share(), score), joined, NEVER, how)[0]


@settings(max_examples=60, deadline=None)
@given(workloads(), st.sampled_from(["sjf+easy", "wfp3+easy", "lxf+easy", "easy", "ljf+easy"]),
       st.sampled_from(["event", "batch"]), st.sampled_from(sorted(LATE)))  # fmt: skip
def test_with_nobody_due_the_starts_are_those_of_the_plain_engine(given_load, name, ties, overdue):
    submit, run, procs, ask, size = given_load
    jobs = trace(submit, run, procs, ask)
    load = workload(jobs, simulate_run(jobs, "easy", size).machine)
    rule = batch_policy(name, ties=ties, overdue=overdue)
    plain = schedule(jobs, load, rule, size, load.ask_s)[0]
    assert unguarded(load, size, name, ties, overdue).tolist() == plain.tolist()


@pytest.mark.parametrize("order", ["sjf", "wfp3"])
@pytest.mark.parametrize("kind", KINDS)
def test_nobody_waits_much_longer_than_under_first_come_first_served(kind, order):
    """Beyond the limit by no more than one job that runs: it may have started a moment before."""
    beyond = 0
    for seed in range(6):
        jobs = burst(kind, seed)
        waits = {
            name: simulate_run(jobs, name, SIZE, overdue="extend").jobs.numpy("wait_s").max()
            for name in ("easy", f"{order}+easy+1.5x")
        }
        limit = 1.5 * waits["easy"]
        beyond += waits[f"{order}+easy+1.5x"] > limit
        assert waits[f"{order}+easy+1.5x"] <= limit + jobs.numpy("runtime_s").max()
    assert beyond <= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_beyond_the_limit_is_an_older_job_s_doing_or_of_one_that_ran(kind):
    """Whose end lets a late job start came before it, or had started before it was late."""
    orders = ("sjf", "saf", "lxf", "wfp3", "unicef", "f1", "f4")
    beyond = 0
    for seed in range(2000 // len(KINDS)):
        jobs, order = burst(kind, seed), orders[seed % len(orders)]
        limit = 1.5 * simulate(jobs, "easy", SIZE, overdue="extend").numpy("wait_s").max()
        ran = simulate(jobs, f"{order}+easy+1.5x", SIZE, overdue="extend")
        submit, start, end, wait = (ran.numpy(f"{c}_s") for c in ("submit", "start", "end", "wait"))
        assert len(ran) == len(jobs)
        assert wait.max() <= limit + ran.numpy("runtime_s").max()
        for late in np.flatnonzero(wait > limit):
            held = end == start[late]
            fair = (submit <= submit[late]) | (start < submit[late] + limit)
            assert held.any()
            assert fair[held].all()
        beyond += wait.max() > limit
    assert beyond <= 6


def test_jobs_that_ask_for_the_same_stand_in_line_only_where_the_order_keeps_their_arrival():
    jobs = trace([0, 1, 2, 3], [5, 5, 5, 5], [1, 2, 1, 2], [9, 9, 9, 9])
    load = workload(jobs, simulate_run(jobs, "easy", 4).machine)
    rows = [
        ([0.0, 3.0, 1.0, 4.0], True),
        ([1.0, 3.0, 0.0, 4.0], False),
        ([2.0, 1.0, 3.0, 0.0], False),
    ]
    for rank, lines in rows:
        assert in_order(load, load.ask_s, load.ask_s, np.array(rank)) is lines
    planned = np.array([5.0, 5.0, 6.0, 5.0])  # the first and third are not the same any more
    assert in_order(load, planned, load.ask_s, np.array([1.0, 3.0, 0.0, 4.0]))


def test_a_wide_job_is_not_passed_for_ever_by_a_stream_of_short_ones():
    n = 400
    submit = np.r_[1.0, np.arange(n) * 5.0]
    run, procs = np.r_[50.0, np.full(n, 9.0)], np.r_[4, np.ones(n, int) * 2]
    order = np.argsort(submit, kind="stable")
    jobs = trace(submit[order], run[order], procs[order])
    wide = int(np.flatnonzero(procs[order] == 4)[0])
    assert simulate(jobs, "sjf+easy", 4).numpy("wait_s")[wide] > 1500
    assert simulate(jobs, "sjf+easy", 4, guard=1.5).numpy("wait_s")[wide] < 20


def test_a_long_job_does_not_start_before_a_wide_one_that_it_would_make_wait():
    """Somebody has waited 100 s; a narrow job of 5000 s comes while the wide one waits for 10 s."""
    submit, run = [0.0, 0.0, 200.0, 201.0, 202.0], [100.0, 10.0, 10.0, 50.0, 5000.0]
    jobs = trace(submit, run, [4, 4, 3, 4, 1])
    assert simulate(jobs, "sqf+easy", 4).numpy("wait_s")[3] > 5000
    assert simulate(jobs, "sqf+easy", 4, guard=1.5).numpy("wait_s")[3] == 9


@pytest.mark.parametrize("name", ["sjf+easy+1.5x", "lxf+easy+1.2x"])
def test_a_guarded_order_keeps_what_every_policy_owes(name):
    check_policy(open_policy(name), traces=2)


def test_the_guard_is_an_option_and_a_name(tmp_path, capsys):
    jobs, path = burst("random", 1), tmp_path / "log.csv"
    jobs.frame.write_csv(path)
    by_name = simulate(jobs, "sjf+easy+1.5x", SIZE).frame["start_s"].to_list()
    assert simulate(jobs, "sjf+easy", SIZE, guard="1.5x").frame["start_s"].to_list() == by_name
    names = ["--policy", "easy", "--policy", "sjf+easy"]
    asked = ["simulate", str(path), "--machine", str(SIZE), *names, "--guard", "1.5x", "--json"]
    assert command(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["policies"]) == ["easy", "sjf+easy+1.5x"]  # what a wait is measured by stays
    longest = told["policies"]["sjf+easy+1.5x"]["wait_s"]["max"]
    assert longest == simulate(jobs, "sjf+easy+1.5x", SIZE).numpy("wait_s").max()


@pytest.mark.parametrize(
    ("policy", "guard", "said"),
    [
        ("sjf", 1.5, "under EASY"),
        ("conservative", 1.5, "under EASY"),
        ("sjf+easy", 0.5, "1x to 100x"),
        ("sjf+easy", "soon", "1x to 100x"),
        ("sjf+easy+0.2x", None, "1x to 100x"),
    ],
)
def test_what_cannot_be_guarded_is_refused(policy, guard, said):
    with pytest.raises(DataError, match=said):
        simulate(burst("random", 0), policy, SIZE, guard=guard)


def test_learned_estimates_and_sites_are_refused_with_a_guard():
    jobs = burst("random", 0)
    with pytest.raises(DataError, match="expected user or perfect, got last2"):
        simulate(jobs, "sjf+easy", SIZE, guard=1.5, estimates="last2")
