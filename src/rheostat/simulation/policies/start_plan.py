"""What a policy answers: a start for each job of a workload."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.core.jobs import Note
from rheostat.simulation.workload import Array


@dataclass(frozen=True)
class StartPlan:
    """When each job of a workload starts, and what it took to find that.

    Parameters
    ----------
    start_s
        (n,) start of each job, s.
    estimate_s
        (n,) run time that each job was first planned with, s.
    passes
        Scheduling passes.
    cpu_s
        CPU seconds they took, without compilation.
    clairvoyant
        Was anything known that no site knows, such as a true run time?
    notes
        On single jobs.
    """

    start_s: Array
    estimate_s: Array
    passes: int = 0
    cpu_s: float = 0.0
    clairvoyant: bool = False
    notes: tuple[Note, ...] = ()
