"""Two programs timed in turns: the ratio of their times with an interval by bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

DRAWS = 2000
LEVEL = 0.95
LEAST_PAIRS = 6
"""With fewer the ranks of no interval hold a median with 95 %."""
LEAST_SHARE = 0.1
"""Of a run that is the program's at the least: a start may take longer than the usual one."""
FASTER, SLOWER, SAME = "faster", "slower", "no significant change"
UNTOLD = "a change of 5 % cannot be told"
LEAST_TOLD = 0.05
"""An interval of a ratio that holds 1 and reaches farther than this says nothing."""


@dataclass(frozen=True)
class PairedTimes:
    """Time of a candidate over the original's: the median over pairs, with its 95 % interval.

    One pair has no interval (NaN), and fewer than `LEAST_PAIRS` tell no change.
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
        change = self.change
        if self.pairs < LEAST_PAIRS:
            change = f"{self.pairs} pairs are too few to tell a change"
        interval = f"[{self.low:.3g}, {self.high:.3g}]"
        return f"{self.ratio:.3g} times the original's time {interval}: {change}"


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
        "no significant change" where the whole interval is within `LEAST_TOLD` of 1 or the effect
        is below the smallest, `UNTOLD` where an interval that holds 1 is wider.  The interval is by
        bootstrap, and no narrower than the ranks between which a median lies with 95 %, whatever
        the distribution: of seven pairs the bootstrap alone leaves out 12 %.

    Examples
    --------
    >>> one = np.array([1.0, 1.1, 0.9, 1.0, 1.2, 1.0])
    >>> paired_times(one, one / 2, minimum_effect=0.03).change
    'faster'
    >>> paired_times(one[:3], one[:3] / 2, minimum_effect=0.03).words
    "0.5 times the original's time [0.5, 0.5]: 3 pairs are too few to tell a change"
    >>> paired_times(one[:1], one[:1] / 2, minimum_effect=0.03).words
    "0.5 times the original's time in one run each: no interval"
    """
    logs = np.log(candidate_s) - np.log(original_s)
    if len(logs) == 1:
        return PairedTimes(float(np.exp(logs[0])), math.nan, math.nan, UNTOLD, 1)
    rng = np.random.default_rng(seed)
    draws = np.median(logs[rng.integers(len(logs), size=(DRAWS, len(logs)))], axis=1)
    tail = (1 - LEVEL) / 2
    ordered, cut = np.sort(logs), _ranks_cut(len(logs))
    low = min(np.quantile(draws, tail), ordered[cut])
    high = max(np.quantile(draws, 1 - tail), ordered[-1 - cut])
    return _judged(np.exp([np.median(logs), low, high]), len(logs), minimum_effect)


def _ranks_cut(pairs: int) -> int:
    """How many of the pairs at each end a median lies within with `LEVEL` at the least.

    >>> [_ranks_cut(n) for n in (6, 7, 9, 12)]
    [0, 0, 1, 2]
    """
    outside, cut = 2 * 0.5**pairs, 0
    while (outside := outside + 2 * math.comb(pairs, cut + 1) * 0.5**pairs) <= 1 - LEVEL:
        cut += 1
    return cut


def net_times(
    original_s: np.ndarray, candidate_s: np.ndarray, start_s: np.ndarray, *,
    minimum_effect: float, seed: int = 0,
) -> PairedTimes:  # fmt: skip
    """The ratio of times that hold the start of a sandbox, which is known by a few runs of nothing.

    Parameters
    ----------
    original_s, candidate_s : array
        Seconds of each pair, start included.
    start_s : array
        Seconds of runs of nothing: their median is taken off, their quartiles widen the interval.
    minimum_effect : float
        Smallest change that is called one, as a share.
    seed : int
        Of the bootstrap.

    Returns
    -------
    PairedTimes
        Of what is left; a run has at least `LEAST_SHARE` of its time.

    Examples
    --------
    >>> walls = np.full(6, 0.030)
    >>> calm, loaded = np.array([0.01, 0.01, 0.01]), np.array([0.01, 0.015, 0.02])
    >>> net_times(walls, walls - 0.005, calm, minimum_effect=0.03).words
    "0.75 times the original's time [0.75, 0.75]: faster"
    >>> net_times(walls, walls - 0.005, loaded, minimum_effect=0.03).words
    "0.667 times the original's time [0.6, 0.714]: faster"
    """
    left = [
        paired_times(
            without_start(original_s, s), without_start(candidate_s, s),
            minimum_effect=minimum_effect, seed=seed,
        )
        for s in np.quantile(start_s, [0.5, 0.25, 0.75])
    ]  # fmt: skip
    low, high = min(t.low for t in left), max(t.high for t in left)
    return _judged((left[0].ratio, low, high), left[0].pairs, minimum_effect)


def without_start(seconds: np.ndarray, start_s: float) -> np.ndarray:
    """What a run takes beyond its start, `LEAST_SHARE` of it at the least.

    >>> without_start(np.array([0.5, 0.02]), 0.1).tolist()
    [0.4, 0.002]
    """
    return np.maximum(seconds - start_s, LEAST_SHARE * seconds)


def _judged(interval: Iterable[float], pairs: int, minimum_effect: float) -> PairedTimes:
    """Median, lower and upper end, with what they tell."""
    ratio, low, high = map(float, interval)
    change = SAME
    if pairs < LEAST_PAIRS or (low < 1 < high and (low < 1 - LEAST_TOLD or high > 1 + LEAST_TOLD)):
        change = UNTOLD
    if pairs >= LEAST_PAIRS and high < 1 and ratio < 1 - minimum_effect:
        change = FASTER
    elif pairs >= LEAST_PAIRS and low > 1 and ratio > 1 + minimum_effect:
        change = SLOWER
    return PairedTimes(ratio, low, high, change, pairs)


def in_turns(
    first: Callable[[], float], second: Callable[[], float], pairs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each called ``pairs`` times, in turns; who comes first alternates."""
    times: tuple[list[float], list[float]] = ([], [])
    for k in range(pairs):
        for which in (0, 1) if k % 2 == 0 else (1, 0):
            times[which].append((first, second)[which]())
    return np.array(times[0]), np.array(times[1])
