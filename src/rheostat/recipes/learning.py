"""Agents by name: how each is set up and taught on a course.

An administrator gives a trace and an objective; here the mechanisms of `rheostat.simulate.learn`
are wired into an agent.  An entry of `AGENTS` is a function of (course, out, progress) that
returns a `Learned`; another kind of agent is another line.

References
----------
`rheostat.recipes.dras`, `rheostat.simulate.learn.ppo`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rheostat.errors import DataError
from rheostat.recipes.dras import dras
from rheostat.simulate.learn.course import Course, Learned
from rheostat.simulate.learn.setup import known

UPDATES = 100
Progress = Callable[[int, int, dict[str, Any]], None]


def learn_dras(course: Course, out: Path | None, progress: Progress | None) -> Learned:
    """DRAS-PG or DRAS-DQL, jobset by jobset."""
    from rheostat.simulate.learn.train import train

    if course.workers > 1:
        told = "DRAS learns every few events of one game: expected --workers 1"
        raise DataError(course.agent, [told])
    games = course.jobsets[: course.rounds]
    reward = course.reward("dras_capability", games)
    setup = dras(course.agent, faithful=course.faithful, reward=reward, **course.switches)
    agent = train(games, setup, seed=course.seed, out=out, progress=progress)
    return _learned(agent, "jobset")


def learn_actor(course: Course, out: Path | None, progress: Progress | None) -> Learned:
    """A2C or PPO, update by update, on games that begin anywhere in the past."""
    from rheostat.simulate.learn.actor_setup import ActorSetup
    from rheostat.simulate.learn.ppo import train

    traces = course.whole
    reward = course.reward("slowdown", traces)
    usual = {"epochs": 1, "decisions": 32} if course.agent == "a2c" else {}
    known(ActorSetup, course.switches)
    setup = ActorSetup(course.agent, reward=reward, **(usual | course.switches))
    agent = train(
        traces, setup, updates=course.rounds or UPDATES, seed=course.seed, out=out,
        progress=progress, workers=course.workers, check=course.check,
    )  # fmt: skip
    return _learned(agent, "update")


AGENTS: dict[str, Callable[[Course, Path | None, Progress | None], Learned]] = {
    "dras-pg": learn_dras,
    "dras-dql": learn_dras,
    "a2c": learn_actor,
    "ppo": learn_actor,
}


def learn(course: Course, out: Path | None = None, progress: Progress | None = None) -> Learned:
    """Teach the agent of a course."""
    if course.agent not in AGENTS:
        raise DataError("agent", [f"expected {', '.join(AGENTS)}, got {course.agent!r}"])
    return AGENTS[course.agent](course, out, progress)


def _learned(agent: Any, rounds: str) -> Learned:
    weights = sum(p.numel() for p in agent.network.parameters())
    return Learned(agent, asdict(agent.setup), weights, rounds, agent.history)
