"""`calibrate`: what a step of a server takes, from when it answered recorded requests.

The trace is served again with candidate step times, and these are moved until the first requests
get their tokens when they did.  Later requests are played too, since they share the batch, but when
they were answered is not looked at: they judge the result.

Notation
--------
x  logarithms of base_s, request_s, context_s, prefill_s and of the cache (least: Nelder and Mead)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.replica import TIMES, Array, Replica
from rheostat.simulation.serving.serve import Served, serve

Rows = NDArray[np.int64]
STARTS, ROUNDS, STEPS = (1.0, 3.0), 2, 400
FIRST_TOKEN = 0.3  # weight of first tokens beside whole answers
WORST = 1.0  # a log error beyond this counts as this: one request shall not decide


def calibrate(
    recorded: JobTable,
    learn: int = 100,
    replica: Replica | None = None,
    deployment: Deployment | None = None,
) -> tuple[Replica, dict[str, float]]:
    """A replica whose steps take what the recorded server's took.

    Parameters
    ----------
    recorded
        ``submit_s``, ``prompt_tokens``, ``output_tokens``, ``start_s`` (first token), ``end_s``,
        in order of submission.
    learn
        How many of the first requests are learned from.
    replica
        Batch cap, chunk and tokens of the cache as the server was started with.
    deployment
        How many such replicas answered, and who was sent where; one if None.

    Returns
    -------
    Replica, and the median relative errors of ``ttft``, ``tpot`` and ``latency`` of the other
    requests

    Raises
    ------
    DataError
        Fewer than two requests are left to judge by, or columns are missing.
    """
    recorded.require("submit_s", "prompt_tokens", "output_tokens", "start_s", "end_s")
    if not 2 <= learn <= len(recorded) - 2:
        raise DataError("calibrate", [f"expected 2 to {len(recorded) - 2} to learn, got {learn}"])
    given = replica or Replica()
    known = np.arange(learn)
    asked = recorded.select(["submit_s", "prompt_tokens", "output_tokens"])
    largest = int((asked.numpy("prompt_tokens") + asked.numpy("output_tokens")).max())

    def of(x: Array) -> Replica:
        times = dict(zip(TIMES, np.exp(x[:4]), strict=True))
        cache = int(given.cache_tokens * np.exp(np.clip(x[4], -0.5, 0.5)))
        return replace(given, **times, cache_tokens=max(largest, cache))

    def misfit(x: Array) -> float:
        return _misfit(serve(asked, "fcfs", of(x), deployment=deployment), recorded, known)

    start = np.log([getattr(given, name) for name in TIMES])
    fits = [_least(misfit, np.append(start + np.log(s), 0.0)) for s in STARTS]
    result = of(min(fits, key=misfit))
    served = serve(asked, "fcfs", result, deployment=deployment)
    return result, _errors(served, recorded, np.arange(learn, len(recorded)))


def _least(misfit: Callable[[Array], float], x: Array) -> Array:
    for _ in range(ROUNDS):
        corners = np.vstack([x, x + np.diag([0.5, 0.5, 0.5, 0.5, 0.1])])
        options = {"maxiter": STEPS, "xatol": 1e-3, "fatol": 1e-4, "initial_simplex": corners}
        x = minimize(misfit, x, method="Nelder-Mead", options=options).x
    return x


def latencies(requests: JobTable) -> tuple[Array, Array, Array]:
    """Seconds to the first token, per further token, and to the last, each (n,)."""
    submit, first, end = (requests.numpy(c) for c in ("submit_s", "start_s", "end_s"))
    more = np.maximum(requests.numpy("output_tokens") - 1, 1)
    return np.maximum(first - submit, 1e-3), (end - first) / more, np.maximum(end - submit, 1e-3)


def _misfit(served: Served, recorded: JobTable, rows: Rows) -> float:
    ours, theirs = latencies(served.requests), latencies(recorded)
    first, whole = (np.abs(np.log(ours[k] / theirs[k]))[rows] for k in (0, 2))
    late = np.minimum(whole, WORST).mean() + FIRST_TOKEN * np.minimum(first, WORST).mean()
    return float(late)


def _errors(served: Served, recorded: JobTable, rows: Rows) -> dict[str, float]:
    ours, theirs = latencies(served.requests), latencies(recorded)
    return {
        name: float(np.median(np.abs(a / np.maximum(b, 1e-9) - 1)[rows]))
        for name, a, b in zip(("ttft", "tpot", "latency"), ours, theirs, strict=True)
    }
