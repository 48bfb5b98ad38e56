"""A recorded run, shown mark by mark to what answers a running simulation.

Whatever is forecast of a recorded run goes through `ClientForecasts`, as the server's answers do:
neighbours are known by the marks that they have reported, telemetry by the windows that are over,
and that a job has ended by its silence.
"""

from __future__ import annotations

import numpy as np

from rheostat.measurement.network.folder import NetworkRun
from rheostat.prediction.iteration_time.client_group import ClientGroup
from rheostat.prediction.iteration_time.clients import ClientForecasts
from rheostat.prediction.iteration_time.forecast import (
    NOTHING,
    Forecaster,
    IterationForecast,
    Surroundings,
)
from rheostat.simulation.network.port_telemetry import PortTelemetry


class Unforecast:
    """Stands for an application of which only the marks are of interest."""

    def forecast(self, steps: int, around: Surroundings = NOTHING) -> IterationForecast:
        """Nothing."""
        nothing = np.full(steps, np.nan)
        return IterationForecast(nothing, nothing, nothing)

    def observe(self, time_s: float, around: Surroundings = NOTHING) -> None:
        """Nothing is learned."""

    def skip(self, steps: int) -> None:
        """Nothing changes."""


class RunReplay:
    """A run as the server would see it, a client for each application.

    Parameters
    ----------
    run
        A run that was read.
    app
        The application that is forecast.
    forecaster
        How; it has seen nothing yet.
    ends_known
        Whether it is known at once that another job has ended, as from a scheduler; else its
        silence says so.
    """

    def __init__(
        self, run: NetworkRun, app: str, forecaster: Forecaster, *, ends_known: bool = False
    ) -> None:
        self.app, self.ends_known, names = app, ends_known, list(run.applications)
        telemetry = None
        if run.ports is not None and run.network is not None:
            telemetry = PortTelemetry(run.ports, run.network, run.jobs, run.applications)
        self.service = ClientForecasts(
            dict(enumerate(names)), telemetry=telemetry,
            make=lambda name: forecaster if name == app else Unforecast(),
        )  # fmt: skip
        self.client, self.finished_s = names.index(app), [run.mark_s(a) for a in names]
        self.group: ClientGroup = self.service.group(self.client)
        self.passed, begun = 0, float(self.finished_s[self.client][0])
        self.service.report(self.client, [], begun)
        self.ends = [run.ended_s(a) for a in names]
        others = [c for c in range(len(names)) if c != self.client]
        self.events = sorted(((float(t), c, k) for c in others
                              for k, t in enumerate(self.finished_s[c])), reverse=True)  # fmt: skip
        self.until(begun)

    def _show(self, client: int, k: int) -> None:
        finished = self.finished_s[client]
        if k == 0:
            self.service.report(client, [], float(finished[0]))
        else:
            self.service.report(client, [float(finished[k] - finished[k - 1])])
        if self.ends_known and k == len(finished) - 1 and np.isfinite(self.ends[client]):
            self.service.end(self.service.app_of(client))

    def until(self, moment_s: float) -> None:
        """Show what the other applications have reported by a moment."""
        while self.events and self.events[-1][0] <= moment_s:
            self._show(*self.events.pop()[1:])

    def simulated(self, time_s: float) -> None:
        """The next iteration was simulated and took so long; NaN: its marks were lost."""
        if np.isnan(time_s):
            self._pass(1)
        else:
            self.passed += 1
            self.service.report(self.client, [time_s])
            self.until(self.group.now_s)

    def skipped(self, most: int) -> int:
        """Iterations that nobody simulated: ``most``, or those until another job has ended.

        Where the simulation is in the recorded run, its neighbours are, too: marks are the run's.
        """
        own, at = self.finished_s[self.client], self.passed
        running = [n.running for n in self.group.surroundings().neighbours]
        steps = 1
        while steps < most:
            self.until(float(own[at + steps]))
            around = self.service.around(self.app, float(own[at + steps]))
            if [n.running for n in around.neighbours] != running:
                break
            steps += 1
        self._pass(steps)
        return steps

    def _pass(self, steps: int) -> None:
        """So many iterations go by unseen; when they were over, the run says."""
        begin, self.passed = self.passed + 1, self.passed + steps
        self.group.forecaster.skip(steps)
        self.group.move(self.finished_s[self.client][begin : self.passed + 1].tolist())
        self.until(self.group.now_s)
