"""How long and how much energy does an order of jobs take, each in a chosen mode?

Jobs are started in order, the first that fits first, while GPUs and places for tenants are left.
What comes out is what the profile foretells: it serves to compare plans, thousands of times.

Notation
--------
G  GPUs      K  tenants at once      c  slowdown per neighbour      w  idle watts of a GPU
E = w G M + sum (P - w g) t over jobs      M  makespan
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.decide.coschedule.profile import Mode


@dataclass(frozen=True)
class Site:
    """What a plan must fit: GPUs, tenants, and what idling and neighbours cost."""

    gpus: int
    tenants: int
    idle_w: float
    crowd: float = 0.0


@dataclass(frozen=True)
class Foreseen:
    """Makespan and energy of a plan from now on."""

    makespan_s: float
    energy_j: float

    @property
    def edp_js(self) -> float:
        """Energy times makespan."""
        return self.makespan_s * self.energy_j


def foresee(
    order: Sequence[Mode],
    site: Site,
    running: Sequence[tuple[float, int]] = (),
    stretch: float = 1.0,
) -> Foreseen:
    """Start ``order`` on a site where ``running`` (seconds left, GPUs) are busy already.

    ``stretch`` multiplies every runtime: above 1 for a cautious plan.

    >>> site = Site(4, 2, 0.0)
    >>> two = Mode("a", 2, 10.0, 100.0)
    >>> foresee([two, two, two], site).makespan_s, foresee([two, two], site).energy_j
    (20.0, 2000.0)
    """
    ends = [(left, g) for left, g in running]
    heapq.heapify(ends)
    free = site.gpus - sum(g for _, g in ends)
    waiting, now, last, energy = list(order), 0.0, 0.0, 0.0
    while waiting:
        k = 0
        while k < len(waiting) and free and len(ends) < site.tenants:
            m = waiting[k]
            if m.gpus > free:
                k += 1
                continue
            del waiting[k]
            t = m.runtime_s * stretch * (1 + site.crowd * len(ends))
            heapq.heappush(ends, (now + t, m.gpus))
            free -= m.gpus
            energy += (m.power_w - site.idle_w * m.gpus) * m.runtime_s
        if not waiting:
            break
        if not ends:
            return Foreseen(float("inf"), float("inf"))
        now, g = heapq.heappop(ends)
        free += g
    last = max((t for t, _ in ends), default=now)
    return Foreseen(last, energy + site.idle_w * site.gpus * last)
