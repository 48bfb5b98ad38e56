"""Forecasts of iteration times that recover from changes: a mixture of experts over log ratios.

Experts: the last iteration, medians and means since the last change, the pattern of the application
(`cycles`), regressions of what the pattern leaves over on the phases in which the neighbours
are, without and with port telemetry (`response`), and seasons of a fixed period, without and with
a line (`seasons`).  Weights are exponential in past errors, one set per step ahead, with a fixed
share for every expert so that a mixture that was wrong recovers (Herbster and Warmuth 1998).
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array
from rheostat.errors import ModelFileError
from rheostat.prediction.iteration_time.change import RegimeTracker
from rheostat.prediction.iteration_time.endings import NeighbourEndings
from rheostat.prediction.iteration_time.forecast import (
    HORIZON,
    NOTHING,
    IterationForecast,
    Surroundings,
)
from rheostat.prediction.iteration_time.interval import OVERLAP, AdaptiveIntervals
from rheostat.prediction.iteration_time.response import NeighbourResponse
from rheostat.prediction.iteration_time.seasons import SeasonBank

EXPERTS = ("last", "mean-10", "recent-median", "regime-median", "ewma", "pattern", "neighbours",
           "ports", "season", "season-and-line")  # fmt: skip
RATE, SHARE = 1.0, 0.01
"""Of the exponential weights one step ahead, further ahead less as `OVERLAP` says; share that all
experts get alike."""
WORST = 4.0
"""Errors count at most so many scales, so that one change does not decide between experts."""


BLUR = 1.0
"""Width of what an expert stands for, in scales."""
HALVINGS = 14


def mixture_median(centres: Array, weights: Array, width: float) -> Array:
    """Median of each row of a mixture of logistic distributions.

    The mean where centres lie close together; where they do not, the side with more of the weight
    decides, so a pattern is not answered half, and a strange answer of little weight moves nothing.

    Examples
    --------
    >>> answers = np.array([[1.0, 1.0, 5.0], [1.0, 1.1, 1.2]])
    >>> mixture_median(answers, np.array([[0.3, 0.3, 0.4]] * 2), 0.2).round(2).tolist()
    [1.16, 1.11]
    """
    low, high = centres.min(axis=1), centres.max(axis=1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        above = (weights * np.tanh((centres - middle[:, None]) / width)).sum(axis=1) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(0.5 * (low + high))


class AdaptiveForecaster:
    """The mixture; deterministic, some 0.5 ms an answer for 30 steps.

    Parameters
    ----------
    horizon
        Most steps that are asked for.
    coverage
        Share of truths that shall lie in the intervals.

    Examples
    --------
    >>> model = AdaptiveForecaster(horizon=3)
    >>> for time_s in [1.0, 1.0, 2.0] * 20:
    ...     model.observe(time_s)
    >>> model.forecast(3).time_s.round(1).tolist()
    [1.0, 1.0, 2.0]
    """

    def __init__(self, horizon: int = HORIZON, coverage: float = 0.9) -> None:
        self.horizon, self.coverage = horizon, coverage
        self.responses = [NeighbourResponse(), NeighbourResponse(ports=True)]
        self.change = RegimeTracker()
        self.seasons = SeasonBank()
        self.endings = NeighbourEndings()
        self.intervals = AdaptiveIntervals(horizon, coverage)
        self.weights = np.full((horizon, len(EXPERTS)), 1.0 / len(EXPERTS))
        self.asked: list[Array] = []
        self.last: tuple[Surroundings, Array] | None = None
        self.logs: list[float] = []
        self.skipped = False

    def check(self) -> None:
        """Of a file: add what forecasters had not when it was written; refuse what does not fit."""
        if "seasons" not in vars(self):
            self.seasons, self.asked, self.last = SeasonBank(), [], None
            new = np.full((len(self.weights), 2), SHARE / len(EXPERTS))
            self.weights = np.concatenate([self.weights, new], axis=1)
            self.weights /= self.weights.sum(axis=1, keepdims=True)
        if self.weights.shape != (self.horizon, len(EXPERTS)):
            had, wanted = self.weights.shape, (self.horizon, len(EXPERTS))
            raise ModelFileError(f"expected weights of the shape {wanted}, got {had}")

    @property
    def scale(self) -> float:
        """How far off the pattern is, in the logarithm, about now."""
        bank = self.change.current
        return float(bank.scale[bank.best])

    @property
    def _near(self) -> float:
        """The same of the pattern or the season, whichever is nearer: what intervals are in."""
        return min(self.scale, float(self.seasons.scale[self.seasons.period - 1]))

    def forecast(self, steps: int, around: Surroundings = NOTHING) -> IterationForecast:
        """The next ``steps`` iterations, with intervals and whether to go back to simulation."""
        if not self.logs:
            nothing = np.full(steps, np.nan)
            return IterationForecast(nothing, nothing, nothing, True, "nothing was seen yet")
        z = self._mixed(self._experts(around))
        low, high = self.intervals.ends(z, self._near, self._below(around))
        reason = self.change.reason(around)
        return IterationForecast(
            np.exp(z)[:steps], np.exp(low)[:steps], np.exp(high)[:steps], bool(reason), reason
        )

    def _below(self, around: Surroundings) -> Array:
        return self.endings.reach(around, self.horizon, (1.0 - self.coverage) / 2.0)

    def observe(self, time_s: float, around: Surroundings = NOTHING) -> None:
        """An iteration that began in ``around`` took so long."""
        z = float(np.log(time_s))
        if self.logs:
            said = self._experts(around)
            if self.change.moved(around):
                self.intervals.forget_answers()  # that neighbours might end was part of them
            self.intervals.answered(self._mixed(said), self._near, self._below(around))
            self.intervals.observe(z)
            self._weigh(said, z)
            for response in self.responses:
                response.observe(z - said[0, EXPERTS.index("pattern")], around, self.scale)
        bank, moved = self.change.bank, self.change.moved(around)
        self.change.observe(z, around)
        if moved or self.change.bank is not bank:
            self.seasons.jump()
        self.seasons.observe(z)
        self.endings.observe(around)
        self.logs.append(z)
        self.skipped = False
        self.last = None

    def begin(self) -> None:
        """Another run begins: what neighbours did in the one before is over."""
        self.endings, self.change.running, self.last = NeighbourEndings(), None, None
        self.intervals.forget_answers()

    def skip(self, steps: int) -> None:
        """So many iterations went by that nobody saw: the pattern moves on, nothing is learned."""
        self.change.skip(steps)
        self.seasons.skip(steps)
        self.skipped = True
        self.intervals.forget_answers()
        self.asked.clear()
        for response in self.responses:
            response.past[:] = 0.0
        self.last = None

    def _experts(self, around: Surroundings) -> Array:
        """(horizon, experts) log times; what was asked is not worked out again when it is seen."""
        if self.last is None or self.last[0] is not around:
            self.last = around, self._each(around)
        return self.last[1]

    def _each(self, around: Surroundings) -> Array:
        shift = self.change.expected(around)
        own = np.array(self.logs[self.change.start :][-200:] or self.logs[-1:])
        flat = [own[-1], np.log(np.exp(own[-10:]).mean()), np.median(own[-9:]), np.median(own),
                np.average(own[-40:], weights=0.8 ** np.arange(len(own[-40:]))[::-1])]  # fmt: skip
        pattern = self.change.current.forecast(self.horizon)
        near = [pattern + r.forecast(self.horizon, pattern, around) for r in self.responses]
        levels = np.repeat(np.array(flat)[None], self.horizon, axis=0)
        doubt = pattern - self.change.bank.forecast(self.horizon)
        regular = [doubt + self.seasons.forecast(self.horizon),
                   doubt + self.seasons.along_line(self.horizon)]  # fmt: skip
        return np.asarray(np.column_stack([levels, pattern, *near, *regular]) + shift)

    def _mixed(self, said: Array) -> Array:
        """Weighted; the last iteration says nothing of a phase when some were not seen since."""
        weights = self.weights.copy()
        weights[:, 0] *= not self.skipped
        return mixture_median(said, weights, BLUR * self.scale)

    def _weigh(self, said: Array, z: float) -> None:
        """Each step ahead by its own errors; what was said h + 1 iterations ago is due now."""
        self.asked.append(said)
        del self.asked[: -self.horizon]
        n = len(self.asked)
        due = np.array([self.asked[-1 - h][h] for h in range(n)])
        loss = np.abs(z - due) / self.scale
        loss = np.minimum(loss - loss.min(axis=1, keepdims=True), WORST)
        rate = RATE / np.arange(1.0, n + 1.0)[:, None] ** OVERLAP
        moved = self.weights[:n] * np.exp(-rate * loss)
        moved /= moved.sum(axis=1, keepdims=True)
        self.weights[:n] = (1.0 - SHARE) * moved + SHARE / len(EXPERTS)
