"""A2C and PPO: a known optimum, the same bytes however cut or shared out, bills, playing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from rheostat.errors import DataError
from rheostat.prediction.saved_models.persist import load
from rheostat.questions.scheduling.policies import open_policy
from rheostat.simulation.simulate import simulate_run
from rheostat.training.env.batch import Batch
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl import ppo
from rheostat.training.rl.actor import Actor
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.actor_net import ActorNetwork, Observation
from rheostat.training.rl.rollout import RolloutData, RolloutWorkers, _drawn
from tests.training.test_agents import bursts, shortest_first
from tests.training.test_dras import SMALL, loaded
from tests.training.test_objectives import SITE, powered

QUICK = ActorCriticConfig(
    "ppo", 4, (32, 16), gamma=0.9, lr=5e-3, episodes=16, decisions=64, tame=5.0
)
TINY = ActorCriticConfig("ppo", 6, (16, 8), episodes=24, decisions=20, episode_jobs=40)


@pytest.fixture(scope="module")
def ground():
    return [prepare(loaded(seed, 150, 5.5), SMALL) for seed in range(2)]


@pytest.mark.parametrize(
    ("setup", "updates"),
    [(QUICK, 12), (replace(QUICK, method="a2c", decisions=32, lr=1e-2), 20)],
    ids=["ppo", "a2c"],
)
def test_training_reaches_the_known_optimum_on_jobs_not_seen_before(setup, updates):
    traces, unseen = [bursts(seed) for seed in range(3)], bursts(99)
    best = shortest_first(unseen)

    def slowdown(actor):
        return actor.play(unseen).metrics()["mean_bounded_slowdown"]

    wrong = [seed for seed in range(4) if slowdown(Actor(setup, seed=seed)) > best + 10]
    assert wrong  # first weights that prefer something else
    assert slowdown(ppo.train(traces, setup, updates=updates, seed=wrong[0])) == best


def test_an_update_makes_better_choices_likelier_and_ppo_stops_at_its_clip():
    views = torch.rand(2, 4 * 8 + 32, generator=torch.Generator().manual_seed(0))
    samples = {
        "views": views, "mask": torch.ones(2, 5, dtype=torch.bool), "chosen": torch.tensor([1, 2]),
        "better": torch.tensor([1.0, -1.0]), "returns": torch.zeros(2),
    }  # fmt: skip

    def chances(actor):
        logs = actor.network(views, samples["mask"])[0].log_softmax(1).detach()
        return logs.gather(1, samples["chosen"][:, None])[:, 0]

    for method in ("ppo", "a2c"):
        actor = Actor(replace(QUICK, method=method, lr=1e-3, entropy=0.0, value_weight=0.0), seed=0)
        adam, before = ppo._optimiser(actor, {}), chances(actor)
        for _ in range(150):
            ppo._step(actor, adam, samples | {"chance": before})
        ratio = (chances(actor) - before).exp()
        assert ratio[0] > 1 > ratio[1]
        assert (ratio > 0.6).all() == (method == "ppo")


def test_illegal_choices_are_never_drawn_and_legal_ones_as_often_as_their_chance():
    chances = np.array([[0.0, 0.25, 0.75, 0.0]])
    drawn = [_drawn(chances, np.array([u]))[0] for u in (0.0, 0.2499, 0.25, 0.999, 1.0)]
    assert drawn == [1, 1, 2, 2, 2]
    network = ActorNetwork(TINY, 3)
    mask = torch.rand(50, TINY.window + 1) < 0.4
    mask[:, -1] |= ~mask.any(1)
    scores, _ = network(torch.rand(50, TINY.window * 8 + 32), mask)
    assert (scores.isfinite() == mask).all()


def test_a_network_scores_a_job_wherever_it_stands():
    network, views = ActorNetwork(TINY, 3), torch.rand(1, TINY.window * 8 + 32)
    mask = torch.ones(1, TINY.window + 1, dtype=torch.bool)
    turned = views.clone()
    turned[:, : 8 * TINY.window] = views[:, : 8 * TINY.window].reshape(-1, 8).flip(0).reshape(1, -1)
    scores, values = network(views, mask)
    again, same = network(turned, mask)
    torch.testing.assert_close(scores[:, :-1].flip(1), again[:, :-1])
    torch.testing.assert_close(values, same)


def test_training_cut_anywhere_goes_on_to_the_same_bytes(ground, tmp_path):
    every = {"check": ground[1], "check_every": 2}
    ppo.train(ground, TINY, updates=4, seed=5, out=tmp_path / "whole", **every)
    ppo.train(ground, TINY, updates=1, seed=5, out=tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        ppo.train(ground, TINY, updates=4, seed=5, out=tmp_path / "parts", progress=_stop, **every)
    ppo.train(ground, TINY, updates=4, seed=5, out=tmp_path / "parts", **every)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert "check" in Actor.load(tmp_path / "whole")[0].history[-1]
    with pytest.raises(DataError) as told:
        ppo.train(ground[:1], replace(TINY, lr=1.0), seed=6, out=tmp_path / "parts")
    for word in ("lr: expected 0.003", "seed: expected 5", "expected those it has learned from"):
        assert word in str(told.value)


def _stop(done, total, facts):
    if done == 3:
        raise KeyboardInterrupt


@pytest.mark.slow
def test_what_is_played_is_the_same_on_one_process_and_on_two(ground):
    actor = Actor(TINY, seed=2)
    where = RolloutData(tuple(ground), TINY, 2, 1.0)
    with RolloutWorkers(where) as alone, RolloutWorkers(where, workers=2) as many:
        for update in (0, 1):
            one, two = alone.play(actor.network, update), many.play(actor.network, update)
            assert one.chosen.shape == (20, 24)
            for name in one.__dataclass_fields__:
                assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name


def test_a_game_that_ends_is_begun_anew_and_that_step_is_not_learned_from(ground):
    setup = replace(TINY, episode_jobs=6, decisions=60)
    played = RolloutData(tuple(ground), setup, 0, 1.0).play(ActorNetwork(setup, 0), 0, 0)
    assert played.ended.any()
    assert (played.counts[1:] == ~played.ended[:-1]).all()
    assert (played.rewards[~played.counts] == 0).all()


def test_an_actor_read_back_is_a_policy_of_any_machine(ground, tmp_path):
    actor = ppo.train(ground, TINY, updates=1, out=tmp_path / "a.agent")
    starts = actor.play(ground[1]).starts
    assert (load(tmp_path / "a.agent").play(ground[1]).starts == starts).all()
    done = simulate_run(loaded(3, 60), open_policy(f"agent:{tmp_path / 'a.agent'}"), 2 * SMALL)
    waits = done.jobs.numpy("wait_s")
    assert np.isfinite(waits).all()
    assert waits.min() >= 0


def test_an_actor_paid_by_the_bill_sees_watts_and_prices_ahead():
    site = prepare(powered(0, 60), SITE)
    setup = replace(TINY, reward="slowdown=1,carbon=5", may_wait=True)
    batch = Batch(site, setup.rules(whole=True), 1, record=True)
    batch.step(np.zeros(1, np.int64), np.zeros(1, np.int64))
    seen = Observation(setup, site, watts=50.0).views(batch)[0]
    job = batch.states[2][0, 0]
    assert seen[8] == pytest.approx(site.jobs[job, 9] / site.jobs[job, 2] / 50)
    now = batch.real[0, 0]
    mean = np.mean(SITE.carbon_g_per_kwh.values)
    at = SITE.carbon_g_per_kwh.at(now + np.array([0.0, 3600.0]))
    np.testing.assert_allclose(seen[-6:-4], at / mean - 1, rtol=1e-6)
    actor = ppo.train([site], setup, updates=1)
    assert np.isfinite(actor.play(site).starts).all()
    with pytest.raises(DataError, match="no watts"):
        actor.play(prepare(loaded(), SMALL))


def test_a_setup_tells_all_mistakes_at_once():
    with pytest.raises(DataError) as told:
        ActorCriticConfig("sac", window=0, gamma=2.0, lr=0.0, hidden=(4,))
    for word in ("ppo or a2c", "window", "gamma", "lr", "hidden"):
        assert word in str(told.value)


@pytest.mark.parametrize(("switch", "value", "said"), [
    ("lr", float("nan"), "lr: expected a number from 1e-12 to 1000, got nan"),
    ("lr", "fast", "lr: expected a number from 1e-12 to 1000, got 'fast'"),
    ("clip", float("inf"), "clip: expected a number from 0 to 1e+06, got inf"),
    ("hidden", (10**9, 8), "hidden[0]: expected a whole number from 1 to 10,000, got 1000000000"),
    ("decisions", 10**6, "expected at most 20,000,000 jobs in an update, got 1,024,000,000"),
])  # fmt: skip
def test_a_switch_that_is_no_number_or_fills_memory_is_refused(switch, value, said):
    with pytest.raises(DataError) as told:
        ActorCriticConfig(**{switch: value})
    assert said in str(told.value)
