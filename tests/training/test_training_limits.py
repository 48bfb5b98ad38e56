"""What training promises at its edges: episodes begun anew, cases, first weights, teachers."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from rheostat.core.machine import Machine
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.priority_tree import TreeFeature
from rheostat.errors import DataError
from rheostat.simulation.learned_priority.queue_features import F
from rheostat.simulation.learned_priority.scoring_network import CENTRE, SPREAD
from rheostat.simulation.policies.dispatch import schedule
from rheostat.simulation.workload import workload
from rheostat.training import env as environments
from rheostat.training.distill.dagger import DEEPEST, DistillConfig
from rheostat.training.distill.decision_states import of_network
from rheostat.training.distill.grow_tree import grow
from rheostat.training.env.episode_trace import EpisodeRules
from rheostat.training.env.vector_env import VectorSchedulingEnv
from rheostat.training.priority import evolve
from rheostat.training.priority import training_cases as given
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.networks import Network
from rheostat.training.rl.rollout import _filled
from tests.simulation.conftest import trace


def crowd(n=60, seed=0):
    """Jobs of many lengths that come faster than eight processors run them."""
    rng = np.random.default_rng(seed)
    run = np.round(np.exp(rng.uniform(2, 8, n)))
    return trace(np.cumsum(rng.integers(1, 200, n)), run, rng.integers(1, 9, n), 2 * run)


@pytest.mark.parametrize("wrong", [
    {"rounds": 0}, {"decisions": 0}, {"rounds": 1.5}, {"depth": -1}, {"depth": DEEPEST + 1},
    {"share": 0.0}, {"share": 1.0}, {"features": "none"},
])  # fmt: skip
def test_an_imitation_is_refused_beyond_its_limits_and_may_stand_at_them(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        DistillConfig(**wrong)
    at = DistillConfig(rounds=1, decisions=1, depth=0, share=0.01)
    assert (at.rounds, at.decisions, at.depth) == (1, 1, 0)
    assert DistillConfig(depth=DEEPEST, share=0.99).depth == DEEPEST


def test_what_is_not_named_is_as_it_is_published():
    """Golden: the defaults of every setup."""
    assert asdict(DistillConfig()) == {"features": "site", "depth": 6, "rounds": 3, "share": 0.8,
                                       "decisions": 4000, "seed": 0}  # fmt: skip
    rules = asdict(EpisodeRules())
    assert rules.pop("weights").tolist() == [1.0] + [0.0] * 7
    assert rules == {
        "window": 50, "may_wait": False, "reward": "wait", "episode_jobs": 256,
        "episode_decisions": None, "warm": True, "backfill": "window", "promise": "held",
    }  # fmt: skip
    assert asdict(DrasConfig()) == {
        "method": "pg", "window": 50, "hidden": (128, 64), "reward": "dras_capability",
        "inputs": "scaled", "lr": 1e-3, "gamma": 0.99, "instances": 100, "loss": "legal",
        "steps": "batch", "error": "descent", "explore": 1.0, "explore_factor": 0.995,
        "explore_least": 0.01, "explore_again": False, "test": "best", "backfill": "window",
        "plans": "requested", "promise": "held", "decay": "fits", "priorities": "trace",
    }  # fmt: skip
    assert asdict(ActorCriticConfig()) == {
        "method": "ppo", "window": 32, "hidden": (64, 32), "reward": "slowdown", "may_wait": False,
        "episode_jobs": 256, "lr": 3e-3, "gamma": 0.99, "trace_decay": 0.95, "episodes": 32,
        "decisions": 128, "epochs": 4, "parts": 4, "clip": 0.2, "tame": 3.0, "entropy": 0.001,
        "value_weight": 0.5,
    }  # fmt: skip


def test_weights_of_rules_follow_from_the_reward_and_are_no_part_of_what_is_compared():
    assert EpisodeRules(reward="wait") == EpisodeRules() != EpisodeRules(reward="cost")
    assert "weights" not in repr(EpisodeRules())
    with pytest.raises(TypeError, match="weights"):
        EpisodeRules(weights=np.ones(8))


def test_a_learned_order_teaches_what_its_network_says():
    """Minus the linear part and the units' x / (1 + |x|), each by its weight."""
    rng = np.random.default_rng(0)
    linear, inner, shift, outer = (
        rng.normal(size=F),
        rng.normal(size=(2, F)),
        [0.3, -2.0],
        [1.5, -4],
    )
    units = [np.array([*inner[k], shift[k], outer[k]]) for k in range(2)]
    x = rng.normal(size=(7, F))
    z = (x - CENTRE) / SPREAD
    wanted = z @ linear
    for k in range(2):
        u = z @ inner[k] + shift[k]
        wanted = wanted + outer[k] * u / (1 + np.abs(u))
    said = of_network(np.concatenate([linear, *units]))(SimpleNamespace(x=x))
    assert said == pytest.approx(-wanted)


