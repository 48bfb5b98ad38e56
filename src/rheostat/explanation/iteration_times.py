"""A forecast of iteration times as a report: the series, its intervals, the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.outcome import Array
from rheostat.core.report import Chart, Grid, Report, Section

SHOWN = 120
"""Newest iterations that are drawn."""


@dataclass(frozen=True, eq=False)
class ForecastFacts:
    """One application of a run, as plain values.

    Parameters
    ----------
    app
        Its name.
    first
        Number of the first iteration, that of the mark at its end.
    time_s
        Iterations of the run, NaN where one was not seen.
    said_s
        What was forecast one ahead of each.
    next_s, low_s, high_s
        The iterations to come.
    changes
        Numbers of the iterations at which the level changed.
    mape, coverage
        One ahead, over the scored iterations; in percent, and a share.
    last_mape
        Of a forecast that repeats the last iteration.
    reason
        Why to go back to simulation; empty otherwise.
    """

    app: str
    first: int
    time_s: Array
    said_s: Array
    next_s: Array
    low_s: Array
    high_s: Array
    changes: Sequence[int]
    mape: float | None
    last_mape: float | None
    coverage: float | None
    reason: str

    @property
    def following(self) -> int:
        """Number of the next iteration."""
        return self.first + len(self.time_s)


def explain_forecast(run: str, apps: Sequence[ForecastFacts]) -> Report:
    """Sections per application, and all numbers as facts."""
    said = [
        f"{a.app}: the next iteration, {a.following}, takes {_span(nearest)}{_how_sure(a)}."
        for a in apps[:3]
        if (nearest := _ahead(a, 1))
    ]
    sections = [Section("forecast", tuple(said or ["No iteration can be forecast."]), _grid(apps))]
    sections += [Section(a.app, _sentences(a), None, _chart(a)) for a in apps]
    facts = {"run": run, "applications": {a.app: _facts(a) for a in apps}}
    return Report(f"iteration times of {run}", sections, facts)


def _grid(apps: Sequence[ForecastFacts]) -> Grid:
    heads = ("app", "iterations", "next", "in 10", "error", "error of the last one", "coverage")
    rows = tuple(
        (a.app, _seen(a), _ahead(a, 1), _ahead(a, 10), _part(a.mape), _part(a.last_mape),
         a.coverage)
        for a in apps
    )  # fmt: skip
    return Grid(heads, rows, ("", "", "s", "s", "rate", "rate", "share"))


def _seen(a: ForecastFacts) -> int:
    return int(np.isfinite(a.time_s).sum())


def _ahead(a: ForecastFacts, step: int) -> tuple[float, float, float] | None:
    if len(a.next_s) < step:
        return None
    return float(a.next_s[step - 1]), float(a.low_s[step - 1]), float(a.high_s[step - 1])


def _span(times: tuple[float, float, float]) -> str:
    mean, low, high = (f"{t:.4g}" for t in times)
    return f"{mean} s [{low}, {high}]"


def _how_sure(a: ForecastFacts) -> str:
    """How far off forecasts one ahead were, where some were scored."""
    return "" if a.mape is None else f"; forecasts one ahead were {a.mape:.2g} % off on average"


def _part(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _sentences(a: ForecastFacts) -> tuple[str, ...]:
    said = [f"{_seen(a)} iterations were seen."]
    if a.changes:
        at = ", ".join(str(c) for c in a.changes[-8:])
        said.append(f"The level changed at iteration {at}.")
    if a.reason:
        said.append(f"Go back to simulation: {a.reason}.")
    return tuple(said)


def _chart(a: ForecastFacts) -> Chart:
    begin = max(len(a.time_s) - SHOWN, 0)
    ahead = list(range(a.following, a.following + len(a.next_s)))
    ends = [float(np.nanmin([*a.time_s[begin:], *a.low_s])),
            float(np.nanmax([*a.time_s[begin:], *a.high_s]))]  # fmt: skip
    series: list[dict[str, Any]] = [
        {"name": "simulated", **_there(a.time_s, begin, a.first), "size": 5.0},
        {"name": "forecast one ahead", **_there(a.said_s, begin, a.first), "size": 5.0,
         "symbol": "cross"},
        {"name": "to come", "x": ahead, "y": a.next_s.tolist(), "low": a.low_s.tolist(),
         "high": a.high_s.tolist(), "size": 6.0, "symbol": "diamond"},
    ]  # fmt: skip
    series += [{"name": f"change at {c}", "x": [c, c], "y": ends, "line": True}
               for c in a.changes if c >= a.first + begin]  # fmt: skip
    return Chart("scatter", tuple(series), ("iteration", "time of an iteration"), units=("", "s"))


def _there(values: Array, begin: int, first: int) -> dict[str, list[float]]:
    """Iterations and values of the numbers that are there."""
    kept = [i for i in range(begin, len(values)) if np.isfinite(values[i])]
    return {"x": [first + i for i in kept], "y": [float(values[i]) for i in kept]}


def _facts(a: ForecastFacts) -> dict[str, Any]:
    return {
        "iterations": _seen(a), "first_iteration": a.first, "next_iteration": a.following,
        "time_s": a.time_s.tolist(),
        "forecast_s": a.next_s.tolist(), "low_s": a.low_s.tolist(), "high_s": a.high_s.tolist(),
        "changes": list(a.changes), "mape": a.mape, "mape_last": a.last_mape,
        "coverage": a.coverage, "simulate": bool(a.reason), "reason": a.reason,
    }  # fmt: skip
