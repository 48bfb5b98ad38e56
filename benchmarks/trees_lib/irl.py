"""IRL: a tree that schedules as an agent of DRAS does, of Li, Lan and Papka; and our own student.

What has a network learned?  A regression tree learns its values from three facts of each job, by
DAgger on critical decisions, and can be read.  The mechanisms are `rheostat.training.distill`; here
are the settings of its authors: their teacher's window, reward and exploration, and the tree's.

References
----------
Li, Lan, Papka, "Interpretable modeling of deep reinforcement learning driven scheduling", MASCOTS
2023 (10.1109/MASCOTS59514.2023.10387651).
"""

from __future__ import annotations

from typing import Any

from rheostat.training.rl.dras_config import DrasConfig

DEPTHS = (8, 10, 12)
JOBS = {"train": 10_000, "test": 2_500}
TRACES = {"SDSC-SP2": 128, "SDSC-DataStar": 1664}
FAITHFUL: dict[str, Any] = {"depth": 10, "critical": 3, "rounds": 5}
TEACHER: dict[str, Any] = {
    "method": "dql",
    "window": 20,
    "reward": "dras_capacity",
    "gamma": 0.99,
    "explore": 1.0,
    "explore_factor": 0.995,
}


def teacher(**changed: Any) -> DrasConfig:
    """The agent that is imitated: DRAS's values of one job at a time, a window of 20 jobs.

    The layers are 128 and 64 wide and the inputs scaled, which trains in minutes; ``hidden=(4000,
    1000), inputs="raw"`` are those of DRAS on Theta.

    >>> teacher().window, teacher(hidden=(64, 32)).hidden
    (20, (64, 32))
    """
    return DrasConfig(**(TEACHER | changed))


def irl(*, faithful: bool = True, **changed: Any) -> dict[str, Any]:
    """Settings of `imitate_values`, or of `imitate` for our own student; ``changed`` on top.

    >>> irl()["depth"], irl(faithful=False)["depth"]
    (10, 6)
    """
    return (FAITHFUL if faithful else {"depth": 6, "rounds": 3, "features": "site"}) | changed
