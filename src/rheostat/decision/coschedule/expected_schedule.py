"""How long and how much energy does an order of jobs take, each in a chosen mode?

Jobs are started in order, the first that fits first, while GPUs and places for tenants are left.
What comes out is what the profile predicts, neighbours included, and what a simulation of the same
plan on one node gives; it serves to compare plans, thousands of times.

Notation
--------
G  GPUs      K  tenants at once      c  slowdown per neighbour      w  idle watts of a GPU
n  tenants now; all of them work at the rate 1 / (1 + c (n - 1))
E = w G M + sum (P - w g) t over jobs      M  makespan
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting, best_place
from rheostat.errors import DataError

OBJECTIVES = ("edp", "makespan", "energy")
"""What a schedule is judged by: energy times makespan, or one of the two."""

_EVEN_S = 1e-9


@dataclass(frozen=True)
class NodeSite:
    """What a plan must fit: GPUs and tenants on all nodes, and what idling and neighbours cost."""

    gpus: int
    tenants: int
    idle_w: float
    crowd: float = 0.0
    nodes: int = 1


@dataclass(frozen=True)
class ExpectedSchedule:
    """Makespan and energy of a plan from now on."""

    makespan_s: float
    energy_j: float

    @property
    def edp_js(self) -> float:
        """Energy times makespan."""
        return self.makespan_s * self.energy_j

    def cost(self, objective: str) -> float:
        """What is minimised: one of `OBJECTIVES`."""
        return cost(objective, self.makespan_s, self.energy_j)


def cost(objective: str, makespan_s: float, energy_j: float) -> float:
    """Energy times makespan [J s], the makespan [s] or the energy [J].

    >>> cost("edp", 10.0, 3.0), cost("makespan", 10.0, 3.0), cost("energy", 10.0, 3.0)
    (30.0, 10.0, 3.0)
    """
    if objective not in OBJECTIVES:
        problem = f"expected one of {', '.join(OBJECTIVES)}, got {objective!r}"
        raise DataError("objective", [problem])
    return {"edp": energy_j * makespan_s, "makespan": makespan_s, "energy": energy_j}[objective]


def foresee(
    order: Sequence[Mode],
    site: NodeSite,
    running: Sequence[tuple[float, int]] = (),
    stretch: float = 1.0,
) -> ExpectedSchedule:
    """Start ``order`` on a site where ``running`` (seconds left alone, GPUs) are busy already.

    ``stretch`` multiplies every runtime: above 1 for a cautious plan.

    >>> site = NodeSite(4, 2, 0.0)
    >>> two = Mode("a", 2, 10.0, 100.0)
    >>> foresee([two, two, two], site).makespan_s, foresee([two, two], site).energy_j
    (20.0, 2000.0)
    """
    ends = [(left, g) for left, g in running]  # in seconds of work since now, equal for all tenants
    heapq.heapify(ends)
    free = site.gpus - sum(g for _, g in ends)
    waiting, now, done, energy = list(order), 0.0, 0.0, 0.0
    while waiting or ends:
        k = 0
        while k < len(waiting) and free and len(ends) < site.tenants:
            m = waiting[k]
            if m.gpus > free:
                k += 1
                continue
            del waiting[k]
            heapq.heappush(ends, (done + m.runtime_s * stretch, m.gpus))
            free -= m.gpus
            energy += (m.power_w - site.idle_w * m.gpus) * m.runtime_s
        if not ends:
            return ExpectedSchedule(float("inf"), float("inf"))
        now += (ends[0][0] - done) * (1 + site.crowd * (len(ends) - 1))
        done = ends[0][0]
        while ends and ends[0][0] <= done + _EVEN_S:
            free += heapq.heappop(ends)[1]
    return ExpectedSchedule(now, energy + site.idle_w * site.gpus * now)


@dataclass(frozen=True)
class Plan:
    """A mode for each waiting job, the order of starts (indices of jobs), and the site."""

    modes: list[Mode]
    order: list[int]
    site: NodeSite

    def foreseen(
        self, running: Sequence[tuple[float, int]], stretch: float = 1.0
    ) -> ExpectedSchedule:
        """What it takes from now on."""
        return foresee([self.modes[i] for i in self.order], self.site, running, stretch)


class Planned:
    """A policy that carries out a plan: each time the first job of the order that fits.

    ``steps`` are (name of the job, mode) in the order of starts, ``tenants`` the most at once.
    """

    def __init__(self, steps: Iterable[tuple[str, Mode]], tenants: int, name: str) -> None:
        self.left, self.tenants, self.name = dict(steps), tenants, name

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first job of the plan that waits and fits."""
        free = len(state.free)
        if not free or len(state.tenants) >= self.tenants:
            return ()
        here = {w.name: w for w in waiting}
        for name, mode in self.left.items():
            if name in here and mode.gpus <= free:
                del self.left[name]
                gpus, domain = best_place(state, mode.gpus)
                return (Start(here[name], mode, gpus, domain),)
        return ()
