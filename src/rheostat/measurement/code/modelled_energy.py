"""Energy modelled from counts of work; for comparing two programs, never in place of a meter.

Joules are a sum over instructions, references and misses, and a static power over the time that the
same counts take.  Energies per operation are those of a general core in 45 nm [Horowitz2014]_:
about 70 pJ to carry an instruction, 10 pJ for a first-level reference of 64 bits, 100 pJ beyond,
20 nJ for a line of 64 bytes from DRAM (2.5 nJ for each 64 bits).  Nothing is fitted to this
machine, so ratios may be read and joules not.

.. [Horowitz2014] Horowitz, M.: Computing's energy problem (and what we can do about it).
   ISSCC 2014.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.measurement.code.work_counts import WorkCounts


@dataclass(frozen=True)
class EnergyModel:
    """Coefficients of the sum; each may be replaced by what was fitted where a meter is.

    Parameters
    ----------
    instruction_j, reference_j, level1_miss_j, last_level_miss_j : float
        Joules per event.
    static_w : float
        Power of a core that does nothing.
    clock_hz : float
        Cycles per second.
    level1_miss_cycles, last_level_miss_cycles : float
        Stall of a miss, in addition to one cycle per instruction.

    Examples
    --------
    >>> model = EnergyModel()
    >>> less = model.energy_j(WorkCounts(5e8, 2e8, 0.0, 0.0))
    >>> round(less / model.energy_j(WorkCounts(1e9, 4e8, 0.0, 0.0)), 12)
    0.5
    """

    instruction_j: float = 70e-12
    reference_j: float = 10e-12
    level1_miss_j: float = 100e-12
    last_level_miss_j: float = 20e-9
    static_w: float = 0.5
    clock_hz: float = 3e9
    level1_miss_cycles: float = 10.0
    last_level_miss_cycles: float = 200.0

    def runtime_s(self, counts: WorkCounts) -> float:
        """Seconds on one core, modelled."""
        stalls = (self.level1_miss_cycles * counts.level1_misses
                  + self.last_level_miss_cycles * counts.last_level_misses)  # fmt: skip
        return (counts.instructions + stalls) / self.clock_hz

    def energy_j(self, counts: WorkCounts) -> float:
        """Joules, modelled."""
        events = (self.instruction_j * counts.instructions
                  + self.reference_j * counts.data_references
                  + self.level1_miss_j * counts.level1_misses
                  + self.last_level_miss_j * counts.last_level_misses)  # fmt: skip
        return events + self.static_w * self.runtime_s(counts)