def test_a_question_of_a_tree_lies_between_the_values_that_it_tells_apart():
    x = np.repeat([1.0, 2.0, 6.0, 7.0], 40)[:, None]
    tree = grow((TreeFeature("wait"),), x, np.where(x[:, 0] > 2, 5.0, 0.0), np.ones(len(x)), 1)
    assert tree.threshold[0] == 4.0
    assert tree.predict(x) == pytest.approx(np.where(x[:, 0] > 2, 5.0, 0.0))


def test_the_scores_of_a_case_are_the_least_of_the_simple_orders():
    load = workload(crowd(), Machine(8))
    case = given._case(load, np.zeros(60, dtype=int), 8, "mine")
    starts = [schedule(None, load, batch_policy(name, overdue="extend"), 8, load.ask_s)[0]
              for name in given.SIMPLE]  # fmt: skip
    for objective, score in given.OBJECTIVES.items():
        assert case.scores[objective] == min(score(load, s, 8) for s in starts)
    assert case.longest_s == (starts[0] - load.submit_s).max()
    assert given.loss(case, starts[0], {"wait": 1.0}) >= 0
    assert given.beyond(case, starts[0], 1.0) == 0
    late = starts[0] + case.longest_s
    assert given.beyond(case, late, 1.0) == pytest.approx(np.log(2))


@pytest.mark.parametrize(("count", "played"), [(3, 3), (10, 10), (25, 10)])
def test_at_most_ten_cases_are_played_each_once_and_the_mean_counts(monkeypatch, count, played):
    monkeypatch.setattr(evolve, "loss", lambda case, start, wanted: case.name)
    monkeypatch.setattr(evolve, "beyond", lambda case, start, bound: 0.5 * (bound == evolve.AIM))
    some = [SimpleNamespace(load=None, user=None, size=1, name=2.0**k) for k in range(count)]
    for limit, more in ((np.inf, 0.0), (9.0, 1.0)):
        ranker = SimpleNamespace(starts=lambda *_: [None], limit=limit)
        total = (evolve._mean_loss(ranker, some, {}, (1, 2)) - more) * played
        assert total == int(total)
        assert bin(int(total)).count("1") == played  # so many, none of them twice


def test_first_weights_are_uniform_within_glorot_s_bounds():
    net = Network(DrasConfig(window=4, hidden=(60, 50)), nodes=70, seed=3)
    for name, weight in net.named_parameters():
        w = weight.detach().numpy()
        bound = (6 / (4 if name == "filter" else sum(w.shape))) ** 0.5
        if name.endswith("bias"):
            assert (w == 0).all()
        elif w.size > 100:
            assert -bound <= w.min() < -0.95 * bound
            assert 0.95 * bound < w.max() <= bound
            assert abs(w.mean()) < 4 * bound / (3 * w.size) ** 0.5


def test_a_seed_begins_the_same_episodes_and_none_goes_on_to_others():
    env = VectorSchedulingEnv(crowd(400), 8, num_envs=3, episode_jobs=20)
    first = env.reset(seed=5)[0]
    following = env.reset()[0]
    assert not np.array_equal(first, following)
    assert np.array_equal(env.reset(seed=5)[0], first)
    assert np.array_equal(env.reset()[0], following)
    assert not np.array_equal(env.reset(seed=6)[0], first)
    assert np.array_equal(env.reset(seed=[5, 6, 7])[0], first)


def test_environments_are_loaded_by_their_names():
    assert environments.VectorSchedulingEnv is VectorSchedulingEnv
    assert environments.SchedulingEnv.__name__ == "SchedulingEnv"


class Recorded:
    """A batch of three episodes that notes where each begins; the second ends at each decision."""

    def __init__(self):
        self.count, self.masks, self.rewards = 3, np.ones((3, 2), bool), np.zeros(3)
        self.ended, self.first = np.zeros((3, 2), bool), []

    def step(self, chosen, first):
        self.first.append(first.tolist())
        self.ended = np.array([[False, False], [len(self.first) % 2 == 1, False], [False, True]])


def test_an_episode_that_is_over_begins_anew_and_that_decision_does_not_count():
    import torch

    def network(views, mask):
        return torch.zeros(mask.shape), torch.zeros(len(mask))

    batch, sight = Recorded(), SimpleNamespace(views=lambda b: np.zeros((3, 2, 1), np.float32))
    made = _filled(batch, sight, network, np.full((4, 3), 0.7), lambda i: 100 + i)
    assert batch.first == [[-1, -1, -1], [-1, 101, -1], [-1, -1, -1], [-1, 101, -1]]
    assert made.ended[:, 1].tolist() == [True, False, True, False]
    assert made.counts[:, 1].tolist() == [True, False, True, False]
    assert made.counts[:, 0].all()
    assert (made.chosen == 1).all()
    assert np.exp(made.chance) == pytest.approx(np.full((4, 3), 0.5))
    assert made.values.shape == (5, 3)
