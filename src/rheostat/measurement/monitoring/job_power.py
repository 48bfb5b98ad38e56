"""Energy of jobs from series of jobs, or from series of the nodes they ran on.

Each job that ended has its own stretch of each of its series.  Of one that shared a node a series
of that node says nothing: its energy stays unknown.  Where less than `LEAST_COVERED` of a run has
samples it stays unknown, too; else the mean power of what is covered stands for the whole run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.measurement.job_logs.job_store import COLUMNS
from rheostat.measurement.job_logs.node_sharing import nodes_of
from rheostat.measurement.monitoring.integrate import Stretch, counter_energy, gauge_energy
from rheostat.measurement.monitoring.power_mapping import PowerMapping, PowerSeries
from rheostat.measurement.monitoring.prometheus import Samples

LEAST_COVERED = 0.8
SOURCE_NAME = "monitoring"
Asked = Callable[[PowerMapping, PowerSeries, float, float], list[Samples]]


@dataclass
class _MeasuredJob:
    """A job that ended, and what its series have of it."""

    row: dict[str, Any]
    nodes: list[str]
    parts: dict[tuple[int, str, str], Stretch] = field(default_factory=lambda: defaultdict(Stretch))

    @property
    def number(self) -> str:
        return str(self.row.get("job_id_raw") or self.row["job_id"])


def job_energy(
    jobs: JobTable, mapping: PowerMapping, asked: Asked, window_s: float = 3600.0
) -> JobTable:
    """Energy and mean power of the jobs that ended, by what a site's monitoring has.

    Parameters
    ----------
    jobs : JobTable
        With job_id, submit_s, start_s, end_s; node_list for series of nodes.
    mapping : PowerMapping
        Which series are whose.
    asked : callable
        Gives samples, as `prometheus.samples` does.
    window_s : float
        Seconds of one call.

    Returns
    -------
    JobTable
        A row per job with energy_j, power_w, energy_covered and energy_source; null where unknown.
    """
    ended = jobs.frame.filter(pl.col("end_s") > pl.col("start_s"))
    runs = [
        _MeasuredJob(row, nodes_of(row["node_list"]) if row.get("node_list") else [])
        for row in ended.iter_rows(named=True)
    ]
    for start, end, there in _windows(runs, window_s):
        for k, series in enumerate(mapping.series):
            every = asked(mapping, series, start - mapping.gap_s, end + mapping.gap_s)
            for run, label, one in _joined(there, series, every):
                stretch = _energy(series)(one.t, one.v, max(start, run.row["start_s"]),
                                          min(end, run.row["end_s"]), mapping.gap_s)  # fmt: skip
                run.parts[k, _node(one.labels.get(series.node, "")), label] += stretch
    rows = [_row(run, mapping) for run in runs]
    return table(_frame(rows), COLUMNS.values(), _notes(runs, rows))


def _energy(series: PowerSeries) -> Callable[..., Stretch]:
    return gauge_energy if series.quantity == "power_w" else counter_energy


def _windows(
    runs: list[_MeasuredJob], window_s: float
) -> Iterator[tuple[float, float, list[_MeasuredJob]]]:
    """Stretches of time with the runs in them; where nothing ran nothing is asked."""
    if not runs:
        return
    start, last = min(r.row["start_s"] for r in runs), max(r.row["end_s"] for r in runs)
    ordered = sorted(runs, key=lambda r: r.row["start_s"])
    at, there = 0, []
    while start < last:
        end = min(start + window_s, last)
        while at < len(ordered) and ordered[at].row["start_s"] < end:
            there.append(ordered[at])
            at += 1
        there = [r for r in there if r.row["end_s"] > start]
        if there:
            yield start, end, there
            start = end
        else:
            start = ordered[at].row["start_s"]


def _joined(
    runs: list[_MeasuredJob], series: PowerSeries, every: Iterable[Samples]
) -> Iterator[tuple[_MeasuredJob, str, Samples]]:
    """Runs with their samples; the label sets apart what adds up within one run."""
    by_number, by_node = defaultdict(list), defaultdict(list)
    for run in runs:
        by_number[run.number].append(run)
        for node in run.nodes:
            by_node[node].append(run)
    for one in every:
        label = str(sorted(one.labels.items()))
        if series.job:
            owners = by_number.get(one.labels.get(series.job, ""), [])
        else:
            owners = by_node.get(_node(one.labels.get(series.node, "")), [])
        for run in owners:
            yield run, label, one


def _node(text: str) -> str:
    """The name of a node, without a port and a domain.

    >>> _node("n1.cluster.site:9100")
    'n1'
    """
    return text.partition(":")[0].partition(".")[0]


def _row(run: _MeasuredJob, mapping: PowerMapping) -> dict[str, Any]:
    """Energy of a run, as far as all of its series have it."""
    seconds = run.row["end_s"] - run.row["start_s"]
    energy, covered = 0.0, 1.0
    for k, series in enumerate(mapping.series):
        parts = {(node, label): p for (of, node, label), p in run.parts.items() if of == k}
        known_s = sum(p.covered_s for p in parts.values())
        share = known_s / (seconds * len(parts)) if parts else 0.0
        if series.node and run.nodes:
            share *= len({node for node, _ in parts}) / len(run.nodes)
        covered = min(covered, share)
        energy += sum(p.energy_j for p in parts.values()) / share if share else 0.0
    by_node = any(not s.job for s in mapping.series)
    unknown = covered < LEAST_COVERED or (by_node and run.row.get("shared"))
    return {
        "cluster": run.row.get("cluster") or "",
        "job_id": str(run.row["job_id"]),
        "submit_s": run.row["submit_s"],
        "energy_j": None if unknown else energy,
        "power_w": None if unknown else energy / seconds,
        "energy_covered": covered,
        "energy_source": SOURCE_NAME,
    }


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    types = {"cluster": pl.String, "job_id": pl.String, "submit_s": pl.Float64,
             "energy_j": pl.Float64, "power_w": pl.Float64, "energy_covered": pl.Float64,
             "energy_source": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=types)


def _notes(runs: list[_MeasuredJob], rows: list[dict[str, Any]]) -> list[Note]:
    holes = sum(r["energy_covered"] < LEAST_COVERED for r in rows)
    shared = sum(r["energy_j"] is None and r["energy_covered"] >= LEAST_COVERED for r in rows)
    resets = sum(p.resets > 0 for run in runs for p in run.parts.values())
    less = f"less than {LEAST_COVERED:.0%} of the run has samples of power: energy_j not known"
    said = [
        (less, holes),
        ("shared a node, whose power is not theirs alone: energy_j not known", shared),
        ("counters that began anew within a run: those seconds are not covered", resets),
    ]
    return [Note(text, (), count) for text, count in said if count]
