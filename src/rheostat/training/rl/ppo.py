"""A2C and PPO: play, see which choices did better than expected, make those likelier; again.

A value network expects a sum of later rewards of each state.  A choice that was followed by more
than that was better than what the actor usually does there, by its *advantage*.  A2C moves the
probabilities along the advantages once; PPO goes over the same decisions several times, and stops
where a choice has become likelier, or rarer, by more than a fifth than when it was made.

    Symbol     Shape   Meaning
    r, V       (t, b)  rewards, over what they usually vary by; values
    delta      (t, b)  r + gamma V' - V, V' of the next state, 0 after an episode's end
    advantage  (t, b)  delta + gamma lambda delta' + (gamma lambda)^2 delta'' + ...
    ratio      (n,)    probability of a choice now, over the one it was drawn with

References
----------
Mnih et al., "Asynchronous methods for deep reinforcement learning", ICML 2016 (A2C is its
synchronous form).  Schulman, Wolski, Dhariwal, Radford, Klimov, "Proximal policy optimization
algorithms", 2017.  Schulman, Moritz, Levine, Jordan, Abbeel, "High-dimensional continuous control
using generalized advantage estimation", ICLR 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import NEED, WATTS
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.rl.actor import Actor
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.dras import MOMENTS, OTHERS, discounted, fingerprint, moments_of
from rheostat.training.rl.rollout import Rollout, RolloutData, RolloutWorkers

torch = require("torch", extra="train")
STEEPEST = 0.5  # longest step of all weights together, before Adam
Progress = Callable[[int, int, dict[str, Any]], None]


@one_thread()
def train(  # noqa: PLR0913 - what a training is, and who watches it
    traces: Sequence[EpisodeTrace],
    setup: ActorCriticConfig,
    *,
    updates: int = 100,
    seed: int = 0,
    out: Path | None = None,
    progress: Progress | None = None,
    workers: int = 1,
    check: EpisodeTrace | None = None,
    check_every: int = 10,
) -> Actor:
    """Learn ``updates`` times from episodes on ``traces``, in turn; from the file ``out`` if begun.

    Parameters
    ----------
    traces
        At least one; episodes begin at random jobs of them, on a machine that is busy already.
    setup
        The switches.
    updates
        In all, those that ``out`` has had already included.
    seed
        Of the first weights and all draws.
    out
        Written after each update.  If it is there, it must have been begun with the same.
    progress
        Called with (updates done, updates, facts of the last) after each.
    workers
        Processes that play.  What is learned is the same, byte by byte, with one or many.
    check, check_every
        A trace to schedule, whole, every so many updates: never learned from, for the learning
        curve alone.
    """
    if not traces:
        raise DataError("training", ["expected at least one trace, got none"])
    actor = Actor(setup, seed=seed, watts=_usual(traces, setup))
    moments: dict[str, Any] = {}
    if out is not None and out.exists():
        actor, moments = Actor.load(out)
        _check(actor, traces, setup, seed, out)
    ground = RolloutData(tuple(traces), setup, seed, actor.watts)
    adam = _optimiser(actor, moments)
    with RolloutWorkers(ground, workers) as players:
        for number in range(len(actor.history), updates):
            facts = _update(actor, adam, players.play(actor.network, number), number)
            facts |= {"of": fingerprint(traces[number % len(traces)])}
            if check is not None and (number + 1) % check_every == 0:
                facts["check"] = actor.play(check).metrics()
            actor.history.append(facts)
            if out is not None:
                actor.save(out, moments_of(actor, adam))
            if progress is not None:
                progress(number + 1, updates, facts)
    return actor


def advantages(
    rewards: np.ndarray, values: np.ndarray, ended: np.ndarray, gamma: float, decay: float
) -> np.ndarray:
    """(t, b) generalised advantages; ``values`` has a row more, of the states after.

    >>> one = np.ones((3, 1))
    >>> end = np.array([[False], [False], [True]])
    >>> advantages(one, np.zeros((4, 1)), end, gamma=0.5, decay=1.0)[:, 0].tolist()
    [1.75, 1.5, 1.0]
    """
    result, later = np.zeros(rewards.shape), np.zeros(rewards.shape[1])
    for t in range(len(rewards) - 1, -1, -1):
        goes_on = ~ended[t]
        delta = rewards[t] + gamma * values[t + 1] * goes_on - values[t]
        result[t] = later = delta + gamma * decay * goes_on * later
    return result


def tamed(values: np.ndarray, most: float) -> np.ndarray:
    """No value beyond ``most`` usual deviations, mean absolute ones so scaled that a normal has 1.

    >>> tamed(np.array([1.0, -1.0, 1.0, -1.0, 96.0]), 1.0).round(1).tolist()
    [1.0, -1.0, 1.0, -1.0, 38.5]
    """
    usual = most * np.abs(values - values.mean()).mean() * (np.pi / 2) ** 0.5
    within: np.ndarray = np.clip(values, -usual, usual)
    return within


def _update(actor: Actor, adam: Any, played: Rollout, number: int) -> dict[str, Any]:
    """Learn from one rollout; its facts."""
    setup = actor.setup
    if not actor.scale:
        actor.scale = _scale(played, setup.gamma)
    rewards = played.rewards / actor.scale
    better = advantages(rewards, played.values, played.ended, setup.gamma, setup.trace_decay)
    better = tamed(better, setup.tame) if setup.tame else better
    counts = played.counts.ravel()
    returns = better + played.values[:-1]
    samples = {
        name: torch.from_numpy(_flat(values)[counts]).to(kind)
        for name, values, kind in (
            ("views", played.views, torch.float32), ("mask", played.mask, torch.bool),
            ("chosen", played.chosen, torch.int64), ("chance", played.chance, torch.float32),
            ("better", better, torch.float32), ("returns", returns, torch.float32),
        )
    }  # fmt: skip
    rng = np.random.default_rng([actor.seed, number, setup.episodes])
    losses = []
    for _ in range(setup.epochs if setup.method == "ppo" else 1):
        order = torch.from_numpy(rng.permutation(int(counts.sum())))
        for part in order.chunk(setup.parts if setup.method == "ppo" else 1):
            losses.append(_step(actor, adam, {k: v[part] for k, v in samples.items()}))
    facts = dict(zip(("value_error", "entropy", "moved"), np.mean(losses, axis=0), strict=True))
    facts = {k: float(v) for k, v in facts.items()}
    mean = float(played.rewards[played.counts].mean())
    return {"update": number, "decisions": int(counts.sum()), "mean_reward": mean, **facts}


def _step(actor: Actor, adam: Any, samples: dict[str, Any]) -> tuple[float, float, float]:
    """One step of Adam; (squared error of values, entropy, how far probabilities have moved)."""
    setup = actor.setup
    scores, values = actor.network(samples["views"], samples["mask"])
    logs = scores.log_softmax(1)
    chance = logs.gather(1, samples["chosen"][:, None])[:, 0]
    better = samples["better"]
    better = (better - better.mean()) / (better.std() + 1e-8)
    ratio = (chance - samples["chance"]).exp()
    if setup.method == "ppo":
        held = ratio.clamp(1 - setup.clip, 1 + setup.clip)
        gain = torch.minimum(ratio * better, held * better).mean()
    else:
        gain = (chance * better).mean()
    error = ((values - samples["returns"]) ** 2).mean()
    entropy = -(logs.exp() * logs.masked_fill(~samples["mask"], 0.0)).sum(1).mean()
    adam.zero_grad()
    (setup.value_weight * error - gain - setup.entropy * entropy).backward()
    torch.nn.utils.clip_grad_norm_(actor.network.parameters(), STEEPEST)
    adam.step()
    moved = float((ratio.detach() - 1 - (chance - samples["chance"]).detach()).mean())
    return float(error.detach()), float(entropy.detach()), moved


def _flat(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, *values.shape[2:])


def _scale(played: Rollout, gamma: float) -> float:
    """What discounted sums of rewards vary by: values of about 1 are learned best."""
    sums = [discounted(column.tolist(), gamma) for column in played.rewards.T]
    return float(np.std(sums)) or 1.0


def _usual(traces: Sequence[EpisodeTrace], setup: ActorCriticConfig) -> float:
    if not setup.billed:
        return 1.0
    return float(np.mean([np.mean(t.jobs[:, WATTS] / t.jobs[:, NEED]) for t in traces]))


def _check(
    actor: Actor, traces: Sequence[EpisodeTrace], setup: ActorCriticConfig, seed: int, out: Path
) -> None:
    """Refuse to go on with a file that was begun with something else."""
    begun, asked = asdict(actor.setup) | {"seed": actor.seed}, asdict(setup) | {"seed": seed}
    problems = [
        f"{name}: expected {had!r}, as it was begun, got {asked[name]!r}"
        for name, had in begun.items()
        if had != asked[name]
    ]
    fingerprints = [fingerprint(t) for t in traces]
    if any(
        facts["of"] != fingerprints[i % len(fingerprints)] for i, facts in enumerate(actor.history)
    ):
        problems.append(OTHERS.format("those it has learned from"))
    if problems:
        raise DataError(str(out), [*problems, "delete the file or name another to begin anew"])


def _optimiser(actor: Actor, moments: dict[str, Any]) -> Any:
    named = dict(actor.network.named_parameters())
    adam = torch.optim.Adam(named.values(), lr=actor.setup.lr, eps=1e-5)
    for name, weight in named.items():
        if f"adam.{name}.step" in moments:
            adam.state[weight] = {m: moments[f"adam.{name}.{m}"] for m in MOMENTS}
    return adam
