"""Intervals that adapt: their share of hits returns to what was asked for after every change.

Adaptive conformal inference (Gibbs and Candes, NeurIPS 2021) on log ratios, one step ahead and
for every further step by itself: the quantile of past errors that is used moves up after a miss and
down after a hit.

Far answers overlap: where a level wanders, 40 errors 30 steps ahead say little more than one.  How
many do is what their correlation tells (Bartlett 1946).  The quantile is that of so few errors, and
as long as they are few the width is mostly that of one step less, grown as the widths before have.
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
"""Errors, without overlap, that weigh as much as the width of one step less; with fewer
than that one step ahead, the width is so many scales."""


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
            self.scales = np.full(self.horizon, FIRST)
            if len(self.errors[0]) >= LEAST:
                self.scales[0] = _quantile(self.errors[0], self.level[0], 1.0)
            for h in range(1, self.horizon):
                self.scales[h] = self._further(h)
        return self.scales * scale

    def _further(self, h: int) -> float:
        """Width ``h + 1`` steps ahead, in scales, from own errors and the widths before.

        Where noise and a level that wanders add up, the share of the variance that is not noise of
        one step is the power by which it grows with the steps.
        """
        assert self.scales is not None
        before, seen = float(self.scales[h - 1]), self.errors[h]
        wanders = max(0.0, 1.0 - (self.scales[0] / before) ** 2) if before else 0.0
        grown = before * float(np.power((h + 1) / h, wanders / 2.0))
        if not seen:
            return grown
        overlap = _overlap(np.array(seen), h)
        own = len(seen) / (len(seen) + LEAST * overlap)
        return own * _quantile(seen, self.level[h], overlap) + (1.0 - own) * grown

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
            error = log_time - centre[h]
            missed = float(not low[h] <= log_time <= high[h])
            self.level[h] += self.rate[h] * (missed - (1.0 - self.coverage))
            self.level[h] = min(max(self.level[h], 0.5), 1.0)
            self.errors[h].append(float(error) / scale)
            del self.errors[h][:-MEMORY]


def _overlap(errors: Array, steps: int) -> float:
    """Errors that together say as much as one, of answers that share so many steps.

    The correlation of neighbours, with its standard error added, falls to 0 over the steps.
    """
    square = float(errors @ errors)
    alike = float(errors[1:] @ errors[:-1]) / square if square else 0.0
    return 1.0 + steps * min(1.0, max(alike, 0.0) + float(1.0 / np.sqrt(len(errors))))


def _quantile(errors: list[float], level: float, overlap: float) -> float:
    """The conformal quantile of the sizes of errors, so many of which say as much as one.

    Beyond the largest a little more than it.
    """
    ordered = sorted(map(abs, errors))
    rank = level * (len(ordered) + overlap)
    if rank >= len(ordered):
        return ordered[-1] * 1.1
    low = int(rank)
    below = ordered[low - 1] if low else 0.0
    return below + (rank - low) * (ordered[low] - below)
