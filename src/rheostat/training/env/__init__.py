"""Scheduling as an episode: an agent decides who runs next, for reinforcement learning.

A batch scheduler decides again and again which waiting job comes next; here an agent does.  It
sees a window of the queue and what is expected to become free, picks a job - which starts, or is
promised the earliest possible start - and then fills the holes before that promise.
`SchedulingEnv` is one such episode (Gymnasium's ``Env``), `VectorSchedulingEnv` plays many of them
in one compiled call.

Both need ``pip install 'rheostat[train]'``.  `rheostat.simulation.engine.env_view` has the table of
observations, `rheostat.training.env.rewards` the rewards.

References
----------
Fan, Lan, Childers, Rich, Allcock, Papka, "Deep reinforcement agent for scheduling in HPC",
IPDPS 2021 (DRAS: two levels, window).  Towers et al., "Gymnasium: a standard interface for
reinforcement learning environments", 2024.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rheostat.training.env.rewards import REWARDS

if TYPE_CHECKING:
    from rheostat.training.env.scheduling_env import SchedulingEnv
    from rheostat.training.env.vector_env import VectorSchedulingEnv

__all__ = ["REWARDS", "SchedulingEnv", "VectorSchedulingEnv"]


def __getattr__(name: str) -> Any:
    """Import the environments late: Gymnasium is an extra."""
    if name == "SchedulingEnv":
        from rheostat.training.env.scheduling_env import SchedulingEnv

        return SchedulingEnv
    if name == "VectorSchedulingEnv":
        from rheostat.training.env.vector_env import VectorSchedulingEnv

        return VectorSchedulingEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
