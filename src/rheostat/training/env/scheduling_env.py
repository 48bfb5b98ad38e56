"""One scheduling episode as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.training.env.batch import Batch, width
from rheostat.training.env.episode_trace import EpisodeRules, EpisodeTrace, trace

gymnasium = require("gymnasium", extra="train")

ID = "rheostat/Scheduling-v0"
gymnasium.register(
    ID,
    entry_point="rheostat.training.env.scheduling_env:SchedulingEnv",
    vector_entry_point="rheostat.training.env.vector_env:VectorSchedulingEnv",
)


class SchedulingEnv(gymnasium.Env):  # type: ignore[misc, name-defined]
    """Decide who runs next, job by job, on a machine and a trace.

    Parameters
    ----------
    jobs
        A trace as `rheostat.simulation.simulate` takes it, or a `EpisodeTrace` made before.
    machine
        A `Machine` or its number of processors; not needed with a `EpisodeTrace`.
    estimates
        What jobs are planned with: "user", "perfect" (clairvoyant), or seconds, one per row.
    **rules
        Of `rheostat.training.env.episode_trace.EpisodeRules`.

    Notes
    -----
    Actions 0 to ``window - 1`` choose that job of the window; ``window`` chooses none: it ends the
    backfilling or, if ``may_wait``, lets time pass to the next event.  An illegal action is taken
    as job 0 in a selection and as none in a backfill.  ``info["action_mask"]`` says what is legal.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> jobs = table({"submit_s": [0.0, 1.0, 2.0], "cores": [3, 4, 1],
    ...               "runtime_s": [10.0, 5.0, 4.0], "time_limit_s": [10.0, 5.0, 4.0]})
    >>> env = SchedulingEnv(jobs, 4, window=2, episode_jobs=3)
    >>> observation, info = env.reset(seed=0)
    >>> info["action_mask"].tolist()          # the first job, and there is no other
    [True, False, False]
    >>> _ = env.step(0)                       # it starts; the second comes, and is too large
    >>> _ = env.step(0)                       # it is promised 10 s; the third comes, and fits
    >>> env.action_masks().tolist()           # backfill it, or not
    [True, False, True]
    >>> _, reward, ended, _, _ = env.step(0)
    >>> env.starts.tolist(), ended, round(reward * 3600)
    ([0.0, 10.0, 2.0], True, -8)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self,
        jobs: JobTable | EpisodeTrace,
        machine: Machine | int | None = None,
        *,
        estimates: str | np.ndarray = "user",
        render_mode: None = None,
        **rules: Any,
    ) -> None:
        self.trace = made(jobs, machine, estimates)
        self.rules = EpisodeRules(**rules)
        self._batch = Batch(self.trace, self.rules, 1, record=True)
        self._action = np.zeros(1, np.int64)
        shape = (width(self.rules.window),)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(self.rules.window + 1)
        self.spec = gymnasium.envs.registration.EnvSpec(  # so that a copy can be made from it
            ID, entry_point=gymnasium.spec(ID).entry_point, kwargs={"jobs": self.trace, **rules}
        )

    @property
    def clairvoyant(self) -> bool:
        """Are some jobs planned with their true run time?"""
        return self.trace.clairvoyant

    @property
    def starts(self) -> np.ndarray:
        """Starts chosen in this episode, s, one per job of the trace; NaN for all others."""
        starts: np.ndarray = self._batch.starts[0].copy()
        return starts

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode at a random job, or at job ``options["first"]`` of the trace."""
        super().reset(seed=seed)
        first = first_job(self.np_random, self.trace, self.rules, options)
        self._batch.step(self._action, np.array([first]))
        return self._batch.views[0].copy(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """(observation, reward, all jobs started?, cut?, info)."""
        self._action[0] = action
        self._batch.step(self._action)
        ended, cut = self._batch.ended[0]
        reward = float(self._batch.rewards[0])
        return self._batch.views[0].copy(), reward, bool(ended), bool(cut), self._info()

    def action_masks(self) -> np.ndarray:
        """Which actions are legal now, (window + 1,) bool."""
        masks: np.ndarray = self._batch.masks[0].copy()
        return masks

    def _info(self) -> dict[str, Any]:
        metrics = {name: values[0].item() for name, values in self._batch.metrics().items()}
        return {"action_mask": self.action_masks(), **metrics}


def made(
    jobs: JobTable | EpisodeTrace, machine: Machine | int | None, estimates: str | np.ndarray
) -> EpisodeTrace:
    """The trace of the episode."""
    if isinstance(jobs, EpisodeTrace):
        return jobs
    if machine is None:
        raise DataError("environment", ["machine: expected a Machine or a number of processors"])
    return trace(jobs, machine, estimates)


def first_job(
    rng: np.random.Generator,
    trace: EpisodeTrace,
    rules: EpisodeRules,
    options: dict[str, Any] | None,
) -> int:
    """Where an episode begins: drawn, or as the options say."""
    if options is None or "first" not in options:
        return int(rng.integers(trace.last_first(rules) + 1))
    first = int(options["first"])
    if not 0 <= first < len(trace):
        raise DataError("reset", [f"first: expected 0 to {len(trace) - 1}, got {first}"])
    return first
