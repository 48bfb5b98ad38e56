"""What is written down of a schedule, moment by moment, against counting it again plainly."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.machine import Machine
from rheostat.core.vocabulary import table
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.tree_priority import SITE
from rheostat.errors import DataError
from rheostat.simulation.engine.sorted_blocks import blocks, insert
from rheostat.simulation.learned_priority import queue_features as rank
from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.learned_priority.scoring_network import length
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.workload import users, workload
from rheostat.training.distill import decision_states
from rheostat.training.distill.dagger import (
    DistillConfig,
    DistilledTree,
    TrainingState,
    _edges,
    _kept,
    _watch,
)
from rheostat.training.distill.decision_states import (
    DistillTrace,
    States,
    of_order,
    site_features,
    watched,
)
from rheostat.training.distill.fidelity import agreement
from rheostat.training.distill.record_decisions import FIRST, IDLE, ROWS, TIME, _profile, walk
from rheostat.training.distill.slurm_weights import (
    AGES_S,
    HALF_LIFE_S,
    _fairshare,
    _fitted,
    _priority,
    _theta,
    factors,
    weights_of,
)
from tests.simulation.conftest import trace

DAY = 86_400.0


@pytest.fixture(scope="module")
def crowded():
    """(trial, its starts under EASY): 60 jobs of four users on eight processors."""
    rng = np.random.default_rng(3)
    run = rng.integers(5, 300, 60).astype(float)
    jobs = trace(np.sort(rng.integers(50, 2000, 60)), run, rng.integers(1, 7, 60), 2 * run)
    columns = {c: jobs.numpy(c) for c in jobs.frame.columns}
    trial = DistillTrace.of(table(columns | {"user": [f"u{u}" for u in rng.integers(0, 4, 60)]}), 8)
    return trial, trial.starts(batch_policy("easy"))


def test_the_free_profile_is_expected_ends_and_what_is_free_from_each_on():
    running, profile = blocks(100), np.zeros((101, 2))
    ends = np.random.default_rng(0).permutation(100).astype(float)  # more than one block
    for job, end in enumerate(ends):
        insert(running, end, job, 1 + job % 3, 0.0)
    assert _profile(running, 5, profile) == 100
    order = np.argsort(ends)
    np.testing.assert_array_equal(profile[:100, 0], np.arange(100.0))
    np.testing.assert_array_equal(profile[:100, 1], 5 + np.cumsum(1 + order % 3))
    assert _profile(blocks(4), 5, profile) == 0


def test_every_feature_of_every_decision_is_that_of_a_plain_count(crowded):
    """All jobs that wait, what is free and expected, who else has jobs in the queue, who ended."""
    trial, start = crowded
    load, user = trial.load, users(trial.jobs, trial.load)
    known, memory = rank.table(load.submit_s, load.run_s, load.procs, load.ask_s, user)
    when = np.empty((2 * len(load), 2))
    nothing = (np.empty((0, rank.F)), np.empty(0, np.int64), np.empty((0, 4)))
    met = walk((known, memory), start, 8, np.zeros(0, bool), when, nothing)
    assert met > 20
    rows = int(when[:met, 1].sum())
    seen, job, facts = np.empty((rows, rank.F)), np.empty(rows, np.int64), np.empty((met, 4))
    known, memory = rank.table(load.submit_s, load.run_s, load.procs, load.ask_s, user)
    assert walk((known, memory), start, 8, np.ones(met, bool), when, (seen, job, facts)) == met
    ends, firsts = start + load.run_s, 0
    for k in range(met):
        now = facts[k, TIME]
        waits = np.flatnonzero((load.submit_s <= now) & (start >= now))
        runs = np.flatnonzero((start < now) & (ends > now))
        free = 8 - load.procs[runs].sum()
        assert (now, len(waits)) == tuple(when[k])
        assert (facts[k, IDLE], facts[k, FIRST], facts[k, ROWS]) == (free, firsts, len(waits))
        here = slice(firsts, firsts + len(waits))
        firsts += len(waits)
        assert job[here].tolist() == waits.tolist()
        _, past = rank.table(load.submit_s, load.run_s, load.procs, load.ask_s, user)
        for j in sorted(np.flatnonzero(ends <= now), key=lambda j: (ends[j], start[j], j)):
            rank.remember(past, known[j])
        x = np.zeros((len(waits), rank.F))
        for row, j in zip(x, waits, strict=True):
            rank.enter(row, past, known[j], 8)
        due = runs[np.argsort(start[runs] + load.ask_s[runs], kind="stable")]
        profile = np.stack([start[due] + load.ask_s[due], free + np.cumsum(load.procs[due])], 1)
        mine = np.bincount(user[waits], minlength=4).astype(float)
        rank.look(x, waits, known, mine, now, (free, 8, profile, len(due)))
        np.testing.assert_allclose(seen[here], x, rtol=1e-9, atol=1e-9)


def test_of_jobs_that_end_together_the_one_that_began_last_is_the_newest():
    """Of one user: 100 s and 60 s, both over at 100 s, expected at 500 s and 100 s."""
    jobs = trace([0, 40, 50, 50, 50], [100, 60, 30, 30, 30], [4, 4, 3, 3, 3], [500, 60, 30, 30, 30])
    trial = DistillTrace.of(table({c: jobs.numpy(c) for c in jobs.frame.columns}
                                  | {"user": ["a"] * 5}), 8)  # fmt: skip
    start = np.array([0.0, 40.0, 100.0, 130.0, 130.0])
    told = watched(trial, start, of_order(batch_policy("sjf").order))
    rows = told.x[told.first[0] : told.first[0] + told.rows[0]]
    assert told.asked[0, 0] == 100.0
    assert rows[:, rank.NAMES.index("last")] == pytest.approx(np.log(60.0))
    assert rows[:, rank.NAMES.index("known")] == pytest.approx(np.log1p(2))


def test_of_many_decisions_some_are_drawn_and_their_rows_have_a_bound(crowded, monkeypatch):
    trial, start = crowded
    every = watched(trial, start, of_order(batch_policy("sjf").order), features=SITE)
    some = watched(trial, start, of_order(batch_policy("sjf").order), features=SITE, most=7)
    assert len(some) == 7
    assert set(some.asked[some.first, 0]) <= set(every.asked[every.first, 0])
    assert (np.diff(some.asked[some.first, 0]) > 0).all()
    for most in (int(every.rows.max()) + 8, 1):
        monkeypatch.setattr(decision_states, "MOST_ROWS", most)
        few = watched(trial, start, of_order(batch_policy("sjf").order), features=SITE)
        assert len(few.x) <= most or len(few) == 1
    monkeypatch.setattr(decision_states, "MOST_ROWS", len(every.x))
    assert len(watched(trial, start, of_order(batch_policy("sjf").order))) == len(every)
    since = trial.load.submit_s[0]
    low, high = np.quantile(every.asked[every.first, 0] + since, [0.25, 0.75], method="lower")
    part = watched(trial, start, of_order(batch_policy("sjf").order), between=(low, high))
    moments = every.asked[every.first, 0] + since
    assert len(part) == ((moments >= low) & (moments < high)).sum()
    with pytest.raises(DataError, match="two waiting jobs"):
        watched(trial, start, of_order(batch_policy("sjf").order), between=(-9.0, 0.0))


def test_what_any_site_knows_of_a_job_is_its_wait_request_size_area_and_their_ratio():
    asked = np.array([[100.0, 40.0, 30.0, 4.0], [100.0, 100.0, 0.5, 2.0]])
    assert site_features(asked).tolist() == [[60, 30, 4, 120, 2], [0, 0.5, 2, 1, 0]]
    assert [f.name for f in SITE][:3] == ["wait_s", "request_s", "procs"]


def test_the_best_is_the_first_of_equals_and_stakes_are_highest_less_lowest():
    value = np.array([1.0, 3.0, 3.0, 5.0, -2.0, 0.0])
    states = States((), value[:, None], np.array([0, 3, 4]), np.array([3, 1, 2]), value,
                    np.array([3, 1, 2]))  # fmt: skip
    assert states.best(value).tolist() == [1, 3, 5]
    assert states.spread().tolist() == [2.0, 0.0, 2.0]
    assert states.of.tolist() == [0, 0, 0, 1, 2, 2]
    kept = states.only(np.array([True, False, True]))
    assert (kept.first.tolist(), kept.value.tolist()) == ([0, 3], [1, 3, 3, -2, 0])
    assert kept.crowd.tolist() == [3, 2]


def test_a_mean_slowdown_is_of_jobs_from_the_first_moment_on_and_before_the_last():
    trial = DistillTrace.of(trace([0, 10, 20, 30], [10, 20, 40, 80], [1] * 4), 1)
    start = np.array([0.0, 10.0, 60.0, 190.0])
    assert trial.slowdowns(start).tolist() == pytest.approx([1.0, 1.0, 2.0, 3.0])
    assert trial.slowdown(start) == pytest.approx(7 / 4)
    assert trial.slowdown(start, since=20.0) == pytest.approx(2.5)
    assert trial.slowdown(start, until=20.0) == pytest.approx(1.0)
    assert trial.slowdown(start, since=10.0, until=30.0) == pytest.approx(1.5)


# ---------------------------------------------------------------- teachers and rounds


def test_a_learned_order_teaches_with_its_guard_and_its_trust(crowded):
    trial, _ = crowded
    weights = tuple(np.random.default_rng(0).normal(size=length(0)))
    guarded = LearnedPriority(weights, 2.5, (0.1, 0.2, 0.0, 0.0, 0.0, 0.3))
    teacher = TrainingState.of(LearnedPolicy(guarded, "ours:mine"))
    assert teacher.facts == {"trust": [0.1, 0.2, 0.0, 0.0, 0.0, 0.3], "guard": [2.5]}
    user = users(trial.jobs, trial.load)
    np.testing.assert_array_equal(teacher.starts(trial), guarded.starts(trial.load, user, 8)[0])
    free = TrainingState.of(LearnedPolicy(LearnedPriority(weights, np.inf, ()), "ours:mine"))
    assert free.facts == {}
    assert free.name == "mine"
    assert TrainingState.of(free) is free


def test_a_tree_is_compared_on_the_jobs_from_a_moment_on_alone():
    trial = DistillTrace.of(trace([0, 10, 20, 30], [10, 20, 40, 80], [1] * 4), 1)
    his, own = np.array([0.0, 10.0, 20.0, 110.0]), np.array([0.0, 99.0, 60.0, 190.0])
    teacher = TrainingState("t", lambda sight: sight, lambda trial: his)
    made = DistilledTree(None, (), None, own).against(trial, teacher, 20.0)
    assert made["slowdown"] == {"tree": pytest.approx(2.5), "teacher": pytest.approx(1.5)}
    assert made["loss"]["mean"] == pytest.approx(2.5 / 1.5 - 1)


def test_a_trace_is_parted_for_learning_choosing_and_the_certificate(crowded):
    trial, start = crowded
    submit = trial.load.submit_s
    edges = _edges(trial, DistillConfig(share=0.5))
    assert edges == (-np.inf, submit[int(0.4 * 59)], submit[int(0.5 * 59)], np.inf)
    how, teacher = DistillConfig(share=0.6, decisions=6), TrainingState.of("sjf")
    parts = [_watch(teacher, trial, how, start, number=1, part=p) for p in range(3)]
    assert [len(p) for p in parts] == [6, min(3, len(parts[1])), 6]
    edges = np.array(_edges(trial, how)) - submit[0]
    for p, part in enumerate(parts):
        moments = part.asked[part.first, 0]
        assert (moments >= edges[p]).all()
        assert (moments < edges[p + 1]).all()
    one = _watch(teacher, trial, DistillConfig(share=0.6, decisions=1), start, number=0, part=1)
    assert len(one) == 1


def test_kept_is_whoever_agrees_most_of_those_no_worse_than_the_teacher():
    value = np.array([1.0, 2.0, 5.0, 3.0])
    held = States((), value[:, None], np.array([0, 2]), np.array([2, 2]), value, np.array([2, 2]))

    class Says:
        def __init__(self, *told):
            self.told = np.array(told)

        def predict(self, x):
            return self.told

    never, half, always = Says(1, 0, 0, 1), Says(0, 1, 0, 1), Says(0, 1, 1, 0)

    def kept(*slowdowns, teacher):
        tried = [({"slowdown": s}, tree, s) for s, tree in
                 zip(slowdowns, (never, half, always), strict=True)]  # fmt: skip
        return _kept(tried, held, teacher)

    assert kept(1.0, 2.0, 3.0, teacher=2.0) == (half, 2.0)
    assert kept(1.0, 2.0, 3.0, teacher=3.0) == (always, 3.0)
    assert kept(1.0, 2.0, 3.0, teacher=0.5) == (never, 1.0)  # all lose: who loses least
    assert kept(4.0, 2.0, 2.0, teacher=0.5) == (always, 2.0)


# ---------------------------------------------------------------- weights of Slurm


def test_factors_are_age_up_to_one_size_the_rest_of_it_and_halved_use():
    """One user has had the machine for two days, seven days ago; another waits with the first."""
    jobs = trace([0, 8 * DAY, 9 * DAY], [2 * DAY, DAY, DAY], [4, 1, 2])
    trial = DistillTrace.of(jobs, Machine(4))
    two = np.array([2, 2])
    asked = np.array([[9 * DAY, 8 * DAY, DAY, 1.0], [9 * DAY, 9 * DAY, DAY, 2.0]])
    states = States((), np.zeros((2, 1)), np.array([0]), two[:1], np.zeros(2), two[:1], asked,
                    np.array([1, 2]))  # fmt: skip
    told = factors(trial, np.array([0.0, 9 * DAY, 9 * DAY]), states, 2 * DAY)
    assert told[:, :3].tolist() == [[0.5, 0.25, 0.75], [0.0, 0.5, 0.5]]
    assert factors(trial, np.zeros(3), states, DAY / 2)[0, 0] == 1.0


def test_fairshare_is_two_to_minus_the_decayed_share_of_use_over_the_share_owed():
    columns = {"job_id": [1, 2, 3, 4], "submit_s": [5 * DAY, 5 * DAY, 12 * DAY, 12 * DAY],
               "runtime_s": [DAY, 2 * DAY, DAY, DAY], "cores": [4, 1, 1, 1],
               "time_limit_s": [DAY, 2 * DAY, DAY, DAY], "user": ["a", "b", "a", "b"]}  # fmt: skip
    trial = DistillTrace.of(table(columns), 8)
    now, life = 7 * DAY, HALF_LIFE_S
    asked = np.array([[now, 7 * DAY, DAY, 1.0]] * 2)
    rows = np.array([2])
    states = States((), np.zeros((2, 1)), np.array([0]), rows, np.zeros(2), rows, asked,
                    np.array([2, 3]))  # fmt: skip
    said = _fairshare(trial, np.array([5 * DAY, 5.5 * DAY, 12 * DAY, 12 * DAY]), states)
    decay = np.log(2) / life

    def used(procs, begin, end):
        at = np.linspace(begin, end, 20_001)
        middle = (at[1:] + at[:-1]) / 2
        return procs * np.exp(-decay * (now - middle)).mean() * (end - begin)

    a, b = used(4, 0.0, DAY), used(1, 0.5 * DAY, 2.5 * DAY)
    wanted = [2 ** (-2 * a / (a + b)), 2 ** (-2 * b / (a + b))]
    np.testing.assert_allclose(said, wanted, rtol=1e-6)
    nobody = States((), states.x, states.first, rows, states.value, rows,
                    np.array([[0.0, 0.0, DAY, 1.0]] * 2), np.array([2, 3]))  # fmt: skip
    assert _fairshare(trial, np.array([5, 5.5, 12, 12]) * DAY, nobody).tolist() == [1.0, 1.0]


def test_fitted_weights_are_a_logit_and_none_is_below_nought():
    """Of a hundred pairs that differ by 1 in a factor 75 go one way: its weight is ln 3."""
    f = np.zeros((200, 2))
    f[::2, 0] = 1.0
    f[:, 1] = f[:, 0]
    value = np.tile([1.0, 0.0], 100)
    value[150:] = np.tile([0.0, 1.0], 25)
    two = np.full(100, 2)
    states = States((), f, np.arange(0, 200, 2), two, value, two)
    loss, theta = _fitted(states, f[:, :1])
    assert theta.tolist() == [pytest.approx(np.log(3), abs=1e-3)]
    assert loss == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)), abs=1e-4)
    _, against = _fitted(states, -f[:, :1])
    assert against.tolist() == [0.0]
    _, shared = _fitted(states, f)
    assert shared.sum() == pytest.approx(np.log(3), abs=1e-3)


def test_nearest_weights_are_of_the_longest_age_that_fits_best_and_judged_on_later_decisions(
    crowded,
):
    trial, start = crowded
    told = []
    teacher = TrainingState("mine", of_order(batch_policy("fcfs").order), lambda t: start)
    found = weights_of(teacher, trial.jobs, 8, decisions=9, share=0.5, seed=2,
                       progress=lambda *a: told.append(a))  # fmt: skip
    cut = trial.load.submit_s[int(0.5 * 59)]
    learn, test = (watched(trial, start, teacher.score, between=b, most=9, seed=2)
                   for b in ((-np.inf, cut), (cut, np.inf)))  # fmt: skip
    fits = [_fitted(learn, factors(trial, start, learn, age)) for age in AGES_S]
    best = int(np.argmin([f[0] for f in fits]))
    assert found.priority == _priority(fits[best][1], AGES_S[best])
    assert found.decisions == len(test) == 9
    assert found.chance == pytest.approx((1 / test.rows).mean())
    value = factors(trial, start, test, AGES_S[best]) @ _theta(found.priority)
    assert found.agreement == agreement(test, value, seed=2)
    assert [a[1:] for a in told] == [(0, 1), (0, 3), (1, 3), (2, 3), (0, 1)]
    assert found.words.startswith("priority/multifactor puts first whom mine would in ")
    assert f" of 9 later decisions; drawing lots would in {100 * found.chance:.0f} %" in found.words


def test_a_workload_of_a_trial_is_what_can_run_there():
    jobs = trace([0, 1, 2], [5, 5, 5], [1, 9, 2])
    assert len(DistillTrace.of(jobs, 4).load) == 2
    assert DistillTrace.of(jobs, Machine(16)).size == 16
    assert len(workload(jobs, Machine(16))) == 3
