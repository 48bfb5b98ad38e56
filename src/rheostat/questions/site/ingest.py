"""`site.ingest`: accounting into a store of jobs, each job in it once."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import JobTable, Note
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.units import format_moment
from rheostat.errors import DataError
from rheostat.measurement.job_logs.job_store import JobStore, Merged
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.slurm.accounting import SacctPiece, sacct_lines, sacct_pieces
from rheostat.measurement.slurm.sacct_lines import FOLDED
from rheostat.prediction.out_of_core.dask_cluster import Workers, spread_over
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
    workers: Workers | None = None,
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
    workers : Workers, optional
        Dask workers that read pieces of the accounting; the store is written in this process.

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
        return _from_export(Path(store), Path(source), zone, workers)
    back, long = parse_seconds(overlap, "--overlap"), parse_seconds(window, "--window", least=1.0)
    end = time.time() if now_s is None else now_s
    kept = JobStore(store, new=True)
    with kept.writing():
        until = kept.state.get(UNTIL)
        start = _since(since, end) if until is None else min(until - back, end)
        if (end - start) / long > MOST_WINDOWS:
            raise DataError("--since", [f"is more than {MOST_WINDOWS:,} calls ago: --window"])
        merged = _taken_in(kept, _asked(program, start, end, long), workers)
    until_s = kept.state.get(UNTIL)
    return IngestAnswer(store=str(kept.folder), source=program, merged=merged, until_s=until_s)


@dataclass(frozen=True)
class AccountingPart:
    """A piece of accounting; ``until_s`` where all that accounting had before it is read."""

    piece: SacctPiece | None = None
    table: JobTable | None = None
    until_s: float | None = None


def _from_export(folder: Path, source: Path, zone: str, workers: Workers | None) -> IngestAnswer:
    form = guess_format(source)
    if form not in ("sacct", "sacct-json"):
        raise DataError(
            str(source),
            [f"expected an export of sacct, got {describe_file(source)}, read as {form}"],
        )
    pieces = sacct_pieces(source, zone=zone) if form == "sacct" else ()
    parts = (
        map(AccountingPart, pieces)
        if form == "sacct"
        else [AccountingPart(table=read(source, form))]
    )
    kept = JobStore(folder, new=True)
    with kept.writing(), listener.working(f"reading {source}"):
        merged = _taken_in(kept, parts, workers)
    return IngestAnswer(store=str(folder), source=str(source), merged=merged)


def _asked(program: str, start: float, end: float, window_s: float) -> Iterator[AccountingPart]:
    """What sacct says, stretch by stretch of time."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "sacct.psv"
        while start < end:
            stop = min(start + window_s, end)
            with listener.working(f"asking {program} for {format_moment(start)}"):
                sacct_lines(start, stop, lines, program)
            yield from map(AccountingPart, sacct_pieces(lines) if _has_jobs(lines) else ())
            yield AccountingPart(until_s=stop)
            start = stop


def _has_jobs(lines: Path) -> bool:
    with lines.open("rb") as file:
        file.readline()
        return bool(file.read(1))


def _read(part: AccountingPart) -> AccountingPart:
    return part if part.piece is None else AccountingPart(table=part.piece.table())


def left_out(table: JobTable) -> dict[str, int]:
    """Rows of an export that are in no job, by the reason."""
    return {n.message: n.count for n in table.notes if n.dropped and n.message != FOLDED}


def _taken_in(store: JobStore, parts: Iterable[AccountingPart], workers: Workers | None) -> Merged:
    """Pieces are read wherever there is a worker, and merged here in their order."""
    total, lost = Merged(), Counter[str]()
    with spread_over(workers) as spread:
        for part in spread(_read, parts):
            if part.table is not None:
                lost.update(left_out(part.table))
                waiting = part.table.frame["job_id"].str.contains("[", literal=True)
                lost[WAITING_ARRAY] += int(waiting.sum())
                total += store.merge(part.table.rows(~waiting))
            if part.until_s is not None:
                store.note(**{UNTIL: max(part.until_s, store.state.get(UNTIL) or part.until_s)})
    listener.notes(Note(message, count=rows) for message, rows in lost.items() if rows)
    return total


def _since(text: str, now_s: float) -> float:
    """A date, or so long before now."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return now_s - parse_seconds(text or "30d", "--since")
