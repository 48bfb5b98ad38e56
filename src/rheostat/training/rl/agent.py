"""An agent: its setup, its network, what it has learned from; it plays, is saved and is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.core.storage.archive import Archive
from rheostat.errors import DataError
from rheostat.prediction.saved_models import persist
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.rl import agent_file
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.episode import Episode, WindowView
from rheostat.training.rl.first_layer import LARGE, FirstLayerCache
from rheostat.training.rl.networks import Network

torch = require("torch", extra="train")

Progress = Callable[[int, int, dict[str, Any]], None]


class Agent:
    """A scheduler of a machine of ``nodes`` nodes that chooses by a network.

    ``history`` has the facts of each jobset it has learned from, ``explore`` the probability of a
    random choice the next one begins with.  ``uniform`` counts draws from a network whose answer
    was not finite: as in the released code, any job shown is then as likely as any other.
    """

    def __init__(self, setup: DrasConfig, nodes: int, *, seed: int | None = 0) -> None:
        self.setup, self.nodes, self.seed = setup, nodes, seed
        self.network = Network(setup, nodes, seed)
        self.history: list[dict[str, Any]] = []
        self.moments: dict[str, Any] = {}
        self.explore, self.uniform, self.floor = setup.explore, 0, FirstLayerCache()

    def pick(
        self, view: WindowView, rng: np.random.Generator, *, explore: float | None = None
    ) -> int:
        """A slot of ``view``; ``explore``: None once trained, else the share of random choices."""
        if self.setup.method == "dql":
            if explore and rng.random() < explore:
                return int(rng.integers(view.count))
            return int(self.answers(view).argmax())
        chances = self.answers(view)
        if explore is None and self.setup.test == "best":
            return int(chances.argmax())
        edges = chances.cumsum()
        return min(int(np.searchsorted(edges, rng.random() * edges[-1], "right")), view.count - 1)

    def answers(self, view: WindowView) -> np.ndarray:
        """What the network says of the jobs shown, (count,): values, or probabilities."""
        jobs, nodes = torch.from_numpy(view.jobs), torch.from_numpy(view.nodes)[None]
        jobs = jobs.view(-1, 2, 2)[: view.count] if self.setup.method == "dql" else jobs[None]
        with torch.no_grad():
            answers = self._judged(jobs, nodes, view).flatten()[: view.count].double()
            answers = answers.softmax(0) if self.setup.method == "pg" else answers
        if bool(answers.isfinite().all()):
            return np.asarray(answers.numpy())
        self.uniform += 1
        return np.full(view.count, 1 / view.count)

    def _judged(self, jobs: Any, nodes: Any, view: WindowView) -> Any:
        network = self.network
        if view.owner is None or network.first.numel() < LARGE:
            return network(jobs, nodes)
        weights = network.first[:, network.rows :]
        return network.judge(jobs, self.floor.part(weights, view.owner, network.filtered(nodes[0])))

    def schedule(self, trace: EpisodeTrace, *, seed: int = 0) -> np.ndarray:
        """Start of each job of ``trace``, s, on an empty machine; (n,)."""
        return self.play(trace, seed=seed).starts

    @one_thread()
    def play(
        self, trace: EpisodeTrace, *, seed: int = 0, progress: Progress | None = None
    ) -> Episode:
        """A whole jobset played as trained; ``progress`` is told (jobs started, jobs, {})."""
        episode, rng = Episode(self.fitting(trace), self.setup), np.random.default_rng(seed)
        self.floor.forget()
        while not episode.over:
            episode.choose(self.pick(episode.view(), rng))
            if progress is not None:
                progress(episode.started, len(trace), {})
        return episode

    def fitting(self, trace: EpisodeTrace) -> EpisodeTrace:
        """``trace`` itself, if it is of the machine this network is made for."""
        if trace.size != self.nodes:
            raise DataError(
                "agent",
                [
                    f"expected a machine of {self.nodes} nodes, got {trace.size}",
                    "a network of DRAS has one input per node: train one for this machine",
                ],
            )
        return trace

    def save(self, path: Path, moments: Mapping[str, Any]) -> None:
        """Write the agent and the optimiser's ``moments``: the old file or the new, never half."""
        self.moments = dict(moments)
        persist.save(self, path)

    @classmethod
    def load(cls, path: Path | str) -> tuple[Agent, dict[str, Any]]:
        """The agent that was saved, and the moments of its optimiser."""
        agent: Agent = persist.load(path, ["dras-agent"])
        return agent, agent.moments

    def to_archive(self) -> Archive:
        """Facts as JSON, weights and moments as tensors."""
        facts = {"setup": asdict(self.setup), "nodes": self.nodes, "seed": self.seed}
        facts |= {"history": self.history, "explore": self.explore}
        tensors = {f"network.{k}": v.detach() for k, v in self.network.named_parameters()}
        return agent_file.to_archive(facts, tensors | self.moments)

    @classmethod
    def from_archive(cls, archive: Archive) -> Agent:
        """What `to_archive` gave."""
        facts, tensors = agent_file.from_archive(archive)
        setup = facts["setup"] | {"hidden": tuple(facts["setup"]["hidden"])}
        agent = cls(DrasConfig(**setup), facts["nodes"], seed=None)
        agent.seed, agent.history = facts["seed"], facts["history"]
        agent.explore = facts["explore"]
        weights = {k[8:]: tensors.pop(k) for k in list(tensors) if k.startswith("network.")}
        agent.network.load_state_dict(weights)
        agent.moments = tensors
        return agent
