"""Iteration times that many ranks report and ask for, one forecaster per application.

Ranks of one application differ by 0.1 to 1 % within an iteration, so the median of their records is
learned from, once, and all of them get the same answer.  What each application does is known to
the others: `rheostat network serve`, `rheostat network forecast` and the benchmark go this one way.
"""

from __future__ import annotations

import copy
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from rheostat.errors import DataError
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.client_group import ClientGroup
from rheostat.prediction.iteration_time.forecast import (
    Forecaster,
    Neighbour,
    PortsNow,
    Surroundings,
    Telemetry,
)
from rheostat.prediction.iteration_time.hand_over import HandOver
from rheostat.prediction.iteration_time.iteration_model import IterationModel

MOST_APPS, MOST_RECORDS = 4096, 50_000_000
"""Applications, whose forecasters take 220 kB each, and records, of 8 bytes each, that are kept."""
MOST_NEIGHBOURS = 16
"""Others of which an application's forecast knows, those with the most ranks."""


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
    telemetry
        Traffic of the applications of ``apps``, where it is known.
    make
        Makes the forecaster of an application, by default ours.
    most_error
        Relative error of the total runtime within which `hand_over` keeps; None: nobody asks.

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
        *,
        telemetry: Telemetry | None = None,
        make: Callable[[str], Forecaster] | None = None,
        most_error: float | None = None,
    ) -> None:
        self.apps, self.groups = dict(apps or {}), dict[str, ClientGroup]()
        self.others, self.ranks = others, Counter(self.apps.values())
        self.telemetry, self.make = telemetry, make or (lambda app: AdaptiveForecaster())
        self.version = self.kept = 0
        self.most_error, self.until_s = most_error, 0.0
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
            self._add(app, self.make(app))
        return self.groups[app]

    def _add(self, app: str, forecaster: Forecaster) -> None:
        around = partial(self.around, app)
        control = None if self.most_error is None else HandOver(self.most_error)
        self.groups[app] = ClientGroup(self._ranks(app), forecaster, around, control=control)

    def around(self, app: str, moment_s: float) -> Surroundings:
        """What is known around an application at a moment; nothing later."""
        ports = self.telemetry.at(moment_s) if self.telemetry else PortsNow()
        near = [a for a, _ in self.ranks.most_common(MOST_NEIGHBOURS + 1) if a != app]
        neighbours = (self._neighbour(a, moment_s, ports) for a in near[:MOST_NEIGHBOURS])
        return Surroundings(tuple(neighbours), ports.numbers)

    def _neighbour(self, app: str, moment_s: float, ports: PortsNow) -> Neighbour:
        share = ports.shares.get(app, np.nan)
        if app not in self.groups:
            return Neighbour(app, 0.0, 0.0, False, share)
        known = self.groups[app].as_neighbour(app, moment_s, share)
        return replace(known, running=known.running and app not in ports.silent)

    def end(self, app: str, moment_s: float | None = None) -> None:
        """An application has ended, as its scheduler knows; by default at its last mark."""
        if (group := self.groups.get(app)) is None:
            raise DataError("job", [f"nothing was reported by {app}"])
        group.ended_s = group.now_s if moment_s is None else moment_s

    def _ranks(self, app: str) -> int:
        """Clients of an application, so many that it never has where that is not known."""
        return self.ranks[app] or (sys.maxsize if app == self.others else 1)

    def report(self, client: int, times_s: Sequence[float], since_s: float = 0.0) -> int:
        """A client's next iterations took so long, s; the number of those that are no time.

        ``since_s`` is when the first of all its iterations began.
        """
        good = [float(t) for t in times_s if np.isfinite(t) and t > 0]
        group, self.kept = self.group(client), self.kept + len(good) + 1
        if self.kept > MOST_RECORDS:
            raise DataError("records", [f"{MOST_RECORDS:,} are here: start the server anew"])
        group.report(client, good, since_s)
        return len(times_s) - len(good)

    def forecast(self, client: int, steps: int) -> list[float]:
        """The client's next iterations, s; asked again, those after them.

        While only the newest of the records is known, that; a `DataError` while nothing was
        reported by its application, nor loaded.
        """
        group = self.groups.get(self.app_of(client))
        newest = group.newest_s() if group else []
        if group is None or not (
            newest or group.finished_s or np.isfinite(group.outlook(1).time_s[0])
        ):
            said = f"no forecast yet: nothing was reported or loaded for {self.app_of(client)}"
            raise DataError("inference", [said])
        ahead = group.ahead(client, steps)
        return ahead if np.isfinite(ahead).all() else [float(np.median(newest))] * steps

    def hand_over(self, client: int) -> list[float]:
        """Iterations, s, that need not be simulated now; none: go on simulating.

        A job that is not simulated sends nothing, so all that run are handed over together: each
        says at its marks whether its past errors allow it, and the shortest wish ends the window.
        """
        group = self.group(client)
        wanted = group.wanted(client)
        now = group.now_s
        if wanted and now >= self.until_s:
            wanted_s = [sum(wanted)]
            for app, other in self.groups.items():
                if other is not group and other.as_neighbour(app, now, np.nan).running:
                    wanted_s.append(sum(other.decided[1]) if other.closed else 0.0)
            self.until_s = now + min(wanted_s)
        steps = int(np.searchsorted(np.cumsum(wanted), self.until_s - now, side="right"))
        return group.ahead(client, steps) if steps else []

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
            {a: f for a, g in self.groups.items()
             if isinstance(f := g.forecaster, AdaptiveForecaster) and f.logs}
        )  # fmt: skip

    def take(self, model: IterationModel) -> None:
        """Go on with what was learned before, in place of what was learned since."""
        for app, forecaster in model.forecasters_.items():
            own = copy.deepcopy(forecaster)
            own.begin()
            self._add(app, own)
        self.version += 1
