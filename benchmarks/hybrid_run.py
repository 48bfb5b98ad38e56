"""What a surrogate saves: packets are simulated until a window may be forecast, then it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

from rheostat.measurement.network.folder import NetworkRun
from rheostat.prediction.iteration_time.forecast import Forecaster
from rheostat.prediction.iteration_time.hand_over import WINDOWS, HandOver
from rheostat.simulation.network.network_replay import RunReplay


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
    times, model = run.iteration_s(app), make()
    replay, control = RunReplay(run, app, model), HandOver(most_error, seed)
    t, total, skipped, windows = 0, 0.0, 0, 0
    begun, answer_s = process_time(), 0.0
    while t < len(times):
        asked = process_time()
        said = replay.group.outlook(WINDOWS[0])
        took = process_time() - asked
        steps = 0 if said.simulate else control.window(said.time_s[: len(times) - t])
        if steps:
            answer_s += took
            steps = replay.skipped(steps)
            control.forecast(said.time_s[:steps])
            total, windows = total + float(said.time_s[:steps].sum()), windows + 1
        else:
            replay.simulated(float(times[t]))
            control.simulated(said.time_s, float(times[t]))
            total += float(times[t])
        t += steps or 1
        skipped += steps
    error = abs(total / float(times.sum()) - 1.0)
    return HybridResult(skipped / len(times), error, windows, answer_s, process_time() - begun)
