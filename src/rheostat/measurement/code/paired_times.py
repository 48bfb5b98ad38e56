"""Two programs timed in turns: the ratio of their times with an interval by bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DRAWS = 2000
LEVEL = 0.95
FASTER, SLOWER, SAME = "faster", "slower", "no significant change"


@dataclass(frozen=True)
class PairedTimes:
    """Time of a candidate over the original's: the median over pairs, with its 95 % interval.

    One pair has no interval (NaN) and tells no change.
    """

    ratio: float
    low: float
    high: float
    change: str
    pairs: int

    @property
    def words(self) -> str:
        """As 0.52 times the original's time [0.50, 0.55]: faster."""
        if self.pairs == 1:
            return f"{self.ratio:.3g} times the original's time in one run each: no interval"
        interval = f"[{self.low:.3g}, {self.high:.3g}]"
        return f"{self.ratio:.3g} times the original's time {interval}: {self.change}"


def paired_times(
    original_s: np.ndarray, candidate_s: np.ndarray, *, minimum_effect: float, seed: int = 0
) -> PairedTimes:
    """The ratio of times that were taken in pairs.

    Parameters
    ----------
    original_s, candidate_s : array
        Seconds of each pair.
    minimum_effect : float
        Smallest change that is called one, as a share.
    seed : int
        Of the bootstrap.

    Returns
    -------
    PairedTimes
        "no significant change" where the interval holds 1 or the effect is below the smallest.

    Examples
    --------
    >>> one = np.array([1.0, 1.1, 0.9, 1.0])
    >>> paired_times(one, one / 2, minimum_effect=0.03).change
    'faster'
    >>> paired_times(one[:1], one[:1] / 2, minimum_effect=0.03).words
    "0.5 times the original's time in one run each: no interval"
    """
    logs = np.log(candidate_s) - np.log(original_s)
    if len(logs) == 1:
        return PairedTimes(float(np.exp(logs[0])), math.nan, math.nan, SAME, 1)
    rng = np.random.default_rng(seed)
    draws = np.median(logs[rng.integers(len(logs), size=(DRAWS, len(logs)))], axis=1)
    tail = (1 - LEVEL) / 2
    low, ratio, high = np.exp([np.quantile(draws, tail), np.median(logs),
                               np.quantile(draws, 1 - tail)])  # fmt: skip
    change = SAME
    if high < 1 and ratio < 1 - minimum_effect:
        change = FASTER
    elif low > 1 and ratio > 1 + minimum_effect:
        change = SLOWER
    return PairedTimes(float(ratio), float(low), float(high), change, len(logs))


def in_turns(
    first: Callable[[], float], second: Callable[[], float], pairs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each called ``pairs`` times, in turns; who comes first alternates."""
    times: tuple[list[float], list[float]] = ([], [])
    for k in range(pairs):
        for which in (0, 1) if k % 2 == 0 else (1, 0):
            times[which].append((first, second)[which]())
    return np.array(times[0]), np.array(times[1])
