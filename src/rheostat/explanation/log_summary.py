"""What a log says, as a report: an answer for the meeting on Monday.

Everything is made of plain facts (`rheostat.questions.logs.log_summary`) and of the binned
series behind the pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rheostat.core.report import Chart, Grid, Section
from rheostat.core.units import format_moment
from rheostat.explanation.identification import REMEDIES
from rheostat.explanation.narrate import Narrative
from rheostat.explanation.number_words import duration, number_words, share
from rheostat.explanation.schedules import schedule_charts as charts
from rheostat.explanation.schedules.schedule import policy_grid

TOP = 10
HOURS = {"node_h": "node-hours", "core_h": "core-hours"}
NOUNS = {"app": "application", "user": "user", "account": "account", "partition": "partition"}
Facts = Mapping[str, Any]


def summary_report(facts: Facts, shown: Facts | None = None) -> Narrative:
    """All sections; with the series ``shown`` also pictures, for a page."""
    name = facts["file"].rpartition("/")[2]
    sections = [
        Section("used", _used(facts), states_grid(facts) if facts["ended_jobs"] else None),
        *(_group(facts, by, page=shown is not None) for by in facts["groups"]),
        *_waits(facts, shown),
        _settings(facts),
        *_machine(facts, page=shown is not None),
    ]
    return Narrative(name, sections, facts, _next(facts))


def _used(facts: Facts) -> tuple[str, ...]:
    """The answer, then jobs, node-hours, energy, and what did not complete."""
    said = [_answer(facts), f"{_counted(facts['jobs'], 'job')}{_span(facts)}."]
    if facts["waiting_jobs"]:
        said.append(f"{_counted(facts['waiting_jobs'], 'job')} not begun yet: not counted.")
    if not facts["unit"]:
        said.append(
            "Node-hours: not known, sizes or run times are missing; where a table has them under "
            "another name: --column nodes=THEIRS (cores, start_s, end_s, runtime_s)."
        )
    said += _parts(facts)
    if facts["energy_jobs"]:
        part = "all jobs" if facts["energy_jobs"] == facts["jobs"] else (
            f"{facts['energy_jobs']:,} of {facts['jobs']:,} jobs"
        )  # fmt: skip
        said.append(
            f"Energy of {part}: {number_words(facts['energy_j'], 'J')}, from "
            f"{facts['energy_source']}."
        )
    else:
        said.append(f"Energy: not known, {facts['energy_source']}.")
    said.append(_lost(facts))
    return tuple(said)


def _answer(facts: Facts) -> str:
    """What was used, how much of it was lost, and whether the log tells what a setting does."""
    used, lost = "How much was used is not known", ""
    if unit := facts["unit"]:
        used = f"{_hours(facts['hours'], unit)} were used"
        if facts["counted"] < facts["jobs"]:
            used += f" by the {_counted(facts['counted'], 'job')} with a size and a run time"
        if facts["ended_jobs"] and facts["hours"] > 0 and not math.isnan(facts["lost_hours"]):
            part = share(facts["lost_hours"] / facts["hours"])
            lost = f", {part} of them by jobs that did not complete"
    tells = "tells" if facts["settings"]["answers"] else "cannot tell"
    return f"{used}{lost}; the log {tells} what another setting does."


def _parts(facts: Facts) -> list[str]:
    """GPU-hours, and how many jobs may have shared the node that is counted as a whole."""
    said = []
    if facts["gpu_jobs"]:
        hours = _amount(facts["gpu_hours"])
        said.append(f"{hours} GPU-hours of {_counted(facts['gpu_jobs'], 'job')} with GPUs.")
    if not math.isnan(facts["core_hours"]):
        said.append(f"{_amount(facts['core_hours'])} core-hours, each job's own cores alone.")
    together, shared = facts["shared_jobs"], facts["part_node_jobs"]
    if together is not None:
        return said + ([_company(facts)] if together and facts["unit"] == "node_h" else [])
    if shared and facts["unit"] == "node_h":
        of = "GPUs" if facts["gpu_jobs"] else "cores"
        said.append(
            f"{_counted(shared, 'job')} ({share(shared / facts['jobs'])}) had at most half of the "
            f"{of} that others had on one node: where jobs share nodes, node-hours count the whole "
            "node for each."
        )
    return said


def _company(facts: Facts) -> str:
    """How many jobs shared nodes, by the lists of nodes, and what their hours are worth."""
    part = share(facts["shared_jobs"] / facts["jobs"])
    return (
        f"{_counted(facts['shared_jobs'], 'job')} ({part}) shared a node with another, by the lists"
        " of nodes: node-hours (and joules of whole nodes) count it once for each. Nodes were in "
        f"use for {_hours(facts['hours_in_use'], 'node_h')}."
    )


def _span(facts: Facts) -> str:
    first, last = facts["first_s"], facts["last_s"]
    if math.isnan(first) or math.isnan(last):
        return ""
    if not facts["calendar"]:
        return f" within {duration(last - first)} (the log does not say of which year)"
    days = (format_moment(s) for s in (first, last))
    return " from {} to {} (UTC)".format(*days)


def _hours(value: float, unit: str) -> str:
    return f"{_amount(value)} {HOURS[unit]}"


def _amount(hours: float) -> str:
    return f"{hours:,.{0 if hours >= 100 else _digits(hours)}f}"


def _digits(hours: float) -> int:
    """Decimals that show two digits of few hours, else two; of nothing none are missing."""
    return 2 if not 0 < hours < 0.1 else min(1 - math.floor(math.log10(hours)), 9)


def _lost(facts: Facts) -> str:
    if not facts["ended_jobs"]:
        return "How jobs ended is not recorded."
    part = share(facts["lost_jobs"] / facts["ended_jobs"])
    jobs = f"{_counted(facts['lost_jobs'], 'job')} ({part})"
    hours = ""
    if facts["unit"] and math.isnan(facts["lost_hours"]):
        hours = f", whose {HOURS[facts['unit']]} are not known"
    elif facts["unit"] and facts["hours"] > 0:
        part = share(facts["lost_hours"] / facts["hours"])
        hours = f", with {_hours(facts['lost_hours'], facts['unit'])} ({part})"
    return f"Did not complete (failed, cancelled, timed out, ...): {jobs}{hours}."


def states_grid(facts: Facts) -> Grid:
    """A row for each way in which jobs ended."""
    unit = HOURS.get(facts["unit"], "hours")
    total = facts["hours"] or float("nan")
    rows = tuple((s["state"], s["jobs"], _whole(s["hours"]), s["hours"] / total)
                 for s in facts["states"])  # fmt: skip
    return Grid(("state", "jobs", unit, "share"), rows, ("", "count", "count", "share"))


def _whole(hours: float) -> float | int | None:
    """Node-hours of a table: whole ones, but of a few."""
    if math.isnan(hours):
        return None
    return round(hours) if hours >= 10 else round(hours, _digits(hours))


def group_grid(facts: Facts, by: str) -> Grid:
    """The `TOP` groups with most node-hours, and all others in a row; no column of what is unknown.

    Jobs not completed are a share of those that ended, as in the sentence above the table; how
    many of a group did is not known where it is not recorded how any of its jobs ended.
    """
    groups = facts["groups"][by]
    shown = [*groups[:TOP], *_others(groups[TOP:])]
    energy = not all(math.isnan(g["energy_j"]) for g in groups)
    waits = not all(math.isnan(g["wait_s"]) for g in groups)
    cores = not all(math.isnan(g["core_hours"]) for g in groups)
    ended = bool(facts["ended_jobs"])
    total, unit = facts["hours"] or float("nan"), HOURS.get(facts["unit"], "hours")
    rows = []
    for g in shown:
        spent = (g["energy_j"],) if energy else ()
        part = g["lost_hours"] / g["hours"] if g["hours"] else float("nan")
        failed = g["lost_jobs"] / g["ended_jobs"] if g["ended_jobs"] else float("nan")
        gone = (failed, part) if ended else ()
        wait = (g["wait_s"],) if waits else ()
        head = (g["name"], g["jobs"], _whole(g["hours"]), g["hours"] / total,
                *((_whole(g["core_hours"]),) if cores else ()))  # fmt: skip
        rows.append((*head, *spent, *gone, *wait))
    lost = ("jobs not completed", f"{unit} not completed") if ended else ()
    heads = (NOUNS[by], "jobs", unit, "share", *(["core-hours"] * cores),
             *(["energy"] if energy else []), *lost, *(["mean wait"] if waits else []))  # fmt: skip
    units = ("", "count", "count", "share", *(["count"] * cores),
             *(["J"] if energy else []), *["share"] * len(lost),
             *(["s"] if waits else []))  # fmt: skip
    return Grid(heads, tuple(rows), units)


def _others(rest: Sequence[Facts]) -> list[dict[str, Any]]:
    if not rest:
        return []
    jobs = sum(g["jobs"] for g in rest)
    summed = ("hours", "core_hours", "energy_j", "ended_jobs", "lost_jobs", "lost_hours")
    sums = {k: _known(g[k] for g in rest) for k in summed}
    waits = [(g["wait_s"], g["jobs"]) for g in rest if not math.isnan(g["wait_s"])]
    counted = sum(n for _, n in waits)
    wait = sum(w * n for w, n in waits) / counted if counted else float("nan")
    return [{"name": f"{len(rest):,} others", "jobs": jobs, "wait_s": wait, **sums}]


def _known(values: Iterable[float]) -> float:
    """The sum of the values that are known; NaN where none is."""
    known = [v for v in values if not math.isnan(v)]
    return sum(known) if known else float("nan")


def _group(facts: Facts, by: str, *, page: bool) -> Section:
    groups = facts["groups"][by]
    noun = NOUNS[by]
    if len(groups) > TOP and all(g["jobs"] == 1 for g in groups):
        alone = f"{len(groups):,} names of {noun}s, each of one job: this column groups nothing."
        return Section(f"by {noun}", (alone,))
    said = [f"{_counted(len(groups), noun)}, the largest first."]
    if facts["unit"] and facts["ended_jobs"]:
        worst = max(groups, key=lambda g: 0.0 if math.isnan(g["lost_hours"]) else g["lost_hours"])
        if worst["lost_hours"] > 0 and len(groups) > 1:
            part = share(worst["lost_hours"] / facts["lost_hours"])
            who, unit = _named(noun, worst["name"]), HOURS[facts["unit"]]
            said.append(f"{who} has {part} of the {unit} that did not complete.")
    return Section(f"by {noun}", tuple(said), group_grid(facts, by),
                   _bars(facts, by) if page and facts["unit"] else None)  # fmt: skip


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _named(noun: str, name: str) -> str:
    """A group at the beginning of a sentence; a bare number would be read as an amount."""
    return f"{noun.capitalize()} {name}" if name.isdigit() else name


def _bars(facts: Facts, by: str) -> Chart:
    """Node-hours of the largest groups, completed and not."""
    groups = facts["groups"][by][:TOP]
    names = [g["name"] if len(g["name"]) <= NAME else f"{g['name'][: NAME - 1]}…" for g in groups]
    series = [{"name": "all", "x": names, "y": [g["hours"] for g in groups]}]
    if facts["ended_jobs"]:
        lost = [g["lost_hours"] for g in groups]
        series.append({"name": "did not complete", "x": names, "y": lost})
    return Chart("columns", tuple(series), (NOUNS[by], HOURS[facts["unit"]]), units=("", "1"))


IDLE = 0.05
"""Share of the logged wait below which a simulation does not wait at all."""
A_DAY_S = 86400.0
NAME = 14
"""Letters of a name under a column."""


def _waits(facts: Facts, shown: Facts | None) -> list[Section]:
    """The waits of the log beside those of EASY on the machine as found."""
    waits, near = facts["waits"], facts["replay"]
    if waits is None or near is None:
        return [Section("waits", (f"Not compared with a simulation: {facts['not_replayed']}.",))]
    machine = facts["machine"]["words"] if facts["machine"] else ""
    jobs = next(iter(waits["policies"].values()))["jobs"]
    said = (
        f"Is the simulator like this site?  FCFS with EASY backfilling on {machine}, {jobs:,} "
        "jobs whose wait is recorded:",
        f"{_verdict(near, facts['last_s'] - facts['first_s'])}.  {_meant(near)}",
    )
    sections = [Section("waits", said, policy_grid(waits))]
    if shown is not None:
        sections += [*charts.over_time(shown), *_by_size(waits)]
    return sections


def _verdict(near: Facts, span_s: float) -> str:
    """How near the simulation is; a log of less than a day lacks the queue that stood before it.

    >>> _verdict({"verdict": "far"}, 9e5), _verdict({"verdict": "far"}, 9e3)
    ('Far', 'Not to be told from jobs of less than a day, whose waits hang on those before')
    """
    if near["verdict"] == "far" and span_s < A_DAY_S:
        return "Not to be told from jobs of less than a day, whose waits hang on those before"
    return str(near["verdict"].capitalize())


def _meant(near: Facts) -> str:
    pair = (duration(near["logged_mean_wait_s"]), duration(near["simulated_mean_wait_s"]))
    depth = near["queue_correlation"]
    queue = "" if math.isnan(depth) else f"; queue correlation {depth:.2f}"
    idle = near["simulated_mean_wait_s"] < IDLE * near["logged_mean_wait_s"]
    why = (
        "  EASY hardly waits at all: the log may hold a part of the jobs, or the machine may have "
        "been smaller, or jobs were held for other reasons than processors."
    ) if idle else ""  # fmt: skip
    return (
        f"Mean wait {pair[0]} as logged, {pair[1]} simulated (distributions {near['ks']:.2f} "
        f"apart, Kolmogorov-Smirnov{queue}): "
        f"{near['meaning'].partition(': ')[2]}{why}"
    )


def _by_size(waits: Facts) -> list[Section]:
    said = ("Mean wait by share of the machine asked for.",)
    return [Section("Wait by size", said, None, charts.columns(waits, "by_size"))]


def _settings(facts: Facts) -> Section:
    answer = facts["settings"]
    said = [
        "Can this log tell what a node count does?",
        *(s for s in answer["sentences"] if s not in REMEDIES),
    ]
    if answer["change"]:
        said.append(f"What would change it: {answer['change']}")
    return Section("settings", tuple(said))


def _machine(facts: Facts, *, page: bool) -> list[Section]:
    machine = facts["machine"]
    if machine is None:
        return []
    said = [f"{machine['words'][:1].upper()}{machine['words'][1:]}."]
    if machine["source"] == "held":
        said.append("There may have been more.")
    if len(machine["partitions"]) > 1:
        parts = [f"{name} {held:,}" for name, held in machine["partitions"]]
        said.append(f"By partition, at most at once: {', '.join(parts)}.")
    if page:
        said.append("As a file for --machine:")
    return [Section("machine", tuple(said), listing=machine["toml"] if page else "")]


FEWEST_TURNED = 10
"""Jobs of a trial below which nothing comes of it."""


def _turned(facts: Facts) -> float:
    """Jobs of a trial that would run at another setting; 0 where none is proposed."""
    trial = facts["settings"].get("identification", {}).get("trial") or {}
    return float(trial.get("expected", 0))


def _next(facts: Facts) -> tuple[str, ...]:
    name = facts["file"]
    lines = []
    if facts["machine"] is not None:
        lines.append(f"rheostat simulate {name} --policy easy --policy sjf+easy --overdue extend")
    if facts["settings"]["answers"]:
        lines.append(f"rheostat decide {name}")
    elif _turned(facts) >= FEWEST_TURNED:
        lines.append(f"rheostat trial plan {name} --share 0.05")
    return tuple(lines)
