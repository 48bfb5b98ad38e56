"""What a schedule is worth: waits, slowdowns, utilisation, who gains and who loses.

    Symbol  Unit  Meaning
    w       s     wait, start less submission
    r       s     run time
    bsld          bounded slowdown max(1, (w + r) / max(r, 10 s))

References
----------
Feitelson, Rudolph, Schwiegelshohn, Sevcik, Wong, "Theory and practice in parallel job scheduling",
JSSPP 1997 (bounded slowdown).  Jain, Chiu, Hawe, DEC TR-301, 1984 (fairness index).
"""

from __future__ import annotations

import numpy as np

from rheostat.core.jobs import JobTable

BOUND_S = 10.0
Array = np.ndarray


def bounded_slowdown(wait_s: Array, run_s: Array) -> Array:
    """max(1, (w + r) / max(r, 10 s)).

    >>> bounded_slowdown(np.array([0.0, 90.0]), np.array([5.0, 10.0])).tolist()
    [1.0, 10.0]
    """
    return np.maximum(1.0, (wait_s + run_s) / np.maximum(run_s, BOUND_S))


def spread(values: Array) -> dict[str, float]:
    """Mean, p50, p95, p99 and max; NaN for no values."""
    if not len(values):
        return dict.fromkeys(("mean", "p50", "p95", "p99", "max"), float("nan"))
    p50, p95, p99 = np.percentile(values, (50, 95, 99))
    return {
        "mean": float(values.mean()),
        "p50": float(p50),
        "p95": float(p95),
        "p99": float(p99),
        "max": float(values.max()),
    }


def metrics(jobs: JobTable, procs: int) -> dict[str, object]:
    """Of a simulated table on a machine of ``procs`` processors.

    ``utilisation`` is processor-seconds used over those there from the first submission to the
    last end; ``starvation_rate`` the share of jobs that waited longer than a day and than ten times
    the run time they were planned with.
    """
    wait, run, size = jobs.numpy("wait_s"), jobs.numpy("runtime_s"), jobs.numpy("procs")
    begin, end = jobs.numpy("submit_s").min(), jobs.numpy("end_s").max()
    makespan = float(end - begin)
    area = float((run * size).sum())
    starved = (wait > 86_400) & (wait > 10 * jobs.numpy("estimate_s"))
    return {
        "jobs": len(jobs),
        "wait_s": spread(wait),
        "bounded_slowdown": spread(bounded_slowdown(wait, run)),
        "response_s": spread(wait + run),
        "utilisation": area / (procs * makespan) if makespan > 0 else float("nan"),
        "makespan_s": makespan,
        "throughput_per_h": 3600 * len(jobs) / makespan if makespan > 0 else float("nan"),
        "starvation_rate": float(starved.mean()),
    }
