"""DRAS: published sizes, the input table against a plain one, learning, resuming, playing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from rheostat.errors import DataError
from rheostat.recipes.dras import AGENTS, HIDDEN, NODES, dras
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode
from rheostat.training.rl.networks import Network
from tests.simulation.conftest import trace

PUBLISHED = {
    ("theta", "dras-pg"): 21_890_053,
    ("theta", "dras-dql"): 21_449_004,
    ("cori", "dras-pg"): 161_960_053,
    ("cori", "dras-dql"): 160_784_004,
}
SMALL = 16


def loaded(seed=0, n=150, gap_s=9.0, size=SMALL):
    """A trace with more work than the machine can do at once; a few jobs are long."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, int(gap_s * n), n))
    run = np.where(rng.random(n) < 0.2, rng.integers(60, 120, n), rng.integers(1, 12, n))
    ask = np.maximum(1, (run * rng.uniform(1.0, 3.0, n)).astype(int))
    return trace(submit, run, rng.integers(1, size // 2 + 1, n), ask)


@pytest.mark.parametrize(("machine", "agent"), PUBLISHED)
def test_networks_have_the_published_number_of_parameters(machine, agent):
    with torch.device("meta"):  # sizes alone: 162 million weights would take 650 MB
        network = Network(dras(agent, hidden=HIDDEN[machine]), NODES[machine], None)
    assert sum(p.numel() for p in network.parameters()) == PUBLISHED[machine, agent]


def test_a_network_computes_what_its_layers_say():
    setup = DrasConfig(window=2, hidden=(5, 4))
    network = Network(setup, 3, seed=1)
    w = {k: v.detach().double().numpy() for k, v in network.named_parameters()}
    rng = np.random.default_rng(0)
    jobs, nodes = rng.normal(size=(6, 4, 2)), rng.normal(size=(6, 3, 2))
    rows = np.concatenate([jobs, nodes], axis=1) @ w["filter"][0] + w["filter_bias"]
    hidden = np.maximum(np.maximum(rows @ w["first"].T, 0) @ w["second"].T, 0)
    scores = hidden @ w["last"].T + w["last_bias"]
    told = network(*(torch.from_numpy(x).float() for x in (jobs, nodes)))
    np.testing.assert_allclose(told.detach().numpy(), scores, atol=1e-5)


def test_values_of_jobs_that_share_the_nodes_are_those_of_each_alone():
    network = Network(DrasConfig(method="dql", window=2, hidden=(5, 4)), 3, seed=1)
    jobs, nodes = torch.rand(6, 2, 2), torch.rand(1, 3, 2)
    alone = torch.cat([network(job[None], nodes) for job in jobs])
    np.testing.assert_allclose(network(jobs, nodes).detach(), alone.detach(), rtol=1e-5)
    assert ((alone > 0) & (alone < 1)).all()


def test_first_weights_depend_on_the_seed_alone():
    def weights(seed):
        return Network(DrasConfig(hidden=(5, 4)), 3, seed).first.detach().numpy()

    before = torch.random.get_rng_state()
    assert (weights(3) == weights(3)).all()
    assert (weights(3) != weights(4)).any()
    assert (before == torch.random.get_rng_state()).all()


def plain_view(jobs, episode, order):
    """The table of the released code from starts alone, node by node, jobs placed as they start."""
    submit, run, procs, ask = (jobs.numpy(c) for c in ("submit_s", "runtime_s", "cores",
                                                       "time_limit_s"))  # fmt: skip
    now, starts = episode.now_s, episode.starts
    begun = sorted((j for j in order if not np.isnan(starts[j])), key=starts.__getitem__)
    owner, ends = [-1] * SMALL, []
    for j in begun:
        for end, other in sorted(ends):
            if end <= starts[j]:
                owner = [-1 if o == other else o for o in owner]
        ends = [e for e in ends if e[0] > starts[j]]
        free = [i for i in range(SMALL) if owner[i] < 0][: int(procs[j])]
        for i in free:
            owner[i] = j
        ends.append((starts[j] + run[j], j))
    gone = {j for end, j in ends if end <= now}
    rows = np.array([
        (1.0, 0.0) if o < 0 or o in gone else (0.0, starts[o] + ask[o] - now) for o in owner
    ])  # fmt: skip
    told = [r for j in episode.shown for r in ((procs[j], ask[j]), (0.0, now - submit[j]))]
    return np.array(told), rows


@pytest.mark.parametrize("seed", range(3))
def test_the_input_is_the_table_of_the_released_code(seed):
    jobs = loaded(seed)
    episode = Episode(prepare(jobs, SMALL), DrasConfig(window=5, inputs="raw"))
    rng, order, backfills = np.random.default_rng(seed), [], 0
    while not episode.over:
        view = episode.view()
        told, rows = plain_view(jobs, episode, order)
        assert len(told) == 2 * view.count > 0
        np.testing.assert_allclose(view.jobs[: len(told)], told)
        assert not view.jobs[len(told) :].any()
        np.testing.assert_allclose(view.nodes, rows)
        backfills += episode.backfills
        slot = int(rng.integers(view.count))
        order.append(episode.shown[slot])
        episode.choose(slot)
    assert sorted(order) == list(range(len(jobs)))
    assert backfills > 5


def test_scaled_inputs_are_small_numbers():
    episode = Episode(prepare(loaded(), SMALL), DrasConfig(window=5))
    for _ in range(60):
        view = episode.view()
        assert view.jobs.min() >= 0
        assert max(view.jobs.max(), view.nodes.max()) <= 1
        episode.choose(0)


def test_a_setup_tells_all_mistakes_at_once():
    with pytest.raises(DataError) as told:
        DrasConfig(method="sac", window=0, gamma=2.0, lr=float("nan"))
    for word in ("method", "window", "gamma", "lr"):
        assert word in str(told.value)
    with pytest.raises(DataError, match="dras-pg or dras-dql"):
        dras("ppo")


def test_the_recipe_is_the_released_code_and_takes_named_deviations():
    for agent in AGENTS:
        setup = dras(agent)
        assert (setup.inputs, setup.gamma, setup.instances, setup.test) == (
            "raw",
            0.6,
            10,
            "sample",
        )
        assert dras(agent, inputs="scaled") == replace(setup, inputs="scaled")
    assert dras("dras-pg", faithful=False) == DrasConfig()
