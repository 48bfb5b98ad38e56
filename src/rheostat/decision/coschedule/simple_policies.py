"""What a site does without a co-scheduler: one job at a time, or first come first served in pairs.

Sequential runs give a job the most GPUs it was profiled on, or the number on which it is fastest.
Marble takes the smallest number within 5 % of the fastest and starts, in order of arrival, whatever
fits while fewer than two jobs run.

References
----------
Han et al.: MARBLE: a multi-GPU aware job scheduler for deep learning on HPC systems, CCGrid 2020;
the rules here are those of EcoSched's released baselines.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheostat.decision.coschedule.gpu_profiles import Mode, Profiles
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting, place

NEAR = 0.05


class Sequential:
    """One job at a time, in order, on "most" GPUs or on the "fastest" number."""

    def __init__(self, profiles: Profiles, gpus: str = "fastest") -> None:
        self.profiles, self.gpus = profiles, gpus
        self.name = f"sequential-{gpus}"

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first job, when nobody runs."""
        if state.tenants or not waiting:
            return ()
        job = waiting[0]
        mode = (most_gpus if self.gpus == "most" else fastest)(self.profiles[job.app])
        return (Start(job, mode, place(state, mode.gpus, 0)[0], 0),)


def most_gpus(modes: Sequence[Mode]) -> Mode:
    """The mode on the most GPUs."""
    return max(modes, key=lambda m: m.gpus)


def fastest(modes: Sequence[Mode]) -> Mode:
    """The mode with the least runtime, on the fewest GPUs of several."""
    return min(modes, key=lambda m: (m.runtime_s, m.gpus))


def near_fastest(modes: Sequence[Mode], near: float = NEAR) -> Mode:
    """The fewest GPUs whose runtime is within ``near`` of the least."""
    limit = (1 + near) * min(m.runtime_s for m in modes)
    return min((m for m in modes if m.runtime_s <= limit), key=lambda m: (m.gpus, m.runtime_s))


class Marble:
    """First come first served in pairs, each job on the fewest GPUs near its fastest."""

    name = "marble"

    def __init__(self, profiles: Profiles, tenants: int = 2, near: float = NEAR) -> None:
        self.modes = {app: near_fastest(modes, near) for app, modes in profiles.items()}
        self.tenants = tenants

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first waiting job that fits."""
        if len(state.tenants) >= self.tenants:
            return ()
        free = len(state.free)
        domain = next_domain(state)
        for job in waiting:
            mode = self.modes[job.app]
            if mode.gpus <= free:
                return (Start(job, mode, place(state, mode.gpus, domain)[0], domain),)
        return ()


def next_domain(state: NodeState) -> int:
    """The first domain that is nobody's home; the first of all where every one is."""
    homes = {t.domain for t in state.tenants}
    return next((d for d in range(len(state.node.domains)) if d not in homes), 0)
