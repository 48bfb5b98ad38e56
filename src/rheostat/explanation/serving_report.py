"""A trace of requests served under several orders: latencies, and who waits over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.report import Chart, Grid, Report, Section

Array = NDArray[np.float64]
SHARES = np.concatenate([np.linspace(0.01, 0.95, 48), np.linspace(0.955, 0.995, 9)])
MOMENTS = 150


def serving_report(
    facts: Mapping[str, Any], times: Mapping[str, tuple[Array, Array, Array]], said: str
) -> Report:
    """What each order makes of the requests.

    Parameters
    ----------
    facts
        ``policies``: order to figure to number.
    times
        Order to the moments of submission, first and last token (s), each (n,).
    said
        Whether an order can help.
    """
    figures = facts["policies"]
    heads = ("order", *next(iter(figures.values())))
    rows = tuple((name, *values.values()) for name, values in figures.items())
    first = Section("Will an order help?", (said,), Grid(heads, rows))
    return Report("Requests to a language model", [first, *_over_time(times)], facts)


def calibration_report(
    facts: Mapping[str, Any], times: Mapping[str, tuple[Array, Array, Array]]
) -> Report:
    """How far a calibrated server is from the recorded one.

    Parameters
    ----------
    facts
        ``errors``: name to errors by what was measured; ``notes``; ``requests`` and ``learned``.
    times
        ``recorded`` and ``calibrated`` to the moments of submission, first and last token (s),
        each (n,).
    """
    kinds = tuple(facts["median_error"])
    rows = tuple((name, *off.values()) for name, off in facts["errors"].items())
    said = (f"Errors relative to what was recorded; learned from the first {facts['learned']} of "
            f"{facts['requests']} requests, errors of the others.", *facts["notes"])  # fmt: skip
    grid = Grid(("error", *kinds), rows, ("", *("share" for _ in kinds)))
    first = Section("How far off", said, grid)
    return Report("A server as recorded and as calibrated", [first, *_over_time(times)], facts)


def _over_time(times: Mapping[str, tuple[Array, Array, Array]]) -> list[Section]:
    latency = Chart("line", tuple(_latency(n, *t) for n, t in times.items()),
                    ("share of requests", "latency at most"), units=("share", "s"))  # fmt: skip
    waiting = Chart("line", tuple(_waiting(n, *t) for n, t in times.items()),
                    ("time", "requests without a first token"), units=("s", ""))  # fmt: skip
    return [Section("Latency", (), None, latency), Section("Who waits", (), None, waiting)]


def _latency(name: str, submit: Array, first: Array, end: Array) -> dict[str, Any]:
    return {"name": name, "line": True, "x": SHARES.tolist(),
            "y": np.quantile(end - submit, SHARES).tolist()}  # fmt: skip


def _waiting(name: str, submit: Array, first: Array, end: Array) -> dict[str, Any]:
    at = np.linspace(submit.min(), end.max(), MOMENTS)
    come, begun = (np.searchsorted(np.sort(t), at, side="right") for t in (submit, first))
    return {"name": name, "line": True, "x": (at - at[0]).tolist(), "y": (come - begun).tolist()}
