"""Many scheduling episodes stepped in one compiled call, as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.training.env.batch import Batch, width
from rheostat.training.env.episode_trace import EpisodeRules
from rheostat.training.env.scheduling_env import first_job, made

gymnasium = require("gymnasium", extra="train")
vector = require("gymnasium.vector", extra="train")


class VectorSchedulingEnv(vector.VectorEnv):  # type: ignore[misc, name-defined]
    """``num_envs`` episodes of `SchedulingEnv` over a trace; same seeds, same bytes as single ones.

    Autoreset is ``NEXT_STEP``: the step after an episode's end ignores the action, begins the next
    episode and returns its first observation with reward 0.

    Parameters
    ----------
    jobs, machine, estimates, **rules
        As for `SchedulingEnv`.
    num_envs
        Episodes side by side.
    copy
        Return copies; False returns the arrays that the next step overwrites, without any copying.
    """

    metadata = {"autoreset_mode": vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        jobs: JobTable | Any,
        machine: Machine | int | None = None,
        *,
        num_envs: int = 64,
        estimates: str | np.ndarray = "user",
        copy: bool = True,
        **rules: Any,
    ) -> None:
        if num_envs < 1:
            raise DataError("environment", [f"num_envs: expected at least 1, got {num_envs}"])
        self.trace, self.rules = made(jobs, machine, estimates), EpisodeRules(**rules)
        self.num_envs, self.copy = num_envs, copy
        self._batch = Batch(self.trace, self.rules, num_envs, record=False)
        self._rngs: list[np.random.Generator] = []
        self._over = np.zeros(num_envs, bool)
        space, w = gymnasium.spaces, self.rules.window
        self.single_observation_space = space.Box(0.0, 1.0, (width(w),), np.float32)
        self.single_action_space = space.Discrete(w + 1)
        self.observation_space = vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = vector.utils.batch_space(self.single_action_space, num_envs)

    @property
    def clairvoyant(self) -> bool:
        """Are some jobs planned with their true run time?"""
        return self.trace.clairvoyant

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes; episode ``i`` has seed ``seed + i``, or the i-th of a list."""
        if seed is not None or not self._rngs:
            self._rngs = [gymnasium.utils.seeding.np_random(s)[0] for s in self._seeds(seed)]
        self._over[:] = False
        first = [first_job(rng, self.trace, self.rules, options) for rng in self._rngs]
        self._batch.step(np.zeros(self.num_envs, np.int64), np.array(first))
        return self._output(self._batch.views), self._info()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """(observations, rewards, terminations, truncations, infos), one row per episode."""
        batch, first = self._batch, None
        if self._over.any():
            first = np.full(self.num_envs, -1)
            for i in np.flatnonzero(self._over):
                first[i] = first_job(self._rngs[i], self.trace, self.rules, None)
        batch.step(np.asarray(actions, np.int64), first)
        ended = batch.ended.copy()
        self._over = np.asarray(ended.any(axis=1))
        rewards = self._output(batch.rewards)
        return self._output(batch.views), rewards, ended[:, 0], ended[:, 1], self._info()

    def action_masks(self) -> np.ndarray:
        """Which actions are legal now, (num_envs, window + 1) bool."""
        return self._output(self._batch.masks)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise DataError("reset", [f"seed: expected {self.num_envs} seeds, got {len(seed)}"])
        return list(seed)

    def _output(self, values: np.ndarray) -> np.ndarray:
        return values.copy() if self.copy else values

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), **self._batch.metrics()}
