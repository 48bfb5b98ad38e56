"""What a meter says of one domain, and how far to believe it.

*Measured* is a sensor's own number of joules; *derived* is computed from what a sensor measured
(watts summed over time, a difference of totals); *estimated* is a number that the sensor is too
slow for, or that has a gap; *unavailable* has no number, and says why and what would help.  There
is no zero that means "unknown" and no guess from a data sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

MEASURED, DERIVED, ESTIMATED = "measured", "derived", "estimated"
UNAVAILABLE = "unavailable"
STATES = (MEASURED, DERIVED, ESTIMATED, UNAVAILABLE)
"""In order of falling trust."""


@dataclass(frozen=True)
class Reading:
    """One domain over one window: joules (NaN if unavailable), trust, and what was repaired.

    ``part_of`` names the domain that counts this one already, so that nothing is added twice.
    ``wraps`` counts counters that began again at 0, ``glitches`` samples that could not be true.
    """

    meter: str
    domain: str
    state: str
    energy_j: float = math.nan
    window_s: float = math.nan
    why: str = ""
    part_of: str = ""
    wraps: int = 0
    glitches: int = 0
    samples: int = 0

    @property
    def power_w(self) -> float:
        """Mean watts over the window."""
        return self.energy_j / self.window_s if self.window_s > 0 else math.nan


@dataclass(frozen=True)
class Domain:
    """Something with a sensor: its name, the counter's range, how slow it is, the most it can draw.

    ``range_j`` is where an energy counter begins again, infinite for one that does not; ``kind`` is
    "energy" for a counter of joules, "power" for a sensor of watts.
    """

    name: str
    kind: str = "energy"
    range_j: float = math.inf
    least_window_s: float = 0.0
    most_w: float = 5000.0
    part_of: str = ""
    why: str = ""


class EnergyMeter(Protocol):
    """A source of samples.  ``why`` is empty if it can be read here, else says why not."""

    name: str

    def why(self) -> str:
        """Why nothing can be read here; empty if something can."""
        ...

    def domains(self) -> Sequence[Domain]:
        """What can be read."""
        ...

    def sample(self) -> Sequence[float]:
        """One number per domain: joules so far, or watts now; NaN where the sensor gave none."""
        ...


class EnergyAccumulator:
    """Adds up the samples of one domain, over wraps and glitches.

    A counter that falls has begun again if the step over its end is a power the domain can draw;
    else the sample is a glitch.  So is a step that would need more power than can be.  A glitch is
    counted and passed over: the next good sample is compared with the last good one.  Two samples
    in a row that fit each other but not what was before mean that the counter was set anew: what it
    did in between is a gap, not counted, and the reading is an estimate from then on.

    >>> m = EnergyAccumulator(Domain("package", range_j=100.0, most_w=50.0))
    >>> for t, joules in ((0, 90.0), (1, 95.0), (2, 5.0), (3, -1400.0), (4, 25.0)):
    ...     m.add(t, joules)
    >>> m.energy_j, m.wraps, m.glitches
    (35.0, 1, 1)
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.energy_j = 0.0
        self.wraps = self.glitches = self.samples = self.gaps = 0
        self._odd: tuple[float, float] | None = None
        self.first_s = self.last_s = math.nan
        self._last = math.nan

    def add(self, t_s: float, value: float) -> None:
        """One sample; NaN is passed over and not counted."""
        if not math.isfinite(value):
            return
        if math.isnan(self._last):
            if value < 0:
                self.glitches += 1
                return
            self.first_s, self.last_s, self._last = t_s, t_s, value
            self.samples += 1
            return
        step = self._step(t_s, value)
        if step is None and self._set_anew(t_s, value):
            step = self._step(t_s, value)
        if step is None:
            self.glitches += 1
            self._odd = (t_s, value)
            return
        self._odd = None
        self.energy_j += step
        self.last_s, self._last = t_s, value
        self.samples += 1

    def _set_anew(self, t_s: float, value: float) -> bool:
        """Go on from the glitch before this one if the two fit each other."""
        if self._odd is None or self.domain.kind != "energy":
            return False
        before, odd = self._odd
        if odd < 0 or not 0 <= value - odd <= self.domain.most_w * max(t_s - before, 1e-3):
            return False
        self.last_s, self._last = self._odd
        self.glitches -= 1
        self.gaps += 1
        return True

    def _step(self, t_s: float, value: float) -> float | None:
        """Joules since the last good sample, or None where there is no believing it."""
        span = t_s - self.last_s
        most = self.domain.most_w * max(span, 1e-3)
        if self.domain.kind == "power":
            fine = 0 <= value <= self.domain.most_w
            return (self._last + value) / 2 * span if fine else None
        step = value - self._last
        if step < 0 <= value and step + self.domain.range_j <= most:
            self.wraps += 1
            step += self.domain.range_j
        return step if 0 <= step <= most else None

    def reading(self, meter: str, window_s: float) -> Reading:
        """What was added up, with the trust it deserves."""
        d = self.domain
        result = Reading(
            meter, d.name, MEASURED if d.kind == "energy" else DERIVED, self.energy_j,
            self.last_s - self.first_s, d.why, d.part_of, self.wraps, self.glitches, self.samples,
        )  # fmt: skip
        if self.samples < 2:
            reason = f"{self.samples} good samples in {window_s:.3g} s, two are needed"
            return replace(result, state=UNAVAILABLE, energy_j=math.nan, why=reason)
        if not self.energy_j > 0:
            what = "counter" if d.kind == "energy" else "sensor"
            reason = (f"the {what} did not move from {self._last:g} in {result.window_s:.3g} s: it "
                    "is stuck, or too slow for so short a run")  # fmt: skip
            return replace(result, state=UNAVAILABLE, energy_j=math.nan, why=reason)
        if self.gaps:
            reason = f"the counter was set anew {self.gaps} time(s): what it missed is not counted"
            return replace(result, state=ESTIMATED, why=reason)
        if result.window_s < d.least_window_s:
            reason = (f"the window of {result.window_s:.3g} s is shorter than the "
                    f"{d.least_window_s:g} s this sensor needs: run longer, or repeat and "
                    "average")  # fmt: skip
            return replace(result, state=ESTIMATED, why=reason)
        if d.kind == "power" and not d.why:
            return replace(result, why=f"{self.samples} samples of watts, summed over time")
        return result
