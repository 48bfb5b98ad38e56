"""Iteration times that many ranks report and ask for, one forecaster per application.

Ranks of one application differ by 0.1 to 1 % within an iteration, so the median of their records is
learned from, once, and all of them get the same answer.
"""

from __future__ import annotations

import copy
import sys
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rheostat.errors import DataError
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.forecast import HORIZON
from rheostat.prediction.iteration_time.iteration_model import IterationModel

MOST_APPS, MOST_RECORDS = 4096, 50_000_000
"""Applications, whose forecasters take 60 kB each, and records, of 8 bytes each, that are kept."""


@dataclass(eq=False)
class ClientGroup:
    """Clients of one application: what they reported, how far each has asked ahead.

    What all ``ranks`` have reported is learned at once, so that no answer waits for it.
    """

    ranks: int = 1
    forecaster: AdaptiveForecaster = field(default_factory=AdaptiveForecaster)
    records: dict[int, array[float]] = field(default_factory=dict)
    learned: int = 0
    asked: dict[int, int] = field(default_factory=dict)
    returned: set[int] = field(default_factory=set)

    def report(self, client: int, times_s: Sequence[float]) -> None:
        """Further iterations of a client; the first after a window says that the window is over."""
        steps = self.asked.pop(client, 0)
        if steps and not self.returned:
            self.learn()
            self.forecaster.skip(steps)
        if steps:
            self.returned.add(client)
        if not self.asked:
            self.returned.clear()
        self.records.setdefault(client, array("d")).extend(times_s)
        self._learn(self.ranks)

    def learn(self) -> None:
        """Learn every iteration that more than half of the clients have reported."""
        self._learn(len(self.records) // 2 + 1)

    def _learn(self, least: int) -> None:
        while True:
            there = [r[self.learned] for r in self.records.values() if len(r) > self.learned]
            if len(there) < least:
                return
            self.forecaster.observe(float(np.median(there)))
            self.learned += 1

    def ahead(self, client: int, steps: int) -> list[float]:
        """The next iterations of a client after those that it has asked for before."""
        self.learn()
        done = self.asked.get(client, 0)
        self.asked[client] = done + steps
        model = self.forecaster
        if done + steps > HORIZON:
            model = copy.deepcopy(model)
            model.skip(done)
            done = 0
        said = model.forecast(HORIZON).time_s
        return [float(said[min(k, HORIZON - 1)]) for k in range(done, done + steps)]


class ClientForecasts:
    """Forecasts for clients by number.

    Parameters
    ----------
    apps
        Application of each client.
    model
        What was learned before, by application.
    others
        Application of all clients that are not in ``apps``; empty: each is one by itself.

    Examples
    --------
    >>> service = ClientForecasts({7: "milc", 8: "milc"})
    >>> [service.report(client, [0.1, 0.1, 0.2] * 12) for client in (7, 8)]
    [0, 0]
    >>> [round(service.forecast(7, 1)[0], 2) for _ in range(3)]
    [0.1, 0.1, 0.2]
    """

    def __init__(
        self,
        apps: Mapping[int, str] | None = None,
        model: IterationModel | None = None,
        others: str = "",
    ) -> None:
        self.apps, self.groups = dict(apps or {}), dict[str, ClientGroup]()
        self.others, self.ranks = others, Counter(self.apps.values())
        self.version = self.kept = 0
        if model is not None:
            self.take(model)

    def app_of(self, client: int) -> str:
        """The application of a client."""
        return self.apps.get(client, self.others or f"client-{client}")

    def group(self, client: int) -> ClientGroup:
        """The group of a client, begun if there is none and `MOST_APPS` have not begun."""
        app = self.app_of(client)
        if app not in self.groups:
            if len(self.groups) >= MOST_APPS:
                expected = f"expected at most {MOST_APPS:,} clients without an application"
                advice = "give --workload and --allocation, so that clients share a forecast"
                raise DataError("client", [f"{expected}, got one more, {client}: {advice}"])
            self.groups[app] = ClientGroup(self._ranks(app))
        return self.groups[app]

    def _ranks(self, app: str) -> int:
        """Clients of an application, so many that it never has where that is not known."""
        return self.ranks[app] or (sys.maxsize if app == self.others else 1)

    def report(self, client: int, times_s: Sequence[float]) -> int:
        """A client's next iterations took so long, s; the number of those that are no time."""
        good = [float(t) for t in times_s if np.isfinite(t) and t > 0]
        group, self.kept = self.group(client), self.kept + len(good) + 1
        if self.kept > MOST_RECORDS:
            raise DataError("records", [f"{MOST_RECORDS:,} are here: start the server anew"])
        group.report(client, good)
        return len(times_s) - len(good)

    def forecast(self, client: int, steps: int) -> list[float]:
        """The client's next iterations, s; asked again, those after them.

        While only the newest of the records is known, that; a `DataError` while nothing was
        reported by its application, nor loaded.
        """
        group = self.groups.get(self.app_of(client))
        newest = [r[-1] for r in group.records.values() if r] if group else []
        if group is None or not (newest or group.forecaster.logs):
            said = f"no forecast yet: nothing was reported or loaded for {self.app_of(client)}"
            raise DataError("inference", [said])
        ahead = group.ahead(client, steps)
        return ahead if np.isfinite(ahead).all() else [float(np.median(newest))] * steps

    def learn(self) -> int:
        """Learn all that was reported; the number of iterations learned from."""
        for group in self.groups.values():
            group.learn()
        self.version += 1
        return sum(g.learned for g in self.groups.values())

    def counts(self) -> dict[int, int]:
        """Records of each client."""
        return {c: len(r) for g in self.groups.values() for c, r in sorted(g.records.items())}

    def model(self) -> IterationModel:
        """What was learned, to be saved."""
        return IterationModel(
            {a: g.forecaster for a, g in self.groups.items() if g.forecaster.logs}
        )

    def take(self, model: IterationModel) -> None:
        """Go on with what was learned before, in place of what was learned since."""
        for app, forecaster in model.forecasters_.items():
            self.groups[app] = ClientGroup(self._ranks(app), copy.deepcopy(forecaster))
        self.version += 1
