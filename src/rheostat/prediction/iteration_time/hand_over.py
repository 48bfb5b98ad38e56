"""When a forecast may stand in for the simulation, and for how many iterations.

Decided online from what was simulated so far: the errors that forecasts of such windows had, and
the error of the total runtime that was asked for.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array

WINDOWS = (30, 20, 10, 5)
"""Iterations that may be forecast at a time."""
MOST_ERROR = 0.01
"""Relative error of the total runtime."""
LEAST, MEMORY = 8, 60
"""Errors of a window's sum from which the next is expected, at least and at most."""
SHORTEST, LONGEST = 5, 15
"""Iterations simulated before a window at least, drawn between these: were they always as many, an
iteration that is longer each so many times might never be simulated."""
CONFIDENT = 1.645
"""Standard deviations within which the total stays with 90 % confidence."""


class HandOver:
    """Decides before each iteration whether to go on simulating; knows only what was simulated.

    A window is forecast if the total runtime, with all windows so far, then still lies within
    ``most_error`` with 90 % confidence: what forecasts were off on average adds up, and so does
    what that average may be wrong by, as the same few iterations told it for all windows; what they
    scattered by is independent from window to window.

    Parameters
    ----------
    most_error
        Relative error of the total runtime.
    seed
        Of how many iterations are simulated between two windows at least.
    """

    def __init__(self, most_error: float = MOST_ERROR, seed: int = 0) -> None:
        self.most_error, self.rng = most_error, np.random.default_rng(seed)
        self.least = SHORTEST
        self.elapsed_s, self.off_s, self.variance, self.forecast_s = 0.0, 0.0, 0.0, 0.0
        self.errors: dict[int, list[float]] = {w: [] for w in WINDOWS}
        self.answers: list[Array] = []
        self.times: list[float] = []
        self.single: list[float] = []

    def simulated(self, answer_s: Array, time_s: float) -> None:
        """An iteration took so long; ``answer_s`` (30,) was forecast before it."""
        self.elapsed_s += time_s
        self.answers.append(answer_s)
        self.times.append(time_s)
        if np.isfinite(answer_s[0]):
            self.single.append(time_s / float(answer_s[0]) - 1.0)
        for w in WINDOWS:
            if len(self.times) >= w and np.isfinite(self.answers[-w][0]):
                said, true = self.answers[-w][:w].sum(), sum(self.times[-w:])
                self.errors[w] = [*self.errors[w], float(said / true - 1.0)][-MEMORY:]

    def window(self, answer_s: Array) -> int:
        """Iterations to forecast now, 0 to go on simulating."""
        if len(self.times) < self.least:
            return 0
        for w in WINDOWS:
            if w > len(answer_s) or len(self.errors[w]) < LEAST:
                continue
            total = float(answer_s[:w].sum())
            off, spread = self.expected(w)
            away = abs(self.off_s + off * total)
            common = (self.forecast_s + total) * self.average_error()
            away += CONFIDENT * np.sqrt(self.variance + (spread * total) ** 2 + common**2)
            if away <= self.most_error * (self.elapsed_s + total):
                return w
        return 0

    def expected(self, window: int) -> tuple[float, float]:
        """Mean and spread of the relative error of a window's sum, as newer, shorter ones imply."""
        own = self.errors[window]
        spreads = [float(np.std(own))]
        for w in (w for w in WINDOWS if w < window):
            spreads.append(float(np.std(self.errors[w][-LEAST:])) * np.sqrt(w / window))
        spreads.append(self.single_spread() / np.sqrt(window))
        return float(np.mean(own)), max(spreads)

    def average_error(self) -> float:
        """Standard error of what forecasts are off on average, by all iterations simulated."""
        return self.single_spread() / float(np.sqrt(len(self.single) + 1))

    def single_spread(self) -> float:
        """Of the relative errors one iteration ahead: all of the run, so rare ones are kept."""
        return float(np.std(self.single)) if self.single else 0.0

    def forecast(self, answer_s: Array) -> None:
        """These iterations were forecast instead; simulation begins anew."""
        total = float(answer_s.sum())
        near = (w for w in WINDOWS if w >= len(answer_s))  # a director may take a longer one
        off, spread = self.expected(min(near, default=WINDOWS[0]))
        self.off_s += off * total
        self.variance += (spread * total) ** 2
        self.elapsed_s += total
        self.forecast_s += total
        self.answers, self.times = [], []
        self.least = int(self.rng.integers(SHORTEST, LONGEST))
