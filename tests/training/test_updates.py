"""How agents learn, step by step: when an update is due, what is drawn, what is kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import torch

from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import (
    ASK,
    JOB_COLUMNS,
    NEED,
    NOW,
    PLAN,
    REAL_COLUMNS,
    RUN,
    WATTS,
)
from rheostat.training.env.episode_trace import EpisodeRules, EpisodeTrace
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.env.rewards import weights
from rheostat.training.rl import dras as training
from rheostat.training.rl import ppo, rollout
from rheostat.training.rl.actor import Actor
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.actor_net import ActorNetwork, Observation
from rheostat.training.rl.agent import Agent
from rheostat.training.rl.dras import _optimiser, discounted, fingerprint, targets
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.dras_state import _squash, encode_nodes, settle
from rheostat.training.rl.episode import Episode, WindowView, planned
from rheostat.training.rl.rollout import RolloutData, RolloutWorkers, _drawn
from tests.simulation.conftest import trace
from tests.training.test_dras import SMALL, loaded
from tests.training.test_objectives import SITE, powered

TINY = ActorCriticConfig("ppo", 6, (16, 8), episodes=24, decisions=20, episode_jobs=40)
LITTLE = {"hidden": (8, 4), "window": 4, "instances": 3}


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize(("backfill", "promise", "recorded", "core"), [
    ("window", "held", False, (False, False, False)), ("queue", "held", True, (True, False, False)),
    ("window", "first", True, (False, True, True)),
    ("window", "first_held", False, (False, True, False)),
    ("queue", "first", True, (True, True, True)),
])  # fmt: skip
def test_starts_are_kept_where_jobs_behind_the_window_must_be_known(
    backfill, promise, recorded, core
):
    rules = EpisodeRules(backfill=backfill, promise=promise, may_wait=True, episode_jobs=None)
    assert rules.recorded == recorded
    assert rules.of(9) == (9, True, 0, True, 0, *core)
    cut = EpisodeRules(episode_jobs=5, episode_decisions=7, warm=False)
    assert cut.of(2)[:5] == (2, False, 7, False, 5)


def test_an_episode_begins_where_all_its_jobs_are_still_to_come():
    made = prepare(trace(np.arange(10.0), [5] * 10, [2, *[3] * 9]), 9)
    assert [made.last_first(EpisodeRules(episode_jobs=n)) for n in (1, 4, 10, 99)] == [9, 6, 0, 0]
    assert made.last_first(EpisodeRules(episode_jobs=None, episode_decisions=3)) == 7
    assert made.last_first(EpisodeRules(episode_jobs=None)) == 9
    assert made.most_running == 4  # nine processors, two at least for each
    assert EpisodeTrace(made.jobs[:3], made.low[:3], 9, False).most_running == 3


def test_a_trace_says_of_each_job_which_was_the_first_still_there():
    made = prepare(trace([0, 1, 2, 20], [15, 1, 1, 5], [1, 1, 1, 1]), 4)
    assert made.low.tolist() == [0, 0, 0, 3]
    plain = planned(made, "requested")
    assert plain is made
    true = planned(prepare(trace([0, 1], [5, 6], [1, 1], [50, 60]), 4), "true")
    assert true.jobs[:, PLAN].tolist() == true.jobs[:, RUN].tolist() == [5, 6]
    assert true.clairvoyant


def test_a_reward_is_refused_with_every_reason():
    with pytest.raises(DataError, match="expected weights of wait"):
        weights({})
    with pytest.raises(DataError, match="expected weights of wait"):
        weights(" , ")
    with pytest.raises(DataError, match=r"wait: expected a number, got 'a'; cost: .* got 'b'"):
        weights("wait=a,cost=b,energy=1")
    assert weights({"cost": 2}).tolist() == [0, 0, 0, 0, 0, 0, 2, 0]


# ---------------------------------------------------------------- DRAS


class Quiet:
    """An optimiser's stand-in."""


def learning(monkeypatch, setup, jobs, **changed):
    """(facts, sizes of the updates) of one jobset, learned from without a network's steps."""
    sizes = []
    monkeypatch.setattr(training, "update", lambda a, o, steps: sizes.append(len(steps)))
    agent = Agent(setup, jobs.size, seed=4)
    for name, value in changed.items():
        setattr(agent, name, value)
    return agent, training._learn_from(agent, Quiet(), jobs, 2), sizes


