"""Iteration times as a table: a CSV of one's own instead of a log of CODES.

One column says either when an iteration ended (``time_s``) or how long it took (``runtime_s``,
``iteration_time_s``, ``step_time_s``, ``duration_s``); ``_ms``, ``_us`` and ``_ns`` are other
units, and ``Step Time (ms)`` is ``step_time_ms``.  Instants (``2026-11-28T08:00:00.25``) in
``time`` or ``timestamp`` say when iterations ended, counted from the first.  Cells may say the
unit (``41.2 ms``), and lines of names and values (``step=3 loss=2.1 step_time_ms=41``), as logs of
training have them, are such a table, too, as is what `training_log` reads.  There may also be
``iteration``, ``app`` or ``job``, ``rank``, and ``terminal`` (or ``node``, as CODES names it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.dates import iso_seconds
from rheostat.measurement.lines import Records
from rheostat.measurement.network.training_log import is_training_log, read_training_log
from rheostat.measurement.runs.cell_units import in_base_units
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.pair_lines import LOOKED_AT, rows_of_pairs
from rheostat.measurement.tables import read_table

TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ENDED = {f"time_{u}": f for u, f in UNITS.items()}
NAMES = ("runtime", "iteration_time", "step_time", "duration")
TOOK = {f"{n}_{u}": f for n in NAMES for u, f in UNITS.items()}
COUNTS = {"iteration": ("iteration",), "job": ("job",), "rank": ("rank",),
          "terminal": ("terminal", "node")}  # fmt: skip
INSTANTS = ("time", "timestamp", "time_s")
STARTS, FEW = 3.0, 10
NOWHERE = -1
"""Terminal of a rank of which none is named."""


def is_table(path: Path) -> bool:
    """Whether the name says that a file is a table, or its lines are names and values or times."""
    return path.name.lower().endswith(TABLES) or _has_pairs(path) or is_training_log(path)


def _has_pairs(path: Path) -> bool:
    with suppress(DataError):
        return bool(rows_of_pairs([text for _, text in islice(Records(path), LOOKED_AT)])[0])
    return False


def read_iteration_table(path: str | Path) -> tuple[pl.DataFrame, list[Note]]:
    r"""Marks from a table.

    Parameters
    ----------
    path
        CSV, plain or gzip, or parquet.

    Returns
    -------
    frame
        As `read_iteration_log` returns it, with ``app`` where the table names applications.  Where
        rows say how long iterations took, the first began at 0, which is a mark of its own.
    notes
        Rows without a time, and rows of an iteration that is there before, left out.

    Raises
    ------
    DataError
        No column, or several, say when an iteration ended or how long it took, or counts are none.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "iterations.csv"
    >>> _ = file.write_text("iteration,runtime_ms\n0,2\n1,3\n")
    >>> read_iteration_table(file)[0]["time_s"].to_list()
    [0.0, 0.002, 0.005]
    """
    notes: list[Note] = []
    if not str(path).lower().endswith(TABLES) and not _has_pairs(Path(path)):
        raw = read_training_log(path, notes)
    else:
        raw = _with_units(read_table(path, notes), notes)
    raw = _counted_from_the_first(_renamed(raw), notes)
    timed = [n for n in raw.columns if n in ENDED or n in TOOK]
    if len(timed) != 1:
        got = ", ".join(timed) or f"{', '.join(raw.columns[:8])} in {describe_file(path)}"
        bare = [n for n in raw.columns if n in NAMES]
        hint = [f"{bare[0]} says no unit: put it into the heading, as {bare[0]}_s or {bare[0]}_ms "
                f"(sed '1s/{bare[0]}/{bare[0]}_ms/')"] if bare and not timed else []  # fmt: skip
        raise DataError(str(path), [
            "expected one column time_s (when an iteration ended) or runtime_s (how long it took), "
            f"or with _ms, _us, _ns, got {got[:300]}", *hint])  # fmt: skip
    frame = _typed(path, raw, timed[0]).with_row_index("row")
    least = pl.col("time_s") > 0 if timed[0] in TOOK else pl.col("time_s") >= 0
    good = frame.filter(pl.col("time_s").is_finite() & least)
    if odd := sorted(set(frame["row"]) - set(good["row"])):
        notes.append(note_rows("the row has no time", odd, dropped=True))
    once = good.unique(["job", "iteration", "rank"], keep="first")
    if twice := sorted(set(good["row"]) - set(once["row"])):
        notes.append(note_rows("the iteration is there before", twice, dropped=True))
    if not once.height:
        got = next((repr(v) for v in raw[timed[0]].drop_nulls()), "none")
        from_where = "above 0" if timed[0] in TOOK else "from 0"
        counted = "" if timed[0] in TOOK else ", counted from where the run began"
        expected = f"expected numbers {from_where} in {timed[0]}{counted}, got {got}"
        raise DataError(str(path), [expected])
    ordered = once.drop("row").sort("job", "iteration", "rank")
    back = ordered.filter(pl.col("time_s").diff().over("job", "rank") < 0)
    if timed[0] in ENDED and back.height:
        at = back["iteration"][0]
        raise DataError(str(path), [
            f"{timed[0]}: expected when each iteration ended, ascending, got times that go back, "
            f"first at iteration {at}, in {back.height} of {ordered.height} rows; where a clock "
            "was set back, give what is before or after it; how long each took belongs into "
            "runtime_s"])  # fmt: skip
    return (_ended(_begun(ordered, notes)) if timed[0] in TOOK else ordered), notes


def _begun(frame: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """Without a first iteration in which a program still started, as one that was compiled."""
    number, took = pl.col("iteration"), pl.col("time_s")
    first = number == number.min().over("job")
    longest = pl.when(~first).then(took).max().over("job")
    starts = (first & (took > STARTS * longest)).any().over("job")
    kept = frame.filter(~(first & starts & (number.n_unique().over("job") > FEW)))
    if kept.height < frame.height:
        said = f"the first iteration took over {STARTS:g} times the longest behind it: not used"
        notes.append(Note(said, (), frame.height - kept.height, True))
    return kept


def _with_units(raw: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """Durations whose cells say their unit in seconds, which their headings say then."""
    read, said = in_base_units(raw)
    plain = {n: f"{n}_s" for n in raw.columns if n.strip().lower() in NAMES
             and raw[n].dtype == pl.String and read[n].dtype.is_numeric()}  # fmt: skip
    notes += [note for note in said if note.message.startswith(tuple(plain))]
    return raw.with_columns(read.select(list(plain))).rename(plain) if plain else raw


def _renamed(raw: pl.DataFrame) -> pl.DataFrame:
    """Headings in our spelling: ``Step Time (ms)`` is ``step_time_ms``; two that are one, not."""
    short = {factor: unit for unit, factor in UNITS.items()}

    def ours(name: str) -> str:
        stem, _, base, factor = split_unit(name, timed=True)
        words = "_".join(re.findall(r"[a-z0-9]+", stem.lower()))
        made = f"{words}_{short[factor]}" if base == "s" and factor in short else ""
        return made if made in ENDED or made in TOOK else name.strip().lower()

    names = [ours(n) for n in raw.columns]
    return raw.rename({n: o if names.count(o) == 1 else n.strip().lower()
                       for n, o in zip(raw.columns, names, strict=True)})  # fmt: skip


def _counted_from_the_first(raw: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    """The one column of instants as ``time_s``; a table without is as it was."""
    for name in (n for n in INSTANTS if n in raw.columns and raw[n].dtype == pl.String):
        seconds = raw.select(iso_seconds(pl.col(name))).to_series()
        if seconds.null_count() < len(seconds):
            notes.append(Note(f"{name}: instants, counted from the first, {raw[name][0]}"))
            others = raw.drop({name, "time_s"} & set(raw.columns))
            return others.with_columns((seconds - seconds.min()).alias("time_s"))
    return raw


def _typed(path: str | Path, raw: pl.DataFrame, timed: str) -> pl.DataFrame:
    """Our columns; iterations are counted in order of rows where the table does not."""
    columns = {"time_s": raw[timed].cast(pl.Float64, strict=False) * {**ENDED, **TOOK}[timed]}
    problems = []
    for name, names in COUNTS.items():
        if (given := _first(names, raw.columns)) is None:
            continue
        counts = raw[given].cast(pl.Int64, strict=False)
        words = raw[given].dtype == pl.String and counts.null_count() == len(raw)
        if name == "job" and words and "app" not in raw.columns:
            raw = raw.rename({given: "app"})
            continue
        if counts.null_count() or (counts < 0).any():
            problems.append(f"{given}: expected counts from 0, got others, too")
        columns[name] = counts
    if "app" in raw.columns and "job" not in columns:
        apps = raw["app"].cast(pl.String).fill_null("")
        columns |= {"app": apps, "job": apps.rank("dense").cast(pl.Int64) - 1}
    if problems:
        raise DataError(str(path), problems)
    frame = pl.DataFrame(columns)
    for name, value in (("job", 0), ("rank", 0), ("terminal", NOWHERE)):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(value, pl.Int64).alias(name))
    if "iteration" not in frame.columns:
        row = pl.int_range(pl.len(), dtype=pl.Int64).over("job", "rank")
        frame = frame.with_columns(row.alias("iteration"))
    own = ["app"] if "app" in frame.columns else []
    return frame.select("iteration", "terminal", "job", "rank", "time_s", *own)


def _first(names: Sequence[str], there: Sequence[str]) -> str | None:
    return next((n for n in names if n in there), None)


def _ended(frame: pl.DataFrame) -> pl.DataFrame:
    """Marks from durations: one at 0 before the first iteration of each rank, then their sums."""
    began = frame.group_by("job", "rank", maintain_order=True).first()
    began = began.with_columns(pl.col("iteration") - 1, time_s=pl.lit(0.0)).select(frame.columns)
    both = pl.concat([began, frame]).sort("job", "rank", "iteration")
    summed = both.with_columns(pl.col("time_s").cum_sum().over("job", "rank"))
    return summed.sort("job", "iteration", "rank")
