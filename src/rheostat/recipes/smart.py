"""Forecasts of iteration times on a simulated run: what is known when, methods by name, scores.

The published system (Wang, Lodi Rizzini, Medya, Lan, AAAI 2026) and ours are asked alike: before
each iteration, with what had been seen until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np

from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.network.folder import NetworkRun
from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
from rheostat.prediction.iteration_time.forecast import (
    HORIZON,
    Forecaster,
    IterationForecast,
)
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.iteration_time.port_features import iteration_features
from rheostat.prediction.iteration_time.simple_forecasters import BASELINES, SimpleForecaster
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.prediction.iteration_time.smart_forecaster import SmartForecaster
from rheostat.simulation.network.network_replay import RunReplay

OURS, LAST = "ours", "last"
ALWAYS = ("last", "running-median", "mean-10")
"""Baselines that stand beside every method."""
TRAIN = 0.3
"""Share of a run's iterations, the first, that is learned from and not scored."""
LEAST = 10
"""Iterations of the shortest series that is forecast."""


def method(name: str, seed: int = 0) -> Forecaster:
    """A forecaster by name.

    >>> type(method("last")).__name__, type(method("ours")).__name__
    ('SimpleForecaster', 'AdaptiveForecaster')
    """
    if name == OURS:
        return AdaptiveForecaster()
    if name in BASELINES:
        return SimpleForecaster(name)
    raise DataError("method", [f"expected {', '.join((OURS, *BASELINES))}, got {name!r}"])


@dataclass(frozen=True, eq=False)
class IterationBacktest:
    """Answers before each iteration of a run, and what came.

    Parameters
    ----------
    time_s
        What came, (iterations,); NaN where it is not known.
    forecast_s, low_s, high_s
        Row t was said before iteration t, column h is h + 1 iterations ahead.
    simulate
        Whether the method asked to go back to simulation.
    cpu_s
        CPU seconds of all answers, what is learned between them included.
    first
        First iteration that is scored.
    after
        What was said of the iterations after the run.
    """

    time_s: Array
    forecast_s: Array
    low_s: Array
    high_s: Array
    simulate: np.ndarray[Any, Any]
    cpu_s: float
    first: int
    after: IterationForecast

    def truth(self, step: int) -> Array:
        """What came ``step`` iterations ahead of each scored answer."""
        return self.time_s[self.first + step - 1 :]

    def errors(self, step: int) -> Array:
        """Absolute relative errors ``step`` iterations ahead."""
        truth = self.truth(step)
        said = self.forecast_s[self.first : self.first + len(truth), step - 1]
        return np.asarray(np.abs(said / truth - 1.0))

    def hits(self, step: int) -> np.ndarray[Any, Any]:
        """Whether the truth lay in the interval, where it is known."""
        truth = self.truth(step)
        rows = slice(self.first, self.first + len(truth))
        low, high = self.low_s[rows, step - 1], self.high_s[rows, step - 1]
        return np.asarray((low <= truth) & (truth <= high))[np.isfinite(truth)]

    @property
    def ms_per_answer(self) -> float:
        """Milliseconds of CPU time per answer."""
        return 1e3 * self.cpu_s / len(self.time_s)


def backtest(
    run: NetworkRun,
    app: str,
    forecaster: Forecaster,
    *,
    steps: int = HORIZON,
    train: float = TRAIN,
    ends_known: bool = False,
) -> IterationBacktest:
    """Ask before every iteration of an application, then show what it took.

    Parameters
    ----------
    run, app
        A run, and the name of one of its applications.
    forecaster
        A method that has seen nothing yet.
    steps
        Iterations ahead.
    train
        Share of the iterations that is not scored.
    ends_known
        Whether it is known at once that another job has ended, as from a scheduler.

    Returns
    -------
    IterationBacktest
        Answers and truths in order of time, the same as those of `rheostat network serve`.
    """
    times = run.iteration_s(app)
    if (seen := int(np.isfinite(times).sum())) < LEAST:
        raise DataError(run.name, [f"{app}: expected {LEAST} iterations or more, got {seen}"])
    replay = RunReplay(run, app, forecaster, ends_known=ends_known)
    answers: list[IterationForecast] = []
    spent = 0.0
    for time in times:
        around = replay.group.surroundings()
        before = process_time()
        answers.append(forecaster.forecast(steps, around))
        replay.simulated(float(time))
        spent += process_time() - before
    said, low, high = (np.array([getattr(a, k) for a in answers])
                       for k in ("time_s", "low_s", "high_s"))  # fmt: skip
    simulate = np.array([a.simulate for a in answers])
    after = replay.group.outlook(steps)
    first = int(train * len(times))
    return IterationBacktest(times, said, low, high, simulate, spent, first, after)


def scores(tested: IterationBacktest, steps: Sequence[int]) -> dict[int, dict[str, float | None]]:
    """MAPE in percent and coverage for each number of steps ahead; None where too few were."""
    out: dict[int, dict[str, float | None]] = {}
    for step in steps:
        errors = tested.errors(step)
        enough = len(errors) > 0 and bool(np.isfinite(errors).any())
        out[step] = {
            "mape": 100.0 * float(np.nanmean(errors)) if enough else None,
            "coverage": float(np.mean(tested.hits(step))) if enough else None,
        }
    return out


def compare_methods(run: NetworkRun, app: str, names: Sequence[str]) -> dict[str, float]:
    """MAPE in percent one iteration ahead, by method."""
    out = {}
    for name in names:
        mape = scores(backtest(run, app, method(name)), (1,))[1]["mape"]
        if mape is not None:
            out[name] = mape
    return out


def fitted(run: NetworkRun, apps: Sequence[str]) -> IterationModel:
    """A model that has seen all iterations of these applications, with those of the others."""
    model = IterationModel({app: AdaptiveForecaster() for app in apps})
    for app, forecaster in model.forecasters_.items():
        replay = RunReplay(run, app, forecaster)
        for time in run.iteration_s(app):
            replay.simulated(float(time))
    return model


def smart(
    run: NetworkRun, app: str, *, config: SmartConfig | None = None, seed: int = 0, steps: int = 1
) -> SmartForecaster:
    """The published system on a run with telemetry, untrained.

    Parameters
    ----------
    run, app
        A run with ``net.conf`` and port telemetry, and one of its applications.
    config
        Sizes, training, and which net or language model.
    seed
        Of weights and order.
    steps
        Steps of an answer.
    """
    if run.ports is None or run.network is None:
        raise DataError(run.name, ["expected net.conf and port telemetry for SMART"])
    if np.isnan(run.iteration_s(app)).any():
        raise DataError(run.name, [f"{app}: SMART expects a mark of every iteration"])
    finished = run.mark_s(app)
    end = np.searchsorted(run.ports.end_s, finished, side="right")
    features = iteration_features(run.ports.values, pairwise(end.tolist()), run.network.peer)
    router, port = run.network.terminal_port(run.applications[app].terminals)
    train = int(TRAIN * (len(finished) - 1))
    return SmartForecaster(features, run.network.edges, router * run.network.radix + port, train,
                           config=replace(config or SmartConfig(), workload=app), seed=seed,
                           horizon=steps)  # fmt: skip
