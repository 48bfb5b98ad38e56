"""What a surrogate saves: packets are simulated until a window may be forecast, then it is.

When to hand over, and for how long, is decided online from what was simulated so far: the errors
that forecasts of such windows had, and the error of the total runtime that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

import numpy as np

from rheostat.core.outcome import Array
from rheostat.measurement.network.folder import NetworkRun
from rheostat.prediction.iteration_time.forecast import Forecaster
from rheostat.recipes.smart import NetworkWatch

WINDOWS = (30, 20, 10, 5)
"""Iterations that may be forecast at a time."""
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
    ``most_error`` with 90 % confidence: what forecasts were off on average adds up, what they
    scattered by is independent from window to window.

    Parameters
    ----------
    most_error
        Relative error of the total runtime.
    seed
        Of how many iterations are simulated between two windows at least.
    """

    def __init__(self, most_error: float = 0.01, seed: int = 0) -> None:
        self.most_error, self.rng = most_error, np.random.default_rng(seed)
        self.least = SHORTEST
        self.elapsed_s, self.off_s, self.variance = 0.0, 0.0, 0.0
        self.errors: dict[int, list[float]] = {w: [] for w in WINDOWS}
        self.answers: list[Array] = []
        self.times: list[float] = []

    def simulated(self, answer_s: Array, time_s: float) -> None:
        """An iteration took so long; ``answer_s`` (30,) was forecast before it."""
        self.elapsed_s += time_s
        self.answers.append(answer_s)
        self.times.append(time_s)
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
            away += CONFIDENT * np.sqrt(self.variance + (spread * total) ** 2)
            if away <= self.most_error * (self.elapsed_s + total):
                return w
        return 0

    def expected(self, window: int) -> tuple[float, float]:
        """Mean and spread of the relative error of a window's sum, as newer, shorter ones imply."""
        own = self.errors[window]
        spreads = [float(np.std(own))]
        for w in (w for w in WINDOWS if w < window):
            spreads.append(float(np.std(self.errors[w][-LEAST:])) * np.sqrt(w / window))
        return float(np.mean(own)), max(spreads)

    def forecast(self, answer_s: Array) -> None:
        """These iterations were forecast instead; simulation begins anew."""
        total = float(answer_s.sum())
        off, spread = self.expected(min(w for w in WINDOWS if w >= len(answer_s)))
        self.off_s += off * total
        self.variance += (spread * total) ** 2
        self.elapsed_s += total
        self.answers, self.times = [], []
        self.least = int(self.rng.integers(SHORTEST, LONGEST))


@dataclass(frozen=True)
class HybridResult:
    """One application, simulated in part.

    Parameters
    ----------
    saved
        Share of all iterations that were not simulated.
    error
        Relative error of the total runtime of all iterations.
    windows
        How many were forecast.
    answer_s, cpu_s
        CPU seconds of the answers that stood in for packets, and of all that the forecaster did:
        it also answers and learns while packets are simulated.
    """

    saved: float
    error: float
    windows: int
    answer_s: float
    cpu_s: float


def hybrid_run(
    run: NetworkRun,
    app: str,
    make: Callable[[], Forecaster],
    most_error: float = 0.01,
    seed: int = 0,
) -> HybridResult:
    """Simulate and forecast in turn; only simulated iterations are seen.

    A method that says so goes back to simulation: before a window, and within one when another
    application has ended.

    Parameters
    ----------
    run, app
        The run whose iterations are the simulation, and one of its applications.
    make
        Makes a forecaster that has seen nothing.
    most_error, seed
        As `HandOver` takes them.
    """
    finished = run.mark_s(app)
    times, watch, model = np.diff(finished), NetworkWatch(run, app), make()
    control, t, total, skipped, windows = HandOver(most_error, seed), 0, 0.0, 0, 0
    begun, answer_s = process_time(), 0.0
    while t < len(times):
        around = watch.at(float(finished[t]))
        asked = process_time()
        said = model.forecast(WINDOWS[0], around)
        took = process_time() - asked
        steps = 0 if said.simulate else control.window(said.time_s[: len(times) - t])
        if steps:
            answer_s += took
            steps = _until_event(watch, finished, t, steps, model)
            control.forecast(said.time_s[:steps])
            model.skip(steps)
            total, windows = total + float(said.time_s[:steps].sum()), windows + 1
        else:
            model.observe(float(times[t]), around)
            control.simulated(said.time_s, float(times[t]))
            total += float(times[t])
        t += steps or 1
        skipped += steps
    error = abs(total / float(times.sum()) - 1.0)
    return HybridResult(skipped / len(times), error, windows, answer_s, process_time() - begun)


def _until_event(
    watch: NetworkWatch, finished: Array, t: int, steps: int, model: Forecaster
) -> int:
    """Iterations of the window before a neighbour's end is known, for a model that heeds it."""
    began = [n.running for n in watch.at(float(finished[t])).neighbours]
    for k in range(1, steps):
        around = watch.at(float(finished[t + k]))
        if [n.running for n in around.neighbours] != began and model.forecast(1, around).simulate:
            return k
    return steps
