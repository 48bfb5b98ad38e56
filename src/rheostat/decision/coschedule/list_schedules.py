"""Plain list schedules: one rule for the modes, one order, and the first job that fits starts.

Each job takes the most GPUs it can use up to a number, or the mode with the least energy; in order
of arrival, or longest first.  They know nothing and are hard to beat where jobs arrive one by one,
so `rheostat.recipes.ecosched.coschedule` tries all of them.

References
----------
Graham: Bounds on multiprocessing timing anomalies, SIAM J. Applied Mathematics 17 (1969).
"""

from __future__ import annotations

from collections.abc import Sequence

from rheostat.decision.coschedule.gpu_profiles import Mode, Profiles
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting, best_place
from rheostat.errors import DataError

ORDERS = ("longest", "arrival")
LEAST_ENERGY = "energy"


def at_most(modes: Sequence[Mode], gpus: int) -> Mode:
    """The fastest mode on the most GPUs up to ``gpus``; on the fewest where all need more.

    >>> two, four = Mode("a", 2, 9.0, 100.0), Mode("a", 4, 5.0, 300.0)
    >>> [at_most((two, four), g).gpus for g in (1, 2, 3, 4)]
    [2, 2, 2, 4]
    """
    fit = [m.gpus for m in modes if m.gpus <= gpus]
    number = max(fit) if fit else min(m.gpus for m in modes)
    return min((m for m in modes if m.gpus == number), key=lambda m: m.runtime_s)


def least_energy(modes: Sequence[Mode]) -> Mode:
    """The mode that takes the least energy, the fastest of several."""
    return min(modes, key=lambda m: (m.energy_j, m.runtime_s))


class ListSchedule:
    """One list schedule, by its name: ``list-longest-2``, ``list-arrival-energy``.

    Parameters
    ----------
    profiles : modes of each application.
    name : "list", an order of `ORDERS`, and the most GPUs of a job or "energy".
    tenants : most jobs on a node at once.
    """

    def __init__(self, profiles: Profiles, name: str, tenants: int = 4) -> None:
        self.name, self.tenants = name, tenants
        _, order, gpus = (*name.split("-"), "", "")[:3]
        if order not in ORDERS or not (gpus == LEAST_ENERGY or (gpus.isdigit() and int(gpus) > 0)):
            problem = f"expected list-longest-N or list-arrival-N, N GPUs or energy, got {name!r}"
            raise DataError("list schedule", [problem])
        self.longest = order == "longest"
        self.modes = {
            app: least_energy(modes) if gpus == LEAST_ENERGY else at_most(modes, int(gpus))
            for app, modes in profiles.items()
        }

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first job of the order that fits."""
        free = len(state.free)
        if not free or len(state.tenants) >= self.tenants:
            return ()
        first: dict[str, Waiting] = {}
        for job in waiting:
            if job.app not in first and self.modes[job.app].gpus <= free:
                first[job.app] = job
                if not self.longest:
                    break
        if not first:
            return ()
        job = max(first.values(), key=lambda j: self.modes[j.app].runtime_s)
        mode = self.modes[job.app]
        return (Start(job, mode, *best_place(state, mode.gpus)),)


def list_schedules(profiles: Profiles, gpus: int, tenants: int) -> list[ListSchedule]:
    """Every list schedule that may differ on a node with so many GPUs."""
    counts = sorted({m.gpus for modes in profiles.values() for m in modes if m.gpus <= gpus})
    rules = [*map(str, counts), LEAST_ENERGY]
    return [ListSchedule(profiles, f"list-{o}-{r}", tenants) for o in ORDERS for r in rules]
