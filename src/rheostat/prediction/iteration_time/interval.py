"""Intervals that adapt: their share of hits returns to what was asked for after every change.

Adaptive conformal inference (Gibbs and Candes, NeurIPS 2021) on log ratios, one step ahead and
for every further step by itself: the quantile of past errors that is used moves up after a miss and
down after a hit.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array

STEP, OVERLAP = 0.05, 0.25
"""How far one miss moves the level, and the power of the steps ahead by which that is divided: far
ahead answers overlap and miss together, so that one says less."""
MEMORY = 120
"""Errors from which the quantile is taken."""
LEAST, FIRST = 8, 2.5
"""Errors before a quantile of their own is taken; until then that of one step less, at first so
many scales."""


class AdaptiveIntervals:
    """Half widths in the logarithm for 1..``horizon`` steps ahead.

    Parameters
    ----------
    horizon
        Steps ahead.
    coverage
        Share of truths that shall lie inside.
    """

    def __init__(self, horizon: int, coverage: float = 0.9) -> None:
        self.horizon, self.coverage = horizon, coverage
        self.level = np.full(horizon, coverage)
        self.rate = STEP / np.arange(1.0, horizon + 1.0) ** OVERLAP
        self.errors: list[list[float]] = [[] for _ in range(horizon)]
        self.scales: Array | None = None
        self.pending: list[tuple[Array, Array, Array, float]] = []

    def width(self, scale: float) -> Array:
        """Half widths for answers whose errors are expected to be about ``scale``."""
        if self.scales is None:  # worked out once per iteration
            self.scales, one = np.empty(self.horizon), FIRST
            for h, seen in enumerate(self.errors):
                if len(seen) >= LEAST:
                    one = _quantile(np.array(seen), self.level[h])
                self.scales[h] = one
        return self.scales * scale

    def answered(
        self, log_time: Array, scale: float, below: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """Remember an answer, (horizon,) log times; the ends of its intervals.

        ``below`` (horizon,) or one number, 0 or less: how far the lower ends reach at least.
        """
        low, high = self.ends(log_time, scale, below)
        self.pending.append((log_time, low, high, scale))
        del self.pending[: -self.horizon]
        return low, high

    def ends(
        self, log_time: Array, scale: float, below: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """Lower and upper ends, (horizon,) each, in the logarithm."""
        widths = self.width(scale)
        return log_time + np.minimum(-widths, below), log_time + widths

    def forget_answers(self) -> None:
        """What was answered until now is not to be judged by what comes."""
        self.pending.clear()

    def observe(self, log_time: float) -> None:
        """The truth of the iteration that was one step ahead at the last answer."""
        self.scales = None
        for h in range(min(self.horizon, len(self.pending))):
            centre, low, high, scale = self.pending[-1 - h]
            error = abs(log_time - centre[h])
            missed = float(not low[h] <= log_time <= high[h])
            self.level[h] += self.rate[h] * (missed - (1.0 - self.coverage))
            self.level[h] = min(max(self.level[h], 0.5), 1.0)
            self.errors[h].append(float(error) / scale)
            del self.errors[h][:-MEMORY]


def _quantile(errors: Array, level: float) -> float:
    """The conformal quantile; beyond the largest error a little more than it."""
    rank = level * (len(errors) + 1)
    ordered = np.sort(errors)
    if rank >= len(ordered):
        return float(ordered[-1]) * 1.1
    low = int(rank)
    below = ordered[low - 1] if low else 0.0
    return float(below + (rank - low) * (ordered[low] - below))
