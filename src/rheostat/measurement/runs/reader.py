"""Read any CSV or parquet table of measured runs: one row is one run at one setting.

Which column is the runtime?  In this order: what the caller maps, what a preset knows of a
published table, what the column's name and unit suffix suggest.  Everything that was guessed is
noted, and a column of unknown kind counts as known at the END, where it cannot leak.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import Column, JobTable, Note
from rheostat.core.storage.files import ordinary_file
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.measurement.checks import AMOUNTS, ROW, as_jobs, note_rows
from rheostat.measurement.counters.rates import COUNTERS
from rheostat.measurement.parquet import MAGIC, flat
from rheostat.measurement.runs.cell_units import PLAIN_NUMBERS, in_base_units
from rheostat.measurement.runs.continued_runs import with_continued
from rheostat.measurement.runs.counted_on import counted_on
from rheostat.measurement.runs.delimited import head, knobs_as_numbers, read_delimited
from rheostat.measurement.runs.derived import (
    cores_of_nodes,
    energy_between,
    known_amounts,
    of_one_part,
    per_part,
    runtime_between,
    runtime_by_clock,
    told_by_others,
    without_parts,
)
from rheostat.measurement.runs.ends import runs_by_end
from rheostat.measurement.runs.energy_balance import energy_balance
from rheostat.measurement.runs.guess import (
    device_caps,
    interval_names,
    without_idle,
)
from rheostat.measurement.runs.guessed_columns import (
    QUANTITIES,
    guess_rest,
    of_numbers,
    source_expr,
)
from rheostat.measurement.runs.job_rows import one_row_a_job
from rheostat.measurement.runs.local_clock import instants, read_dates, without_zeros
from rheostat.measurement.runs.long_tables import rows_of_runs
from rheostat.measurement.runs.map_hint import what_to_map
from rheostat.measurement.runs.mapping import (
    Mapped,
    described,
    headings_meant,
    load_mapping,
    one_over,
    spelled,
    with_stated,
)
from rheostat.measurement.runs.only_rate import with_rate
from rheostat.measurement.runs.power_of_one import watts_of_one
from rheostat.measurement.runs.published_tables import PRESETS, TRAINING
from rheostat.measurement.runs.records import begins_as_json, read_records
from rheostat.measurement.runs.rounding import EXACT, finer_of_three, rounded
from rheostat.measurement.runs.statistic_rows import without_statistics
from rheostat.measurement.runs.table_shapes import repeats_below, settings_across
from rheostat.measurement.runs.tool_tables import with_units
from rheostat.measurement.runs.tracker_names import without_groups

MEASURED = {*QUANTITIES, "span_s", "package_power_w", "dram_power_w"}
ASKED = {"nodes", "gpus", "cores", "tasks", "time_limit_s"}
COMMA = r"^\s*[-+]?\d+,\d"


def read_runs(
    path: str | Path,
    *,
    map: str | Path | Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    known: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    encoding: str = "utf-8",
    zone: str = "",
    measured: bool = True,
) -> JobTable:
    """Read measured runs.

    Parameters
    ----------
    path
        A CSV (any usual delimiter, gzip or not) or parquet file.
    map
        A TOML file or the same as a mapping: tables ``columns``, ``known``, ``drop``.
    columns
        Ours to theirs, on top of ``map``: ``{"runtime_s": "wall_s"}``, a sum ``A+B``, a rate
        ``1/A``.
    known
        Moment of a column: ``{"size": "submit"}``.
    keep
        Columns to stay under their own name and in their own unit, where the file has them: knobs.
    encoding
        Of a CSV file.
    zone
        Of the clock of times without a zone: ``Europe/Paris``; else they are taken as UTC.
    measured
        Whether rows are runs; else they may be cases to forecast, of which nothing is measured.

    Returns
    -------
    JobTable
        A row per run, SI units; null where its runtime, energy or power is missing.

    Raises
    ------
    DataError
        Mapped columns that the file has not; no runtime, power or energy in it at all, unless its
        rows are numbered jobs that have yet to run, or training steps.
    """
    stated = load_mapping(map) if isinstance(map, (str, Path)) else Mapped.of(map or {})
    theirs = [*(str(t) for t in (columns or {}).values()), *stated.theirs]
    frame, notes = table_frame(path, encoding, keep, theirs)
    if all(frame[c].null_count() == frame.height for c in frame.columns if c != ROW):
        raise DataError(str(path), ["no cell has a value", _present(frame)])
    named = spelled(without_parts(columns or {}), frame.columns)
    chosen = Mapped.of({"columns": named, "known": dict(known or {})})
    chosen = chosen.over(stated)
    asked = {*keep, *(c for s in chosen.columns.values() for c in s.columns)}
    frame, chosen, before = _in_known_columns(frame, chosen, asked)
    kept = [k for k in keep if k in frame.columns and k not in {*VOCABULARY, *chosen.columns}]
    chosen = chosen.keeping(kept, [k for k in keep if k not in VOCABULARY])
    frame = with_stated(frame, chosen)
    missing = sorted({c for s in chosen.columns.values() for c in s.columns} - set(frame.columns))
    if missing:
        gone = [f"mapped column {c} is missing" for c in missing]
        raise DataError(str(path), [*gone, _present(frame)])
    frame, dated = read_dates(frame, chosen)
    taken, meant = _take(frame, chosen)
    rest, guessed, words = guess_rest(frame, chosen, taken)
    table = frame.select(ROW, **taken, **rest)
    table = _as_numbers(path, table)
    digits = rounded(table, frame, _headings({**taken, **rest}), chosen.columns)
    words += _not_understood(path, frame, {**taken, **rest}, table)
    words += without_idle([*meant, *guessed])
    table, back = instants(table, frame, {**taken, **rest}, zone)
    table, unset = without_zeros(table)
    table, derived = runtime_between(table)
    table, timed = runtime_by_clock(table) if "runtime_s" not in chosen.columns else (table, [])
    meant += [VOCABULARY["runtime_s"]] if derived else []
    table, read = energy_between(table)
    meant += [VOCABULARY["energy_j"]] if read else []
    table, summed = per_part(table)
    meant += [VOCABULARY[note.message.split()[0]] for note in summed]
    table, sized = cores_of_nodes(table) if "submit_s" in table.columns else (table, [])
    meant += [VOCABULARY["cores"]] if sized else []
    table, together, counted = one_row_a_job(table, _headings({**taken, **rest}))
    meant += counted
    table, coarse = finer_of_three(table, digits if not together else EXACT)
    table, zeros = known_amounts(table)
    table, unfinished = runs_by_end(table, keep)
    table, joined = with_continued(table, keep)
    table, unbalanced = energy_balance(table, digits)
    if measured and not MEASURED & set(table.columns) and not _are_requests(table):
        lacking = "found no runtime, power or energy among the columns"
        raise DataError(str(path), [lacking, _present(frame), what_to_map(frame.columns)])
    words += [*one_over(chosen), *dated, *back, *unset, *derived, *read, *timed, *summed, *sized]
    words += [*together, *coarse, *zeros, *unfinished, *joined, *unbalanced, *counted_on(table)]
    return as_jobs(table, [*meant, *guessed], [*notes, *before, *words])


def _are_requests(table: pl.DataFrame) -> bool:
    """Whether nothing was metered: jobs with a number that ask for something, steps, counters."""
    there = set(table.columns)
    counted = any(name.endswith("_per_s") and name in COUNTERS for name in there)
    return counted or there >= TRAINING or ("job_id" in there and bool(ASKED & there))


def _headings(exprs: Mapping[str, pl.Expr]) -> dict[str, str]:
    """Our names, and the heading of the file that each is taken from."""
    return {ours: expr.meta.root_names()[0] for ours, expr in exprs.items()}


def _present(frame: pl.DataFrame) -> str:
    return f"present: {', '.join(c for c in frame.columns if c != ROW)}"


def table_frame(
    path: str | Path,
    encoding: str = "utf-8",
    keep: Sequence[str] = (),
    mapped: Collection[str] = (),
) -> tuple[pl.DataFrame, list[Note]]:
    """A table as it stands, in the file's names, with the row number in `ROW`; and notes."""
    path = ordinary_file(path)
    with path.open("rb") as file:
        packed = file.read(4) == MAGIC
    if not packed:
        reader = read_records if begins_as_json(head(path, 256)) else read_delimited
        frame, notes = reader(path, encoding)
        frame, across = rows_of_runs(frame, mapped)
        frame = frame.rename(headings_meant(keep, frame.columns))
        frame, read_in = in_base_units(frame, keep)
        frame, repeated = repeats_below(frame)
        frame, means = without_statistics(frame)
        said = [*notes, *across, *read_in, *repeated, *means]
        return knobs_as_numbers(frame, keep), said
    frame, notes = flat(path)
    return frame.rename(headings_meant(keep, frame.columns)), notes


