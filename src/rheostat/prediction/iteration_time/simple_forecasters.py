"""Simple forecasters: the last iteration, means and medians of recent ones, an autoregression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.iteration_time.forecast import (
    HORIZON,
    NOTHING,
    IterationForecast,
    Surroundings,
)
from rheostat.prediction.iteration_time.interval import AdaptiveIntervals

Point = Callable[[Array, int], float]
"""From all iteration times so far and the steps ahead to the forecast."""


def last(times: Array, step: int) -> float:
    """The last iteration comes again."""
    return float(times[-1])


def mean_10(times: Array, step: int) -> float:
    """The mean of the last ten."""
    return float(times[-10:].mean())


def running_median(times: Array, step: int) -> float:
    """The median of all past iterations."""
    return float(np.median(times))


def recent_median(times: Array, step: int) -> float:
    """The median of the last nine."""
    return float(np.median(times[-9:]))


def smoothed(times: Array, step: int) -> float:
    """Exponential smoothing with a weight of 0.2 for the newest."""
    recent = times[-40:]
    weights = 0.8 ** np.arange(len(recent))[::-1]
    return float(np.average(recent, weights=weights))


def autoregression(times: Array, step: int, lags: int = 4) -> float:
    """Ridge regression of log ratios to the recent median on the ``lags`` before, refitted."""
    middle = np.log(recent_median(times, step))
    z = np.log(times[-120:]) - middle
    if len(z) < 3 * lags:
        return float(np.exp(middle))
    rows = np.lib.stride_tricks.sliding_window_view(z, lags + 1)
    x, y = rows[:, :-1], rows[:, -1]
    weights = np.linalg.solve(x.T @ x + 0.1 * np.eye(lags), x.T @ y)
    state = z[-lags:].copy()
    for _ in range(step):
        state = np.append(state[1:], np.clip(state @ weights, -2.0, 2.0))
    return float(np.exp(middle + state[-1]))


BASELINES: dict[str, Point] = {
    "last": last,
    "mean-10": mean_10,
    "running-median": running_median,
    "recent-median": recent_median,
    "ewma": smoothed,
    "ar": autoregression,
}


class SimpleForecaster:
    """A point forecast by name, with adaptive intervals.

    Examples
    --------
    >>> model = SimpleForecaster("last")
    >>> model.observe(2.0)
    >>> model.forecast(2).time_s.tolist()
    [2.0, 2.0]
    """

    def __init__(self, name: str, horizon: int = HORIZON) -> None:
        self.point, self.horizon = BASELINES[name], horizon
        self.times: list[float] = []
        self.intervals = AdaptiveIntervals(horizon)

    def forecast(self, steps: int, around: Surroundings = NOTHING) -> IterationForecast:
        """The next ``steps`` iterations; NaN before the first was seen."""
        z = self._answer()
        widths = self.intervals.width(1.0)
        times = np.exp(z)
        return IterationForecast(
            times[:steps], np.exp(z - widths)[:steps], np.exp(z + widths)[:steps]
        )

    def _answer(self) -> Array:
        if not self.times:
            return np.full(self.horizon, np.nan)
        times = np.array(self.times)
        return np.log([self.point(times, h + 1) for h in range(self.horizon)])

    def observe(self, time_s: float, around: Surroundings = NOTHING) -> None:
        """An iteration took so long."""
        if self.times:
            self.intervals.answered(self._answer(), 1.0)
            self.intervals.observe(float(np.log(time_s)))
        self.times.append(time_s)

    def skip(self, steps: int) -> None:
        """Iterations that nobody saw change nothing."""
