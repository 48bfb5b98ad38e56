"""Regular patterns of up to 60 iterations: exponential smoothing with a season, its period found.

A bank of additive smoothers (Holt 1957, Winters 1960) of log times, one per period.  Where `cycles`
allows that phases slip and forgets levels in 40 iterations, these hold to the count: a run that
keeps its period is forecast to its noise.  A second answer fits a line beside the phases of that
period, so that a regular run may drift, too.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array

LONGEST = 60
"""Iterations of the longest period."""
LEVEL, SEASON = 0.05, 0.2
"""Weights of the newest iteration in the level, of the newest time round in its phase."""
FORGET = 0.98
"""Of the absolute errors by which periods are compared."""
PENALTY = 0.002
"""Share of its errors that a period must be ahead, for each phase that it has."""
CUT, SCALE = 3.0, 0.05
"""Scales by which one iteration moves a level or a known phase at most; weight of the newest in the
scale."""
LINE, LEAST_LINE = 4, 40
"""Times round, and iterations at least, to which the line is fitted."""
LEAST_THIRD = 4
"""Iterations that were seen in each third of these."""


class SeasonBank:
    """Smoothers of periods 1 to `LONGEST`; period 1 is plain exponential smoothing.

    Examples
    --------
    >>> bank = SeasonBank()
    >>> for z in [0.0, 0.0, 1.0] * 9:
    ...     bank.observe(z)
    >>> np.abs(bank.forecast(4)).round(2).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self) -> None:
        self.level, self.scale = np.zeros(LONGEST), np.full(LONGEST, 0.1)
        self.season = np.zeros((LONGEST, LONGEST))
        self.errors = np.zeros(LONGEST)
        self.at = self.total = self.seen = 0
        self.recent = np.full(LINE * LONGEST, np.nan)

    @property
    def period(self) -> int:
        """The period that is used."""
        return 1 + int(np.argmin(self.errors * (1.0 + PENALTY * np.arange(LONGEST))))

    def observe(self, z: float) -> None:
        """An iteration took ``exp(z)``."""
        periods, rows = np.arange(1, LONGEST + 1), np.arange(LONGEST)
        phase, known = self.at % periods, self.total // periods
        season = self.season[rows, phase]
        if not self.seen:
            self.level = z - season
        error = z - self.level - season
        cut = np.clip(error, -CUT * self.scale, CUT * self.scale)
        self.errors = FORGET * self.errors + np.abs(error)
        rate = max(SCALE, 1.0 / (self.seen + 2.0))
        size = 1.25 * np.minimum(np.abs(error), (CUT + 1.0) * self.scale)
        self.scale = np.maximum(self.scale + rate * (size - self.scale), 1e-4)
        moved = np.maximum(1.0 / (known + 1.0), SEASON) * np.where(known < 2, error, cut)
        self.season[rows, phase] += np.where(periods > 1, moved, 0.0)
        new = np.where((known > 0) | (periods == 1), 1.0, 0.3)  # what is not the phase's own
        self.level = self.level + max(1.0 / (self.seen + 1.0), LEVEL) * new * cut
        self.seen += 1
        self.total += 1
        self._pass(z)

    def _pass(self, z: float) -> None:
        self.at += 1
        self.recent = np.append(self.recent[1:], z)

    def skip(self, steps: int) -> None:
        """So many iterations went by that nobody saw."""
        for _ in range(steps):
            self._pass(np.nan)

    def jump(self) -> None:
        """The level is another now, and the line with it; the pattern stays."""
        self.seen = 0
        self.recent[:] = np.nan

    def forecast(self, steps: int) -> Array:
        """Log times of the next ``steps`` iterations, at the level of now."""
        k = self.period - 1
        return np.asarray(self.level[k] + self.season[k, (self.at + np.arange(steps)) % (k + 1)])

    def along_line(self, steps: int) -> Array:
        """The same along a line through the last times round, as far as its two halves agree.

        Slopes from third to third of these iterations: their geometric mean, 0 where one rises and
        the other falls, so that a level that wanders is not taken for one that drifts.
        """
        k = self.period - 1
        count = min(max(LINE * (k + 1), LEAST_LINE), self.at, len(self.recent)) // 3 * 3
        ago = np.arange(count)[::-1]
        seen = self.recent[len(self.recent) - count :]
        flat = seen - self.season[k, (self.at - 1 - ago) % (k + 1)]
        there = np.isfinite(flat)
        if there.reshape(3, -1).sum(axis=1).min() < LEAST_THIRD:
            return self.forecast(steps)
        thirds = np.nanmean(flat.reshape(3, -1), axis=1)
        first, second = np.diff(thirds) / (count // 3)
        slope = np.sign(first) * np.sqrt(max(first * second, 0.0))
        now = float(np.mean((flat + slope * ago)[there]))
        ahead = np.arange(steps)
        return np.asarray(now + slope * (ahead + 1) + self.season[k, (self.at + ahead) % (k + 1)])
