"""Pictures of simulated runs, as `Chart` values: lines over time, occupancy, close-up, columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rheostat.core.report import Chart, Section
from rheostat.explain.words import duration

LINES = 6
USERS = 20
TICKS_S = (1, 10, 60, 600, 3600, 36_000, 86_400, 864_000, 8_640_000)
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
    cap = shown["cap_w"]
    if cap is None:
        return Section("Power", (per,), None, chart)
    line = {"x": _short(shown["day"]), "y": _short(1e-3 * cap), "name": "cap", "dash": True}
    said = [_held(name, s) for name, s in shown["series"].items()]
    return Section("Power", (*said, per), None, Chart("time", (*chart.series, line), chart.axes))


def _held(name: str, run: Facts) -> str:
    """Whether the cap held at every moment, not in the mean of a bin."""
    if not run["cap_exceeded_s"]:
        return f"{name}: the cap is never exceeded."
    most = f"{run['cap_excess_w'] / 1e3:,.4g} kW"
    return f"{name}: the cap is exceeded for {duration(run['cap_exceeded_s'])}, by up to {most}."


def _lines(shown: Facts, key: str, axis: str, *, scale: float = 1.0) -> Chart:
    day = shown["day"]
    series = [
        {"x": _short(day), "y": _short(_until(shown, name, scale * s[key])), "name": name}
        for name, s in list(shown["series"].items())[:LINES]
    ]
    return Chart("time", tuple(series), ("days since the first submission", axis))


def _until(shown: Facts, name: str, values: np.ndarray) -> np.ndarray:
    """Nothing is drawn of a run that has ended: an idle machine is not what others wait for."""
    return np.where(shown["day"] <= shown["end_day"][name], values, np.nan)


def gantt(shown: Facts) -> list[Section]:
    """Who holds the machine over the whole trace; job by job where the queue is deepest."""
    sections = []
    for name, found in shown["occupancy"].items():
        rows = {"x": _short(shown["day"]), "y": found["rows"], "z": _short(found["share"])}
        chart = Chart("heat", (rows | {"name": "share"},), ("days since the first submission", ""))
        said = f"{name}: share of the machine held, over {duration(shown['bin_s'])} each."
        sections.append(Section(f"Gantt chart, whole trace: {name}", (said,), None, chart))
    waits = np.concatenate([f["wait_s"] for f in shown["close_up"].values()])
    shades = _short(np.log10(np.maximum([waits.min(), waits.max()], 1.0))) if len(waits) else [0, 1]
    for name, found in shown["close_up"].items():
        sections.append(_close_up(name, found, shades))
    return sections


def _close_up(name: str, found: Facts, shades: list[Any]) -> Section:
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
        "shades": shades,
        "top": found["machine"],
    }
    said = [
        f"{name}: {found['jobs']:,} jobs about the time at which most processors are waited for "
        "under the first policy; the darker, the longer the job waited.",
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
    return Chart("columns", tuple(series), ("user" if by == "by_user" else "", "mean wait, hours"))


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
    place = _short(found["log10_s"])
    ticks = [t for t in TICKS_S if np.log10(t) <= found["log10_s"][-1]]
    cells = {
        "x": place,
        "y": place,
        "z": _short(jobs),
        "name": "jobs",
        "tens": True,
        "words": words,
    }
    cells["ticks"] = _short(np.log10(ticks))
    cells["tick_words"] = [duration(t) for t in ticks]
    said = f"Each square: jobs with this wait under {base} (across) and {other} (up)."
    under = (
        "Below the dotted line the job waits less; the darker, the more jobs.  Waits under 1 s "
        "are drawn as 1 s."
    )
    chart = Chart("heat", (cells,), (f"wait under {base}", f"wait under {other}"))
    return Section("Wait against wait", (said, under), None, chart)


def _short(values: Any, digits: int = 4) -> list[Any]:
    """Rounded, so that the page stays small; NaN becomes None."""
    if np.ndim(values) > 1:
        return [_short(v, digits) for v in values]
    return [_round(v, digits) for v in np.asarray(values, float).tolist()]


def _round(value: float, digits: int = 4) -> float | None:
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None
