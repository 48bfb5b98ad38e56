"""Energy of a stretch of time from samples: gauges by the trapezoid, counters by their increments.

Notation
--------
t  seconds of the samples, increasing      v  watts, or joules since some start
gap  samples further apart than this have nothing known between them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array


@dataclass(frozen=True)
class Stretch:
    """Joules of a stretch of time, as far as they are known.

    Parameters
    ----------
    energy_j : float
        Of the seconds that are covered.
    covered_s : float
        Seconds with samples.
    resets : int
        How often a counter began anew.
    """

    energy_j: float = 0.0
    covered_s: float = 0.0
    resets: int = 0

    def __add__(self, other: Stretch) -> Stretch:
        return Stretch(
            self.energy_j + other.energy_j,
            self.covered_s + other.covered_s,
            self.resets + other.resets,
        )


def gauge_energy(t: Array, v: Array, start_s: float, end_s: float, gap_s: float) -> Stretch:
    """Joules between two moments of a gauge in watts.

    The first and the last sample hold to the ends, no further than a gap.

    >>> t = np.array([0.0, 10.0, 20.0, 100.0, 110.0])
    >>> gauge_energy(t, np.full(5, 50.0), 5.0, 105.0, gap_s=30.0)
    Stretch(energy_j=1000.0, covered_s=20.0, resets=0)
    """
    if len(t) == 0:
        return Stretch()
    grid = np.concatenate([[min(start_s, t[0])], t, [max(end_s, t[-1])]])
    watts = np.concatenate([v[:1], v, v[-1:]])
    low, high = np.clip(grid[:-1], start_s, end_s), np.clip(grid[1:], start_s, end_s)
    known = (np.diff(grid) <= gap_s) & (high > low)
    if not known.any():
        return Stretch()
    from_w, to_w = np.interp(low, grid, watts), np.interp(high, grid, watts)
    seconds = np.where(known, high - low, 0.0)
    return Stretch(float((seconds * (from_w + to_w) / 2).sum()), float(seconds.sum()))


def counter_energy(t: Array, v: Array, start_s: float, end_s: float, gap_s: float) -> Stretch:
    """Joules between two moments of a counter of joules.

    A counter keeps counting where samples are lost, so that a gap within is no loss; what it held
    when it began anew is lost, and these seconds are not covered.

    >>> t = np.array([0.0, 10.0, 90.0, 100.0, 110.0])
    >>> counter_energy(t, np.array([0.0, 500.0, 4500.0, 40.0, 540.0]), 0.0, 110.0, gap_s=30.0)
    Stretch(energy_j=5000.0, covered_s=100.0, resets=1)
    """
    if len(t) < 2:
        return Stretch()
    low, high = np.clip(t[:-1], start_s, end_s), np.clip(t[1:], start_s, end_s)
    steps, increments = np.diff(t), np.diff(v)
    inside, reset = high > low, increments < 0
    share = np.where(inside & ~reset, (high - low) / steps, 0.0)
    energy, covered = float((share * increments).sum()), float((share * steps).sum())
    ends = _held(t[0] - start_s, gap_s, increments[0] / steps[0] if not reset[0] else np.nan)
    ends += _held(end_s - t[-1], gap_s, increments[-1] / steps[-1] if not reset[-1] else np.nan)
    return Stretch(energy, covered, int((inside & reset).sum())) + ends


def _held(seconds: float, gap_s: float, watts: float) -> Stretch:
    """A stretch before the first or after the last sample at the watts beside it."""
    if not 0 < seconds <= gap_s or not np.isfinite(watts):
        return Stretch()
    return Stretch(float(watts * seconds), float(seconds))