def test_the_facts_of_a_jobset_are_what_was_decided_and_learned(monkeypatch):
    jobs = prepare(loaded(n=60), SMALL)
    agent, facts, sizes = learning(monkeypatch, DrasConfig(**LITTLE), jobs, uniform=17)
    assert facts["updates"] == len(sizes) > 5
    assert (facts["jobset"], facts["jobs"], facts["of"]) == (2, 60, fingerprint(jobs))
    assert facts["uniform"] == agent.uniform == 0
    assert 0 < facts["mean_reward"] < 1  # a share, of DRAS's capability
    assert facts["decisions"] >= sum(sizes)
    assert min(sizes) >= 1


def test_an_update_is_due_so_many_events_after_the_last_or_at_the_end_of_this_one(monkeypatch):
    """A job a second, each done before the next: an event by each submission and each end."""
    few = prepare(trace(np.arange(12.0), [0.5] * 12, [1] * 12), SMALL)
    for instances, wanted in ((1, [1] * 11), (3, [2, 1, 2, 1, 2, 1, 2]), (4, [2] * 5), (100, [])):
        _, facts, sizes = learning(
            monkeypatch, DrasConfig(**LITTLE | {"instances": instances}), few
        )
        assert sizes == wanted, instances
        assert facts["updates"] == len(wanted)


def test_exploring_begins_again_with_each_jobset_where_the_switch_says(monkeypatch):
    jobs = prepare(loaded(n=30), SMALL)
    left = []
    for again in (False, True):
        setup = DrasConfig("dql", 4, (8, 4), explore=0.8, explore_factor=0.9, explore_least=0.01,
                           explore_again=again)  # fmt: skip
        agent, _, _ = learning(monkeypatch, setup, jobs, explore=0.05)
        left.append(agent.explore)
    assert left[0] == 0.01
    started = np.log(left[1] / 0.8) / np.log(0.9)  # choices that started their job at once
    assert started == pytest.approx(round(started), abs=1e-9)
    assert 15 < started < 30


def test_random_choices_are_those_of_the_agent_s_seed_and_of_the_number_of_the_jobset(monkeypatch):
    monkeypatch.setattr(training, "update", lambda *_: None)
    jobs, setup = prepare(loaded(n=60), SMALL), DrasConfig("dql", 4, (8, 4), explore_least=1.0)

    def waits(seed, number):
        agent = Agent(setup, SMALL, seed=0)
        agent.seed = seed
        return training._learn_from(agent, Quiet(), jobs, number)["mean_wait_s"]

    assert waits(4, 2) == waits(4, 2)
    assert len({waits(4, 2), waits(5, 2), waits(4, 3), waits(0, 2)}) == 4
    assert waits(None, 2) == waits(0, 2)


def test_returns_as_targets_are_shares_of_the_largest_or_of_the_range():
    assert targets(np.array([2.0, 8.0])).tolist() == [0.25, 1.0]
    assert targets(np.array([-4.0, 4.0, 0.0])).tolist() == [0.0, 1.0, 0.5]
    assert targets(np.array([-2.0, -2.0])).tolist() == [0.0, 0.0]
    assert targets(np.zeros(2)).tolist() == [0.0, 0.0]
    assert discounted([1.0, 2.0, 4.0], 0.5).tolist() == [3.0, 4.0, 4.0]


def test_a_jobset_is_known_again_by_its_jobs_and_the_size_of_the_machine():
    one = prepare(loaded(n=20), SMALL)
    assert fingerprint(one) == fingerprint(prepare(loaded(n=20), SMALL))
    assert len(fingerprint(one)) == 16
    assert fingerprint(one) != fingerprint(prepare(loaded(1, n=20), SMALL))
    other = EpisodeTrace(one.jobs, one.low, SMALL + 1, False)
    assert fingerprint(one) != fingerprint(other)


def view_of(rng, setup, count=3, nodes=5):
    return WindowView(rng.random((2 * setup.window, 2), np.float32),
                      rng.random((nodes, 2), np.float32), count)  # fmt: skip


def test_a_choice_is_drawn_by_its_probability_the_likeliest_or_at_random():
    rng = np.random.default_rng(0)
    setup = DrasConfig("pg", 4, (8, 4), test="sample")
    agent = Agent(setup, 5)
    chances = np.array([0.2, 0.0, 0.8])
    agent.answers = lambda view: chances
    view = view_of(rng, setup)
    drawn = np.bincount([agent.pick(view, rng) for _ in range(2000)], minlength=3) / 2000
    assert drawn[1] == 0
    assert drawn[0] == pytest.approx(0.2, abs=0.04)
    last = SimpleNamespace(random=lambda: 1.0)
    assert agent.pick(view, last) == 2
    agent.setup = DrasConfig("pg", 4, (8, 4), test="best")
    assert {agent.pick(view, rng) for _ in range(20)} == {2}
    assert {agent.pick(view, rng, explore=0.0) for _ in range(40)} == {0, 2}
    agent.setup = DrasConfig("dql", 4, (8, 4))
    assert {agent.pick(view, rng) for _ in range(20)} == {2}
    picked = [agent.pick(view, rng, explore=0.5) for _ in range(600)]
    assert np.mean(np.array(picked) == 2) == pytest.approx(0.5 + 0.5 / 3, abs=0.07)
    assert set(picked) == {0, 1, 2}


