"""Environments: FCFS with EASY comes out of them exactly, masks, rewards, bytes, the law."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env

from rheostat import table
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.simulate import simulate_run
from rheostat.training.env import REWARDS, SchedulingEnv, VectorSchedulingEnv
from rheostat.training.env.batch import split
from rheostat.training.env.bill import watts_of
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.env.rewards import weights
from tests.simulation.conftest import PROCS, trace
from tests.simulation.oracle import oracle


def busy(seed=0, n=400, size=32, per_job=12):
    """A trace with a queue most of the time: (submit, run, procs, ask)."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, per_job * n, n))
    run = rng.integers(0, 120, n)
    ask = np.maximum(1, (run * rng.uniform(0.7, 4.0, n)).astype(int))
    return submit, run, rng.integers(1, size // 3, n), ask


@pytest.fixture(scope="module")
def episode() -> EpisodeTrace:
    return prepare(trace(*busy()), 32)


def play(env, choose, **reset):
    """Play one episode; (starts, rewards, masks seen)."""
    _, info = env.reset(**reset)
    rewards, masks, ended = [], [], False
    while not ended:
        masks.append(info["action_mask"])
        _, reward, ended, cut, info = env.step(choose(masks[-1]))
        rewards.append(reward)
        ended |= cut
    return env.starts, np.array(rewards), masks


def first_legal(mask):
    return int(mask.argmax())


@st.composite
def workloads(draw):
    """(submit, run, procs, request), machine; many ties, requests may be too short."""
    n, size = draw(st.integers(1, 14)), draw(st.integers(1, 6))
    numbers = lambda low, high: st.lists(st.integers(low, high), min_size=n, max_size=n)  # noqa: E731
    submit, run = sorted(draw(numbers(0, 12))), draw(numbers(0, 8))
    procs, more = draw(numbers(1, size)), draw(numbers(-2, 6))
    ask = [max(1, r + m) for r, m in zip(run, more, strict=True)]
    return [np.array(v) for v in (submit, run, procs, ask)], size


@pytest.mark.slow
@settings(max_examples=300)
@given(workloads(), st.booleans())
def test_the_first_legal_choice_is_fcfs_with_easy(load, may_wait):
    (submit, run, procs, ask), size = load
    env = SchedulingEnv(
        trace(*load[0]), size, window=14, episode_jobs=None, may_wait=may_wait, warm=False
    )
    starts, _, _ = play(env, first_legal, options={"first": 0})
    expected = oracle(submit, run, procs, size, planned=ask, booked=ask)
    assert starts.tolist() == expected.tolist()


@pytest.mark.parametrize("first", [0, 1, 57, 200, 399])
def test_a_warm_start_goes_on_as_easy_would(episode, first):
    env = SchedulingEnv(episode, window=400, episode_jobs=None)
    starts, _, _ = play(env, first_legal, options={"first": first})
    easy = simulate_run(trace(*busy()), "easy", 32).jobs.numpy("start_s")
    chosen = ~np.isnan(starts)
    assert starts[chosen].tolist() == easy[chosen].tolist()
    submit = busy()[0]
    assert chosen.tolist() == ((np.arange(400) >= first) | (easy > submit[first])).tolist()


def test_a_whole_measured_trace(shared_data):
    from rheostat.measurement.read import read

    jobs = read(shared_data / "swf" / "kth_sp2.swf.gz")
    made = prepare(jobs, PROCS["kth_sp2"])
    env = VectorSchedulingEnv(made, num_envs=1, window=300, episode_jobs=None, copy=False)
    _, info = env.reset(seed=0, options={"first": 0})
    ended = np.zeros(1, bool)
    while not ended:
        assert info["waiting"] <= 300
        _, _, ended, _, info = env.step(info["action_mask"].argmax(1))
    run = simulate_run(jobs, "easy", PROCS["kth_sp2"]).jobs
    assert info["started"] == len(run)
    assert info["mean_wait_s"] == pytest.approx(run.numpy("wait_s").mean(), rel=1e-12)
    assert info["max_wait_s"] == run.numpy("wait_s").max()


@settings(max_examples=100)
@given(workloads(), st.integers(0, 2**32), st.booleans(), st.integers(1, 14))
def test_any_play_is_a_schedule_and_no_backfill_delays_a_promise(load, seed, may_wait, window):
    (submit, run, procs, ask), size = load
    jobs = trace(submit, np.minimum(run, ask), procs, ask)  # so that promises can be held
    env = SchedulingEnv(jobs, size, window=window, may_wait=may_wait, episode_jobs=None)
    rng = np.random.default_rng(seed)
    observation, info = env.reset(options={"first": 0})
    ended, promised = False, {}
    while not ended:
        assert observation in env.observation_space
        batch = env._batch
        held = int(batch.whole[0, 7])
        if info["backfill"]:
            assert batch.real[0, 2] <= promised.setdefault(held, batch.real[0, 2])
        else:
            assert held < 0
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        observation, _, ended, _, info = env.step(action)
    start = env.starts
    assert (start >= submit).all()
    end = start + np.minimum(run, ask)
    for moment in np.unique(start):
        assert procs[(start <= moment) & (moment < end)].sum() <= size
    assert all(start[job] <= until for job, until in promised.items())


def test_observations_say_what_is_there():
    jobs = trace([0, 0, 60, 60], [600, 50, 50, 5], [3, 4, 1, 1], [1200, 60, 3600, 60])
    env = SchedulingEnv(jobs, 4, window=3, episode_jobs=None, warm=False)
    env.reset(options={"first": 0})
    env.step(0)
    env.step(0)  # promised 1200 s, the whole machine: the third is too long, the fourth fits
    observation = env._batch.views[0]
    told, profile, rest = split(observation)
    assert env.action_masks().tolist() == [False, True, False, True]
    assert told[:, 0].tolist() == [1, 1, 0]
    assert told[:2, 1].tolist() == [0.25, 0.25]
    assert told[:2, 5].tolist() == [1, 1]
    assert told[:2, 6].tolist() == [0, 1]
    assert told[2].tolist() == [0] * 8
    # free 1 of 4 until 1200 s, then all four, which the promised job takes: 16 min is too soon
    assert profile.tolist() == [0.25] * 6 + [0.0] * 10
    assert rest[[0, 1, 7, 8, 12]].tolist() == [1, 0.25, 1, 1, 0]
    assert rest[11] == pytest.approx(1140 / (1140 + 6 * 3600))


def test_observations_do_not_depend_on_the_number_of_nodes(episode):
    submit, run, procs, ask = busy()
    larger = prepare(trace(submit, run, procs * 1024, ask), 32 * 1024)
    one, other = SchedulingEnv(episode), SchedulingEnv(larger)
    assert one.reset(seed=3)[0].tobytes() == other.reset(seed=3)[0].tobytes()
    for _ in range(200):
        a, b = one.step(0), other.step(0)
        assert a[0].tobytes() == b[0].tobytes()
        if a[2]:
            break


def test_rewards_sum_to_what_they_stand_for(episode):
    jobs = episode.jobs
    for name in REWARDS[:3]:
        env = SchedulingEnv(episode, episode_jobs=None, warm=False, reward=name)
        starts, rewards, _ = play(env, first_legal, options={"first": 0})
        wait = starts - jobs[:, 0]
        if name == "wait":
            assert rewards.sum() == pytest.approx(-wait.sum() / 3600)
        elif name == "slowdown":
            assert rewards.sum() == pytest.approx(-(wait / np.maximum(jobs[:, 1], 10)).sum())
        else:
            times = np.unique(np.concatenate([starts, jobs[:, 0], starts + jobs[:, 1]]))
            idle = 0.0
            for a, b in pairwise(times):
                on = jobs[(starts <= a) & (a < starts + jobs[:, 1]), 2].sum()
                idle += (b - a) * (1 - on / 32) * ((jobs[:, 0] <= a) & (a < starts)).any()
            assert rewards.sum() == pytest.approx(-idle / 3600)


def test_dras_rewards():
    jobs = trace([0, 0, 0], [100, 50, 5], [3, 2, 1])
    kind = {"window": 3, "episode_jobs": None, "warm": False}
    env = SchedulingEnv(jobs, 4, reward="dras_capability", **kind)
    _, rewards, _ = play(env, first_legal, options={"first": 0})
    # starts on an empty machine; cannot start, 3 busy; backfilled, all busy
    expected = [(3 / 4 + 0 + 3 / 4) / 3, (3 / 4 + 0 + 2 / 4) / 3, (1 + 0 + 1 / 4) / 3]
    assert rewards.tolist() == pytest.approx(expected)
    env = SchedulingEnv(jobs, 4, reward="dras_capacity", **kind)
    _, rewards, _ = play(env, first_legal, options={"first": 0})
    assert rewards.tolist() == pytest.approx([-1 / 50, -1 / 50 - 1 / 10, 0])


def test_weights_add_up(episode):
    def total(reward):
        return play(SchedulingEnv(episode, reward=reward), first_legal, seed=1)[1]

    both = total({"wait": 2.0, "dras_capability": -0.5})
    assert both.tolist() == pytest.approx(2 * total("wait") - 0.5 * total("dras_capability"))


def test_the_law_of_gymnasium(episode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ({}, {"may_wait": True, "warm": False}, {"episode_decisions": 20}):
            check_env(SchedulingEnv(episode, **kind))


def test_illegal_actions_are_the_plain_ones(episode):
    one, other = SchedulingEnv(episode, window=5), SchedulingEnv(episode, window=5)
    mask = one.reset(seed=2)[1]["action_mask"]
    info, ended, tried = other.reset(seed=2)[1], False, 0
    while not ended:
        illegal = np.flatnonzero(~mask)
        action = int(illegal[-1]) if len(illegal) else 0
        plain = 5 if info["backfill"] else 0
        tried += len(illegal) > 0
        a, b = one.step(action), other.step(plain if len(illegal) else 0)
        assert a[0].tobytes() == b[0].tobytes()
        mask, info, ended = a[4]["action_mask"], b[4], a[2]
    assert tried > 20


@pytest.mark.parametrize("kind", [{"episode_jobs": 40}, {"episode_decisions": 30, "window": 7}])
def test_the_vector_plays_as_single_games_do(episode, kind):
    """Same seeds, same bytes, step by step, through the ends of episodes."""
    seeds = [5, 6, 7, 900]
    many = VectorSchedulingEnv(episode, num_envs=4, may_wait=True, reward="slowdown", **kind)
    single = [SchedulingEnv(episode, may_wait=True, reward="slowdown", **kind) for _ in seeds]
    views, infos = many.reset(seed=seeds)
    told = [env.reset(seed=s) for env, s in zip(single, seeds, strict=True)]
    rng, over, ends = np.random.default_rng(0), [False] * 4, 0
    for step in range(400):
        for i, (view, info) in enumerate(told):
            assert views[i].tobytes() == view.tobytes()
            for name, values in infos.items():
                assert np.array_equal(values[i], info[name]), (step, name)
        actions = [int(rng.choice(np.flatnonzero(m))) for m in infos["action_mask"]]
        views, rewards, ended, cut, infos = many.step(np.array(actions))
        for i, env in enumerate(single):
            if over[i]:
                told[i] = env.reset()
                assert (rewards[i], ended[i], cut[i]) == (0, False, False)
                over[i] = False
                continue
            view, reward, *stop, info = env.step(actions[i])
            assert [rewards[i], ended[i], cut[i]] == [reward, *stop]
            told[i], over[i] = (view, info), any(stop)
            ends += over[i]
    assert ends > 8


def test_same_seed_same_bytes(episode):
    def tape(seed):
        env = VectorSchedulingEnv(episode, num_envs=3, episode_jobs=30)
        views, info = env.reset(seed=seed)
        out = [views.tobytes()]
        for _ in range(150):
            views, rewards, *_, info = env.step(info["action_mask"].argmax(1))
            out += [views.tobytes(), rewards.tobytes(), info["action_mask"].tobytes()]
        return b"".join(out)

    assert tape(4) == tape(4)
    assert tape(4) != tape(5)


def test_without_copies_the_arrays_are_the_same_ones(episode):
    env = VectorSchedulingEnv(episode, num_envs=2, copy=False)
    views, _ = env.reset(seed=0)
    assert np.shares_memory(views, env.step(np.zeros(2, int))[0])
    safe = VectorSchedulingEnv(episode, num_envs=2)
    views, _ = safe.reset(seed=0)
    before = views.copy()
    safe.step(np.zeros(2, int))
    assert (views == before).all()


def test_every_problem_of_the_rules_is_told(episode):
    with pytest.raises(DataError, match=r"window.*episode_jobs.*episode_decisions"):
        SchedulingEnv(episode, window=0, episode_jobs=-1, episode_decisions=1.5)
    with pytest.raises(DataError, match="speed"):
        SchedulingEnv(episode, reward="speed")
    with pytest.raises(DataError, match="machine"):
        SchedulingEnv(trace([0], [1], [1]))
    with pytest.raises(DataError, match="first: expected 0 to 399, got 400"):
        SchedulingEnv(episode).reset(options={"first": 400})


def test_it_says_when_planning_knows_true_run_times(episode):
    assert not SchedulingEnv(episode).clairvoyant
    assert SchedulingEnv(trace(*busy()), 32, estimates="perfect").clairvoyant


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), "1", None])
def test_a_weight_of_a_reward_is_a_finite_number(wrong):
    said = f"wait: expected a finite weight, got {wrong!r}"
    with pytest.raises(DataError, match=said):
        weights({"wait": wrong, "energy": 1})


def test_jobs_draw_what_was_measured_else_what_their_processors_do():
    jobs = table({"job_id": [1, 2], "submit_s": [0.0, 1.0], "runtime_s": [5.0, 5.0],
                  "procs": [3, 4], "power_w": [70.0, None]})  # fmt: skip
    machine = Machine(8, busy_w=50.0)
    assert watts_of(jobs, machine).tolist() == [70.0, 200.0]
    assert watts_of(jobs.select(["procs"]), machine).tolist() == [150.0, 200.0]
