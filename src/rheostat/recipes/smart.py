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
    Neighbour,
    Surroundings,
)
from rheostat.prediction.iteration_time.iteration_model import IterationModel
from rheostat.prediction.iteration_time.port_features import iteration_features
from rheostat.prediction.iteration_time.simple_forecasters import BASELINES, SimpleForecaster
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.prediction.iteration_time.smart_forecaster import SmartForecaster

OURS, LAST = "ours", "last"
ALWAYS = ("last", "running-median", "mean-10")
"""Baselines that stand beside every method."""
RECENT = 40
"""Iterations of a neighbour whose median is its usual one."""
WINDOWS = 8
"""Windows of telemetry that count as now."""
TRAIN = 0.3
"""Share of a run's iterations, the first, that is learned from and not scored."""
LEAST = 10
"""Iterations of the shortest series that is forecast."""


class NetworkWatch:
    """What is known of a run around one application, at any moment; nothing later.

    Parameters
    ----------
    run
        A run that was read.
    app
        The application whose iterations are forecast.
    """

    def __init__(self, run: NetworkRun, app: str) -> None:
        self.run, self.app = run, app
        self.others = {o: run.mark_s(o) for o in run.applications if o != app}
        self.ended = {o: run.ended_s(o) for o in self.others}
        self.traffic: dict[str, Array] = {}
        self.numbers = np.zeros((0, 0))
        if run.ports is not None and run.network is not None:
            self._telemetry()

    def _telemetry(self) -> None:
        """Per window: traffic of each job's terminals; load, stalls and queues of the fabric."""
        run = self.run
        assert run.ports is not None
        assert run.network is not None
        values, named = run.ports.values, {j.job: a for a, j in run.applications.items()}
        background = np.zeros(len(values))
        for job in run.jobs:
            router, port = run.network.terminal_port(job.terminals)
            sent = values[:, router, port, 1].sum(axis=1)
            if job.job in named:
                self.traffic[named[job.job]] = sent
            else:
                background = background + sent
        self.traffic[""] = background
        fabric = values[:, :, : run.network.wide_ports.stop]
        raw = np.stack([background, fabric[..., 2].sum((1, 2)), fabric[..., 3:].sum((1, 2, 3))])
        self.numbers = np.log1p(raw).T

    def at(self, moment_s: float) -> Surroundings:
        """What was known then."""
        windows, ports = 0, self.run.ports
        if ports is not None and moment_s < ports.end_s[-1] + WINDOWS * ports.window_s:
            windows = int(np.searchsorted(ports.end_s, moment_s, side="right"))
        shares = self._shares(windows)
        neighbours = tuple(
            _neighbour(o, finished, self.ended[o], moment_s, shares.get(o, np.nan))
            for o, finished in self.others.items()
        )
        return Surroundings(neighbours, self._standardised(windows))

    def _shares(self, windows: int) -> dict[str, float]:
        recent = {a: float(v[max(windows - WINDOWS, 0) : windows].sum())
                  for a, v in self.traffic.items()}  # fmt: skip
        total = sum(recent.values())
        return {a: v / total for a, v in recent.items()} if total > 0 else {}

    def _standardised(self, windows: int) -> Array:
        """Numbers of the last windows, against all windows until then."""
        if not windows or not self.numbers.size:
            return np.zeros(self.numbers.shape[1])
        past = self.numbers[:windows]
        now = past[-WINDOWS // 2 :].mean(axis=0)
        return np.asarray((now - past.mean(axis=0)) / (past.std(axis=0) + 0.05))


def _neighbour(
    name: str, finished: Array, ended_s: float, moment_s: float, share: float
) -> Neighbour:
    seen = finished[: np.searchsorted(finished, moment_s, side="right")]
    if not len(seen):
        return Neighbour(name, 0.0, 0.0, False, share)
    recent = np.diff(seen[-RECENT - 1 :])
    usual = float(np.median(recent)) if len(recent) else 0.0
    return Neighbour(name, float(moment_s - seen[-1]), usual, bool(moment_s < ended_s), share)


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
        What came, (iterations,).
    forecast_s, low_s, high_s
        Row t was said before iteration t, column h is h + 1 iterations ahead.
    simulate
        Whether the method asked to go back to simulation.
    cpu_s
        CPU seconds of all answers, what is learned between them included.
    first
        First iteration that is scored.
    """

    time_s: Array
    forecast_s: Array
    low_s: Array
    high_s: Array
    simulate: np.ndarray[Any, Any]
    cpu_s: float
    first: int

    def truth(self, step: int) -> Array:
        """What came ``step`` iterations ahead of each scored answer."""
        return self.time_s[self.first + step - 1 :]

    def errors(self, step: int) -> Array:
        """Absolute relative errors ``step`` iterations ahead."""
        truth = self.truth(step)
        said = self.forecast_s[self.first : self.first + len(truth), step - 1]
        return np.asarray(np.abs(said / truth - 1.0))

    def hits(self, step: int) -> np.ndarray[Any, Any]:
        """Whether the truth lay in the interval."""
        truth = self.truth(step)
        rows = slice(self.first, self.first + len(truth))
        low, high = self.low_s[rows, step - 1], self.high_s[rows, step - 1]
        return np.asarray((low <= truth) & (truth <= high))

    @property
    def ms_per_answer(self) -> float:
        """Milliseconds of CPU time per answer."""
        return 1e3 * self.cpu_s / len(self.time_s)


def backtest(
    run: NetworkRun, app: str, forecaster: Forecaster, *, steps: int = HORIZON, train: float = TRAIN
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

    Returns
    -------
    IterationBacktest
        Answers and truths in order of time.
    """
    finished = run.mark_s(app)
    times = np.diff(finished)
    if len(times) < LEAST:
        raise DataError(run.name, [f"{app}: expected {LEAST} iterations or more, got {len(times)}"])
    watch = NetworkWatch(run, app)
    answers: list[IterationForecast] = []
    spent = 0.0
    for begin, time in zip(finished[:-1], times, strict=True):
        around = watch.at(float(begin))
        before = process_time()
        answers.append(forecaster.forecast(steps, around))
        forecaster.observe(float(time), around)
        spent += process_time() - before
    said, low, high = (np.array([getattr(a, k) for a in answers])
                       for k in ("time_s", "low_s", "high_s"))  # fmt: skip
    simulate = np.array([a.simulate for a in answers])
    return IterationBacktest(times, said, low, high, simulate, spent, int(train * len(times)))


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


def outlook(
    run: NetworkRun, app: str, steps: int
) -> tuple[IterationBacktest, AdaptiveForecaster, IterationForecast]:
    """Our method over a whole run, and what it says of the iterations after it."""
    model = AdaptiveForecaster()
    tested = backtest(run, app, model)
    around = NetworkWatch(run, app).at(float(run.mark_s(app)[-1]))
    return tested, model, model.forecast(steps, around)


def fitted(run: NetworkRun, apps: Sequence[str]) -> IterationModel:
    """A model that has seen all iterations of these applications, and nothing else of the run.

    Whoever is served asks without saying where neighbours are, so it is learned without them.
    """
    model = IterationModel({app: AdaptiveForecaster() for app in apps})
    for app, forecaster in model.forecasters_.items():
        for time in run.iteration_s(app):
            forecaster.observe(float(time))
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
    finished = run.mark_s(app)
    end = np.searchsorted(run.ports.end_s, finished, side="right")
    features = iteration_features(run.ports.values, pairwise(end.tolist()), run.network.peer)
    router, port = run.network.terminal_port(run.applications[app].terminals)
    train = int(TRAIN * (len(finished) - 1))
    return SmartForecaster(features, run.network.edges, router * run.network.radix + port, train,
                           config=replace(config or SmartConfig(), workload=app), seed=seed,
                           horizon=steps)  # fmt: skip
