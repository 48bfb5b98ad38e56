"""`JobStore`: a folder of jobs by month of submission, each job in it once, whatever was killed.

``jobs/month=2026-11/jobs.parquet`` holds what accounting says, ``power.parquet`` in the folders
``power/month=...`` what monitoring measured.  A month is replaced in one step and taking the same
jobs in again changes nothing, so a process that is killed anywhere has lost at most work: the
moment up to which accounting was read is written last.  polars and DuckDB read the files as they
are: ``select * from 'STORE/jobs/*/jobs.parquet'``.

A job is (cluster, job_id, submit_s).  Of two records of one job the one that says more stands: an
ended one, then the one with joules, then the longer run, then the later record.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note, Schema
from rheostat.core.storage.files import read_json, replace_file
from rheostat.core.vocabulary import column
from rheostat.errors import DataError
from rheostat.measurement.job_logs.node_sharing import SHARED, shared_nodes

FORMAT = "rheostat.store/"
VERSION = 1
MARKER = "store.json"
KEY = ("cluster", "job_id", "submit_s")
OPEN = ("RUNNING", "PENDING", "SUSPENDED", "REQUEUED", "RESIZING", "COMPLETING", "CONFIGURING",
        "REQUEUE_HOLD", "REQUEUE_FED", "STAGE_OUT", "SIGNALING", "STOPPED")  # fmt: skip
"""States of a job that goes on."""
NO_MONTH = "unknown"
ASKED = "nodes_requested"
SOURCE = Column("energy_source", "", Moment.END, "who counted energy_j")
COVERED = Column("energy_covered", "", Moment.END, "share of the run with samples of power")
COLUMNS = Schema([
    Column("cluster", "", Moment.SUBMIT, "cluster of the job"),
    Column("node_list", "", Moment.START, "names of the nodes received, as Slurm folds them"),
    Column("job_id_raw", "", Moment.START, "Slurm's number: tasks of an array have their own"),
    SHARED, SOURCE, COVERED,
])  # fmt: skip


@dataclass(frozen=True)
class Merged:
    """How many jobs of a table were new to the store, changed what it had, or changed nothing."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0

    def __add__(self, other: Merged) -> Merged:
        return Merged(
            self.new + other.new, self.changed + other.changed, self.unchanged + other.unchanged
        )


