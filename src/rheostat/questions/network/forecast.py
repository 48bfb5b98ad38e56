"""`network.forecast`: the next iterations of applications on a shared network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rheostat.core.report import Grid, Report
from rheostat.explanation.iteration_times import ForecastFacts, explain_forecast
from rheostat.measurement.network.folder import NetworkRun
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.network.runs import Run, applications, opened
from rheostat.questions.parse import Names
from rheostat.recipes.smart import LAST, backtest, method, scores


@dataclass(frozen=True, kw_only=True, repr=False)
class NetworkForecast(Answer):
    """Forecasts of each application, and how far off they were.

    Parameters
    ----------
    name : str
        Of the run.
    forecasts : tuple of ForecastFacts
        One an application.
    """

    schema: ClassVar[str] = "rheostat.network-forecast/1"
    name: str
    forecasts: tuple[ForecastFacts, ...]

    def report(self) -> Report:
        """Errors, the next iterations with intervals, and pictures."""
        return explain_forecast(self.name, list(self.forecasts))

    def facts(self) -> Mapping[str, Any]:
        """The same as data."""
        return self.report().facts

    def grids(self) -> tuple[Grid, ...]:
        """A row an application."""
        grid = self.report().sections[0].grid
        return () if grid is None else (grid,)

    def beside(self) -> tuple[str, ...]:
        """Where the regime has changed, that simulation has to go on."""
        return tuple(f"{f.app}: go back to simulation: {f.reason}"
                     for f in self.forecasts if f.reason)  # fmt: skip


@question
def forecast(run: Run, apps: Names = (), *, steps: int = 30) -> NetworkForecast:
    """Forecast the next iterations of each application, with intervals.

    The errors are of forecasts one iteration ahead over the newest 70 % of the run, each made
    before the iteration was shown.

    Parameters
    ----------
    run : NetworkRun or path
        What `read` takes.
    apps : str or sequence of str
        Applications; by default all that are long enough.
    steps : int
        Iterations ahead, at most 30.

    Returns
    -------
    NetworkForecast
        With ``forecasts``: ``next_s``, ``low_s`` and ``high_s`` of each application.

    Raises
    ------
    DataError
        No application is long enough, or one is unknown.

    Examples
    --------
    >>> import tempfile, polars as pl, rheostat as rh
    >>> file = tempfile.mkdtemp() + "/times.csv"
    >>> pl.DataFrame({"app": "halo", "iteration": range(40), "rank": 0,
    ...               "runtime_s": [0.5, 0.6] * 20}).write_csv(file)
    >>> next_s = rh.network.forecast(file, steps=3).forecasts[0].next_s
    >>> [round(float(t), 1) for t in next_s]
    [0.5, 0.6, 0.5]
    """
    opened_run = opened(run)
    with listener.working("forecasting"):
        made = tuple(_forecast(opened_run, a, steps) for a in applications(opened_run, apps))
    return NetworkForecast(name=opened_run.name, forecasts=made)


def _forecast(run: NetworkRun, app: str, steps: int) -> ForecastFacts:
    model = AdaptiveForecaster()
    tested = backtest(run, app, model, steps=steps)
    one, last = (scores(t, (1,))[1] for t in (tested, backtest(run, app, method(LAST), steps=1)))
    seen = np.flatnonzero(np.isfinite(tested.time_s))  # a change is counted in these
    first = run.first_iteration(app)
    changes = [first + int(seen[c]) for c in model.change.at]
    return ForecastFacts(
        app, first, tested.time_s, tested.forecast_s[:, 0], tested.after.time_s, tested.after.low_s,
        tested.after.high_s, changes, one["mape"], last["mape"], one["coverage"],
        tested.after.reason,
    )  # fmt: skip
