"""Agents by name: how each is set up and taught on a course.

An administrator gives a trace and an objective; here the mechanisms of `rheostat.training.rl`
are wired into an agent.  An entry of `AGENTS` is a function of (course, out, progress) that
returns a `TrainingResult`; another kind of agent is another line.

References
----------
`rheostat.recipes.dras`, `rheostat.training.rl.ppo`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rheostat.errors import DataError
from rheostat.questions.workers import cores
from rheostat.recipes.dras import dras
from rheostat.training.rl.curriculum import Curriculum, TrainingResult
from rheostat.training.rl.dras_config import known

UPDATES = 100
Progress = Callable[[int, int, dict[str, Any]], None]


def learn_dras(course: Curriculum, out: Path | None, progress: Progress | None) -> TrainingResult:
    """DRAS-PG or DRAS-DQL, jobset by jobset."""
    from rheostat.training.rl.dras import train

    if course.workers > 1:
        message = "DRAS learns every few events of one episode: expected --workers 1"
        raise DataError(course.agent, [message])
    jobsets = course.jobsets[: course.rounds]
    reward = course.reward("dras_capability", jobsets)
    setup = dras(course.agent, faithful=course.faithful, reward=reward, **course.switches)
    agent = train(jobsets, setup, seed=course.seed, out=out, progress=progress)
    return _learned(agent, "jobset")


def learn_actor(course: Curriculum, out: Path | None, progress: Progress | None) -> TrainingResult:
    """A2C or PPO, update by update, on episodes that begin anywhere in the past."""
    from rheostat.training.rl.actor_critic_config import ActorCriticConfig
    from rheostat.training.rl.ppo import train

    traces = course.whole
    reward = course.reward("slowdown", traces)
    usual = {"epochs": 1, "decisions": 32} if course.agent == "a2c" else {}
    known(ActorCriticConfig, course.switches)
    setup = ActorCriticConfig(course.agent, reward=reward, **(usual | course.switches))
    agent = train(
        traces, setup, updates=course.rounds or UPDATES, seed=course.seed, out=out,
        progress=progress, workers=min(course.workers, cores()), check=course.check,
    )  # fmt: skip
    return _learned(agent, "update")


AGENTS: dict[str, Callable[[Curriculum, Path | None, Progress | None], TrainingResult]] = {
    "dras-pg": learn_dras,
    "dras-dql": learn_dras,
    "a2c": learn_actor,
    "ppo": learn_actor,
}


def learn(
    course: Curriculum, out: Path | None = None, progress: Progress | None = None
) -> TrainingResult:
    """Teach the agent of a course."""
    if course.agent not in AGENTS:
        raise DataError("agent", [f"expected {', '.join(AGENTS)}, got {course.agent!r}"])
    return AGENTS[course.agent](course, out, progress)


def _learned(agent: Any, rounds: str) -> TrainingResult:
    weights = sum(p.numel() for p in agent.network.parameters())
    return TrainingResult(agent, asdict(agent.setup), weights, rounds, agent.history)
