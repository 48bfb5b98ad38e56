"""Energy modelled from counts of work and time; for comparing two programs, never for a meter.

Joules are those of instructions, of floating-point operations by the width of their instruction,
and of bytes from memory, and the power of a socket and of its busy cores over the time.  The
coefficients are fitted to RAPL (package and DRAM) and counters of 1,207 runs of nine SPEChpc codes
on 1 to 72 cores of a node of Ice Lake [Afzal2023]_ (``benchmarks/code_energy.py``; a code left out
is told within 4 % in the mean).  One socket takes 105 W whatever is done on it, a busy core 2.3 W:
on few cores energy follows from time.  Another processor has other coefficients, so that ratios may
be read and joules not.

.. [Afzal2023] Afzal, A., Hager, G., Wellein, G.: SPEChpc 2021 Benchmarks on Ice Lake and Sapphire
   Rapids Infiniband Clusters: A Performance and Energy Case Study.  PMBS 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.measurement.code.costs.work_counts import WorkCounts

LINE_B = 64


@dataclass(frozen=True)
class EnergyModel:
    """Coefficients of the sum; each may be replaced by what was fitted where a meter is.

    Parameters
    ----------
    socket_w : float
        Power of a socket, whatever its cores do.
    core_w : float
        What a busy core adds, without its instructions.
    instruction_j, scalar_flop_j, vector_flop_j, byte_j : float
        Joules per instruction, per floating-point operation in an instruction of one value and of
        several, and per byte from or to memory.
    any_socket_w, any_core_w : float
        The same without these counts: power of a socket and of a core that does what most do.
    clock_hz : float
        Cycles per second.
    level1_miss_cycles, last_level_miss_cycles : float
        Stall of a miss, in addition to one cycle per instruction, where no time was measured.

    Examples
    --------
    >>> model = EnergyModel()
    >>> narrow = WorkCounts(8e9, 0.0, 0.0, 0.0, scalar_flops=8e9)
    >>> wide = WorkCounts(1e9, 0.0, 0.0, 0.0, vector_flops=8e9)
    >>> round(model.energy_j(wide, 1.0) - model.energy_j(narrow, 1.0), 2)
    -2.53
    """

    socket_w: float = 104.6
    core_w: float = 2.34
    instruction_j: float = 0.118e-9
    scalar_flop_j: float = 0.318e-9
    vector_flop_j: float = 0.105e-9
    byte_j: float = 0.307e-9
    any_socket_w: float = 110.0
    any_core_w: float = 3.75
    clock_hz: float = 2.4e9
    level1_miss_cycles: float = 10.0
    last_level_miss_cycles: float = 200.0

    def runtime_s(self, counts: WorkCounts) -> float:
        """Seconds on one core, modelled."""
        stalls = (self.level1_miss_cycles * counts.level1_misses
                  + self.last_level_miss_cycles * counts.last_level_misses)  # fmt: skip
        return (counts.instructions + stalls) / self.clock_hz

    def energy_j(self, counts: WorkCounts, runtime_s: float, cores: int = 1) -> float:
        """Joules of a run that takes so long on so many busy cores, modelled."""
        events = (self.instruction_j * counts.instructions
                  + self.scalar_flop_j * counts.scalar_flops
                  + self.vector_flop_j * counts.vector_flops
                  + self.byte_j * LINE_B * counts.last_level_misses)  # fmt: skip
        return events + (self.socket_w + cores * self.core_w) * runtime_s

    def power_w(self, cores: float = 1) -> float:
        """Of a socket with so many busy cores, where nothing was counted.

        >>> EnergyModel().power_w(2)
        117.5
        """
        return self.any_socket_w + cores * self.any_core_w
