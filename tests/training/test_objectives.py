"""Rewards add up to what they stand for; DRAS's switches against schedules known otherwise."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from rheostat.core.jobs import Column, Moment
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.core.vocabulary import VOCABULARY, table
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import simulate
from rheostat.simulation.power import plain_account
from rheostat.training.env import SchedulingEnv
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.dras import train
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode
from rheostat.training.rl.objective import judged, reward_of
from tests.simulation.conftest import trace
from tests.training.test_dras import SMALL, loaded

SITE = Machine(
    SMALL,
    idle_w=7.0,
    busy_w=50.0,
    tariff_per_kwh=Series((0.0, 300.0), (0.1, 0.3), repeat_s=700.0),
    carbon_g_per_kwh=Series((100.0, 400.0, 450.0), (20.0, 500.0, 90.0)),
)


def powered(seed=0, n=120):
    """A loaded trace, half of whose jobs have watts measured."""
    jobs, rng = loaded(seed, n), np.random.default_rng([seed, 1])
    watts = np.where(rng.random(n) < 0.5, rng.uniform(10, 900, n), np.nan)
    return jobs.with_columns([VOCABULARY["power_w"]], power_w=watts)


def played(jobs, reward, **rules):
    """Starts in order of submission and the rewards of an episode of random legal choices."""
    env = SchedulingEnv(jobs, SITE, window=6, episode_jobs=None, warm=False, reward=reward, **rules)
    _, told = env.reset(seed=0, options={"first": 0})
    rng, rewards, over = np.random.default_rng(4), [], False
    while not over:
        legal = np.flatnonzero(told["action_mask"])
        _, reward, over, _, told = env.step(int(rng.choice(legal)))
        rewards.append(reward)
    return env.starts, np.array(rewards)


def books(jobs, starts):
    """The account of the schedule, as `simulate` keeps it."""
    order = np.argsort(jobs.numpy("submit_s"), kind="stable")
    submit, run, procs, watts = (
        jobs.numpy(c)[order] for c in ("submit_s", "runtime_s", "cores", "power_w")
    )
    ids = np.arange(len(jobs))
    return plain_account(SITE, ids, procs.astype(int), starts, starts + run, submit, watts)


@pytest.mark.parametrize("seed", range(3))
def test_rewards_of_a_whole_game_add_up_to_the_site_s_bill(seed):
    jobs = powered(seed)
    for name, of in (
        ("energy", lambda a: a.total_j / 3.6e6),
        ("cost", lambda a: a.cost),
        ("carbon", lambda a: a.carbon_g / 1e3),
    ):
        starts, rewards = played(jobs, name, may_wait=True)
        assert -rewards.sum() == pytest.approx(of(books(jobs, starts)), rel=1e-9)
        assert len(np.unique(rewards)) > 20


def test_rewards_of_a_whole_game_add_up_to_waits_slowdowns_and_idle_hours():
    jobs = powered()
    submit, run, procs = (jobs.numpy(c) for c in ("submit_s", "runtime_s", "cores"))
    starts, rewards = played(jobs, "wait")
    waits = starts - submit
    assert -rewards.sum() == pytest.approx(waits.sum() / 3600)
    _, rewards = played(jobs, "slowdown")
    assert -rewards.sum() == pytest.approx((waits / np.maximum(run, 10)).sum())
    long = run >= 10  # there, it is the bounded slowdown less 1
    slow = np.maximum(1.0, (waits + run) / np.maximum(run, 10)) - 1
    assert slow[long].sum() == pytest.approx((waits / np.maximum(run, 10))[long].sum())
    _, rewards = played(jobs, "utilisation")
    moments = np.unique(np.concatenate([submit, starts, starts + run]))
    now = moments[:-1, None]
    busy = ((starts <= now) & (now < starts + run)) @ procs
    queue = ((submit <= now) & (now < starts)).any(axis=1)
    idle = ((1 - busy / SMALL) * queue * np.diff(moments)).sum() / 3600
    assert -rewards.sum() == pytest.approx(idle)


def test_weighted_rewards_are_the_weighted_sum_of_each():
    jobs = powered()
    alone = [played(jobs, name)[1] for name in ("slowdown", "carbon")]
    _, both = played(jobs, "slowdown=2,carbon=0.5")
    np.testing.assert_allclose(both, 2 * alone[0] + 0.5 * alone[1])


def test_several_objectives_are_weighed_by_what_easy_makes_of_them():
    jobs = powered()
    episode = prepare(jobs, SITE)
    reward = reward_of("slowdown=2,carbon=0.5,utilisation=1,wait=3", [episode], SITE)
    env = SchedulingEnv(episode, window=150, episode_jobs=None, warm=False, reward=reward)
    _, told = env.reset(seed=0, options={"first": 0})
    total, over = 0.0, False
    while not over:  # the first legal choice: EASY
        _, gain, over, _, told = env.step(int(np.flatnonzero(told["action_mask"])[0]))
        total += gain
    assert -total == pytest.approx(6.5 * len(jobs))
    assert judged("wait=1,energy=4", episode, env.starts, SITE) == pytest.approx(1)
    late = env.starts + 3600.0
    assert judged("wait", episode, late, SITE) == pytest.approx(
        1 + len(jobs) / (env.starts - jobs.numpy("submit_s")).sum() * 3600
    )
    assert reward_of("dras_capability", [episode], SITE) == "dras_capability"
    with pytest.raises(DataError, match="dras_capacity: expected one of wait"):
        reward_of("wait=1,dras_capacity=1", [episode], SITE)
    alone = prepare(trace([0, 9], [3, 3], [1, 1]), SMALL)
    with pytest.raises(DataError, match="wait: FCFS with EASY has none of it"):
        reward_of("wait=1,slowdown=1", [alone], SITE)


def test_what_cannot_be_counted_is_refused_all_at_once():
    with pytest.raises(DataError) as told:
        SchedulingEnv(loaded(), SMALL, reward="energy=1,carbon=1")
    for word in ("150 of 150 jobs have no watts", "power_w", "idle_w", "carbon_g_per_kwh"):
        assert word in str(told.value)
    assert "tariff" not in str(told.value)


def first_always(jobs, **setup):
    """Starts if the first job shown is chosen, always."""
    episode = Episode(prepare(jobs, SMALL), DrasConfig(window=2, **setup))
    while not episode.over:
        episode.view()
        episode.choose(0)
    return episode


@pytest.mark.parametrize("promise", ["held", "first", "first_held"])
@pytest.mark.parametrize(("plans", "flavour"), [("requested", "textbook"), ("true", "cqsim")])
def test_backfilling_the_whole_queue_first_come_first_is_easy_start_for_start(
    promise, plans, flavour
):
    differs = 0
    for seed in range(3):
        jobs = loaded(seed)
        episode = first_always(jobs, backfill="queue", plans=plans, promise=promise)
        known = simulate(jobs, "easy", SMALL, semantics=flavour).numpy("start_s")
        assert episode.starts.tolist() == known.tolist()
        assert episode.clairvoyant == (plans == "true")
        narrow = first_always(jobs, plans=plans, promise=promise)
        differs += (narrow.starts != known).sum()
    assert differs > 20  # a window of two jobs alone is not EASY


def busy_then_three():
    """3 of 4 processors busy for 100 s; then jobs of 4, 2 and 1 processors wait."""
    return prepare(trace([0, 1, 2, 3, 90], [100, 50, 50, 10, 5], [3, 4, 2, 1, 4]), 4)


@pytest.mark.parametrize(
    ("promise", "starts"),
    [
        ("held", [0, 100, 150, 3, 200]),
        ("first", [0, 150, 100, 3, 200]),
        ("first_held", [0, 100, 150, 3, 200]),
    ],
)
def test_a_promise_is_held_until_the_start_or_asked_for_again_at_each_event(promise, starts):
    episode = Episode(busy_then_three(), DrasConfig(window=4, promise=promise))
    while (
        not episode.over
    ):  # the second job, alone when it comes, is only taken where none other is
        episode.view()
        wanted = min(episode.shown, key=(0, 2, 3, 1, 4).index)
        episode.choose(episode.shown.tolist().index(wanted))
    assert episode.starts.tolist() == starts


def test_random_choices_grow_rarer_by_the_jobs_that_the_switch_says():
    def explored(decay):
        setup = DrasConfig(method="dql", hidden=(4, 4), window=4, decay=decay, explore_factor=0.5,
                      explore_least=0.0)  # fmt: skip
        return train([busy_then_three()], setup).explore

    # the first job starts, the fourth is backfilled, the others start as promised or selected
    assert explored("fits") < explored("selected") < 1


def test_priorities_of_the_trace_are_seen_where_the_switch_says():
    jobs = trace([0, 0, 0], [9, 9, 9], [4, 4, 4]).with_columns(
        [Column("priority", "", Moment.SUBMIT, "priority")], priority=np.array([0.0, 3.0, 0.0])
    )
    for priorities, seen in (("trace", 1.0), ("none", 0.0)):
        episode = Episode(
            prepare(jobs, 4), DrasConfig(window=4, inputs="raw", priorities=priorities)
        )
        assert episode.view().jobs[1, 0] == 0
        episode.choose(0)
        assert episode.view().jobs[:3].tolist() == [[4, 9], [seen, 0], [0, 0]]


def test_a_table_without_jobs_that_draw_is_told():
    jobs = table({"job_id": [1], "submit_s": [0.0], "runtime_s": [5.0], "cores": [1]})
    with pytest.raises(DataError, match="1 of 1 jobs have no watts"):
        SchedulingEnv(jobs, 4, reward="energy")
