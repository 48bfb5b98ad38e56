"""Episodes played by an actor that is learning, on one process or several, to the same bytes.

A rollout is cut into blocks of a few episodes.  Each episode has random numbers of its own, from
the seed, the update and its number, and each block is judged by the network on its own; so it does
not matter which process plays which block, and no episode outlives an update: a training that was
interrupted needs nothing but weights to go on.

    Symbol   Shape      Meaning
    views    (t, b, d)  what was seen at each decision of each episode
    mask     (t, b, a)  what was legal
    chosen   (t, b)     what was chosen
    chance   (t, b)     log-probability it had
    values   (t+1, b)   what the network promised; the last row is of the state after
    rewards  (t, b)     before scaling
    ended    (t, b)     was it the episode's last decision
    counts   (t, b)     False where a new episode was begun instead of a decision
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.training.env.batch import Batch
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.actor_net import ActorNetwork, Observation

torch = require("torch", extra="train")
BLOCK = 16


@dataclass(frozen=True)
class Rollout:
    """The arrays of the notation above."""

    views: np.ndarray
    mask: np.ndarray
    chosen: np.ndarray
    chance: np.ndarray
    values: np.ndarray
    rewards: np.ndarray
    ended: np.ndarray
    counts: np.ndarray

    @classmethod
    def joined(cls, blocks: Sequence[Rollout]) -> Rollout:
        """Blocks side by side."""
        names = cls.__dataclass_fields__
        return cls(**{n: np.concatenate([getattr(b, n) for b in blocks], axis=1) for n in names})


@dataclass(frozen=True)
class RolloutData:
    """What is played on: traces, the actor's setup, the seed, watts that count as usual."""

    traces: tuple[EpisodeTrace, ...]
    setup: ActorCriticConfig
    seed: int
    watts: float

    def play(self, network: ActorNetwork, update: int, first: int) -> Rollout:
        """The episodes ``first`` to ``first + BLOCK`` of an update, all on one trace."""
        trace, setup = self.traces[update % len(self.traces)], self.setup
        rules, count = setup.rules(), min(BLOCK, setup.episodes - first)
        rngs = [np.random.default_rng([self.seed, update, first + i]) for i in range(count)]
        batch, sight = (
            Batch(trace, rules, count, record=False),
            Observation(setup, trace, self.watts),
        )
        draws = np.stack([rng.random(setup.decisions) for rng in rngs], axis=1)
        last = trace.last_first(rules) + 1
        batch.step(np.zeros(count, np.int64), np.array([rng.integers(last) for rng in rngs]))
        return _filled(batch, sight, network, draws, lambda i: int(rngs[i].integers(last)))


def _filled(
    batch: Batch,
    sight: Observation,
    network: ActorNetwork,
    draws: np.ndarray,
    begin: Callable[[int], int],
) -> Rollout:
    """Play on until every episode has had its decisions."""
    steps, over = [], np.zeros(batch.count, bool)
    with torch.no_grad():
        for draw in draws:
            views, mask = sight.views(batch), batch.masks.copy()
            scores, values = network(torch.from_numpy(views), torch.from_numpy(mask))
            chances = scores.log_softmax(1).numpy()
            chosen = _drawn(np.exp(chances), draw)
            first = np.full(batch.count, -1)
            for i in np.flatnonzero(over):
                first[i] = begin(int(i))
            batch.step(chosen, first)
            counts, over = ~over, batch.ended[:, 0].copy()
            chance = chances[np.arange(batch.count), chosen]
            steps.append((views, mask, chosen, chance, values.numpy(), batch.rewards.copy(), over,
                          counts))  # fmt: skip
        _, after = network(torch.from_numpy(sight.views(batch)), torch.from_numpy(batch.masks))
    result = [np.stack(column) for column in zip(*steps, strict=True)]
    result[4] = np.concatenate((result[4], after.numpy()[None]))
    return Rollout(*result)


def _drawn(chances: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """One choice per row, (b,), from probabilities (b, a) and numbers between 0 and 1."""
    edges = chances.cumsum(axis=1, dtype=np.float64)
    chosen = (edges <= draws[:, None] * edges[:, -1:]).sum(axis=1)
    # a last edge that rounding moved: the last choice that can be had
    most = chances.shape[1] - 1 - (chances[:, ::-1] > 0).argmax(axis=1)
    drawn: np.ndarray = np.minimum(chosen, most)
    return drawn


class RolloutWorkers:
    """Plays the blocks of an update on ``workers`` processes; one is this process."""

    def __init__(self, ground: RolloutData, workers: int = 1) -> None:
        self.ground, self._pool = ground, None
        self._blocks = range(0, ground.setup.episodes, BLOCK)
        workers = min(workers, len(self._blocks))
        if workers > 1:
            context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
            self._pool = ProcessPoolExecutor(workers, context, _remember, (ground,))

    def play(self, network: ActorNetwork, update: int) -> Rollout:
        """The episodes of an update."""
        if self._pool is None:
            return Rollout.joined([self.ground.play(network, update, b) for b in self._blocks])
        weights = {k: v.numpy() for k, v in network.state_dict().items()}
        tasks = [self._pool.submit(_remote, weights, update, b) for b in self._blocks]
        return Rollout.joined([task.result() for task in tasks])

    def __enter__(self) -> RolloutWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


_KEPT: list[Any] = []


def _remember(ground: RolloutData) -> None:
    torch.set_num_threads(1)
    _KEPT[:] = [ground, ActorNetwork(ground.setup, 0)]


def _remote(weights: dict[str, np.ndarray], update: int, first: int) -> Rollout:
    ground, network = _KEPT
    network.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()})
    rollout: Rollout = ground.play(network, update, first)
    return rollout
