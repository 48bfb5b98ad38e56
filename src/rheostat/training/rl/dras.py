"""Training: play a jobset, learn every few events, save, play the next.

An agent chooses; what it is rewarded for its choices and the ones after them, later ones counting
less, says how good they were.  REINFORCE ("pg") makes choices that did better than the average of
the last few events likelier.  Value learning ("dql") moves the value of each job chosen towards
what came of it, and chooses the job of highest value but for a share of random choices.

    Symbol  Shape  Meaning
    r       (t,)   reward of each decision since the last update
    gamma          discount per decision
    G       (t,)   r_i + gamma r_i+1 + gamma^2 r_i+2 + ...
    V       (t,)   values of the jobs chosen, by the network before the update
    D       (t,)   what V is off by: G / max G - V, and what later decisions are off by, discounted

The order of draws depends on the seed and the number of the jobset alone, and a file is written
after each jobset: whatever is interrupted goes on from there to the very same bytes (same versions
of the libraries).  One thread learns: more would add up sums in another order.

References
----------
Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning", Machine Learning 1992.  Fan et al., IPDPS 2021, and the released code: updates every ten
events, returns standardised ("pg") or divided by the largest ("dql").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.errors import DataError
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.rl.adam import EPS
from rheostat.training.rl.adam import steps as one_by_one
from rheostat.training.rl.agent import Agent
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode, WindowView

torch = require("torch", extra="train")

OTHERS = (
    "jobs: expected {}, got others: another trace, or other --test-fraction, --phases, --machine "
    "or --estimates; give those it was begun with"
)
LEAST_CHANCE = 1e-8  # the released code clips probabilities there; below it nothing is learned
MOMENTS = ("exp_avg", "exp_avg_sq", "step")

Progress = Callable[[int, int, dict[str, Any]], None]


@dataclass(frozen=True)
class UpdateStep:
    """A decision: what was seen, the slot chosen, the reward."""

    view: WindowView
    slot: int
    reward: float


@one_thread()
def train(
    jobsets: Sequence[EpisodeTrace],
    setup: DrasConfig,
    *,
    seed: int = 0,
    out: Path | None = None,
    progress: Progress | None = None,
) -> Agent:
    """Learn from each of ``jobsets`` in turn; from the file ``out`` if it has begun already.

    Parameters
    ----------
    jobsets
        At least one, all of one machine; see `rheostat.training.rl.jobsets`.
    setup
        The switches of the agent.
    seed
        Of the first weights and all draws.
    out
        Written after each jobset.  If it is there, it must be of the same setup and seed and have
        learned from the first of these jobsets; the others are then learned.
    progress
        Called with (jobsets learned, jobsets, facts of the last) after each.
    """
    if not jobsets:
        raise DataError("training", ["expected at least one jobset, got none"])
    agent = Agent(setup, jobsets[0].size, seed=seed)
    moments: dict[str, Any] = {}
    if out is not None and out.exists():
        agent, moments = Agent.load(out)
        _check(agent, jobsets, setup, seed, out)
    adam = _optimiser(agent, moments)
    for number in range(len(agent.history), len(jobsets)):
        agent.history.append(_learn_from(agent, adam, agent.fitting(jobsets[number]), number))
        if out is not None:
            agent.save(out, moments_of(agent, adam))
        if progress is not None:
            progress(number + 1, len(jobsets), agent.history[-1])
    return agent


def _learn_from(agent: Agent, adam: Any, trace: EpisodeTrace, number: int) -> dict[str, Any]:
    """Play a jobset and learn on the way; its facts."""
    setup, rng = agent.setup, np.random.default_rng([agent.seed or 0, number])
    episode, updates = Episode(trace, setup), 0
    steps: list[UpdateStep] = []
    rewards: list[float] = []
    begun = due = agent.uniform = 0
    agent.floor.forget()  # another jobset has other jobs of the same numbers
    if setup.explore_again:
        agent.explore = setup.explore
    while not episode.over:
        event = episode.event
        if steps and event > due:
            update(agent, adam, steps)
            steps, begun, updates = [], due, updates + 1
        view = episode.view()
        slot = agent.pick(view, rng, explore=agent.explore)
        backfills = episode.backfills
        reward, starts = episode.choose(slot)
        if starts and not (backfills and setup.decay == "selected"):
            agent.explore = max(agent.explore * setup.explore_factor, setup.explore_least)
        if setup.promise == "first" and not starts:
            continue  # nothing came of it
        if not steps:  # learned from at the end of an event, with at least one decision
            due = max(begun + setup.instances, event)
        steps.append(UpdateStep(view, slot, reward))
        rewards.append(reward)
    facts = {"jobset": number, "of": fingerprint(trace), "jobs": len(trace), "updates": updates}
    facts |= {"mean_reward": float(np.mean(rewards)), "uniform": agent.uniform}
    return facts | episode.metrics()


def update(agent: Agent, adam: Any, steps: Sequence[UpdateStep]) -> None:
    """Learn from the decisions of the last few events."""
    returns = discounted([s.reward for s in steps], agent.setup.gamma)
    (_reinforce if agent.setup.method == "pg" else _value)(agent, adam, steps, returns)
    agent.floor.forget()


def discounted(rewards: Sequence[float], gamma: float) -> np.ndarray:
    """Each reward with the later ones, discounted.

    >>> discounted([1.0, 0.0, 4.0], 0.5).tolist()
    [2.0, 2.0, 4.0]
    """
    sums, later = np.zeros(len(rewards)), 0.0
    for i in range(len(rewards) - 1, -1, -1):
        sums[i] = later = rewards[i] + gamma * later
    return sums


def _reinforce(agent: Agent, adam: Any, steps: Sequence[UpdateStep], returns: np.ndarray) -> None:
    better = torch.from_numpy((returns - returns.mean()) / (returns.std() or 1.0)).float()
    jobs, nodes = (torch.from_numpy(np.stack([getattr(s.view, n) for s in steps]))
                   for n in ("jobs", "nodes"))  # fmt: skip
    slots = torch.tensor([s.slot for s in steps])
    scores = agent.network(jobs, nodes)
    if agent.setup.loss == "legal":
        shown = torch.tensor([s.view.count for s in steps])
        empty = torch.arange(scores.shape[1]) >= shown[:, None]
        scores = scores.masked_fill(empty, -torch.inf)
    chosen = scores.log_softmax(1).gather(1, slots[:, None])[:, 0]
    adam.zero_grad()
    (-chosen.clamp(min=float(np.log(LEAST_CHANCE))) * better).sum().backward()
    adam.step()


def _value(agent: Agent, adam: Any, steps: Sequence[UpdateStep], returns: np.ndarray) -> None:
    network, setup = agent.network, agent.setup
    jobs = torch.from_numpy(np.stack([s.view.jobs[2 * s.slot : 2 * s.slot + 2] for s in steps]))
    nodes = torch.from_numpy(np.stack([s.view.nodes for s in steps]))
    if setup.steps == "batch":
        values = network(jobs, nodes)[:, 0]
        off = _off(targets(returns), values.detach(), setup)
        adam.zero_grad()
        (-off * values).mean().backward()
        adam.step()
        return
    # all gradients are those of the network that chose, though it changes from one to the next
    judged = network.values_and_slopes(jobs, nodes)
    off = _off(targets(returns), torch.from_numpy(judged.values), setup).numpy()
    for name, weight in network.named_parameters():
        wrong, seen = judged.slopes[name]
        one_by_one(weight, adam.state[weight], -off[:, None] * wrong, seen, setup.lr)


def targets(returns: np.ndarray) -> np.ndarray:
    """Returns as values between 0 and 1: shares of the largest or, if any is below 0, of the range.

    The released code divides by the largest and knows no reward below 0.

    >>> targets(np.array([1.0, 4.0])).tolist(), targets(np.array([-3.0, -1.0])).tolist()
    ([0.25, 1.0], [0.0, 1.0])
    """
    most, least = returns.max(), min(returns.min(), 0.0)
    if least < 0:
        most, least = most - returns.min(), returns.min()
    return np.asarray((returns - least) / (most or 1.0))


def _off(wanted: np.ndarray, values: Any, setup: DrasConfig) -> Any:
    off = wanted - values.double().numpy()
    sign = 1.0 if setup.error == "descent" else -1.0
    return torch.from_numpy(sign * discounted(off.tolist(), setup.gamma)).float()


def fingerprint(trace: EpisodeTrace) -> str:
    """Tells jobsets apart: a hash of what is known of the jobs and of the machine's size."""
    return hashlib.sha256(trace.jobs.tobytes() + str(trace.size).encode()).hexdigest()[:16]