def _in_known_columns(
    frame: pl.DataFrame, chosen: Mapped, asked: Collection[str]
) -> tuple[pl.DataFrame, Mapped, list[Note]]:
    """The table with headings that say of what a value is, and what is taken for a run time."""
    plain = {c: n for c, n in without_groups(frame.columns).items() if c not in asked}
    frame = frame.rename(plain)
    parts = {c: n for c, n in of_one_part(frame.columns).items() if c not in asked}
    frame, notes = watts_of_one(frame.rename(parts), [*asked, *chosen.columns])
    frame, held = told_by_others(frame, chosen.columns)
    frame, by_tool = with_units(frame, asked)
    chosen, said = _with_preset(chosen, frame.columns)
    frame, rated, by_rate = with_rate(frame, chosen.columns)
    return frame, chosen.over(Mapped(rated)), [*notes, *by_tool, *said, *by_rate, *held]


def _with_preset(chosen: Mapped, columns: Sequence[str]) -> tuple[Mapped, list[Note]]:
    for name, columns_of_preset, spec in PRESETS:
        if columns_of_preset <= {*columns, *chosen.columns}:
            return chosen.over(Mapped.of(spec, name)), [Note(f"columns mapped as {name}")]
    plain = {**device_caps(columns), **interval_names(columns)}
    return (chosen.over(Mapped.of({"columns": plain})) if plain else chosen), []


