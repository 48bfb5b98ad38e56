"""What a training says: how the agent got better, and how it does on jobs it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.explanation.number_words import share
from rheostat.explanation.schedules.schedule import paired_grid, policy_grid, power_grid

Facts = Mapping[str, Any]
CURVES = (
    ("Mean reward", "mean_reward", "reward per decision", "Of the decisions learned from."),
    ("Mean wait while learning", "mean_wait_s", "mean wait", "Of the jobs of each jobset."),
    ("Slowdown while learning", "mean_bounded_slowdown", "mean bounded slowdown",
     "Of the jobs of each jobset."),
    ("Entropy of the choices", "entropy", "entropy (nats)",
     "High: choices are alike to the agent.  Low: it has made up its mind."),
    ("Error of the expectations", "value_error", "squared error",
     "Of the sums of rewards that the network expects, scaled to vary by 1."),
)  # fmt: skip
UNITS = {"mean_wait_s": "s"}


def learning_text(facts: Facts) -> Report:
    """For a terminal: the last rounds, then the held-out jobs."""
    sections = [Section("train", _said(facts), history_grid(facts["history"][-8:]))]
    return Report("", [*sections, *_unseen(facts)])


def history_grid(history: Sequence[Facts]) -> Grid:
    """A row per round; columns that every round has, bookkeeping left out."""
    left_out = ("of", "check", "max_wait_s", "uniform", "moved")
    names = tuple(k for k in history[0] if k not in left_out) if history else ()
    return Grid(names, tuple(tuple(f.get(n) for n in names) for f in history))


def learning_report(facts: Facts) -> Report:
    """The page: curves, the held-out jobs, the settings."""
    history, rounds = facts["history"], facts["rounds"]
    sections = [Section("Training", _said(facts))]
    sections += [s for curve in CURVES for s in _curve(history, rounds, *curve)]
    sections += _checks(history, rounds)
    sections += _unseen(facts)
    setup = tuple((k, str(v)) for k, v in facts["setup"].items())
    sections.append(Section("Settings", (), Grid(("switch", "value"), setup)))
    name = facts["trace"].rpartition("/")[2]
    return Report(f"{facts['agent']} learns from {name}", sections, facts)


def _said(facts: Facts) -> tuple[str, ...]:
    history = facts["history"]
    jobs = f"{facts['jobs']:,} jobs learned from"
    if facts["held_out_jobs"]:
        jobs += f", {facts['held_out_jobs']:,} later ones held out"
    said = [
        f"{facts['agent']}: {len(history)} {facts['rounds']}s, {facts['parameters']:,} weights; "
        f"{jobs}.",
        f"Objective {facts['objective']}; reward per decision: {facts['setup']['reward']}.",
    ]
    if facts["clairvoyant"]:
        said.append("Clairvoyant: backfills are planned with true run times, as no site can.")
    return tuple(said)


def _curve(history: Sequence[Facts], rounds: str, *what: str) -> list[Section]:
    title, key, axis, said = what
    points = [(i, f[key]) for i, f in enumerate(history, 1) if f.get(key) is not None]
    if len(points) < 2:
        return []
    x, y = zip(*points, strict=True)
    series = {"x": list(x), "y": list(y), "name": title}
    chart = Chart("line", (series,), (rounds, axis), units=("", UNITS.get(key, "")))
    return [Section(title, (said,), None, chart)]


def _checks(history: Sequence[Facts], rounds: str) -> list[Section]:
    checks = [(i, f["check"]) for i, f in enumerate(history, 1) if "check" in f]
    if len(checks) < 2:
        return []
    sections = []
    for key, title, axis in (
        ("mean_wait_s", "Mean wait of held-out jobs", "mean wait"),
        ("mean_bounded_slowdown", "Slowdown of held-out jobs", "mean bounded slowdown"),
    ):
        values = [c[key] for _, c in checks]
        series = {"x": [i for i, _ in checks], "y": values, "name": title}
        said = "Scheduled whole, from an empty machine, and not learned from."
        chart = Chart("line", (series,), (rounds, axis), units=("", UNITS.get(key, "")))
        sections.append(Section(title, (said,), None, chart))
    return sections


def _unseen(facts: Facts) -> list[Section]:
    held_out = facts["held_out"]
    if held_out is None:
        return []
    ratio = facts["objective_ratio"]
    word = "less" if ratio < 1 else "more"
    said = (
        f"{facts['held_out_jobs']:,} jobs that were not learned from: {facts['objective']} is "
        f"{share(abs(1 - ratio))} {word} than under FCFS with EASY.",
    )
    grids = [policy_grid(held_out), power_grid(held_out), paired_grid(held_out)]
    titles = ("held out", "held out: power", "held out: paired")
    return [
        Section(title, said if i == 0 else (), grid)
        for i, (title, grid) in enumerate(zip(titles, grids, strict=True))
        if grid is not None
    ]
