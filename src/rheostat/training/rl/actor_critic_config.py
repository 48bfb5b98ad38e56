"""The switches of A2C and PPO."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.errors import DataError
from rheostat.training.env.episode_trace import EpisodeRules
from rheostat.training.env.rewards import weights


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
        counts = ("window", "episode_jobs", "episodes", "decisions", "epochs", "parts")
        problems += [
            f"{name}: expected a whole number above 0, got {getattr(self, name)!r}"
            for name in counts
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1
        ]
        problems += [
            f"{name}: expected 0 to 1, got {getattr(self, name)!r}"
            for name in ("gamma", "trace_decay")
            if not 0 <= getattr(self, name) <= 1
        ]
        if not isinstance(self.hidden, tuple) or len(self.hidden) != 2 or min(self.hidden) < 1:
            problems.append(f"hidden: expected two widths above 0, got {self.hidden!r}")
        problems += [
            f"{name}: expected a number of at least 0, got {getattr(self, name)!r}"
            for name in ("clip", "tame", "entropy", "value_weight")
            if not getattr(self, name) >= 0
        ]
        problems += [] if self.lr > 0 else [f"lr: expected a number above 0, got {self.lr!r}"]
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
