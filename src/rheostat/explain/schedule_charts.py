"""Pictures of simulated runs, as `Chart` values: lines over time, occupancy, close-up, columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rheostat.core.report import Chart, Section
from rheostat.explain.words import duration

LINES = 6
USERS = 20
Facts = Mapping[str, Any]


def over_time(shown: Facts) -> list[Section]:
    """Utilisation, queue depth, and power where it is known."""
    per = f"Means over {duration(shown['bin_s'])}."
    series = shown["series"]
    if len(series) > LINES:
        per += f" The first {LINES} policies are drawn."
    sections = [
        Section("Utilisation", (per,), None, _lines(shown, "utilisation", "share of the machine")),
        Section("Queue depth", (per,), None, _lines(shown, "queue", "jobs waiting")),
    ]
    if all("power_w" in s for s in series.values()):
        sections.append(_power(shown, per))
    return sections


def _power(shown: Facts, per: str) -> Section:
    chart = _lines(shown, "power_w", "kW", scale=1e-3)
    cap = shown.get("cap_w")
    if cap is None:
        return Section("Power", (per,), None, chart)
    days = [shown["day"][0], shown["day"][-1]]
    line = {"x": days, "y": [cap / 1e3, cap / 1e3], "name": "cap", "dash": True}
    peak = max(float(np.max(s["peak_w"])) for s in shown["series"].values())
    held = "never exceeded" if peak <= cap * (1 + 1e-9) else "exceeded"
    said = f"The cap of {cap / 1e3:,.4g} kW is {held}: the peak is {peak / 1e3:,.4g} kW."
    return Section("Power", (said, per), None, Chart("time", (*chart.series, line), chart.axes))


def _lines(shown: Facts, key: str, axis: str, *, scale: float = 1.0) -> Chart:
    day = _short(shown["day"])
    series = [
        {"x": day, "y": _short(scale * s[key]), "name": name}
        for name, s in list(shown["series"].items())[:LINES]
    ]
    return Chart("time", tuple(series), ("days since the first submission", axis))


def gantt(shown: Facts) -> list[Section]:
    """Who holds the machine over the whole trace; job by job where the queue is deepest."""
    sections = []
    for name, found in shown["occupancy"].items():
        rows = {"x": _short(shown["day"]), "y": found["rows"], "z": _short(found["share"])}
        chart = Chart("heat", (rows | {"name": "share"},), ("days since the first submission", ""))
        said = f"{name}: share of the machine held, over {duration(shown['bin_s'])} each."
        sections.append(Section(f"Gantt chart, whole trace: {name}", (said,), None, chart))
    for name, found in shown["close_up"].items():
        sections.append(_close_up(name, found))
    return sections


def _close_up(name: str, found: Facts) -> Section:
    text = [
        f"job {j}<br>waited {duration(w)}"
        for j, w in zip(found["job_id"], found["wait_s"], strict=True)
    ]
    bars = {
        "x": _short(found["hours"], 6),
        "base": _short(found["hour"], 6),
        "y": (found["lowest"] + found["procs"] / 2).tolist(),
        "width": found["procs"].tolist(),
        "shade": _short(np.log10(np.maximum(found["wait_s"], 1.0)), 3),
        "hover": text,
        "top": found["machine"],
    }
    said = [
        f"{name}: {found['jobs']:,} jobs around the deepest queue of the first policy; "
        "the darker, the longer the job waited.",
        "Processors are drawn as if the lowest free ones were taken.",
    ]
    if found["left_out"]:
        said.append(f"{found['left_out']:,} smaller jobs in this window are not drawn.")
    axes = (f"hours from day {found['day']:.2f}", "processors")
    return Section(
        f"Gantt chart, close-up: {name}", tuple(said), None, Chart("gantt", (bars,), axes)
    )


def columns(facts: Facts, by: str) -> Chart:
    """Mean wait of each group under each policy; users are the largest under the first policy."""
    policies = facts["policies"]
    first = next(iter(policies.values()))[by]
    names = [g["name"] for g in first][: USERS if by == "by_user" else None]
    series = []
    for policy, p in list(policies.items())[:LINES]:
        mean = {g["name"]: g["wait_s"]["mean"] / 3600 for g in p[by]}
        series.append({"x": names, "y": [_round(mean[n]) for n in names], "name": policy})
    return Chart("columns", tuple(series), ("", "mean wait, hours"))


def differences(shown: Facts) -> list[Section]:
    """How the jobs' waits moved from the first run, in classes, and against each other."""
    if not shown["changes"]:
        return []
    classes = list(shown["change_classes"])
    moved = list(shown["changes"].items())[: LINES - 1]
    series = [
        {"x": classes, "y": _short(v), "name": n, "slot": i} for i, (n, v) in enumerate(moved, 1)
    ]
    base = next(iter(shown["series"]))
    said = f"Share of the jobs whose wait moved by so much from {base}."
    chart = Chart("columns", tuple(series), ("", "share of the jobs"))
    return [Section("Job by job", (said,), None, chart), _pairs(shown, base)]


def _pairs(shown: Facts, base: str) -> Section:
    found, other = shown["wait_pairs"], list(shown["changes"])[-1]
    words = [duration(10.0**v) for v in found["log10_s"]]
    jobs = np.where(found["jobs"] > 0, np.log10(np.maximum(found["jobs"], 1)), np.nan)
    cells = {"x": words, "y": words, "z": _short(jobs), "name": "jobs", "tens": True}
    said = f"Each square: jobs with this wait under {base} (across) and {other} (up)."
    under = "Below the diagonal the job waits less; the darker, the more jobs."
    chart = Chart("heat", (cells,), (f"wait under {base}", f"wait under {other}"))
    return Section("Wait against wait", (said, under), None, chart)


def _short(values: Any, digits: int = 4) -> list[Any]:
    """Rounded, so that the page stays small; NaN becomes None."""
    if np.ndim(values) > 1:
        return [_short(v, digits) for v in values]
    return [_round(v, digits) for v in np.asarray(values, float).tolist()]


def _round(value: float, digits: int = 4) -> float | None:
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None
