"""What a surrogate saves: packets are simulated for some iterations, then windows are forecast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.measurement.network.folder import NetworkRun
from rheostat.prediction.iteration_time.forecast import Forecaster
from rheostat.recipes.smart import TRAIN, NetworkWatch

PLANS = ((5, 30), (10, 30), (10, 20), (10, 10), (20, 10), (30, 10), (40, 5))
"""(iterations simulated, iterations forecast) in turn, the most saving first."""
STARTS = (0, 4, 9)
"""Iterations after the learned ones at which the first window may begin."""


@dataclass(frozen=True)
class HybridResult:
    """One plan on one application.

    Parameters
    ----------
    simulated, window
        Iterations in turn.
    saved
        Share of the iterations that were not simulated.
    error
        Mean over starts of the relative error of the total runtime of all scored iterations.
    """

    simulated: int
    window: int
    saved: float
    error: float


def hybrid_run(
    run: NetworkRun, app: str, make: Callable[[], Forecaster], plan: tuple[int, int], start: int = 0
) -> tuple[float, float]:
    """Simulate and forecast in turn; only simulated iterations are seen.

    A method that says so goes back to simulation: before a window, and within one when another
    application has ended.

    Parameters
    ----------
    run, app
        The run whose iterations are the simulation, and one of its applications.
    make
        Makes a forecaster that has seen nothing.
    plan
        (iterations simulated, iterations forecast).
    start
        Further iterations that are simulated at first.

    Returns
    -------
    saved, error
        Share that was not simulated, relative error of the total.
    """
    finished = run.mark_s(app)
    times, watch, model = np.diff(finished), NetworkWatch(run, app), make()
    first = int(TRAIN * len(times))
    t, since, total, skipped = 0, -start, 0.0, 0
    while t < len(times):
        around = watch.at(float(finished[t]))
        if t >= first and since >= plan[0]:
            said = model.forecast(min(plan[1], len(times) - t), around)
            if not said.simulate:
                steps = _until_event(watch, finished, t, len(said.time_s), model)
                total += float(said.time_s[:steps].sum())
                model.skip(steps)
                t, since, skipped = t + steps, 0, skipped + steps
                continue
        model.observe(float(times[t]), around)
        total += float(times[t]) if t >= first else 0.0
        t, since = t + 1, since + (t >= first)
    true = float(times[first:].sum())
    return skipped / (len(times) - first), abs(total / true - 1.0)


def _until_event(
    watch: NetworkWatch,
    finished: Sequence[float] | np.ndarray,
    t: int,
    steps: int,
    model: Forecaster,
) -> int:
    """Iterations of the window before a neighbour's end is known, for a model that heeds it."""
    began = [n.running for n in watch.at(float(finished[t])).neighbours]
    for k in range(1, steps):
        around = watch.at(float(finished[t + k]))
        if [n.running for n in around.neighbours] != began and model.forecast(1, around).simulate:
            return k
    return steps


def most_saved(
    run: NetworkRun, app: str, make: Callable[[], Forecaster], most_error: float = 0.01
) -> HybridResult | None:
    """The first plan that keeps the total runtime within this error; None where none does.

    Plans are compared in hindsight: this says what a method allows, not which plan to take.
    """
    for plan in PLANS:
        results = [hybrid_run(run, app, make, plan, start) for start in STARTS]
        saved, error = np.mean(results, axis=0)
        if error <= most_error:
            return HybridResult(*plan, float(saved), float(error))
    return None
