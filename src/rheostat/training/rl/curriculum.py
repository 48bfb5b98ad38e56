"""A course: the jobs an agent learns from, the jobs it is judged on, and how it is taught.

The last part of a trace is never learned from.  Agents are judged there, beside first come, first
served with EASY, on all of it and from an empty machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.errors import DataError
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.jobsets import three_phases, weeks
from rheostat.training.rl.objective import reward_of

Phases = tuple[int, int, int]


@dataclass(frozen=True)
class Curriculum:
    """What is learned, from which jobs, for how long; ``switches`` are those of the agent's setup.

    ``objective`` "" is what the agent was published with.  ``phases`` None: the weeks of the trace.
    ``rounds`` are jobsets of DRAS (None: all) or updates of A2C and PPO.
    """

    jobs: JobTable
    machine: Machine
    agent: str
    objective: str = ""
    phases: Phases | None = None
    estimates: str = "user"
    held_out: float = 0.2
    rounds: int | None = None
    faithful: bool = True
    workers: int = 1
    seed: int = 0
    switches: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = []
        if self.estimates not in ("user", "perfect"):
            problems.append(f"--estimates: expected user or perfect, got {self.estimates!r}")
        if not 0 <= self.held_out < 1:
            problems.append(f"--test-fraction: expected 0 to less than 1, got {self.held_out}")
        if not self.machine.plain:
            problems.append("a machine with partitions, a cap or failures cannot be learned on yet")
        if problems:
            raise DataError("train", problems)

    @cached_property
    def past(self) -> JobTable:
        """The jobs learned from."""
        return self.jobs.split_by_time(1 - self.held_out)[0] if self.held_out else self.jobs

    @cached_property
    def unseen(self) -> JobTable | None:
        """The jobs judged on, if any were held out."""
        if not self.held_out:
            return None
        later = self.jobs.split_by_time(1 - self.held_out)[1]
        return later if len(later) else None

    @cached_property
    def jobsets(self) -> list[EpisodeTrace]:
        """Weeks of the past, each an episode of its own."""
        if self.phases is None:
            most = self.rounds if self.agent.startswith("dras") else None
            return weeks(self.past, self.machine, most=most, estimates=self.estimates)
        return three_phases(
            self.past, self.machine, self.phases, seed=self.seed, estimates=self.estimates
        )

    @cached_property
    def whole(self) -> list[EpisodeTrace]:
        """The past in one piece, or the weeks if phases were asked for."""
        if self.phases is not None:
            return self.jobsets
        return [prepare(self.past, self.machine, self.estimates)]

    @cached_property
    def check(self) -> EpisodeTrace | None:
        """The jobs judged on, as an episode."""
        return None if self.unseen is None else prepare(self.unseen, self.machine, self.estimates)

    def reward(self, usual: str, traces: list[EpisodeTrace]) -> str:
        """The objective as a reward; ``usual`` if none is given."""
        return reward_of(self.objective or usual, traces, self.machine)

    def shorter(self, rounds: int, **switches: Any) -> Curriculum:
        """A trial of a search: a few rounds on the earlier jobs of the past, judged on its last."""
        return replace(
            self, jobs=self.past, held_out=0.25, rounds=rounds, workers=1,
            switches=self.switches | switches,
        )  # fmt: skip


@dataclass(frozen=True)
class TrainingResult:
    """An agent, what it is made of, and how many weights."""

    agent: Any
    setup: dict[str, Any]
    parameters: int
    rounds: str
    history: list[dict[str, Any]]
