"""Policies that come as files and choose job by job: ``agent:FILE``, and ``tree:FILE`` of an agent.

``agent:ours`` is the learned order that comes with the library.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheostat.decision.policies.priority_tree import plays_window

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.machine import Machine
    from rheostat.simulation.simulate import Simulation


def plays(name: str) -> bool:
    """Does it choose job by job: an agent, a learned order, or a tree of an agent's values?

    >>> plays("agent:ours"), plays("sjf+easy")
    (True, False)
    """
    if not name.startswith("tree:"):
        return name.startswith("agent:")
    return plays_window(Path(name.removeprefix("tree:")))


def check_played(name: str) -> None:
    """Refuse ``agent:FILE`` where there is no such file."""
    from rheostat.errors import DataError
    from rheostat.simulation.learned_priority.learned_priority import file_of

    if name.startswith("agent:") and not file_of(name).is_file():
        told = "expected agent:ours, or agent:FILE as rheostat train wrote it; found no such file"
        raise DataError(name, [told])


def simulate_played(
    jobs: JobTable, name: str, machine: Machine | int, **options: Any
) -> Simulation:
    """The policy of a file, on all of ``jobs``; ``options`` are ``estimates`` and ``seed``."""
    if name.startswith("tree:"):
        from rheostat.training.distill.value_tree import simulate_saved_tree

        return simulate_saved_tree(jobs, name, machine, **options)
    from rheostat.simulation.learned_priority import learned_priority as ranked

    if ranked.saved_here(name):
        return ranked.simulate_saved(jobs, name, machine, **options)
    from rheostat.training.rl.agent_simulation import simulate_saved

    return simulate_saved(jobs, name, machine, **options)
