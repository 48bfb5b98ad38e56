"""What pictures of simulated runs show, as `Chart` values: over time, occupancy, jobs, groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rheostat.core.report import Chart, Section
from rheostat.core.units import format_moment
from rheostat.explanation.number_words import duration, listed

USERS = 20
COLUMNS = 120  # bars of a picture with a group per user
SINCE = "time since the first submission"
DAY_S = 86_400.0
Facts = Mapping[str, Any]


def over_time(shown: Facts) -> list[Section]:
    """Utilisation, queue depth, and power where it is known."""
    per = (f"Means over {duration(shown['bin_s'])}.",)
    sections = [
        Section("Utilisation", per, None, _lines(shown, "utilisation", "utilisation", "share")),
        Section("Queue depth", per, None, _lines(shown, "queue", "jobs waiting", "")),
    ]
    if all("power_w" in s for s in shown["series"].values()):
        sections.append(_power(shown, per))
    return sections


def _power(shown: Facts, per: tuple[str, ...]) -> Section:
    chart = _lines(shown, "power_w", "power", "W")
    cap = shown["cap_w"]
    if cap is None:
        return Section("Power", per, None, chart)
    line = {"x": _moments(shown)[0], "y": _short(cap), "name": "cap", "limit": True}
    said = [_held(name, s) for name, s in shown["series"].items()]
    drawn = replace(chart, series=(*chart.series, line))
    return Section("Power", (*said, *per), None, drawn)


def _held(name: str, run: Facts) -> str:
    """Whether the cap held at every moment, not in the mean of a bin."""
    if not run["cap_exceeded_s"]:
        return f"{name}: the cap is never exceeded."
    most = f"{run['cap_excess_w'] / 1e3:,.4g} kW"
    return f"{name}: the cap is exceeded for {duration(run['cap_exceeded_s'])}, by up to {most}."


def _lines(shown: Facts, key: str, axis: str, unit: str) -> Chart:
    seconds, since, of = _moments(shown)
    series = [
        {"x": seconds, "y": _short(_until(shown, name, s[key])), "name": name}
        for name, s in shown["series"].items()
    ]
    return Chart("time", tuple(series), (since, axis), units=(of, unit))


def _moments(shown: Facts) -> tuple[list[Any], str, str]:
    """Where bins lie on the axis of time, its title and unit: dates where the log has them."""
    zero = shown["calendar_s"]
    if zero is None:
        return _short(DAY_S * shown["day"], 5), SINCE, "s"
    begin = zero + shown["begin_s"]
    return np.round(begin + DAY_S * shown["day"]).tolist(), "date", "date"


def _until(shown: Facts, name: str, values: np.ndarray) -> np.ndarray:
    """Nothing is drawn of a run that has ended: an idle machine is not what others wait for."""
    return np.where(shown["day"] <= shown["end_day"][name], values, np.nan)


def gantt(shown: Facts) -> list[Section]:
    """Who holds the machine over the whole trace; job by job where the queue is deepest."""
    sections = []
    for name, shares in shown["occupancy"].items():
        seconds, since, of = _moments(shown)
        rows = {"x": seconds, "y": shares["rows"], "z": _short(shares["share"])}
        chart = Chart("occupancy", (rows,), (since, ""), units=(of, ""))
        said = [f"{name}: share of the machine held, over {duration(shown['bin_s'])} each."]
        said += _left_out(shown)
        sections.append(Section(f"Who holds the machine: {name}", tuple(said), None, chart))
    waits = np.concatenate([f["wait_s"] for f in shown["close_up"].values()])
    limits = [float(waits.min()), float(waits.max())] if len(waits) else [0.0, 1.0]
    for name, jobs in shown["close_up"].items():
        sections.append(_close_up(name, jobs, limits, _day(shown, jobs["day"])))
    return sections


def _left_out(shown: Facts) -> list[str]:
    """That of many policies two are drawn like this."""
    policies = list(shown["series"])
    if len(policies) < 3:
        return []
    ends = listed([policies[0], policies[-1]])
    return [f"Of the {len(policies)} policies the first and the last are drawn: {ends}."]


def _day(shown: Facts, day: float) -> str:
    """When a close-up begins: a date, or days since the log began."""
    if shown["calendar_s"] is None:
        return f"day {day:.2f}"
    begin = shown["calendar_s"] + shown["begin_s"] + DAY_S * day
    return format_moment(begin, "%Y-%m-%d %H:%M UTC")


def _close_up(name: str, jobs: Facts, limits: list[float], day: str) -> Section:
    text = [
        f"<b>job {j}</b><br>waited {duration(w)}"
        for j, w in zip(jobs["job_id"], jobs["wait_s"], strict=True)
    ]
    bars = {
        "begin": _short(3600 * jobs["hour"], 6),
        "length": _short(3600 * jobs["hours"], 6),
        "row": (jobs["lowest"] + jobs["procs"] / 2).tolist(),
        "width": jobs["procs"].tolist(),
        "value": _short(jobs["wait_s"], 3),
        "limits": limits,
        "quantity": "wait",
        "unit": "s",
        "hover": text,
        "top": jobs["machine"],
    }
    said = [
        f"{name}: {jobs['jobs']:,} jobs about the time at which most processors are waited for "
        "under the first policy; the darker, the longer the job waited.",
        "Processors are drawn as if the lowest free ones were taken.",
    ]
    if jobs["left_out"]:
        said.append(f"{jobs['left_out']:,} smaller jobs in this window are not drawn.")
    axes = (f"time from {day}", "processors")
    chart = Chart("gantt", (bars,), axes, units=("s", ""))
    return Section(f"Gantt chart, close-up: {name}", tuple(said), None, chart)


def columns(facts: Facts, by: str) -> Chart:
    """Mean wait of each group under each policy; users are the largest under the first policy."""
    policies = facts["policies"]
    first = next(iter(policies.values()))[by]
    names = [g["name"] for g in first][: users_shown(facts) if by == "by_user" else None]
    series = []
    for policy, p in policies.items():
        mean = {g["name"]: g["wait_s"]["mean"] for g in p[by]}
        series.append({"x": names, "y": [_round(mean[n]) for n in names], "name": policy})
    title = {"by_user": "user", "by_size": "share of the machine requested"}.get(by, "run time")
    return Chart("columns", tuple(series), (title, "mean wait"), units=("", "s"))


def users_shown(facts: Facts) -> int:
    """So many users that the bars of all policies stay wide enough to be seen."""
    return max(5, min(USERS, COLUMNS // len(facts["policies"])))


def differences(shown: Facts) -> list[Section]:
    """How the jobs' waits moved from the first run, in classes, and against each other."""
    if not shown["changes"]:
        return []
    classes = list(shown["change_classes"])
    moved = shown["changes"].items()
    series = [
        {"x": classes, "y": _short(v), "name": n, "place": i} for i, (n, v) in enumerate(moved, 1)
    ]
    base = next(iter(shown["series"]))
    said = f"Share of the jobs whose wait moved by so much from {base}."
    axes = ("change of the wait", "share of the jobs")
    chart = Chart("columns", tuple(series), axes, units=("", "share"))
    return [Section("Job by job", (said,), None, chart), _pairs(shown, base)]


def _pairs(shown: Facts, base: str) -> Section:
    waits, other = shown["wait_pairs"], list(shown["changes"])[-1]
    place = _short(waits["log10_s"])
    cells = {"x": place, "y": place, "z": waits["jobs"].astype(int).tolist()}
    said = f"Each square: jobs with this wait under {base} (across) and {other} (up)."
    under = (
        "Below the dotted line the job waits less; the darker, the more jobs.  Waits under 1 s "
        "are drawn as 1 s."
    )
    chart = Chart("pairs", (cells,), (f"wait under {base}", f"wait under {other}"))
    return Section("Wait against wait", (said, under), None, chart)


def _short(values: Any, digits: int = 4) -> list[Any]:
    """Rounded, so that the page stays small; NaN becomes None."""
    if np.ndim(values) > 1:
        return [_short(v, digits) for v in values]
    return [_round(v, digits) for v in np.asarray(values, float).tolist()]


def _round(value: float, digits: int = 4) -> float | None:
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None