def _take(frame: pl.DataFrame, chosen: Mapped) -> tuple[dict[str, pl.Expr], list[Column]]:
    """Expressions for the mapped columns, and descriptions that say what each is taken from."""
    said = [described(n, s, chosen) for n, s in chosen.columns.items()]
    return {n: source_expr(frame, s, n) for n, s in chosen.columns.items()}, said


def _not_understood(
    path: str | Path, frame: pl.DataFrame, exprs: Mapping[str, pl.Expr], table: pl.DataFrame
) -> list[Note]:
    """Texts that are no time, noted with an example; an amount that is never one is an error."""
    notes, problems = [], []
    for name, theirs in _headings(exprs).items():
        if frame[theirs].dtype != pl.String or table[name].dtype == pl.String:
            continue
        lost = frame.select(ROW, theirs).filter(frame[theirs].is_not_null() & table[name].is_null())
        if not lost.height:
            continue
        kind = "time" if name.endswith("_s") else "number"
        said = f"{name}: {lost[theirs][0]!r} in {theirs} is no {kind}"
        if name in QUANTITIES and lost[theirs].str.contains(COMMA).any():
            problems.append(f"{said}; {PLAIN_NUMBERS}")
        elif name in QUANTITIES and table[name].null_count() == table.height:
            expected = settings_across(frame.columns) or "seconds, hh:mm:ss or 1h30m"
            problems.append(f"{said}, nor is any other; expected {expected}")
        notes.append(note_rows(f"{said}, null", lost[ROW].to_list()))
    if problems:
        raise DataError(str(path), problems)
    return notes


def _as_numbers(path: str | Path, table: pl.DataFrame) -> pl.DataFrame:
    """Amounts as numbers; text is a `DataError` with the first cell that is none.

    A column without a single value has no type of its own: here it gets that of its meaning.
    """
    problems, empty = [], []
    wanted = (*AMOUNTS, "start_s", "end_s", "cpu_cap_w", "gpu_cap_w")
    for name in (c for c in table.columns if c in wanted or of_numbers(c)):
        values = table[name]
        if values.dtype.is_numeric():
            continue
        if values.null_count() == len(values):
            empty.append(name)
            continue
        if values.dtype == pl.Binary:  # which polars takes for text or ends
            problems.append(f"{name} holds bytes, expected numbers")
            continue
        bad = values.cast(pl.String).cast(pl.Float64, strict=False).is_null() & values.is_not_null()
        at = int(bad.arg_max() or 0)
        hint = f"; {PLAIN_NUMBERS}" * ("," in str(values[at]))
        said = f"{name} is {values[at]!r} in row {table[ROW][at]}"
        problems.append(f"{said}, expected a number{hint}")
    if problems:
        raise DataError(str(path), problems)
    return table.with_columns(pl.col(empty).cast(pl.Float64))
