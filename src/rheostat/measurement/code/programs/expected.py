"""An input that the original runs well on, and what it prints there."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits

SLOWER, SPARE_S = 20.0, 1.0
"""A candidate has this many times the original's seconds, and these beside it."""


@dataclass(frozen=True)
class Expected:
    """An admitted input, the original's output on it, and how long that took.

    ``filled`` is its output under the sanitizers, where memory that nobody set is filled.
    """

    given: ProgramInput
    output: str
    cpu_s: float
    wall_s: float
    filled: str = ""

    def limits_of_others(self) -> SandboxLimits:
        """What the original itself may use on other inputs."""
        return SandboxLimits(wall_s=SPARE_S + SLOWER * self.wall_s,
                             cpu_s=SPARE_S + SLOWER * self.cpu_s)  # fmt: skip

    def limits(self, threads: int = 1) -> SandboxLimits:
        """What a candidate may use on this input with so many threads."""
        cpu_s = SPARE_S + SLOWER * self.cpu_s
        return SandboxLimits(wall_s=5 * cpu_s + SLOWER * self.wall_s, cpu_s=cpu_s * threads,
                             processes=SandboxLimits().processes + threads - 1)  # fmt: skip
