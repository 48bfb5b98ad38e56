"""What really happens to a job on a shared node: a profile, and by how much a run differs from it.

A launcher looks for ended jobs once a second, a start-up phase draws almost nothing, neighbours
slow a job down.  Each of these is a number.

Notation
--------
t, P, g  profiled seconds, watts, GPUs of a job     T  measured seconds     w  idle watts of a GPU
T = ratio t (1 + crowd n)      n  neighbours
E - w g T = (P - w g) max(work t - start, t / 10)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.decision.coschedule.gpu_profiles import Mode

LEAST_BUSY = 0.1


@dataclass(frozen=True)
class Truth:
    """Runtimes, energy and interference; the default believes the profile.

    ``ratio`` is keyed by (application, GPUs), by application and by "": the most special one known
    counts.  ``crowd`` is the relative slowdown per neighbour.
    """

    ratio: Mapping[object, float] = field(default_factory=dict)
    crowd: float = 0.0
    poll_s: float = 0.0
    work: float = 1.0
    start_s: float = 0.0

    def alone_s(self, mode: Mode) -> float:
        """Seconds without neighbours."""
        for key in ((mode.app, mode.gpus), mode.app, ""):
            if key in self.ratio:
                return mode.runtime_s * self.ratio[key]
        return mode.runtime_s

    def extra_j(self, mode: Mode, idle_w: float) -> float:
        """Energy of a run above that of its GPUs left idle."""
        busy_s = max(self.work * mode.runtime_s - self.start_s, LEAST_BUSY * mode.runtime_s)
        return (mode.power_w - idle_w * mode.gpus) * busy_s
