"""Many nodes: which waiting job goes where, all nodes at once.

Modes are chosen for the cluster as a whole by a common deadline; then jobs and nodes are matched:
each node takes at most one job per round, and the assignment that fills the most GPUs, spills the
least out of NUMA domains and prefers the longest jobs wins.  Rounds follow until nothing fits.

References
----------
The linear assignment problem, solved by scipy (a variant of Jonker and Volgenant's algorithm).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.coschedule.expected_schedule import NodeSite
from rheostat.decision.coschedule.gpu_profiles import Mode, Profiles
from rheostat.decision.coschedule.packed import Packed
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting, best_place

PER_NODE = 4
"""Candidates looked at per node with room."""


class Matched:
    """Jobs matched to nodes; a chooser for `simulate.coschedule.node_simulation.run_queue`."""

    name = "matched"

    def __init__(
        self,
        profiles: Profiles,
        idle_w: float,
        *,
        tenants: int = 4,
        crowd: float = 0.05,
        objective: str = "edp",
    ) -> None:
        self.planner = Packed(profiles, idle_w, tenants=tenants, crowd=crowd, objective=objective)
        self.tenants = tenants
        self._planned: dict[str, Mode] = {}
        self._order: list[str] = []
        self._at_once = tenants

    def choose(
        self, waiting: Sequence[Waiting], states: Sequence[NodeState]
    ) -> list[tuple[int, Start]]:
        """One round: (node, start) pairs, at most one per node."""
        if not waiting or not self._room(states, self.tenants):
            return []
        names = {w.name: w for w in waiting}
        if not names.keys() <= self._planned.keys():
            self._plan(waiting, states)
        room = self._room(states, self._at_once)
        if not room:
            return []
        most = max(len(states[i].free) for i in room)
        some = [n for n in self._order if n in names and self._planned[n].gpus <= most]
        some = some[: PER_NODE * len(room)]
        if not some:
            return []
        return self._match([names[n] for n in some], room, states)

    @staticmethod
    def _room(states: Sequence[NodeState], tenants: int) -> list[int]:
        return [i for i, s in enumerate(states) if s.free and len(s.tenants) < tenants]

    def _plan(self, waiting: Sequence[Waiting], states: Sequence[NodeState]) -> None:
        total, n = sum(s.node.gpus for s in states), len(states)
        idle_w, crowd = self.planner.idle_w, self.planner.crowd
        sites = [NodeSite(total, k * n, idle_w, crowd, n) for k in range(self.tenants, 0, -1)]
        plan = self.planner.by_area([w.app for w in waiting], sites)
        self._planned = {w.name: m for w, m in zip(waiting, plan.modes, strict=True)}
        self._order = [waiting[i].name for i in plan.order]
        self._at_once = plan.site.tenants // n

    def _match(
        self, jobs: Sequence[Waiting], room: Sequence[int], states: Sequence[NodeState]
    ) -> list[tuple[int, Start]]:
        from scipy.optimize import linear_sum_assignment

        value = self._values(jobs, room, states)
        rows, columns = linear_sum_assignment(value, maximize=True)
        starts = []
        for r, c in zip(rows, columns, strict=True):
            if value[r, c] <= 0:
                continue
            mode = self._planned[jobs[c].name]
            gpus, domain = best_place(states[room[r]], mode.gpus)
            starts.append((room[r], Start(jobs[c], mode, gpus, domain, float(value[r, c]))))
        return starts

    def _values(
        self, jobs: Sequence[Waiting], room: Sequence[int], states: Sequence[NodeState]
    ) -> Array:
        """Worth (nodes, jobs) of a start: GPUs filled, none spilled, early in the order; 0: no."""
        need = np.array([self._planned[j.name].gpus for j in jobs])
        free = np.array([len(states[i].free) for i in room])
        home = np.array([max(_near(states[i])) for i in room])
        early = np.linspace(0.5, 0.0, len(jobs))
        spilled = np.maximum(0, need - home[:, None])
        exact = 0.25 * (need == free[:, None])
        return np.where(need <= free[:, None], need + early + exact - 0.3 * spilled, 0.0)


def _near(state: NodeState) -> list[int]:
    """Free GPUs of each domain."""
    free = set(state.free)
    return [sum(g in free for g in d) for d in state.node.domains]