def test_an_answer_that_is_not_finite_is_no_answer_and_any_job_may_be_chosen():
    agent, rng = Agent(DrasConfig("dql", 4, (8, 4)), 5), np.random.default_rng(0)
    with torch.no_grad():
        agent.network.last_bias.fill_(float("nan"))
    assert agent.answers(view_of(rng, agent.setup)).tolist() == [1 / 3] * 3
    assert agent.uniform == 1


def test_first_weights_are_those_of_seed_nought_unless_another_is_given():
    setup = DrasConfig(**LITTLE)
    plain, zero, one = Agent(setup, 5), Agent(setup, 5, seed=0), Agent(setup, 5, seed=1)
    assert plain.seed == 0
    for a, b in zip(plain.network.parameters(), zero.network.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(zero.network.first, one.network.first)
    actors = [Actor(TINY), Actor(TINY, seed=0)]
    assert torch.equal(actors[0].network.job.weight, actors[1].network.job.weight)


def test_the_optimiser_takes_the_step_size_of_the_setup_and_goes_on_with_its_moments():
    agent = Agent(DrasConfig(lr=0.02, **LITTLE), 5)
    adam = _optimiser(agent, {})
    assert (adam.defaults["lr"], adam.defaults["eps"]) == (0.02, 1e-7)
    assert adam.defaults["betas"] == (0.9, 0.999)
    actor = ppo._optimiser(Actor(TINY), {})
    assert (actor.defaults["lr"], actor.defaults["eps"]) == (3e-3, 1e-5)
    kept = {f"adam.first.{m}": torch.ones(1) for m in training.MOMENTS}
    again = _optimiser(agent, kept)
    assert list(again.state) == [agent.network.first]
    assert training.moments_of(agent, again) == kept


def test_nodes_are_given_in_order_of_starts_and_lowest_first_and_are_free_at_the_end():
    jobs = np.array([[0.0, 10.0, 2.0, 30.0], [0.0, 5.0, 1.0, 5.0], [0.0, 50.0, 2.0, 50.0]])
    table = np.zeros((3, JOB_COLUMNS))
    table[:, RUN], table[:, NEED], table[:, ASK] = jobs[:, 1], jobs[:, 2], jobs[:, 3]
    starts, owner = np.array([0.0, 1.0, 6.0]), np.full(4, -1)
    settle(table, starts, owner, np.array([0, 1, 2]), 6.0)
    assert owner.tolist() == [0, 0, 2, 2]  # the second was over at 6 s, when the third came
    real, floor = np.zeros(REAL_COLUMNS), np.zeros((4, 2))
    real[NOW] = 9.0
    encode_nodes(table, real, starts, owner, False, floor)
    assert floor.tolist() == [[0, 21], [0, 21], [0, 47], [0, 47]]
    settle(table, starts, owner, np.zeros(0, np.int64), 10.0)
    assert owner.tolist() == [-1, -1, 2, 2]
    encode_nodes(table, real, starts, owner, True, floor)
    month = np.log1p(30 * 86_400.0)
    assert floor[:, 0].tolist() == [1, 1, 0, 0]
    assert floor[:, 1] == pytest.approx([0, 0, np.log1p(47) / month, np.log1p(47) / month])
    assert [_squash(t, False) for t in (-3.0, 5.0)] == [-3.0, 5.0]
    assert [_squash(t, True) for t in (-3.0, 30 * 86_400.0)] == [0.0, 1.0]


def test_an_episode_says_how_far_it_is():
    episode = Episode(
        prepare(trace([0, 1, 2, 3], [9, 9, 1, 1], [2, 3, 1, 1]), 4), DrasConfig(window=4)
    )
    assert (episode.started, episode.waiting, episode.free, episode.event) == (0, 1, 4, 1)
    assert not episode.backfills
    episode.view()
    assert episode.choose(0)[1]
    assert (episode.started, episode.free, episode.now_s) == (1, 2, 1.0)
    episode.view()
    assert not episode.choose(0)[1]  # three processors: promised; the third job may pass
    assert episode.backfills
    assert (episode.waiting, episode.event, episode.now_s) == (2, 3, 2.0)


# ---------------------------------------------------------------- A2C, PPO


def test_blocks_played_elsewhere_are_those_played_here(monkeypatch):
    ground = RolloutData((prepare(loaded(n=80), SMALL),), TINY, 3, 1.0)
    network = ActorNetwork(TINY, 5)
    weights = {k: v.numpy() for k, v in network.state_dict().items()}
    monkeypatch.setattr(rollout, "_KEPT", [])
    threads = torch.get_num_threads()
    rollout._remember(ground)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(threads)
    blocks = [rollout._remote(weights, 1, first) for first in (0, 16)]
    with RolloutWorkers(ground) as alone:
        whole = alone.play(network, 1)
    assert [b.chosen.shape for b in blocks] == [(20, 16), (20, 8)]
    assert whole.values.shape == (21, 24)
    for name in whole.__dataclass_fields__:
        both = np.concatenate([getattr(b, name) for b in blocks], axis=1)
        np.testing.assert_array_equal(getattr(whole, name), both)


def test_traces_take_turns_from_update_to_update():
    grounds = [prepare(loaded(seed, n=80), SMALL) for seed in (0, 1)]
    network = ActorNetwork(TINY, 5)
    both = RolloutData(tuple(grounds), TINY, 3, 1.0)
    for update in range(3):
        one = RolloutData((grounds[update % 2],), TINY, 3, 1.0).play(network, update, 0)
        np.testing.assert_array_equal(one.views, both.play(network, update, 0).views)


def test_values_of_a_rollout_are_those_of_what_was_seen_and_of_what_came_after():
    network = ActorNetwork(TINY, 5)
    played = RolloutData((prepare(loaded(n=80), SMALL),), TINY, 3, 1.0).play(network, 0, 0)
    with torch.no_grad():
        told = network(torch.from_numpy(played.views[7]), torch.from_numpy(played.mask[7]))
    np.testing.assert_allclose(played.values[7], told[1].numpy(), rtol=1e-6)
    chance = told[0].log_softmax(1).numpy()[np.arange(16), played.chosen[7]]
    np.testing.assert_allclose(played.chance[7], chance, rtol=1e-5)
    assert (played.values[-1] != played.rewards[-1]).any()
    assert np.abs(played.values[-1] - played.values[-2]).max() < 10


def test_a_draw_beyond_the_last_edge_is_the_last_choice_that_can_be_had():
    chances = np.array([[0.5, 0.3, 0.0], [0.0, 0.0, 1.0]])
    assert _drawn(chances, np.array([1.0, 1.0])).tolist() == [1, 2]
    assert _drawn(chances, np.array([0.0, 0.0])).tolist() == [0, 2]
    assert _drawn(chances, np.array([0.625, 0.5])).tolist() == [1, 2]  # of 0.8 in all


def test_an_actor_says_how_far_it_is_and_plays_the_likeliest_choice():
    jobs, said = prepare(loaded(n=40), SMALL), []
    played = Actor(TINY, seed=1).play(jobs, progress=lambda *a: said.append(a))
    assert said[-1] == (40, 40, {})
    assert [s[0] for s in said] == sorted(s[0] for s in said)
    waits = played.starts - jobs.jobs[:, 0]
    assert played.metrics()["mean_wait_s"] == pytest.approx(waits.mean())
    assert played.metrics()["max_wait_s"] == waits.max()
    assert not played.clairvoyant


def test_usual_watts_are_a_mean_over_traces_of_the_mean_per_processor():
    traces = [prepare(powered(seed, 30), SITE) for seed in (0, 1)]
    billed = ActorCriticConfig(reward="energy")
    wanted = np.mean([np.mean(t.jobs[:, WATTS] / t.jobs[:, NEED]) for t in traces])
    assert ppo._usual(traces, billed) == pytest.approx(wanted)
    assert ppo._usual(traces, TINY) == 1.0
    seen = Observation(billed, traces[0], 50.0)
    np.testing.assert_allclose(
        seen.share, traces[0].jobs[:, WATTS] / traces[0].jobs[:, NEED] / 50, rtol=1e-6
    )
    assert seen.usual == pytest.approx(np.mean(SITE.carbon_g_per_kwh.values))
    free = prepare(powered(0, 30), Machine(SMALL, idle_w=7.0, busy_w=50.0))
    assert Observation(billed, free, 50.0).usual == 1.0
