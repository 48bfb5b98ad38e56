"""A trace of requests served under several orders: latencies, and who waits over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def candidates_report(facts: Mapping[str, Any], said: Sequence[str]) -> Report:
    """What each configuration and order makes of a trace.

    Parameters
    ----------
    facts
        ``candidates``: rows of a ``setting`` and figures, the best first.
    said
        The choice and what simple rules take.
    """
    rows = facts["candidates"]
    keys = [k for k in rows[0] if k not in ("setting", "excess")]
    cells = tuple((*r["setting"].values(), *(r[k] for k in keys)) for r in rows)
    drawn = [{"name": order, "x": [r["ttft_p99_s"] for r in rows if r["order"] == order],
              "y": [r["energy_per_token_j"] for r in rows if r["order"] == order]}
             for order in dict.fromkeys(r["order"] for r in rows)]  # fmt: skip
    chart = Chart("scatter", tuple(drawn), ("first tokens of 99 % within", "energy per token"),
                  log=True, units=("s", "J"))  # fmt: skip
    grid = Grid((*rows[0]["setting"], *keys), cells)
    return Report("", [Section("Candidates on the trace", tuple(said), grid, chart)], facts)


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