class JobStore:
    """Jobs of a site in a folder.

    Parameters
    ----------
    folder : path
        Of a store, or where one is to be made.
    new : bool
        Make it if there is none.

    Raises
    ------
    DataError
        No store, or one of a later release.

    Examples
    --------
    >>> import tempfile
    >>> from rheostat.core.vocabulary import table
    >>> store = JobStore(tempfile.mkdtemp(), new=True)
    >>> rows = {"job_id": ["7"], "submit_s": [1.7e9], "state": ["RUNNING"], "runtime_s": [10.0]}
    >>> store.merge(table(rows)), store.merge(table(rows))
    (Merged(new=1, changed=0, unchanged=0), Merged(new=0, changed=0, unchanged=1))
    >>> store.merge(table({**rows, "state": ["COMPLETED"], "runtime_s": [60.0]}))
    Merged(new=0, changed=1, unchanged=0)
    >>> store.read().frame["runtime_s"].to_list()
    [60.0]
    """

    def __init__(self, folder: str | Path, *, new: bool = False) -> None:
        self.folder = Path(folder)
        self.marker = self.folder / MARKER
        if new and not self.marker.exists():
            if self.folder.is_dir() and _in_use(self.folder):
                problem = f"is a folder without {MARKER} that is not empty: name another"
                raise DataError(str(folder), [problem])
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write({})
        _version(self.marker)

    @property
    def state(self) -> dict[str, Any]:
        """What was noted of earlier work, as the moment up to which accounting was read."""
        return {k: v for k, v in read_json(self.marker).items() if k != "schema"}

    def note(self, **facts: Any) -> None:
        """Keep facts beside those that are there."""
        self._write({**self.state, **facts})

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Nobody else writes meanwhile; the kernel lets go of the lock of a killed process."""
        with (self.folder / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DataError(
                    str(self.folder), ["is being written by another process"]
                ) from error
            yield

    def merge(self, jobs: JobTable, part: str = "jobs") -> Merged:
        """Take jobs in; months are replaced one after the other.

        Parameters
        ----------
        jobs : JobTable
            With ``job_id`` and ``submit_s``.
        part : str
            "jobs", or "power" for what monitoring measured.

        Returns
        -------
        Merged
            How many jobs are new, have changed, are as they were.
        """
        jobs.require("job_id", "submit_s")
        frame = _keyed(jobs.frame.drop(SHARED.name, strict=False))  # known of all jobs together
        total = Merged()
        for (month,), rows in sorted(frame.group_by(_month()), key=lambda item: str(item[0])):
            total += self._merge_month(part, str(month), rows, jobs.schema)
        return total

    def _merge_month(self, part: str, month: str, rows: pl.DataFrame, schema: Schema) -> Merged:
        path = self.folder / part / f"month={month}" / f"{part}.parquet"
        old = JobTable.read_parquet(path) if path.exists() else None
        before = rows.clear() if old is None else old.frame
        ages = [before.with_columns(__age=0), rows.with_columns(__age=1)]
        both = _with_clusters(pl.concat(ages, how="diagonal_relaxed"))
        given = both.filter(pl.col("__age") == 1)
        kept = _best(both)
        counts = _counted(before, kept, given)
        if counts.new or counts.changed:
            known = {**({} if old is None else dict(old.schema)), **dict(schema), **dict(COLUMNS)}
            columns = Schema(known.get(n) or column(n) for n in kept.columns)
            JobTable(kept, columns).write_parquet(path)
        return counts

    def months(self, part: str = "jobs") -> list[Path]:
        """Files of the months, the earliest first."""
        return sorted(self.folder.glob(f"{part}/month=*/{part}.parquet"))

    def read(self) -> JobTable:
        """All jobs, the power that monitoring measured with them, and who shared nodes."""
        tables = [JobTable.read_parquet(path) for path in self.months()]
        if not tables:
            raise DataError(str(self.folder), ["holds no job yet: rheostat site ingest"])
        frame = pl.concat([t.frame for t in tables], how="diagonal_relaxed")
        schema = {n: c for t in tables for n, c in t.schema.items()}
        frame = _current(frame)
        located = "node_list" in frame.columns
        if located:
            frame = frame.with_columns(shared=shared_nodes(frame))
        frame, notes = _with_power(frame, [pl.read_parquet(p) for p in self.months("power")])
        notes += _shared_note(frame) if located else []
        if ASKED in frame.columns:  # months before a trial have no such column
            frame = frame.with_columns(pl.coalesce(ASKED, "nodes"))
        known = {**schema, **dict(COLUMNS)}
        return JobTable(
            frame, Schema(known.get(n) or column(n) for n in frame.columns), tuple(notes)
        )

    def _write(self, facts: Mapping[str, Any]) -> None:
        text = json.dumps({"schema": f"{FORMAT}{VERSION}", **facts}, indent=1)
        replace_file(self.marker, f"{text}\n")


def is_store(path: str | Path) -> bool:
    """Whether a folder is a store of jobs."""
    return (Path(path) / MARKER).is_file()


def read_store(path: str | Path) -> JobTable:
    """Read a folder that ``rheostat site ingest`` fills.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    JobTable
        A row per job.

    Raises
    ------
    DataError
        No store, an empty one, or one of a later release.
    """
    return JobStore(path).read()


def _in_use(folder: Path) -> bool:
    """Whether a folder holds more than what is left of a start that was killed."""
    return any(not p.name.startswith(f".{MARKER}.") for p in folder.iterdir())


def _version(marker: Path) -> None:
    facts = read_json(marker) if marker.is_file() else {}
    name = str(facts.get("schema", "")) if isinstance(facts, dict) else ""
    number = name.removeprefix(FORMAT)
    if not name.startswith(FORMAT) or not number.isdigit():
        hint = f"expected a folder that rheostat site ingest made, with its {MARKER}"
        raise DataError(str(marker.parent), [f"is no store of jobs: {hint}"])
    if int(number) > VERSION:
        problem = f"is of version {number}, this release reads up to {VERSION}: install a later one"
        raise DataError(str(marker.parent), [problem])


def _keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of the key as they are compared: a missing cluster is an empty name."""
    cluster = pl.col("cluster") if "cluster" in frame.columns else pl.lit(None, pl.String)
    return frame.with_columns(
        cluster=cluster.cast(pl.String).fill_null(""),
        job_id=pl.col("job_id").cast(pl.String),
        submit_s=pl.col("submit_s").cast(pl.Float64),
    )


