"""The switches of A2C and PPO."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.errors import DataError
from rheostat.training.env.episode_trace import EpisodeRules
from rheostat.training.env.rewards import weights
from rheostat.training.rl.switch_bounds import (
    MOST,
    MOST_WIDTH,
    STEP_SIZES,
    real,
    whole,
    widths,
)

MOST_SEEN = 20_000_000
"""Jobs that the decisions of an update show together; each takes some 50 bytes."""


@dataclass(frozen=True)
class ActorCriticConfig:
    """How an actor sees, plays and learns.

    Parameters
    ----------
    method
        "ppo" or "a2c": the latter learns once from each decision, and clips nothing.
    window, may_wait, episode_jobs, reward
        Of `rheostat.training.env.episode_trace.EpisodeRules`.
    hidden
        Widths of both layers.
    lr, gamma, trace_decay
        Adam's step size; discount per decision; lambda of generalised advantages.
    episodes, decisions
        Episodes of one update, each begun anew at a random job, and decisions of each.
    epochs, parts
        How often one update goes over its decisions, and in how many parts each time.
    clip
        Of "ppo": how far the probability of a choice may move in one update, as a share.
    tame
        Advantages of more than so many usual deviations count as that many; 0: all as they are.
        One short job that waits for a day would else be all there is to learn from.
    entropy, value_weight
        Weights of the entropy of the choices and of the squared error of the values.
    """

    method: str = "ppo"
    window: int = 32
    hidden: tuple[int, int] = (64, 32)
    reward: str = "slowdown"
    may_wait: bool = False
    episode_jobs: int = 256
    lr: float = 3e-3
    gamma: float = 0.99
    trace_decay: float = 0.95
    episodes: int = 32
    decisions: int = 128
    epochs: int = 4
    parts: int = 4
    clip: float = 0.2
    tame: float = 3.0
    entropy: float = 0.001
    value_weight: float = 0.5

    def __post_init__(self) -> None:
        problems = []
        if self.method not in ("ppo", "a2c"):
            problems.append(f"method: expected ppo or a2c, got {self.method!r}")
        counts = ("episode_jobs", "episodes", "decisions", "epochs", "parts")
        problems += widths(self.hidden) + whole({"window": self.window}, MOST_WIDTH)
        problems += whole({name: getattr(self, name) for name in counts}, MOST)
        if not problems and (seen := self.episodes * self.decisions * self.window) > MOST_SEEN:
            problems.append(f"episodes * decisions * window: expected at most {MOST_SEEN:,} jobs "
                            f"in an update, got {seen:,}")  # fmt: skip
        shares, weighed = ("gamma", "trace_decay"), ("clip", "tame", "entropy", "value_weight")
        problems += real({name: getattr(self, name) for name in shares}, 0, 1)
        problems += real({name: getattr(self, name) for name in weighed}, 0, MOST)
        problems += real({"lr": self.lr}, *STEP_SIZES)
        if problems:
            raise DataError("setup of the agent", problems)
        weights(self.reward)

    @property
    def billed(self) -> bool:
        """Is energy, cost or carbon rewarded?  Then watts of jobs and prices ahead are seen."""
        return bool(weights(self.reward)[-3:].any())

    def rules(self, *, whole: bool = False) -> EpisodeRules:
        """Of one episode of training, or of a whole trace from an empty machine."""
        if whole:
            return EpisodeRules(self.window, self.may_wait, "wait", episode_jobs=None, warm=False)
        return EpisodeRules(self.window, self.may_wait, self.reward, episode_jobs=self.episode_jobs)
