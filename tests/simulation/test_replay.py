"""The replay check: distances in closed form, and a trace is close to its own simulation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import ks_2samp, spearmanr

from rheostat.cli import run
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.job_logs.swf import write_swf
from rheostat.questions.scheduling.policies import simulate
from rheostat.simulation.comparison.replay import Replay, ks_distance, queues, replay
from tests.simulation.conftest import trace

PROCS = 32


@pytest.fixture(scope="module")
def jobs():
    rng = np.random.default_rng(4)
    n = 1500
    submit = np.sort(rng.integers(0, 400 * n, n))
    run_s = rng.lognormal(7, 1.2, n).round()
    return trace(submit, run_s, rng.integers(1, PROCS + 1, n), run_s * rng.integers(1, 5, n))


def logged(jobs, wait):
    return jobs.with_columns([VOCABULARY["wait_s"]], wait_s=wait)


@pytest.mark.parametrize("k", [0, 1, 25, 100])
def test_ks_of_a_shifted_grid_is_the_shift(k):
    grid = np.arange(100.0)
    assert ks_distance(grid, grid + k) == pytest.approx(k / 100)


def test_ks_of_two_uniforms_with_a_common_edge():
    """Below min(a, b), F and G are x / a and x / b: the largest gap is 1 - a / b."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    assert ks_distance(3 * grid, 5 * grid) == pytest.approx(1 - 3 / 5, abs=1e-3)


def test_ks_and_ranks_are_scipys_with_ties_and_other_lengths():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 30, 400).astype(float), rng.integers(5, 50, 300).astype(float)
    assert ks_distance(a, b) == pytest.approx(ks_2samp(a, b).statistic)
    jobs = trace(np.arange(300), np.ones(300), np.ones(300, int))
    done = simulate(jobs, "fcfs", 300).with_columns((), wait_s=b)
    found = replay(logged(jobs, a[:300]), done)
    assert found.wait_rank_correlation == pytest.approx(spearmanr(a[:300], b).statistic)
    assert found.ks == pytest.approx(ks_2samp(a[:300], b).statistic)


def test_the_queue_is_as_deep_as_the_waits_are_long(jobs):
    submit = jobs.numpy("submit_s")
    wait = np.random.default_rng(1).exponential(5e4, len(jobs))
    a, b = queues(submit, wait, wait / 2)
    span = (submit + wait).max() - submit.min()
    assert a.mean() * span == pytest.approx(wait.sum())
    assert b.mean() * span == pytest.approx(wait.sum() / 2)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "saf+easy"])
def test_a_trace_is_close_to_its_own_simulation(jobs, policy):
    done = simulate(jobs, policy, PROCS)
    found = replay(logged(jobs, done.numpy("wait_s")), done)
    assert found.verdict == "close"
    assert found.ks == 0
    assert found.wait_rank_correlation == pytest.approx(1)
    assert found.queue_correlation == pytest.approx(1)
    assert found.logged_mean_wait_s == found.simulated_mean_wait_s == done.numpy("wait_s").mean()


def test_another_discipline_is_not_close(jobs):
    done = simulate(jobs, "easy", PROCS)
    other = simulate(jobs, "fcfs", PROCS)
    assert replay(logged(jobs, other.numpy("wait_s")), done).verdict != "close"


def test_waits_that_nothing_explains_are_far(jobs):
    done = simulate(jobs, "easy", PROCS)
    shuffled = np.random.default_rng(0).permutation(done.numpy("wait_s"))
    found = replay(logged(jobs, shuffled), done)
    assert found.ks == 0  # the same waits, of other jobs
    assert abs(found.wait_rank_correlation) < 0.1
    assert found.verdict == "far"


def test_a_verdict_needs_every_limit():
    values = {"jobs": 99, "ks": 0.1, "wait_rank_correlation": 0.6, "queue_correlation": 0.8}
    rest = dict.fromkeys(("logged_mean_wait_s", "simulated_mean_wait_s", "logged_p95_wait_s",
                          "simulated_p95_wait_s"), 0.0)  # fmt: skip
    told = lambda **v: Replay(**{**values, **rest, **v}).verdict  # noqa: E731
    assert told() == "close"
    assert (
        told(ks=0.11) == told(wait_rank_correlation=0.59) == told(queue_correlation=0.7) == "rough"
    )
    assert told(ks=0.26) == told(queue_correlation=0.4) == told(queue_correlation=np.nan) == "far"


def test_rows_that_did_not_run_are_not_compared(jobs):
    """Jobs too large for the machine are left out; the others keep their own waits."""
    small = simulate(jobs, "easy", PROCS - 4)
    assert len(small) < len(jobs)
    wait = np.full(len(jobs), np.nan)
    wait[np.isin(jobs.numpy("job_id"), small.numpy("job_id"))] = small.numpy("wait_s")
    found = replay(logged(jobs, wait), small)
    assert (found.jobs, found.ks) == (len(small), 0)


def test_a_job_number_given_twice_keeps_its_own_wait(jobs):
    """Where a number is that of a job left out as well, submission tells the two apart."""
    small = simulate(jobs, "easy", PROCS - 4)
    ran = np.isin(jobs.numpy("job_id"), small.numpy("job_id"))
    number = np.arange(len(jobs))
    number[np.flatnonzero(~ran)[0]] = number[np.flatnonzero(ran)[0]]
    twice = jobs.with_columns((), job_id=number)
    wait = np.where(ran, 0.0, 1e6)
    wait[ran] = small.numpy("wait_s")
    found = replay(logged(twice, wait), small.with_columns((), job_id=number[ran]))
    assert (found.jobs, found.ks) == (len(small), 0)


def test_a_schedule_holds_no_second_copy_of_its_trace(jobs):
    """So that ten million jobs take the memory of one table."""
    named = jobs.with_columns(
        [VOCABULARY["app"]], app=[f"an application {i}" for i in range(len(jobs))]
    )
    done = simulate(named, "easy", PROCS)
    assert np.shares_memory(*(t.frame["time_limit_s"].to_numpy() for t in (named, done)))


def test_without_waits_there_is_nothing_to_compare(jobs):
    done = simulate(jobs, "easy", PROCS)
    assert replay(jobs, done) is None
    assert replay(logged(jobs, np.full(len(jobs), np.nan)), done) is None


def test_the_command_tells_whether_the_log_is_met(jobs, tmp_path, capsys):
    done = simulate(jobs, "easy", PROCS)
    path = tmp_path / "site.swf"
    write_swf(logged(jobs, done.numpy("wait_s")), path, [f"MaxProcs: {PROCS}"])
    assert run(["simulate", str(path), "--policy", "easy", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["replay"]
    assert (told["policy"], told["verdict"], told["ks"]) == ("easy", "close", 0)
    assert run(["simulate", str(path), "--policy", "fcfs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replay"]["verdict"] != "close"
    both = ["--policy", "fcfs", "--policy", "easy"]
    assert run(["simulate", str(path), *both, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["replay"]["policy"], told["nearest"]["policy"]) == ("fcfs", "easy")
    assert run(["simulate", str(path), *both]) == 0
    said = capsys.readouterr().err
    assert "fcfs is far from the log" in said
    assert "Nearest is easy: close to the log" in said
    write_swf(jobs, path, [f"MaxProcs: {PROCS}"])
    assert run(["simulate", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["replay"] is None
