"""Joules of a job from those of its steps: what was measured, of which nodes, and what was not.

Slurm's own line of a job is the sum of its numbered steps.  The batch step has its first node's
joules alone, and the extern step those of all its nodes; a counter that failed is zero, a number
near 2^64, or one below zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NO_VALUE = (2.0**32 - 2, 2.0**32 - 1)
MOST_J = 1e16
"""What the largest machine draws in ten years.  A counter that went round, or 2^64 - 2 and 18.45E,
with which Slurm says that it has no value, are beyond it."""
MOST_LACKING = 0.05
"""Share of its steps' node-hours that may lack joules: that much too small the sum may be."""
OTHER_NODES = (0.25, 4.0)
"""What another node of a job draws at least and at most, by what its first one does."""
FIRST_NODE = (
    "energy_j: only the batch step of a job on several nodes has joules, those of its first node: "
    "not known"
)
ONLY_EXTERN = (
    "energy_j: only the extern step of a job on several nodes has joules, and nothing says whether "
    "those of all of them: not known"
)
LACKING = "energy_j: steps that ran more than 5 % of the node-hours have no joules: not known"
ROUND = (
    "energy_j: a counter went round or holds no value (near 2^64, 2^32 or below zero): not known"
)
BY_EXTERN = (
    "energy_j: of the extern step, which is on all nodes of the job: its numbered steps have no "
    "joules, or not all"
)
BY_EXTERN_ROUND = (
    "energy_j: of the extern step, which is on all nodes of the job: a counter of another step "
    "went round or holds no value (near 2^64, 2^32 or below zero)"
)
BY_ANOTHER = "energy_j: of another step on the job's one node: a counter went round"


@dataclass(frozen=True)
class StepJoules:
    """Joules of a step, and what it ran for; None where they are not known."""

    name: str
    joules: float | None = None
    runtime_s: float | None = None
    nodes: float | None = None


def job_energy(
    own: float | None, steps: Sequence[StepJoules], nodes: float | None = None
) -> tuple[float | None, str]:
    """Joules of a job, and what there is to say of them.

    Its own line's, else the sum of its numbered steps.  Where these lack joules: on one node the
    batch step's, on several the extern step's, if its joules per node are like those of the batch
    step, which has the first node's.  The batch step is never added: it repeats the first node's.

    >>> parts = {"batch": 5.0, "extern": 9.0, "0": 0.0}
    >>> batch, extern, zero = (StepJoules(name, e) for name, e in parts.items())
    >>> job_energy(None, [batch]), job_energy(7.0, [batch, StepJoules("0", 7.0)])
    ((5.0, ''), (7.0, ''))
    >>> job_energy(None, [batch, extern, zero], nodes=2)[0]
    9.0
    >>> job_energy(None, [batch, zero], nodes=2)[0], job_energy(0.0, [zero])
    (None, (None, ''))
    """
    numbered = [s for s in steps if s.name.isdigit()]
    holes = any(_went_round(s.joules) for s in numbered)
    if own is not None and _counted(own) and not holes:
        return own, ""
    total = sum(s.joules or 0.0 for s in numbered)
    holes = holes or (total > 0 and _lacking(numbered) > MOST_LACKING)
    if total > 0 and not holes:
        return total, ""
    batch, extern = (_first(steps, name) for name in ("batch", "extern"))
    odd = any(map(_went_round, [own, *(s.joules for s in steps)]))
    if nodes == 1 or (nodes is None and not holes):
        whole = batch or extern
        return whole, (ROUND if whole is None else BY_ANOTHER) if odd else ""
    if nodes and batch and extern and _alike(batch, extern, nodes):
        return extern, BY_EXTERN_ROUND if odd else BY_EXTERN
    first = FIRST_NODE if batch else ONLY_EXTERN if extern else ""
    return None, ROUND if odd else LACKING if holes else first


def _alike(batch: float, extern: float, nodes: float) -> bool:
    """Whether the extern step has the joules of all nodes, by those of the first one."""
    least, most = (1 + (nodes - 1) * share for share in OTHER_NODES)
    return least <= extern / batch <= most


def _first(steps: Sequence[StepJoules], name: str) -> float | None:
    counted = (s.joules for s in steps if s.name == name and s.joules and _counted(s.joules))
    return next(counted, None)


def _lacking(steps: Sequence[StepJoules]) -> float:
    """Share of the node-hours of steps of which no joules were counted."""
    every = [(s.runtime_s or 0.0) * (s.nodes or 1.0) for s in steps]
    lost = [t for t, s in zip(every, steps, strict=True) if not s.joules]
    return sum(lost) / sum(every) if sum(every) else 0.0


def _went_round(joules: float | None) -> bool:
    return (joules is not None and not 0 <= joules < MOST_J) or joules in NO_VALUE


def _counted(joules: float) -> bool:
    """Whether a number of joules is one, and not zero."""
    return joules > 0 and not _went_round(joules)
