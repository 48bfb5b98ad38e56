"""`site.ingest`: accounting into a store of jobs, each job in it once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.units import format_moment
from rheostat.errors import DataError
from rheostat.measurement.job_logs.job_store import JobStore, Merged
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.slurm.accounting import sacct_lines, sacct_tables
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import parse_seconds

UNTIL = "accounting_until_s"
WAITING_ARRAY = "tasks of arrays that have not started have no record of their own yet: left out"
MOST_WINDOWS = 20_000
"""Calls of sacct in one go: fifty years of days."""


@dataclass(frozen=True, kw_only=True, repr=False)
class IngestAnswer(Answer):
    """What accounting added to a store.

    Parameters
    ----------
    store : str
        The folder.
    source : str
        The export, or the program that was asked.
    merged : Merged
        Jobs that were new, had changed, and were as before.
    until_s : float or None
        Moment up to which accounting has been read, seconds since 1970; None for an export.
    """

    schema: ClassVar[str] = "rheostat.site.ingest/1"
    store: str
    source: str
    merged: Merged
    until_s: float | None = None

    def report(self) -> Report:
        """One sentence on the jobs, one on the time."""
        return Report("", [Section("", self.beside())], self.facts())

    def beside(self) -> tuple[str, ...]:
        """What was taken in."""
        m = self.merged
        jobs = f"{m.new:,} new jobs, {m.changed:,} that had changed, {m.unchanged:,} as before"
        lines = [f"{self.source}: {jobs}."]
        if self.until_s is not None:
            lines.append(f"Accounting is read up to {format_moment(self.until_s)}.")
        return tuple(lines)

    def facts(self) -> Mapping[str, Any]:
        """Numbers of jobs, and the moment."""
        m = self.merged
        return {"store": self.store, "source": self.source, "new": m.new, "changed": m.changed,
                "unchanged": m.unchanged, "until_s": self.until_s}  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """One row."""
        m = self.merged
        return (Grid(("new", "changed", "unchanged"), ((m.new, m.changed, m.unchanged),)),)


@question
def ingest(
    store: Path | str,
    source: Path | str | None = None,
    *,
    program: str = "sacct",
    since: str = "",
    overlap: str = "1h",
    window: str = "1d",
    zone: str = "UTC",
    now_s: float | None = None,
) -> IngestAnswer:
    r"""Take jobs into a store, from an export of sacct or from sacct itself.

    Taking the same jobs in again changes nothing; a job that went on or ended since replaces its
    earlier record.  From sacct itself, stretches of time are read one after the other, the first
    ``overlap`` before the end of the last call, and each is in the store before the next is asked
    for: a process that is killed goes on there.

    Parameters
    ----------
    store : path
        Folder; made if there is none.
    source : path, optional
        Export of ``sacct --parsable2`` or ``sacct --json``; sacct itself is asked without one.
    program : str
        The sacct to ask.
    since : str
        Where the first call begins, as 2026-01-31 or 30d before now; 30 days by default.
    overlap, window : str
        Durations: how far a call goes back before the last one, and how much one call asks for.
    zone : str
        Time zone of an export's clock.
    now_s : float, optional
        The end of the last stretch, seconds since 1970.

    Returns
    -------
    IngestAnswer
        With ``merged``.

    Raises
    ------
    DataError
        The export or the store cannot be read.
    RheostatError
        sacct failed.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "october.txt").write_text(
    ...     "JobID|State|Submit|Elapsed|ConsumedEnergyRaw\n"
    ...     "7|COMPLETED|2026-10-01T00:00:00|00:02:00|\n"
    ...     "7.batch|COMPLETED|2026-10-01T00:00:00|00:02:00|6181\n")
    >>> ingest(folder / "store", folder / "october.txt").merged
    Merged(new=1, changed=0, unchanged=0)
    >>> ingest(folder / "store", folder / "october.txt").merged
    Merged(new=0, changed=0, unchanged=1)
    """
    if source is not None:
        return _from_export(Path(store), Path(source), zone)
    back, long = parse_seconds(overlap, "--overlap"), parse_seconds(window, "--window", least=1.0)
    end = time.time() if now_s is None else now_s
    return _from_sacct(JobStore(store, new=True), program, _since(since, end), (back, long), end)


def _from_export(folder: Path, source: Path, zone: str) -> IngestAnswer:
    form = guess_format(source)
    if form not in ("sacct", "sacct-json"):
        raise DataError(
            str(source),
            [f"expected an export of sacct, got {describe_file(source)}, read as {form}"],
        )
    tables = sacct_tables(source, zone=zone) if form == "sacct" else [read(source, form)]
    kept = JobStore(folder, new=True)
    with kept.writing(), listener.working(f"reading {source}"):
        merged = _merged(kept, tables)
    return IngestAnswer(store=str(folder), source=str(source), merged=merged)


def _from_sacct(
    store: JobStore, program: str, first_s: float, lengths_s: tuple[float, float], end_s: float
) -> IngestAnswer:
    overlap_s, window_s = lengths_s
    merged = Merged()
    with store.writing(), tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "sacct.psv"
        until = store.state.get(UNTIL)
        start = first_s if until is None else min(until - overlap_s, end_s)
        if (end_s - start) / window_s > MOST_WINDOWS:
            raise DataError("--since", [f"is more than {MOST_WINDOWS:,} calls ago: --window"])
        while start < end_s:
            stop = min(start + window_s, end_s)
            with listener.working(f"asking {program} for {format_moment(start)}"):
                sacct_lines(start, stop, lines, program)
                merged += _merged(store, sacct_tables(lines) if _has_jobs(lines) else [])
            store.note(**{UNTIL: max(stop, store.state.get(UNTIL) or stop)})
            start = stop
    return IngestAnswer(store=str(store.folder), source=program, merged=merged,
                        until_s=store.state.get(UNTIL))  # fmt: skip


def _has_jobs(lines: Path) -> bool:
    with lines.open("rb") as file:
        file.readline()
        return bool(file.read(1))


def _merged(store: JobStore, tables: Iterable[JobTable]) -> Merged:
    total = Merged()
    for table in tables:
        waiting = pl.col("job_id").str.contains("[", literal=True)
        ran = table.rows(~waiting)
        if len(ran) < len(table):
            listener.note(f"{WAITING_ARRAY} ({len(table) - len(ran):,} rows)")
        total += store.merge(ran)
    return total


def _since(text: str, now_s: float) -> float:
    """A date, or so long before now."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return now_s - parse_seconds(text or "30d", "--since")
