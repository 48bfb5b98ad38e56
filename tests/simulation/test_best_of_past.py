"""The nightly choice of an order: what it may know, that it is exact, when it changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bursts import SIZE, burst
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy, simulate
from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority
from rheostat.simulation.policies.best_of_past import BestOfPast
from rheostat.simulation.simulate import simulate_run
from rheostat.testing.policies import check_policy
from rheostat.training.priority.generated_sites import generated_site
from tests.simulation.conftest import trace

OURS = LearnedPriority.load(SHIPPED)
HOURLY = BestOfPast(OURS, every_s=1800.0, half_life_s=7200.0, better=0.0)


def starts(jobs, policy, size):
    return simulate_run(jobs, policy, size).jobs.frame["start_s"].to_list()


def test_it_keeps_what_every_policy_owes_with_many_choices():
    check_policy(HOURLY, traces=3)


@pytest.mark.parametrize("order", ["sjf", "f4", "lxf", "wfp3", "unicef"])
@pytest.mark.parametrize("ties", ["event", "batch"])
def test_with_one_candidate_it_is_that_order_under_its_guard(order, ties):
    for seed in range(3):
        jobs = burst("random", seed)
        alone = open_policy(f"{order}+easy+1.5x", overdue="extend", ties=ties)
        only = BestOfPast(orders=(order,), every_s=600.0, ties=ties)
        assert starts(jobs, only, SIZE) == starts(jobs, alone, SIZE)


def test_with_the_learned_order_alone_it_is_that_order():
    jobs, size = generated_site(0, 600)
    only = BestOfPast(OURS, orders=(), every_s=3600.0)
    assert starts(jobs, only, size) == starts(jobs, open_policy("agent:ours"), size)


def days(count):
    """Each day a long job of the whole machine, then one of two hours, then twenty of a minute."""
    submit, run = [], []
    for day in range(count):
        submit += [86_400.0 * day + s for s in (0.0, 10.0, *range(20, 40))]
        run += [7200.0, 7200.0, *[60.0] * 20]
    return trace(submit, run, [4] * len(submit))


def test_it_begins_with_the_first_order_and_changes_to_the_better_one_by_the_second_night():
    jobs = days(4)
    policy = BestOfPast(orders=("ljf", "sjf"), limit=100.0)
    run = simulate_run(jobs, policy, 4).jobs
    wait = run.numpy("wait_s").reshape(4, -1)
    assert wait[0, 2:].min() > 7200  # the longest first
    assert wait[3, 2:].max() < 7200 + 20 * 60
    said = [n.message for n in run.notes if n.message.startswith("begins with")]
    assert len(said) == 1
    assert said[0].startswith("begins with ljf+easy; 1 change, since day 1 sjf+easy, because in")


def test_another_order_takes_over_only_where_it_is_better_by_enough():
    policy = replace(BestOfPast(orders=("ljf", "sjf"), limit=100.0), better=0.999)
    waits = simulate_run(days(4), policy, 4).jobs.numpy("wait_s").reshape(4, -1)
    assert np.array_equal(waits[0], waits[3])


def test_it_is_a_name_with_a_limit_and_refuses_true_run_times():
    jobs = burst("random", 0)
    named = simulate_run(jobs, open_policy("best-of-past+2x"), SIZE)
    assert named.policy.name == "best-of-past+2x"
    assert starts(jobs, BestOfPast(OURS, limit=2.0), SIZE) == named.jobs.frame["start_s"].to_list()
    with pytest.raises(DataError, match="predicts run times itself"):
        simulate(jobs, "best-of-past", SIZE, estimates="perfect")