def _with_clusters(frame: pl.DataFrame) -> pl.DataFrame:
    """A record without a cluster is of the one that the others of its number and time are of."""
    names = pl.col("cluster").filter(pl.col("cluster") != "")
    alike = ("job_id", "submit_s")
    only = pl.when(names.n_unique().over(alike) == 1).then(names.first().over(alike))
    unnamed = pl.col("cluster") == ""
    return frame.with_columns(
        cluster=pl.when(unnamed).then(only).otherwise("cluster").fill_null("")
    )


def _month() -> pl.Expr:
    moment = pl.from_epoch(pl.col("submit_s").cast(pl.Int64, strict=False), time_unit="s")
    return moment.dt.strftime("%Y-%m").fill_null(NO_MONTH).alias("month")


def _open() -> pl.Expr:
    return pl.col("state").is_in(OPEN).fill_null(value=False)


def _best(frame: pl.DataFrame) -> pl.DataFrame:
    """One row for each job, of those there are the one that says most."""
    ranks = {
        "__ended": ~_open() if "state" in frame.columns else pl.lit(1),
        "__joules": pl.col("energy_j").is_not_null() if "energy_j" in frame.columns else pl.lit(1),
        "__length": pl.col("runtime_s").fill_null(-1.0)
        if "runtime_s" in frame.columns
        else pl.lit(1),
    }
    ordered = frame.with_columns(**ranks).sort(*KEY, *ranks, "__age", maintain_order=True)
    return ordered.unique(KEY, keep="last", maintain_order=True).drop(*ranks, "__age")


def _counted(before: pl.DataFrame, after: pl.DataFrame, rows: pl.DataFrame) -> Merged:
    given = rows.select(KEY).unique()
    new = (
        given.join(before, on=KEY, how="anti", nulls_equal=True).height
        if before.height
        else given.height
    )
    wide = pl.concat([after.clear(), before], how="diagonal_relaxed").select(after.columns)
    same = after.join(wide, on=after.columns, how="semi", nulls_equal=True)
    changed = after.height - same.height - new
    return Merged(new, changed, given.height - new - changed)


def _current(frame: pl.DataFrame) -> pl.DataFrame:
    """Without runs that never ended of jobs that were submitted anew under the same number."""
    if "state" not in frame.columns:
        return frame
    newest = pl.col("submit_s") == pl.col("submit_s").max().over("cluster", "job_id")
    return frame.filter(newest.fill_null(value=True) | ~_open())


def _with_power(
    frame: pl.DataFrame, measured: list[pl.DataFrame]
) -> tuple[pl.DataFrame, list[Note]]:
    """Joules of monitoring where accounting has none or those of shared nodes, and who counted."""
    for name in ("energy_j", "power_w"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.Float64).alias(name))
    source = pl.when(pl.col("energy_j").is_not_null()).then(pl.lit("accounting"))
    frame = frame.with_columns(energy_source=source)
    if not measured:
        return frame, []
    power = pl.concat(measured, how="diagonal_relaxed").rename(
        lambda n: n if n in KEY else f"{n}__m"
    )
    blind = pl.col("energy_j").is_null()
    if "shared" in frame.columns:
        blind |= pl.col("shared").fill_null(value=False) & pl.col("energy_j__m").is_not_null()
    joined = frame.join(power, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    joined = joined.with_columns(
        energy_source=pl.when(blind).then("energy_source__m").otherwise("energy_source"),
        energy_covered=pl.when(blind).then("energy_covered__m"),
        energy_j=pl.when(blind).then("energy_j__m").otherwise("energy_j"),
        power_w=pl.when(blind).then("power_w__m").otherwise("power_w"),
    )
    joules = int(
        (joined["energy_source"].is_not_null() & (joined["energy_source"] != "accounting")).sum()
    )
    note = Note(
        f"energy_j: of {joules:,} jobs from monitoring, see energy_source and energy_covered"
    )
    return joined.select(*frame.columns, "energy_covered"), [note] if joules else []


def _shared_note(frame: pl.DataFrame) -> list[Note]:
    counted = frame.filter(pl.col("shared") & (pl.col("energy_source") == "accounting"))
    if not counted.height:
        return []
    text = "energy_j: Slurm counts whole nodes for jobs that shared theirs (column shared)"
    return [Note(text, (), counted.height)]
