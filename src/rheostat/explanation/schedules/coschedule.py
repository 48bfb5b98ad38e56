"""A queue on shared GPUs in words: policies compared, and which job ran where and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.explanation.number_words import duration, quantity, signed


def policies_grid(facts: Mapping[str, Any]) -> Grid:
    """A row per policy, the best first."""
    heads = ("policy", "makespan_s", "energy_j", "edp_js", "mean_wait_s")
    rows = tuple(tuple(p[h] for h in heads) for p in facts["policies"])
    return Grid(heads, rows, ("", "s", "J", "J s", "s"), marked=0)


def jobs_grid(facts: Mapping[str, Any]) -> Grid:
    """A row per job of the best schedule."""
    heads = ("job", "node", "GPUs", "start", "end", "energy")
    rows = tuple((r["job_id"], r["node"], r["gpu_ids"], round(r["start_s"], 3),
                  round(r["end_s"], 3), round(r["energy_j"], 1))
                 for r in facts["schedule"])  # fmt: skip
    return Grid(heads, rows, ("", "", "", "s", "s", "J"))


def _bars(facts: Mapping[str, Any]) -> Chart:
    """A bar with the job's name on each of its GPUs; the darker, the more power per GPU."""
    gpus, nodes = facts["node_gpus"], facts["nodes"]
    bars = [
        (r["job_id"], r["start_s"], r["end_s"] - r["start_s"], gpus * r["node"] + int(g),
         r["energy_j"] / (r["end_s"] - r["start_s"]) / r["gpus"])
        for r in facts["schedule"]
        for g in r["gpu_ids"].split()
    ]  # fmt: skip
    names, begin, length, row, watts = (list(column) for column in zip(*bars, strict=True))
    series = {
        "begin": begin, "length": length, "row": row, "width": [0.9] * len(bars),
        "value": watts, "limits": [min(watts), max(watts)],
        "quantity": "power per GPU", "unit": "W",
        "labels": [str(n) for n in names],
        "hover": [f"<b>{n}</b><br>{b:,.0f} s to {b + s:,.0f} s<br>{w:.0f} W per GPU"
                  for n, b, s, w in zip(names, begin, length, watts, strict=True)],
        "rows": [f"node {k}, GPU {g}" if nodes > 1 else f"GPU {g}"
                 for k in range(nodes) for g in range(gpus)],
    }  # fmt: skip
    return Chart("gantt", (series,), ("time", ""), units=("s", ""))


def coschedule_report(facts: Mapping[str, Any]) -> Report:
    """The facts of ``rheostat coschedule`` as a report.

    Parameters
    ----------
    facts : mapping
        From `rheostat.recipes.ecosched.coschedule_facts`.

    Returns
    -------
    Report
        Policies compared, and the best one's schedule with its picture.
    """
    said = [f"Simulated from profiles on {facts['nodes']} node(s) of {facts['node_gpus']} GPUs."]
    if "objective" in facts:
        said = [
            f"{said[0][:-1]}; each neighbour slows a job by {100 * facts['crowd']:g} %.",
            "The best was picked with the whole queue known, later arrivals included.",
            "Makespan: until the last job has ended; EDP: energy times makespan.",
        ]
    if "exact" in facts:
        e = facts["exact"]
        said.append(f"If neighbours cost nothing, the schedule searched by OR-tools takes "
                    f"{e['makespan_s']:.1f} s and {e['energy_j'] / 1e3:.1f} kJ "
                    f"({'proven best' if e['proven'] else 'not proven best'}).")  # fmt: skip
    plan = Section(f"schedule of {facts['best']}", (), jobs_grid(facts), _bars(facts))
    compared = Section("policies", tuple(said), policies_grid(facts))
    return Report("Jobs on shared GPUs", (*_answer(facts), plan, compared), facts)


def _answer(facts: Mapping[str, Any]) -> list[Section]:
    """The best plan and by how much it is, what it gives up, and that nothing ran."""
    best, *others = facts["policies"]
    if "objective" not in facts:
        return []
    key, words = AIMS[facts["objective"]]
    jobs = len(facts["schedule"])
    said = [
        f"{best['policy']} is best in {words}: {jobs} job{'s' * (jobs != 1)} in "
        f"{duration(best['makespan_s'])} with {quantity(best['energy_j'], 'J')}"
        + (f", {_beside(best, others[0], key)}." if others else ".")
    ]
    said.append(_price(best, others))
    said += [facts["certainty"]] if "certainty" in facts else []
    return [Section("answer", (*said, UNMEASURED))]


AIMS = {
    "edp": ("edp_js", "energy times makespan"),
    "makespan": ("makespan_s", "makespan"),
    "energy": ("energy_j", "energy"),
}
COSTS = {"makespan_s": ("makespan", "s"), "energy_j": ("energy", "J"), "mean_wait_s": ("wait", "s")}
UNMEASURED = (
    "How sure is not known: profiles are taken as they are, and nothing ran; the slowdown by "
    "neighbours is an assumption (--interference)."
)


def _beside(best: Mapping[str, Any], other: Mapping[str, Any], key: str) -> str:
    change = best[key] / other[key] - 1.0 if other[key] else 0.0
    nearest = f"{other['policy']}, the nearest"
    return f"as good as {nearest}" if abs(change) < 0.005 else f"{signed(change)} beside {nearest}"


def _price(best: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """What another plan would have less of."""
    said = []
    for key, (words, unit) in COSTS.items():
        least = min(others, key=lambda p: p[key], default=best)
        if best[key] > 1.005 * least[key]:
            here, there = (quantity(p[key], unit) for p in (best, least))
            said.append(f"{words} {here} for {there} under {least['policy']}")
    if not said:
        return "Its price: none of the plans compared takes less time, energy or mean wait."
    return f"Its price: {'; '.join(said)}."
