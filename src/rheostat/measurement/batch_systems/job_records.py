"""`BatchSystem`: how the log of one batch system becomes a table of jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import ordinary_file
from rheostat.core.storage.json_files import read_document
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.measurement.batch_systems.earlier_runs import EARLIER, SIZES, latest, with_none
from rheostat.measurement.batch_systems.earlier_runs import TYPES as EARLIER_TYPES
from rheostat.measurement.batch_systems.local_order import BACKWARD, UNSURE, in_order
from rheostat.measurement.checks import ROW, as_jobs, note_rows
from rheostat.measurement.slurm.latest_runs import ANEW
from rheostat.measurement.slurm.sacct import TYPES
from rheostat.measurement.slurm.sacct_clock import PUT_BACK, REPEATED, time_zone

COMPLETED, FAILED, CANCELLED, TIMEOUT, RUNNING, PENDING = (
    "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "RUNNING", "PENDING"
)  # fmt: skip
KEPT = (
    ROW, "job_id", "user", "group", "account", "app", "partition", "submit_s", "start_s", "end_s",
    "nodes", "cores", "gpus", "memory_b", "time_limit_s", "runtime_s", "state", "exit_code",
    "energy_j", "power_w", "censored", *SIZES,
)  # fmt: skip
Record = Mapping[str, Any]
DOUBTS = {UNSURE: REPEATED, BACKWARD: PUT_BACK}


@dataclass(frozen=True)
class BatchSystem:
    """One format of one system.

    Parameters
    ----------
    name : str
        As ``--format`` names it.
    about : str
        The command that prints it.
    begins : bytes
        Pattern of how a file begins.
    records : callable
        From a path to the records of jobs, each with its row number; or, in place of a record,
        the words why there is none.
    job : callable
        From a record and the site's zone to values by column; None for a record that is no job.
    local : bool
        Whether its clock is the site's, without a zone.
    notes : tuple of str
        What its figures mean.
    unread : callable
        From a record to what of it is not read, in words; empty if nothing.
    """

    name: str
    about: str
    begins: bytes
    records: Callable[[Path], Iterator[tuple[int, Record | str]]]
    job: Callable[[Record, ZoneInfo], dict[str, Any] | None]
    local: bool = False
    notes: tuple[str, ...] = ()
    unread: Callable[[Record], str] = lambda record: ""

    def looks_like(self, start: bytes) -> bool:
        """Whether a file that begins so is of this format."""
        return re.match(self.begins, start) is not None

    def read(self, path: str | Path, *, zone: str = "UTC") -> JobTable:
        """Read the jobs of a file.

        Parameters
        ----------
        path : path
            The file.
        zone : str
            Time zone of the site's clock, where times have none.

        Returns
        -------
        JobTable
            A row per job, SI units; states in Slurm's words.

        Raises
        ------
        DataError
            The file is damaged, of another format, or has no job.
        """
        stand, rows, odd = time_zone(zone), [], []
        unread, absent = dict[str, list[int]](), dict[str, list[int]]()
        unsure = dict[str, list[int]]()
        for row, record in self.records(ordinary_file(path)):
            if isinstance(record, str):
                absent.setdefault(record, []).append(row)
                continue
            values = self.job(record, stand)
            if values is None or not values.get("job_id"):
                odd.append(row)
            else:
                if self.local:
                    values, how = in_order(values, stand)
                    unsure.setdefault(how, []).append(row)
                rows.append(_finished({ROW: row, **values}))
                if words := self.unread(record):
                    unread.setdefault(words, []).append(row)
        if not rows:
            raise DataError(str(path), [f"has no job: expected {self.about}"])
        rows, again, anew = latest(rows)
        notes = [Note(text) for text in self.notes]
        notes += [note_rows(words, at) for words, at in unread.items()]
        notes += [note_rows(words, at, dropped=True) for words, at in absent.items()]
        notes += [note_rows(DOUBTS[how], at) for how, at in unsure.items() if how]
        notes += (
            [note_rows("record is not a job of a known shape", odd, dropped=True)] if odd else []
        )
        if again:
            said = f"an earlier record of a job that has a later one{_counted(rows)}"
            notes.append(note_rows(said, again, dropped=True))
        notes += [note_rows(ANEW, anew)] if anew else []
        if self.local:
            elsewhere = "; pass the zone of the site's clock if it is another" * (zone == "UTC")
            notes.append(Note(f"times read as {zone}{elsewhere}"))
        types = {**TYPES, **EARLIER_TYPES}
        frame = with_none(pl.DataFrame(rows, schema={name: types[name] for name in KEPT}))
        unknown = [n for n in frame.columns if frame[n].null_count() == frame.height]
        named = replace(VOCABULARY["job_id"], meaning=f"of {self.name}")
        return as_jobs(frame.drop(unknown), (named, *EARLIER), notes)


def _finished(row: dict[str, Any]) -> dict[str, Any]:
    """What follows: the length of a run, its mean power, and whether it was cut."""
    start, end, ended = row.get("start_s"), row.get("end_s"), row.get("state")
    if row.get("runtime_s") is None and start is not None and end is not None:
        row["runtime_s"] = end - start
    energy, runtime = row.get("energy_j"), row.get("runtime_s")
    row["power_w"] = energy / runtime if energy and runtime else None
    row["censored"] = None if ended is None else ended != COMPLETED
    return {name: row.get(name) for name in KEPT}


def _counted(rows: list[dict[str, Any]]) -> str:
    """Where the hours of earlier runs are, if any has some."""
    there = [name for name in SIZES if any(row[name] for row in rows)]
    return f": what it used is in {' and '.join(there)}" if there else ""


def listed(path: Path, expected: str, key: str = "") -> Iterator[tuple[int, Record]]:
    """Objects of a list, or of an object with the name of each as ``__name``."""
    content = read_document(path, expected)
    if key:
        content = content.get(key) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content = [{"__name": n, **r} if isinstance(r, dict) else r for n, r in content.items()]
    if not isinstance(content, list):
        raise other_kind(path, expected)
    for row, record in enumerate(content):
        yield row, record if isinstance(record, dict) else {}
