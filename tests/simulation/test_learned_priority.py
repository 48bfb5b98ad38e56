"""Learned orders: engine against the plain ones, what may be known when, guard, training."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy, simulate
from rheostat.simulation.engine.running_jobs import EXTEND
from rheostat.simulation.learned_priority import queue_features as f
from rheostat.simulation.learned_priority.machine_state import (
    begin,
    floor_of,
    look_ahead,
    postpone,
    shadow_time,
)
from rheostat.simulation.learned_priority.planning_weights import plan
from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority, together
from rheostat.simulation.learned_priority.reference_schedule import (
    beside,
    foreseen,
    reference_schedule,
)
from rheostat.simulation.learned_priority.scoring_network import CENTRE, SPREAD, _score, length
from rheostat.simulation.learned_priority.two_level_guard import constants, usual_wait
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.simulate import simulate_run
from rheostat.training.priority.evolve import begun, train_rank
from rheostat.training.priority.generated_sites import generated_site
from rheostat.training.priority.training_cases import cases, loss
from tests.simulation.conftest import trace
from tests.simulation.test_engine import workloads

TRUST = (0.2, 0.9, -0.3, 0.1, 0.1, 0.5)


def weighted(limit=math.inf, trust=(), **weights):
    """An order that is a weighted sum of features as they are."""
    found = np.zeros(length(0))
    for name, weight in weights.items():
        found[f.NAMES.index(name)] = weight * SPREAD[f.NAMES.index(name)]
    return LearnedPriority(tuple(found), limit, trust)


def starts(ranker, jobs, size, **how):
    return simulate_run(jobs, LearnedPolicy(ranker, **how), size).jobs.numpy("start_s")


def log(seed, n=60, size=16, users=3):
    rng = np.random.default_rng(seed)
    run = rng.integers(1, 400, n)
    return table(
        {
            "job_id": np.arange(n), "submit_s": np.sort(rng.integers(0, 3000, n)).astype(float),
            "runtime_s": run.astype(float), "cores": rng.integers(1, size + 1, n),
            "time_limit_s": (run * rng.integers(1, 5, n)).astype(float),
            "user": [str(u) for u in rng.integers(users, size=n)],
        }
    ), size  # fmt: skip


PLAIN = {"easy": weighted(older=1.0), "sjf+easy": weighted(ask=1.0)}


@settings(max_examples=60)
@given(workloads(), st.sampled_from(["easy", "sjf+easy"]), st.sampled_from(["textbook", "cqsim"]),
       st.sampled_from(["event", "batch"]))  # fmt: skip
def test_an_order_by_one_feature_is_that_simple_order(load, name, semantics, ties):
    submit, run, procs, ask, size = load
    jobs, how = trace(submit, run, procs, ask), {"semantics": semantics, "ties": ties}
    plain = simulate_run(jobs, name, size, overdue="extend", **how).jobs.numpy("start_s")
    assert starts(PLAIN[name], jobs, size, **how).tolist() == plain.tolist()


def test_a_deep_queue_of_many_users_is_ordered_as_by_the_plain_engine():
    jobs, size = generated_site(0, 600)
    for name, ranker in PLAIN.items():
        plain = simulate_run(jobs, name, size).jobs.numpy("start_s")
        assert np.array_equal(starts(ranker, jobs, size), plain)


@pytest.mark.parametrize("limit", [math.inf, 1.1])
@pytest.mark.parametrize("seed", range(4))
def test_run_times_of_jobs_that_have_not_ended_decide_nothing(seed, limit):
    jobs, size = log(seed)
    ranker = weighted(limit, TRUST, brief=1.0, predicted=0.5, last=0.2, wait=-0.4)
    before, run = starts(ranker, jobs, size), jobs.numpy("runtime_s")
    moment = float(np.median(before))
    unknown = before + run > moment
    ask = jobs.numpy("time_limit_s")
    # as long as they may, or as short as they can be if they are to run beyond the moment
    for other in (ask, np.minimum(np.maximum(moment - before + 1.0, 1.0), ask)):
        changed = jobs.frame["runtime_s"].to_numpy().copy()
        changed[unknown] = other[unknown]
        later = jobs.with_columns([jobs.schema["runtime_s"]], runtime_s=changed)
        after = starts(ranker, later, size)
        known = before <= moment
        assert np.array_equal(after[known], before[known])
        assert (after[~known] > moment).all()


def test_a_machine_three_times_as_large_with_jobs_three_times_as_large_is_the_same():
    jobs, size = log(5)
    grown = jobs.with_columns([jobs.schema["cores"]], cores=3 * jobs.frame["cores"].to_numpy())
    ranker = begun(limit=1.1)
    assert np.array_equal(starts(ranker, jobs, size), starts(ranker, grown, 3 * size))


def quicker(jobs, factor):
    """The same jobs, all times divided."""
    times = {c: jobs.numpy(c) / factor for c in ("submit_s", "runtime_s", "time_limit_s")}
    return jobs.with_columns([jobs.schema[c] for c in times], **times)


@pytest.mark.parametrize("factor", [1.0, 50.0])
def test_the_guard_holds_the_longest_wait_of_a_starving_order(factor):
    """Largest and newest first: without a guard the small and old wait for ever.

    First come, first served makes some wait for days on these sites, and for hours where all is 50
    times as quick.  The guard's bound is measured, not proven: two of the twelve sites are beyond
    1.5 (at most 1.71).
    """
    free, held = [], []
    for seed in range(12):
        jobs, size = generated_site(seed, 800)
        jobs = quicker(jobs, factor)
        longest = simulate_run(jobs, "easy", size).jobs.numpy("wait_s").max()
        for limit, found in ((math.inf, free), (1.5, held)):
            bad = weighted(limit, share=-1.0, older=-3.0)
            found.append(
                simulate_run(jobs, LearnedPolicy(bad), size).jobs.numpy("wait_s").max() / longest
            )
    assert sum(r > 1.5 for r in free) >= 8
    assert sum(r > 1.5 for r in held) <= 2
    assert max(held) < 2


def habits(last_ask_s=1000.0):
    """Ten jobs of a user end after a hundredth of the request; then the machine is as follows.

    One half runs, as it asks, for 500 s; a job waits for the whole machine; a short one that asks
    for more than 500 s comes last.
    """
    n = 10
    return table(
        {
            "job_id": np.arange(n + 3),
            "submit_s": [*(20.0 * k for k in range(n)), 300.0, 301.0, 302.0],
            "runtime_s": [10.0] * n + [500.0, 100.0, 10.0],
            "cores": [1] * n + [2, 4, 1],
            "time_limit_s": [1000.0] * n + [500.0, 100.0, last_ask_s],
            "user": ["u"] * n + ["v", "v", "u"],
        }
    )


def test_who_is_predicted_to_be_short_passes_where_that_is_trusted():
    asked, told = (weighted(trust=t, older=1.0) for t in ((), (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)))
    assert starts(asked, habits(), 4)[-2:].tolist() == [800.0, 900.0]
    assert starts(told, habits(), 4)[-2:].tolist() == [800.0, 302.0]


def test_the_trust_is_the_formula_of_its_heading():
    rng = np.random.default_rng(1)
    x, ask = rng.normal(3, 2, (5, f.F)), rng.uniform(100, 9000, 8)
    queue, planned = np.array([1, 3, 4, 6, 7]), np.zeros(8)
    weights = np.array(TRUST)
    plan(planned, queue, x, 2, ask, weights)
    z = (x - CENTRE) / SPREAD
    shared = weights[0] + weights[3:] @ z[2, [f.SLOWED, f.SHARE, f.GROWN]]
    grows = shared + weights[1] * (x[:, f.PREDICTED] - x[:, f.ASK]) + weights[2] * z[:, f.KNOWN]
    assert planned[queue] == pytest.approx(ask[queue] * np.exp(np.minimum(grows, 0)))
    assert planned[[0, 2, 5]].tolist() == [0, 0, 0]


def test_overdue_jobs_are_given_the_longer_estimates_of_the_compiled_engines():
    floor, start = floor_of(3, 3), np.array([0.0, 90.0, 0.0])
    booked = np.array([1.0, 1.0, 500.0])
    jobs = (np.zeros(3), np.full(3, 1e6), np.ones(3, np.int64), booked, booked)
    for job in (0, 1, 2):
        begin(job, start[job], floor, jobs, start)
    asked = np.array([1.0, 1.0, 500.0])
    for now in (200.0, 301.0):  # due now is not overdue
        postpone(floor, now, EXTEND, asked, start, jobs)
        count = look_ahead(floor, jobs[2])
        assert floor[3][0][:count, 0].tolist() == [301.0, 391.0, 500.0]
        assert floor[3][1][:count].tolist() == [0, 1, 2]


def test_a_wait_in_prospect_is_the_work_ahead_over_the_machine():
    submit, procs = np.array([0.0, 10.0, 20.0]), np.array([4, 4, 2])
    run = np.array([3e5, 1e5, 5e4])
    other = reference_schedule((submit, run, procs, run, run), 4, np.full(3, np.nan))
    other[0][1][:] = run
    usual = usual_wait(other, 100.0, constants(1.5))
    assert usual == pytest.approx(90)  # the second has waited for so long
    assert foreseen(other, 100.0, 4) == pytest.approx(3e5 - 100 + 1e5 + 80)


def test_a_job_known_to_run_still_runs_in_the_game_beside():
    submit, procs, run = np.array([0.0, 1.0]), np.array([4, 4]), np.full(2, 10.0)
    for real, wait in (([0.0, np.nan], 4999.0), ([np.nan, np.nan], 9.0)):
        other = reference_schedule((submit, run, procs, run, run), 4, np.array(real))
        assert beside(other, 5.0) == pytest.approx(4.0)
        assert beside(other, 5000.0) == pytest.approx(wait)


def test_what_is_predicted_leans_on_the_kind_then_the_user_then_all():
    known, memory = f.table([0] * 4, [100, 100, 40, 5], [1, 1, 2, 2], [200, 200, 80, 50],
                            ["a", "a", "a", "b"])  # fmt: skip
    row = np.zeros(f.F)
    f.enter(row, memory, known[0], 4)
    assert row[f.PREDICTED] == row[f.ASK] == pytest.approx(math.log(200))
    assert row[f.SHARE] == pytest.approx(math.log(1 / 4))
    assert row[f.KNOWN] == 0
    f.remember(memory, known[0])
    f.recall(row, memory, known[1])  # one of the kind, one of the user, all at half the request
    assert math.exp(row[f.PREDICTED]) == pytest.approx(100)
    assert math.exp(row[f.BRIEF]) == pytest.approx(100)
    f.recall(row, memory, known[3])  # of another user: what all say
    assert math.exp(row[f.PREDICTED]) == pytest.approx(25)


def test_the_shadow_time_counts_all_that_end_at_that_moment():
    profile = np.array([[10.0, 3], [30.0, 7], [30.0, 8], [40.0, 9]])
    reached = [shadow_time(profile, 3, need) for need in (3, 4, 8, 9)]
    assert reached == [(10.0, 0), (30.0, 4), (30.0, 0), (math.inf, 0)]


def test_a_network_without_hidden_units_is_a_sum_and_with_them_is_as_written():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(5, f.F)), rng.normal(size=length(2))
    z, scores = (x - CENTRE) / SPREAD, np.empty(5)
    _score(x, weights, scores)
    expected = z @ weights[: f.F]
    for h in range(2):
        unit = weights[f.F + h * (f.F + 2) :][: f.F + 2]
        u = z @ unit[: f.F] + unit[f.F]
        expected = expected + unit[f.F + 1] * u / (1 + abs(u))
    assert scores == pytest.approx(expected)


def test_training_lowers_the_loss_and_a_stopped_one_ends_with_the_same_bytes(tmp_path):
    jobs, size = generated_site(1, 300)
    given_ = cases(jobs, size, name="site", length=300, most=1)
    whole = train_rank(given_, generations=4, seed=3, out=tmp_path / "whole.json")
    train_rank(given_, generations=2, seed=3, out=tmp_path / "half.json")
    train_rank(given_, generations=4, seed=3, out=tmp_path / "half.json")
    assert (tmp_path / "half.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    case, wanted = given_[0], {"slowdown": 1.0}
    at = [loss(case, r.starts(case.load, case.user, case.size)[0], wanted)
          for r in (begun(), whole)]  # fmt: skip
    assert min(map(min, whole.trained["losses"])) < at[0]
    with pytest.raises(DataError, match="seed"):
        train_rank(given_, generations=4, seed=4, out=tmp_path / "whole.json")


def test_a_saved_order_is_the_same_order_and_another_file_is_refused(tmp_path):
    ranker = begun(limit=math.inf)
    ranker.save(tmp_path / "order.json")
    assert LearnedPriority.load(tmp_path / "order.json") == ranker
    larger = replace(ranker, weights=tuple(3 * w for w in ranker.weights))
    size = np.linalg.norm(ranker.weights)
    assert together([ranker, larger]).weights == pytest.approx(np.array(ranker.weights) / size)
    (tmp_path / "other.json").write_text(json.dumps({"kind": "rheostat.rank/0"}))
    with pytest.raises(DataError, match=r"0\.1\.0.*rheostat train --agent ours"):
        LearnedPriority.load(tmp_path / "other.json")
    with pytest.raises(DataError, match="weights: expected 19, 40"):
        LearnedPriority((1.0, 2.0))
    with pytest.raises(DataError, match="objective: expected some of"):
        train_rank([], objective={"speed": 1.0})


def test_the_order_that_comes_with_the_library_is_a_policy_by_name():
    jobs, size = generated_site(0, 600)
    told = simulate_run(jobs, open_policy("agent:ours"), size)
    assert told.policy.name == "agent:ours"
    alone = starts(LearnedPriority.load(SHIPPED), jobs, size)
    assert np.array_equal(told.jobs.numpy("start_s"), alone)
    with pytest.raises(DataError, match="agent:ours: semantics: with this policy expected textb"):
        simulate(jobs, "agent:ours", size, semantics="cqsim")
    with pytest.raises(DataError, match="predicts run times itself"):
        simulate(jobs, "agent:ours", size, estimates="perfect")


def test_a_generated_site_is_the_same_for_the_same_seed_and_users_repeat_themselves():
    first, again = (generated_site(3, 200)[0].frame for _ in range(2))
    assert first.equals(again)
    kinds = first.group_by("user", "cores", "time_limit_s").len()["len"]
    assert kinds.max() > 5
