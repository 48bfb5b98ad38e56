"""An actor as a policy: it plays whole traces, is saved and is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.core.storage.archive import Archive
from rheostat.prediction.saved_models import persist
from rheostat.simulation.engine.env_layout import STARTED
from rheostat.training.env.batch import Batch
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.played_trace import PlayedTrace
from rheostat.training.rl import agent_file
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.actor_net import ActorNetwork, Observation

torch = require("torch", extra="train")
Progress = Callable[[int, int, dict[str, Any]], None]


class Actor:
    """A scheduler for any machine that chooses by an `ActorNetwork`: the likeliest choice.

    ``history`` has the facts of each update, ``scale`` what rewards are divided by when learning,
    ``watts`` the usual watts per processor of what it has learned from.
    """

    def __init__(self, setup: ActorCriticConfig, *, seed: int = 0, watts: float = 1.0) -> None:
        self.setup, self.seed, self.watts = setup, seed, watts
        self.network = ActorNetwork(setup, seed)
        self.history: list[dict[str, Any]] = []
        self.moments: dict[str, Any] = {}
        self.scale = 0.0

    @one_thread()
    def play(
        self, trace: EpisodeTrace, *, seed: int = 0, progress: Progress | None = None
    ) -> PlayedTrace:
        """Schedule a whole trace from an empty machine; nothing is drawn.

        ``progress`` is called with (jobs started, jobs, {}).
        """
        batch = Batch(trace, self.setup.rules(whole=True), 1, record=True)
        sight = Observation(self.setup, trace, self.watts)
        batch.step(np.zeros(1, np.int64), np.zeros(1, np.int64))
        with torch.no_grad():
            while not batch.ended[0, 0]:
                mask = torch.from_numpy(batch.masks)
                scores, _ = self.network(torch.from_numpy(sight.views(batch)), mask)
                batch.step(scores.argmax(1).numpy())
                if progress is not None:
                    progress(int(batch.real[0, STARTED]), len(trace), {})
        return PlayedTrace(batch, trace.clairvoyant)

    def save(self, path: Path, moments: Mapping[str, Any]) -> None:
        """Write the actor and the optimiser's ``moments``: the old file or the new, never half."""
        self.moments = dict(moments)
        persist.save(self, path)

    @classmethod
    def load(cls, path: Path | str) -> tuple[Actor, dict[str, Any]]:
        """The actor that was saved, and the moments of its optimiser."""
        actor: Actor = persist.load(path, ["actor-critic-agent"])
        return actor, actor.moments

    def to_archive(self) -> Archive:
        """Facts as JSON, weights and moments as tensors."""
        facts = {"setup": asdict(self.setup), "seed": self.seed}
        facts |= {"history": self.history, "scale": self.scale, "watts": self.watts}
        tensors = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        return agent_file.to_archive(facts, tensors | self.moments)

    @classmethod
    def from_archive(cls, archive: Archive) -> Actor:
        """What `to_archive` gave."""
        facts, tensors = agent_file.from_archive(archive)
        setup = facts["setup"] | {"hidden": tuple(facts["setup"]["hidden"])}
        actor = cls(ActorCriticConfig(**setup), seed=facts["seed"], watts=facts["watts"])
        actor.history, actor.scale = facts["history"], facts["scale"]
        saved = {k[8:]: tensors.pop(k) for k in list(tensors) if k.startswith("network.")}
        actor.network.load_state_dict(saved)
        actor.moments = tensors
        return actor
