"""Has the regime changed?  From odd iterations, from neighbours that end or begin, from drift.

An iteration far from its forecast is a change of level or an outlier.  From then on two banks of
patterns are kept up, one that stays at the old level and one at the new, until the likelihoods of
further iterations decide.  Before the first of these the answer comes from the side that costs less
in relative error if it is wrong, given how earlier doubts of this application ended.  A slow drift
shows in the two-sided CUSUM of Page (1954).
"""

from __future__ import annotations

import copy

import numpy as np

from rheostat.prediction.iteration_time.cycles import CycleBank
from rheostat.prediction.iteration_time.forecast import Neighbour, Surroundings

ODD = 6.0
"""Scales by which an iteration is far from its forecast."""
DECIDED, LONGEST_DOUBT = 4.0, 12
"""Difference of log likelihoods that decides; iterations after which the larger one does."""
SLACK, LIMIT = 0.5, 8.0
"""Of the CUSUM, in scales."""
SETTLED = 5
"""Iterations after a change before forecasts are trusted again."""
AGAIN = 4
"""Iterations that the old level still counts for after a drift."""


class RegimeTracker:
    """Patterns at the level of the present regime; ``at`` has the iterations of its changes."""

    def __init__(self) -> None:
        self.bank = CycleBank()
        self.other: CycleBank | None = None
        self.since = self.count = 0
        self.quiet = SETTLED
        self.doubt_at, self.evidence = 0, 0.0
        self.changes, self.outliers = 1.0, 1.0
        self.sums = np.zeros(2)
        self.running: tuple[bool, ...] | None = None
        self.at: list[int] = []

    @property
    def current(self) -> CycleBank:
        """The bank to answer from."""
        return self.other if self.other is not None and self._changed_is_safer() else self.bank

    @property
    def start(self) -> int:
        """First iteration of the regime to answer from."""
        return self.since if self.current is self.bank else self.doubt_at

    def _changed_is_safer(self) -> bool:
        assert self.other is not None
        if self.count > self.doubt_at + 1:
            return self.evidence > 0
        step = float(self.other.forecast(1)[0] - self.bank.forecast(1)[0])
        true = self.changes / (self.changes + self.outliers)
        return bool(true * abs(np.expm1(-step)) > (1.0 - true) * abs(np.expm1(step)))

    def expected(self, around: Surroundings) -> float:
        """By how much log times are expected to move as neighbours have ended.

        Between two bounds, nothing changes and time goes with the traffic that is left, the middle.
        """
        gone = [n for n in self.moved(around) if not n.running and np.isfinite(n.traffic_share)]
        left = 1.0 - sum(n.traffic_share for n in gone)
        return 0.5 * float(np.log(max(left, 0.01)))

    def reason(self, around: Surroundings) -> str:
        """Why to go back to simulation; empty where there is no reason."""
        moved = [f"{n.name} has {'begun' if n.running else 'ended'}" for n in self.moved(around)]
        if moved:
            return ", ".join(moved)
        if self.other is not None:
            return "an iteration was far from its forecast"
        if self.quiet < SETTLED:
            return f"the level changed {self.quiet + 1} iterations ago"
        return ""

    def moved(self, around: Surroundings) -> list[Neighbour]:
        """Neighbours that have ended or begun since the last iteration began."""
        if self.running is None or len(self.running) != len(around.neighbours):
            return []
        pairs = zip(around.neighbours, self.running, strict=True)
        return [n for n, was in pairs if n.running != was]

    def observe(self, z: float, around: Surroundings) -> None:
        """An iteration that began in ``around`` took ``exp(z)``."""
        self.quiet += 1
        if self.moved(around):
            self.bank, self.other = self.current, None
            self.bank.shift(self.expected(around))
            self._mark(self.count)
        elif self.other is not None:
            self._weigh(z)
        elif self.bank.total:
            self._look(z)
        self.running = tuple(bool(n.running) for n in around.neighbours)
        self.bank.observe(z)
        if self.other is not None:
            self.other.observe(z)
        self.count += 1

    def _look(self, z: float) -> None:
        """Is the iteration odd?  Then the other bank begins, at its level."""
        k = self.bank.best
        error = (z - self.bank.forecast(1)[0]) / self.bank.scale[k]
        if abs(error) > ODD:
            self.other = copy.deepcopy(self.bank)
            self.other.shift(0.0)
            self.doubt_at, self.evidence = self.count, 0.0
            return
        self.sums = np.maximum(self.sums + np.clip([error, -error], -3.0, 3.0) - SLACK, 0.0)
        if self.sums.max() > LIMIT:
            self.bank.seen = min(self.bank.seen, AGAIN)
            self._mark(self.count)

    def _weigh(self, z: float) -> None:
        """One more iteration for or against a change."""
        assert self.other is not None
        self.evidence += self.other.log_likelihood(z) - self.bank.log_likelihood(z)
        long = self.count - self.doubt_at >= LONGEST_DOUBT
        if self.evidence > DECIDED or (long and self.evidence > 0):
            self.changes += 1.0
            self.bank, self.other = self.other, None
            self._mark(self.doubt_at)
        elif self.evidence < -DECIDED or long:
            self.outliers += 1.0
            self.other = None

    def _mark(self, at: int) -> None:
        self.since, self.quiet = at, self.count - at
        self.sums[:] = 0.0
        if at >= SETTLED:  # before that there was no level that could have changed
            self.at.append(at)

    def skip(self, steps: int) -> None:
        """So many iterations went by that nobody saw."""
        for bank in (self.bank, self.other):
            if bank is not None:
                bank.skip(steps)