def _check(
    agent: Agent, jobsets: Sequence[EpisodeTrace], setup: DrasConfig, seed: int, out: Path
) -> None:
    """Refuse to go on with a file that was begun with something else."""
    begun = {**asdict(agent.setup), "seed": agent.seed, "nodes": agent.nodes}
    asked = {**asdict(setup), "seed": seed, "nodes": jobsets[0].size}
    problems = [
        f"{name}: expected {had!r}, as it was begun, got {asked[name]!r}"
        for name, had in begun.items()
        if had != asked[name]
    ]
    before = [facts["of"] for facts in agent.history]
    if before != [fingerprint(t) for t in jobsets[: len(before)]]:
        problems.append(OTHERS.format(f"the {len(before)} jobsets it has learned from"))
    if problems:
        raise DataError(str(out), [*problems, "delete the file or name another to begin anew"])


def _optimiser(agent: Agent, moments: dict[str, Any]) -> Any:
    weights = dict(agent.network.named_parameters())
    adam = torch.optim.Adam(weights.values(), lr=agent.setup.lr, eps=EPS, fused=True)
    for name, weight in weights.items():
        if f"adam.{name}.step" in moments:
            adam.state[weight] = {m: moments[f"adam.{name}.{m}"] for m in MOMENTS}
    return adam


def moments_of(agent: Any, adam: Any) -> dict[str, Any]:
    """What the optimiser of a network remembers of each of its weights."""
    weights = agent.network.named_parameters()
    return {
        f"adam.{n}.{m}": adam.state[w][m] for n, w in weights if w in adam.state for m in MOMENTS
    }
