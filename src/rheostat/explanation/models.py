"""Words for models: which columns matter, and which method did better."""

from __future__ import annotations

import math
from typing import Any

from rheostat.core.report import Chart, Grid, Section
from rheostat.core.units import plain_name
from rheostat.explanation.number_words import listed, share
from rheostat.prediction.compare import Row
from rheostat.prediction.importance import Importance

Explained = tuple[list[Section], dict[str, Any]]
SHOWN = 10
_MEANING = {
    "permutation": "how much worse the forecast gets when a column is shuffled",
    "attention": "where the network looks",
    "shapley": "how far a column moves forecasts away from their mean",
}


def explain_importance(importance: Importance) -> Explained:
    """The columns a forecast leans on, largest first; columns within noise of zero are named."""
    clear = [n for n, low in zip(importance.names, importance.low, strict=True) if low > 0]
    idle = [n for n in importance.names if n not in clear]
    target = "forecasts" if importance.target == "all" else f"the {plain_name(importance.target)}"
    said = [
        f"For {target}, {listed(clear[:3])} {'matters' if len(clear) == 1 else 'matter'} most"
        f" ({importance.method}: {_MEANING.get(importance.method, importance.unit)})."
        if clear
        else f"For {target}, no column stands out from noise."
    ]
    if idle:
        said.append(f"Not distinguishable from noise: {listed(idle)}.")
    names, values = list(importance.names[:SHOWN]), [float(v) for v in importance.values[:SHOWN]]
    bars = {
        "name": importance.method,
        "x": names,
        "y": values,
        "low": [float(v) for v in importance.low[:SHOWN]],
        "high": [float(v) for v in importance.high[:SHOWN]],
    }
    chart = Chart("bar", (bars,), ("column", importance.unit))
    rows = [
        {"column": n, "value": float(v), "interval": [float(a), float(b)]}
        for n, v, a, b in zip(
            importance.names, importance.values, importance.low, importance.high, strict=True
        )
    ]
    facts = {
        "method": importance.method,
        "target": importance.target,
        "unit": importance.unit,
        "columns": rows,
    }
    return [Section("leans on", tuple(said), None, chart)], facts


def explain_comparison(rows: list[Row]) -> Explained:
    """A table of methods; the best by median error for each quantity is named with the next."""
    grid = Grid(
        (
            "quantity",
            "group",
            "method",
            "jobs",
            "median error",
            "R2 of logs",
            "coverage",
            "abstains",
        ),
        tuple(_scores(r) for r in sorted(rows, key=_order) if r.jobs),
        ("", "", "", "", "share", "", "share", "share"),
    )
    said = [s for q in dict.fromkeys(r.quantity for r in rows) for s in _best(rows, q)]
    said.append("median error: half of the forecasts are nearer; [5 %, 95 %] over resampled jobs.")
    return [Section("compare", tuple(said), grid, _errors(rows))], {
        "rows": [_facts(r) for r in rows]
    }


def _errors(rows: list[Row]) -> Chart | None:
    """The median error of each method, for each quantity, over all jobs."""
    here = [r for r in rows if r.group == "all" and r.jobs]
    methods = list(dict.fromkeys(r.method for r in here))
    series = []
    for quantity in dict.fromkeys(r.quantity for r in here):
        own = {r.method: r.scores["median_abs_log_error"] for r in here if r.quantity == quantity}
        ends = [[_error(v) for v in own.get(m, (None,) * 3)] for m in methods]
        y, low, high = zip(*ends, strict=True)
        name = plain_name(quantity)
        series.append({"name": name, "x": methods, "y": y, "low": low, "high": high})
    if not series:
        return None
    return Chart("bar", tuple(series), ("method", "median error"), units=("", "share"))


def _error(log_error: float | None) -> float | None:
    """A relative error from that of logarithms."""
    return math.expm1(log_error) if log_error is not None and math.isfinite(log_error) else None


def _order(row: Row) -> tuple[str, str, float]:
    return row.quantity, row.group, row.scores["median_abs_log_error"][0]


def _scores(row: Row) -> tuple[Any, ...]:
    error = tuple(math.expm1(v) for v in row.scores["median_abs_log_error"])
    r2, coverage = row.scores["r2_log"][0], row.scores["coverage"][0]
    shown = round(r2, 3) if math.isfinite(r2) else None
    name = plain_name(row.quantity)
    return (name, row.group, row.method, row.jobs, error, shown, coverage, row.abstained)


def _best(rows: list[Row], quantity: str) -> list[str]:
    here = sorted((r for r in rows if r.quantity == quantity and r.group == "all"), key=_order)
    if len(here) < 2:
        return []
    first, second = here[:2]
    a, b = first.scores["median_abs_log_error"], second.scores["median_abs_log_error"]
    sure = "clearly" if a[2] < b[1] else "within noise"
    half = share(math.expm1(a[0]), 1)
    return [
        f"{plain_name(quantity)}: {first.method} is nearest (half of its forecasts within {half}), "
        f"{sure} ahead of {second.method}."
    ]


def _facts(row: Row) -> dict[str, Any]:
    return {
        "method": row.method,
        "quantity": row.quantity,
        "group": row.group,
        "jobs": row.jobs,
        "abstained": row.abstained,
        **{k: {"value": v[0], "interval": [v[1], v[2]]} for k, v in row.scores.items()},
        "fit_s": row.fit_s,
    }
