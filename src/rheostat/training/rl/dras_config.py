"""The switches of a learning agent: every way in which it may depart from DRAS has a name here.

`DrasConfig` holds the settings that learn well on small machines; `recipes.dras` those of DRAS.
Where the paper and the released code contradict each other, the comment says which is which.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rheostat.errors import DataError
from rheostat.training.env.episode_trace import BACKFILLS, PROMISES
from rheostat.training.env.rewards import weights
from rheostat.training.rl.switch_bounds import (
    MOST,
    MOST_WIDTH,
    STEP_SIZES,
    real,
    whole,
    widths,
)

CHOICES = {
    "method": ("pg", "dql"),
    "inputs": ("raw", "scaled"),
    "loss": ("whole", "legal"),
    "test": ("sample", "best"),
    "steps": ("each", "batch"),
    "error": ("descent", "released"),
    "backfill": BACKFILLS,
    "plans": ("requested", "true"),
    "promise": PROMISES,
    "decay": ("fits", "selected"),
    "priorities": ("trace", "none"),
}


@dataclass(frozen=True)
class DrasConfig:
    """How an agent sees, judges, explores and learns.

    Parameters
    ----------
    method
        "pg": probabilities of all jobs of the window at once, learned by REINFORCE.  "dql": a value
        of one job at a time, learned from what followed.
    window
        Waiting jobs that are seen, first come first.
    hidden
        Widths of the two hidden layers.
    reward
        Of `rheostat.training.env.rewards.REWARDS`: a name, or weights as "slowdown=1,energy=0.2".
    inputs
        "raw": nodes and seconds (DRAS).  "scaled": shares of the machine, times on a log scale.
    lr, gamma
        Adam's step size and the discount of later rewards, per decision.
    instances
        Events of the cluster (a submission or an end) between two updates.
    loss
        Of "pg".  "whole": log-probability over all outputs of the network, empty slots of the
        window among them (DRAS).  "legal": over the jobs there are, from which it was drawn.
    steps
        Of "dql".  "each": one step of Adam per decision (DRAS).  "batch": one per update.
    error
        Of "dql".  "descent" lowers the squared error of the values, as the paper's method does.
        "released" has the sign of the released code, which raises it.
    explore, explore_factor, explore_least
        Of "dql".  Probability of a random choice; factor per choice that starts its job; floor.
    explore_again
        Of "dql".  Does each jobset begin again at ``explore``?
    test
        Of "pg", once trained.  "sample": draw from the probabilities (DRAS).  "best": take the
        likeliest.
    backfill
        Jobs that may be backfilled: of the "window", or of the whole "queue" (DRAS).
    plans
        Run times of waiting jobs that a backfill is planned with: "requested", or "true" ones,
        which no site knows (the code of DRAS).  Running jobs are planned with requested ones.
    promise
        "held": the job chosen keeps its promise until it starts (the paper).  "first_held": a
        choice that does not fit is dropped, though learned from; the first job of the queue is
        promised, and keeps that until it starts (the code of PG).  "first": a choice that does not
        fit is dropped and not learned from; the first job of the queue is promised, until the next
        event asks again (the code of DQL).
    decay
        Of "dql".  Random choices grow rarer with each chosen job that "fits", backfilled ones too,
        or with each "selected" one that starts, backfills left out (DRAS).
    priorities
        Is the trace's column ``priority`` shown, where it is above 0: "trace" (DRAS) or "none"?
    """

    method: str = "pg"
    window: int = 50
    hidden: tuple[int, int] = (128, 64)
    reward: str = "dras_capability"
    inputs: str = "scaled"
    lr: float = 1e-3
    gamma: float = 0.99
    instances: int = 100
    loss: str = "legal"
    steps: str = "batch"
    error: str = "descent"
    explore: float = 1.0
    explore_factor: float = 0.995
    explore_least: float = 0.01
    explore_again: bool = False
    test: str = "best"
    backfill: str = "window"
    plans: str = "requested"
    promise: str = "held"
    decay: str = "fits"
    priorities: str = "trace"

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected {' or '.join(known)}, got {getattr(self, name)!r}"
            for name, known in CHOICES.items()
            if getattr(self, name) not in known
        ]
        problems += widths(self.hidden)
        problems += whole({"window": self.window}, MOST_WIDTH)
        problems += whole({"instances": self.instances}, MOST)
        problems += real({"lr": self.lr}, *STEP_SIZES)
        shares = ("gamma", "explore", "explore_factor", "explore_least")
        problems += real({name: getattr(self, name) for name in shares}, 0, 1)
        if problems:
            raise DataError("setup of the agent", problems)
        weights(self.reward)


def known(setup: type, changed: dict[str, Any]) -> None:
    """Refuse switches that a setup does not have."""
    names = [f.name for f in fields(setup)]
    odd = [name for name in changed if name not in names]
    if odd:
        problems = [f"{name} is no switch of this agent" for name in odd]
        raise DataError("setup of the agent", [*problems, f"known: {', '.join(names)}"])
