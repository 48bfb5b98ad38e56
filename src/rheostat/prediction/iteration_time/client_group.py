"""One application as its ranks report it: its marks, its forecaster, the window it is in."""

from __future__ import annotations

import copy
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.forecast import (
    HORIZON,
    NOTHING,
    Forecaster,
    IterationForecast,
    Neighbour,
    Surroundings,
)
from rheostat.prediction.iteration_time.hand_over import HandOver

RECENT = 40
"""Iterations whose median is the usual one."""
OVERDUE = 1.5
"""Times the longest of these: where an iteration is not over by then, the job has ended."""


def alone(moment_s: float) -> Surroundings:
    """Surroundings of an application that has the network for itself."""
    return NOTHING


@dataclass(eq=False)
class ClientGroup:
    """Clients of one application: what they reported, how far each has asked ahead.

    What all ``ranks`` have reported is learned at once, so that no answer waits for it.  The clock
    of a client is what it has reported and been answered, added up; the application's marks are
    the medians of its clients', those of a window as they were forecast.
    """

    ranks: int = 1
    forecaster: Forecaster = field(default_factory=AdaptiveForecaster)
    around: Callable[[float], Surroundings] = alone
    begun_s: dict[int, float] = field(default_factory=dict)
    clock_s: dict[int, float] = field(default_factory=dict)
    records: dict[int, array[float]] = field(default_factory=dict)
    there: list[int] = field(default_factory=list)
    finished_s: list[float] = field(default_factory=list)
    learned: int = 0
    batch: int = 1
    ended_s: float = np.inf
    asked: dict[int, int] = field(default_factory=dict)
    window: list[float] = field(default_factory=list)
    planned: list[float] = field(default_factory=list)
    closed: bool = True
    running: tuple[bool, ...] = ()
    seen: tuple[float, Surroundings] | None = None
    control: HandOver | None = None
    decided: tuple[int, list[float]] = (-1, [])

    @property
    def now_s(self) -> float:
        """When the next iteration begins."""
        if self.finished_s:
            return self.finished_s[-1]
        return float(np.median(list(self.begun_s.values()))) if self.begun_s else 0.0

    def surroundings(self) -> Surroundings:
        """Those in which the next iteration begins, as they were when first asked about."""
        if self.seen is None or self.seen[0] != self.now_s:
            self.seen = self.now_s, self.around(self.now_s)
        return self.seen[1]

    def report(self, client: int, times_s: Sequence[float], since_s: float = 0.0) -> None:
        """Further iterations of a client; the first after a window says that the window is over."""
        self._begin(client, since_s)
        if (steps := self.asked.pop(client, 0)) and not self.closed:
            self.closed = True
            self.forecaster.skip(steps)
            if self.control is not None:
                self.control.forecast(np.array(self.window[:steps]))
        own = self.records.setdefault(client, array("d"))
        for time in times_s:
            if len(own) == len(self.there):
                self.there.append(0)
            self.there[len(own)] += 1
            self.clock_s[client] += time
            own.append(self.clock_s[client])
        self.batch = max(len(times_s), 1)
        self.learn(self.ranks)

    def _begin(self, client: int, since_s: float = 0.0) -> None:
        if client not in self.clock_s:
            self.begun_s[client] = self.clock_s[client] = since_s

    def newest_s(self) -> list[float]:
        """The newest iteration of each client."""
        return [r[-1] - (r[-2] if len(r) > 1 else self.begun_s[c])
                for c, r in self.records.items() if r]  # fmt: skip

    def learn(self, least: int | None = None, until: int = sys.maxsize) -> None:
        """Learn iterations that so many clients have reported; by default more than half."""
        least = len(self.records) // 2 + 1 if least is None else least
        while self.learned < min(len(self.there), until) and self.there[self.learned] >= least:
            own = [r[self.learned] for r in self.records.values() if len(r) > self.learned]
            when, begin = float(np.median(own)), self.now_s
            self.learned += 1
            if when > begin:  # else it is of clients whose clocks are behind those heard before
                if self.control is not None:
                    self.control.simulated(self.outlook().time_s, when - begin)
                self.forecaster.observe(when - begin, self.surroundings())
                self._finish(when)

    def outlook(self, steps: int = HORIZON) -> IterationForecast:
        """The application's next iterations, with intervals; nothing counts as asked for."""
        return self.forecaster.forecast(steps, self.surroundings())

    def ahead(self, client: int, steps: int) -> list[float]:
        """The next iterations of a client after those that it has asked for before.

        Its own records are learned from at least, though others have not sent theirs: its answer
        is of the iterations that come after them.
        """
        self._begin(client)
        self.learn()
        self.learn(1, until=len(self.records.get(client, ())))
        if not np.isfinite(self.outlook(1).time_s[0]):
            self.learn(1)
        if self.closed and client not in self.asked:
            self.asked, self.window, self.planned, self.closed = {}, [], [], False
        done = self.asked.get(client, 0)
        self.asked[client] = done + steps
        while len(self.window) < done + steps:
            self._extend()
        answer = self.window[done : done + steps]
        self.clock_s[client] += float(np.nansum(answer))
        return answer

    def wanted(self, client: int) -> list[float]:
        """What may be forecast now, by the rule of hand-over; all ranks get the same answer.

        Nothing within a window: what comes behind it is simulated first.
        """
        self._begin(client)
        self.learn(1, until=len(self.records.get(client, ())))
        if self.control is None or client in self.asked:
            return []
        if self.decided[0] != self.learned:
            said = self.outlook()
            steps = 0 if said.simulate else self.control.window(said.time_s)
            self.decided = self.learned, said.time_s[:steps].tolist()
        return self.decided[1]

    def _extend(self) -> None:
        """One more iteration of the window, forecast anew where a neighbour has ended or begun."""
        done = len(self.window)
        around = self.surroundings()
        running = tuple(n.running for n in around.neighbours)
        if done == len(self.planned) or running != self.running:
            model = self.forecaster
            if done:
                model = copy.deepcopy(model)
                model.skip(done)
            self.planned = self.window + model.forecast(HORIZON, around).time_s.tolist()
            self.running = running
        time = self.planned[done]
        self.window.append(time)
        if np.isfinite(time):
            self._finish(self.now_s + time)

    def move(self, ends_s: Sequence[float]) -> None:
        """Iterations were over at these moments, which a recorded run knows."""
        for when in ends_s:
            self._finish(when)
        self.clock_s = dict.fromkeys(self.clock_s, self.now_s)

    def _finish(self, when_s: float) -> None:
        self.finished_s = self.finished_s or [self.now_s]
        self.finished_s.append(when_s)

    def as_neighbour(self, name: str, moment_s: float, share: float) -> Neighbour:
        """What others know of it at a moment, which may lie before the newest marks."""
        finished = self.finished_s or list(self.begun_s.values())[:1]
        count = bisect_right(finished, moment_s)
        if not count:
            return Neighbour(name, 0.0, 0.0, False, share)
        recent = np.diff(finished[max(count - RECENT - 1, 0) : count])
        usual = float(np.median(recent)) if len(recent) else 0.0
        since = moment_s - finished[count - 1]
        over = moment_s >= self.ended_s
        if count == len(finished) and len(recent):
            over |= since > (self.batch - 1) * usual + OVERDUE * float(recent.max())
        return Neighbour(name, since, usual, not over, share)
