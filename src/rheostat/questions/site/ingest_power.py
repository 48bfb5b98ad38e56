"""`site.power`: energy of a store's jobs by what a site's Prometheus has."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.report import Grid, Report, Section
from rheostat.core.units import format_quantity
from rheostat.measurement.job_logs.job_store import JobStore, Merged
from rheostat.measurement.monitoring.job_power import job_energy
from rheostat.measurement.monitoring.power_mapping import PowerMapping, read_mapping
from rheostat.measurement.monitoring.prometheus import samples
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import parse_seconds

UNTIL = "power_until_s"


@dataclass(frozen=True, kw_only=True, repr=False)
class PowerAnswer(Answer):
    """What monitoring added to a store.

    Parameters
    ----------
    store : str
        The folder.
    jobs : int
        Jobs that ended since the last call.
    known : int
        Those with energy now.
    energy_j : float
        Of these together.
    merged : Merged
        Rows that were new, had changed, and were as before.
    """

    schema: ClassVar[str] = "rheostat.site.power/1"
    store: str
    jobs: int
    known: int
    energy_j: float
    merged: Merged

    def beside(self) -> tuple[str, ...]:
        """How many jobs have energy now."""
        amount = format_quantity(self.energy_j, "J")
        return (f"{self.known:,} of {self.jobs:,} jobs have energy by monitoring, {amount}.",)

    def report(self) -> Report:
        """One sentence."""
        return Report("", [Section("", self.beside())], self.facts())

    def facts(self) -> Mapping[str, Any]:
        """Numbers of jobs and joules."""
        return {"store": self.store, "jobs": self.jobs, "known": self.known,
                "energy_j": self.energy_j, "new": self.merged.new,
                "changed": self.merged.changed, "unchanged": self.merged.unchanged}  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """One row."""
        return (Grid(("jobs", "known", "energy_j"), ((self.jobs, self.known, self.energy_j),)),)


@question
def power(
    store: Path | str,
    mapping: PowerMapping | Path | str,
    *,
    overlap: str = "1h",
    window: str = "1h",
    now_s: float | None = None,
) -> PowerAnswer:
    """Take the power of jobs that ended from a site's Prometheus into their store.

    Parameters
    ----------
    store : path
        Folder that `site.ingest` fills.
    mapping : PowerMapping or path
        Which series are the power of which jobs or nodes.
    overlap, window : str
        Durations: how far before the last call jobs may have ended, and how much one query asks
        for.
    now_s : float, optional
        Jobs that ended later wait, seconds since 1970.

    Returns
    -------
    PowerAnswer
        With the number of jobs that have energy now.

    Raises
    ------
    DataError
        The store or the mapping is none, or the server refuses a query.
    RheostatError
        No answer from the server.
    """
    kept = JobStore(store)
    given = mapping if isinstance(mapping, PowerMapping) else read_mapping(mapping)
    back, long = parse_seconds(overlap, "--overlap"), parse_seconds(window, "--window", least=1.0)
    end = time.time() if now_s is None else now_s
    with kept.writing(), listener.working(f"asking {given.shown_url}"):
        after = kept.state.get(UNTIL, 0.0) - back
        ended = (pl.col("end_s") > after) & (pl.col("end_s") + given.gap_s <= end)
        jobs = kept.read().rows(ended)
        measured = job_energy(jobs, given, partial(samples), long)
        merged = kept.merge(measured, "power") if len(measured) else Merged()
        kept.note(**{UNTIL: max(end - given.gap_s, kept.state.get(UNTIL, 0.0))})
    listener.notes(measured.notes)
    joules = measured.frame["energy_j"]
    return PowerAnswer(store=str(store), jobs=len(measured), known=joules.count(),
                       energy_j=float(joules.sum() or 0.0), merged=merged)  # fmt: skip
