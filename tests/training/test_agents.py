"""Learning: what an update does, training against not training, resuming, playing, saving."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from rheostat.errors import DataError
from rheostat.recipes.dras import AGENTS, dras
from rheostat.simulation.simulate import simulate_run
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl import dras as training
from rheostat.training.rl.adam import steps as adam_steps
from rheostat.training.rl.agent import Agent
from rheostat.training.rl.agent_policy import AgentPolicy
from rheostat.training.rl.dras import UpdateStep, train, update
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode, WindowView
from rheostat.training.rl.networks import Network
from tests.simulation.conftest import trace
from tests.training.test_dras import SMALL, loaded

LITTLE = {"hidden": (32, 16), "window": 8, "instances": 10, "gamma": 0.0}


@pytest.fixture(scope="module")
def jobsets():
    return [prepare(loaded(seed, 150, 5.5), SMALL) for seed in range(16)]


def bursts(seed, count=50):
    """Four jobs at a time, each on the whole machine, 10 s or 3,000 s; two start unasked."""
    submit = np.repeat(np.arange(count) * 20_000.0, 4)
    run = np.random.default_rng(seed).choice([10.0, 3000.0], 4 * count)
    return prepare(trace(submit, run, np.full(4 * count, 4)), 4)


def shortest_first(jobs):
    """The least mean bounded slowdown of `bursts`: the rule that is best on one machine."""
    episode = Episode(jobs, DrasConfig(window=4))
    while not episode.over:
        episode.view()
        episode.choose(int(np.argmin(jobs.jobs[episode.shown, 3])))
    return episode.metrics()["mean_bounded_slowdown"]


def seen(rng, setup, count=3, nodes=SMALL):
    jobs = rng.random((2 * setup.window, 2), np.float32)
    return WindowView(jobs, rng.random((nodes, 2), np.float32), count)


def after_one_update(setup, rewards, slots):
    """Answers for the views of some steps before and after learning from them."""
    rng = np.random.default_rng(0)
    agent = Agent(setup, SMALL, seed=0)
    adam = training._optimiser(agent, {})
    steps = [UpdateStep(seen(rng, setup), s, r) for s, r in zip(slots, rewards, strict=True)]
    told = [[agent.answers(s.view)[s.slot] for s in steps]]
    update(agent, adam, steps)
    return *told, [agent.answers(s.view)[s.slot] for s in steps], agent


@pytest.mark.parametrize("loss", ["whole", "legal"])
def test_reinforce_makes_the_better_choice_likelier_and_the_worse_one_rarer(loss):
    setup = DrasConfig(loss=loss, **LITTLE)
    before, after, _ = after_one_update(setup, [1.0, 0.0], [0, 2])
    assert after[0] > before[0]
    assert after[1] < before[1]


@pytest.mark.parametrize("steps", ["each", "batch"])
@pytest.mark.parametrize("reward", [0.2, 1.0])
def test_a_value_moves_towards_what_came_of_it_and_as_released_away(steps, reward):
    def gaps(error):
        setup = DrasConfig(method="dql", steps=steps, error=error, **LITTLE)
        before, after, _ = after_one_update(setup, [reward, 1.0], [1, 1])
        return abs(before[0] - reward), abs(after[0] - reward)

    assert gaps("descent")[1] < gaps("descent")[0]
    assert gaps("released")[1] > gaps("released")[0]


def test_one_decision_is_learned_the_same_step_by_step_and_in_a_batch():
    setups = [DrasConfig(method="dql", steps=steps, **LITTLE) for steps in ("each", "batch")]
    agents = [after_one_update(setup, [1.0], [2])[2] for setup in setups]
    for one, other in zip(*(a.network.parameters() for a in agents), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "setup"),
    [
        (0.75, DrasConfig("pg", 4, (32, 16), "slowdown", instances=32, gamma=0.9)),
        (0.10, DrasConfig("dql", 4, (64, 32), "slowdown", instances=10, gamma=0.9, lr=3e-3)),
    ],
    ids=["pg", "dql"],
)
def test_training_closes_the_gap_to_the_known_optimum_on_jobs_not_seen_before(left, setup):
    games, unseen = [bursts(seed) for seed in range(12)], bursts(99)
    best = shortest_first(unseen)

    def gap(agent):
        return agent.play(unseen).metrics()["mean_bounded_slowdown"] - best

    before = [gap(Agent(setup, 4, seed=seed)) for seed in range(3)]
    after = [gap(train(games, setup, seed=seed)) for seed in range(3)]
    assert min(before) > 10
    assert sum(after) < left * sum(before), (before, after)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_faithful_agents_play_and_learn(agent, jobsets):
    setup = dras(agent, hidden=(24, 12))
    learned = train(jobsets[:2], setup, seed=0)
    fresh = Agent(setup, SMALL, seed=0)
    assert any((a != b).any() for a, b in zip(
        learned.network.parameters(), fresh.network.parameters(), strict=True
    ))  # fmt: skip
    episode = learned.play(jobsets[2])
    assert np.isfinite(episode.starts).all()
    assert all(facts["updates"] > 10 for facts in learned.history)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_interrupted_training_goes_on_to_the_same_bytes(agent, jobsets, tmp_path, monkeypatch):
    setup = dras(agent, faithful=agent == "dras-dql", hidden=(24, 12))
    train(jobsets[:3], setup, seed=5, out=tmp_path / "whole")
    plain, calls = training.update, []

    def cut(*given):
        calls.append(1)
        if len(calls) == 25:
            raise KeyboardInterrupt
        plain(*given)

    train(jobsets[:1], setup, seed=5, out=tmp_path / "parts")
    monkeypatch.setattr(training, "update", cut)
    if agent == "dras-dql":  # cut in the middle of the second jobset
        with pytest.raises(KeyboardInterrupt):
            train(jobsets[:3], setup, seed=5, out=tmp_path / "parts")
    monkeypatch.setattr(training, "update", plain)
    train(jobsets[:3], setup, seed=5, out=tmp_path / "parts")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {"whole", "parts"}


def test_an_agent_read_back_schedules_as_it_did(jobsets, tmp_path):
    kept = train(jobsets[:1], DrasConfig(**LITTLE), out=tmp_path / "agent")
    back, _ = Agent.load(tmp_path / "agent")
    starts = kept.schedule(jobsets[1])
    assert (back.schedule(jobsets[1]) == starts).all()
    assert (starts >= jobsets[1].jobs[:, 0]).all()
    assert back.history == kept.history


def test_a_schedule_never_uses_more_than_the_machine(jobsets):
    jobs = jobsets[0].jobs
    starts = Agent(DrasConfig(**LITTLE), SMALL, seed=0).schedule(jobsets[0])
    for t in starts:
        runs = (starts <= t) & (t < starts + jobs[:, 1])
        assert jobs[runs, 2].sum() <= SMALL


def test_a_file_of_another_training_is_refused_and_every_difference_told(jobsets, tmp_path):
    train(jobsets[:1], DrasConfig(**LITTLE), out=tmp_path / "agent")
    with pytest.raises(DataError) as told:
        train(jobsets[1:3], DrasConfig(**LITTLE | {"gamma": 0.5}), seed=9, out=tmp_path / "agent")
    for word in (
        "gamma: expected 0.0",
        "seed: expected 0",
        "jobs: expected the 1 jobsets it has learned from, got others",
        "--test-fraction",
        "delete the file",
    ):
        assert word in str(told.value)
    (tmp_path / "other").write_bytes(b"not a model")
    for name in ("other", "missing"):
        with pytest.raises(DataError, match="expected a DRAS agent"):
            Agent.load(tmp_path / name)


def test_a_network_refuses_another_machine(jobsets):
    with pytest.raises(DataError, match="expected a machine of 8 nodes, got 16"):
        Agent(DrasConfig(**LITTLE), 8).schedule(jobsets[0])


def test_updates_come_at_the_end_of_an_event_after_so_many_events(jobsets, monkeypatch):
    events, last, plain = [], [], training.update

    def noted(agent, adam, steps):
        events.append(len(steps))
        plain(agent, adam, steps)

    monkeypatch.setattr(training, "update", noted)
    few = trace([0, 1, 2, 3, 4, 5], [1] * 6, [1] * 6)
    episode = Episode(prepare(few, SMALL), DrasConfig(**LITTLE))
    while not episode.over:
        last.append(episode.event)
        episode.view()
        episode.choose(0)
    # an end and a submission at each second but the first, ends first
    assert last == [1, 3, 5, 7, 9, 11]
    train([prepare(few, SMALL)], DrasConfig(**LITTLE | {"instances": 4}))
    assert events == [2, 2]


@pytest.mark.parametrize("estimates", ["user", "perfect"])
def test_a_run_by_an_agent_has_its_starts_in_the_order_of_the_trace(estimates):
    jobs = loaded(3, 60)
    mixed = jobs.rows(np.random.default_rng(0).permutation(60))
    agent = Agent(DrasConfig(**LITTLE), SMALL, seed=0)
    done = simulate_run(mixed, AgentPolicy(agent), SMALL, estimates=estimates)
    starts = agent.schedule(prepare(jobs, SMALL, estimates))
    begun = dict(zip(done.jobs.frame["job_id"], done.jobs.frame["start_s"], strict=True))
    order = np.argsort(jobs.numpy("submit_s"), kind="stable")
    assert [begun[j] for j in jobs.numpy("job_id")[order]] == starts.tolist()
    assert done.clairvoyant == (estimates == "perfect")
    believed = "runtime_s" if estimates == "perfect" else "time_limit_s"
    assert (done.jobs.numpy("estimate_s") == done.jobs.numpy(believed)).all()


def test_steps_taken_at_once_are_those_of_adam_one_after_the_other():
    rng, (rows, columns, k) = np.random.default_rng(0), (40, 1300, 4)
    weight = torch.from_numpy(rng.normal(size=(rows, columns)).astype(np.float32))
    other = weight.clone().requires_grad_()
    plain, state = torch.optim.Adam([other], lr=1e-2, eps=1e-7), {}
    for _ in range(3):
        d, x = rng.normal(size=(k, rows)), rng.random((k, columns))
        d[:, ::3] = 0.0  # as behind a rectifier
        adam_steps(weight, state, d, x, 1e-2)
        for s in range(k):
            other.grad = torch.from_numpy(np.outer(d[s], x[s]).astype(np.float32))
            plain.step()
    torch.testing.assert_close(weight, other.detach(), rtol=0, atol=2e-6)
    assert float(state["step"]) == 3 * k


def test_slopes_of_values_are_those_of_automatic_differentiation():
    network = Network(DrasConfig(method="dql", hidden=(12, 7), window=3), SMALL, seed=2)
    jobs, nodes = torch.rand(5, 2, 2), torch.rand(5, SMALL, 2)
    told, values = network.values_and_slopes(jobs, nodes), network(jobs, nodes)[:, 0]
    np.testing.assert_allclose(told.values, values.detach(), rtol=1e-6)
    for i in range(5):
        grads = torch.autograd.grad(values[i], list(network.parameters()), retain_graph=True)
        for (name, weight), grad in zip(network.named_parameters(), grads, strict=True):
            d, x = (side[i] for side in told.slopes[name])
            np.testing.assert_allclose(np.outer(d, x).reshape(weight.shape), grad, atol=1e-6)


@pytest.mark.parametrize("method", ["pg", "dql"])
def test_sums_kept_over_nodes_give_the_answers_of_the_whole_product(method, jobsets, monkeypatch):
    agent = Agent(DrasConfig(method=method, window=5, hidden=(12, 7), inputs="raw"), SMALL, seed=1)
    episode, rng, apart = Episode(jobsets[0], agent.setup), np.random.default_rng(0), 0
    while not episode.over:
        view = episode.view()
        monkeypatch.setattr("rheostat.training.rl.agent.LARGE", 1 << 20)
        whole = agent.answers(view)
        monkeypatch.setattr("rheostat.training.rl.agent.LARGE", 0)
        np.testing.assert_allclose(agent.answers(view), whole, rtol=1e-4, atol=1e-6)
        apart += len(set(view.owner.tolist())) > 3
        if rng.random() < 0.1:
            with torch.no_grad():
                agent.network.first.add_(0.01 * torch.randn(agent.network.first.shape))
            agent.floor.forget()
        episode.choose(int(rng.integers(view.count)))
    assert apart > 20
