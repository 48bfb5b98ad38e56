"""Columns of a table that nobody mapped: what they are taken for, and when they are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from rheostat.core.jobs import Column, Moment, Note
from rheostat.core.vocabulary import VOCABULARY, column
from rheostat.measurement.checks import ROW
from rheostat.measurement.counters.rates import COUNTERS
from rheostat.measurement.dates import since_1970
from rheostat.measurement.runs.cell_units import seconds_of_cell
from rheostat.measurement.runs.ends import state_by_words
from rheostat.measurement.runs.guess import (
    NAMED,
    Guess,
    guess_known,
    guess_name,
    lone_quantity,
    lone_time,
    unclear_units,
    whole_quantity,
)
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.local_clock import INSTANTS
from rheostat.measurement.runs.mapping import ColumnSource, Mapped, of_theirs
from rheostat.measurement.runs.named_otherwise import not_as_named, other_run_times

STATED = "as it stands, known when somebody said"
"""Meaning of a column whose moment nobody guessed."""
QUANTITIES = ("runtime_s", "power_w", "energy_j")


def guess_rest(
    frame: pl.DataFrame, chosen: Mapped, taken: Mapping[str, pl.Expr]
) -> tuple[dict[str, pl.Expr], list[Column], list[Note]]:
    """Columns that nobody mapped: renamed where the name is plain, else kept under their own."""
    used = {c for s in chosen.columns.values() for c in s.columns} | {ROW, *chosen.drop, *taken}
    exprs: dict[str, pl.Expr] = {}
    columns: list[Column] = []
    guesses: list[Guess] = []
    texts: list[Note] = []
    missing = [q for q in QUANTITIES if not _named(q, frame, taken)]
    alone = {lone_quantity(q, frame.columns) or whole_quantity(q, frame): q for q in missing}
    if not _named("runtime_s", frame, taken) and lone_quantity("runtime_s", frame.columns) is None:
        alone[lone_time(frame)] = "runtime_s"
    other = not_as_named(frame) | state_by_words(frame)
    for theirs in (c for c in frame.columns if c not in used):
        guess = _guess(theirs, frame[theirs], chosen.known, alone.get(theirs))
        if (ours := other.get(theirs)) is not None and not {ours} & {*taken, *exprs}:
            known = guess_known(theirs, frame[theirs]) if not ours else column(ours).known
            _, suffix, _, factor = split_unit(theirs)
            scale = factor if suffix and ours.endswith(suffix) else 1.0
            guess = Guess(ours or theirs, theirs, scale, "", known)
        guess = replace(guess, known=chosen.known.get(guess.name, guess.known))
        if guess.name in taken or guess.name in exprs:
            guess = Guess(theirs, theirs, 1.0, "", chosen.known.get(theirs, Moment.END))
        exprs[guess.name] = source_expr(frame, ColumnSource((theirs,), guess.scale), guess.name)
        if guess.name in VOCABULARY and theirs not in chosen.known:
            columns.append(of_theirs(guess.name, (theirs,)))
        else:
            stated = guess.name == theirs and theirs in chosen.known
            meaning = STATED if stated else f"from {theirs}"
            columns.append(Column(guess.name, guess.unit, guess.known, meaning))
        guesses.append(guess)
        text = guess.name == theirs and frame[theirs].dtype == pl.String
        if text and (ours := guess_name(theirs)) in QUANTITIES and ours != theirs:
            texts.append(Note(f"{theirs} holds text, not numbers: not read as {ours}"))
    notes = [*texts, *unclear_units(frame), *_of_parts(guesses, alone)]
    notes += other_run_times(frame, {g.source: g.name for g in guesses})
    if chosen.drop:
        notes.insert(0, Note(f"left out as the mapping says: {', '.join(chosen.drop)}"))
    return exprs, columns, [*notes, *_guessed(guesses)]


DEVICE = re.compile(
    r"(^|_)(gpus?|cards?|accelerators?|cpus?|pkg|packages?|rapl|sockets?|dram)(_|$)"
)


def _of_parts(guesses: Sequence[Guess], alone: Mapping[str | None, str]) -> list[Note]:
    """Notes on power and energy that are of a part of a machine, and the only ones of a table."""
    parts = [g for g in guesses if g.name in ("power_w", "energy_j") and g.source in alone
             and DEVICE.search(re.sub(r"[\W_]+", "_", g.source.lower()))]  # fmt: skip
    return [
        Note(f"{g.name} is {g.source}, which leaves out what the rest of a node draws, and slower "
             "settings draw that for longer")
        for g in parts
    ]  # fmt: skip


def _named(ours: str, frame: pl.DataFrame, taken: Mapping[str, pl.Expr]) -> bool:
    """Whether a quantity is mapped, or some column has its plain name."""
    return ours in taken or any(guess_name(c) == ours for c in frame.columns)


def _guess(theirs: str, values: pl.Series, known: Mapping[str, Moment], alone: str | None) -> Guess:
    stem, suffix, unit, scale = split_unit(theirs)
    ours = guess_name(theirs) or alone
    if ours is not None and (
        values.dtype.is_numeric() or ours.endswith("_s") or not of_numbers(ours)
    ):
        scale = scale if ours.endswith(suffix or "\0") else 1.0
        scale = since_1970(values)[0] if ours in INSTANTS and not unit else scale
        dates = not values.dtype.is_numeric() and (scale == 1.0 or ours in INSTANTS)  # or 31:45
        return Guess(ours, theirs, scale, NAMED[ours].unit, NAMED[ours].known, dates)
    moment = known.get(theirs, guess_known(theirs, values))
    if unit and values.dtype.is_numeric():
        return Guess(stem + suffix, theirs, scale, unit, known.get(stem + suffix, moment))
    return Guess(theirs, theirs, 1.0, "", moment)


def of_numbers(ours: str) -> bool:
    """Whether our column of this name holds numbers.

    >>> of_numbers("nodes"), of_numbers("state")
    (True, False)
    """
    if ours in COUNTERS:
        return COUNTERS[ours].unit != ""
    return ours in {"runtime_s", "cap_w", "power_w", "energy_j", "nodes", "gpus", "cores",
                    "threads", "frequency_hz", "batch_size", "time_limit_s", "memory_b",
                    "memory_alloc_b"}  # fmt: skip


def _guessed(guesses: Sequence[Guess]) -> list[Note]:
    """What columns were taken for, and when values are known: forecasts use those known before."""
    taken = [words for g in guesses if (words := _words(g)) != g.source]
    said = [f"guessed: {'; '.join(taken)}"] if taken else []
    when = {Moment.SUBMIT: "before a run", Moment.START: "at its start", Moment.END: "after a run"}
    for moment, then in when.items():
        if names := [g.name for g in guesses if g.known is moment]:
            said.append(f"guessed to be known {then}: {', '.join(names)}")
    return [Note(one) for one in said]


def _words(guess: Guess) -> str:
    scale = "" if guess.scale == 1.0 or guess.dates else f" x {guess.scale:g}"
    if guess.unit and not guess.dates and not split_unit(guess.source)[2]:
        scale += f", taken as {guess.unit}"
    return guess.name if guess.name == guess.source else f"{guess.name} = {guess.source}{scale}"


def source_expr(frame: pl.DataFrame, source: ColumnSource, ours: str) -> pl.Expr:
    """Our column from its source: seconds of texts and dates, sums, and one over a rate."""
    if source.inverse:
        plain = source_expr(frame, ColumnSource(source.columns), ours)
        return pl.when(plain > 0).then(source.scale / plain)
    first = frame[source.columns[0]].dtype
    if first == pl.String and ours in ("runtime_s", "time_limit_s", "wait_s"):
        cells = pl.col(source.columns[0])
        with_unit = cells.map_elements(seconds_of_cell, return_dtype=pl.Float64)
        return pl.coalesce(with_unit, cells.cast(pl.Float64, strict=False) * source.scale)
    if isinstance(first, pl.Datetime):
        return pl.col(source.columns[0]).dt.epoch("us").cast(pl.Float64) / 1e6
    if first == pl.String and ours.endswith("_s") and not ours.endswith("_per_s"):
        instant = pl.col(source.columns[0]).str.to_datetime(strict=False, time_unit="us")
        return instant.dt.epoch("us").cast(pl.Float64) / 1e6
    total = pl.col(source.columns[0])
    for extra in source.columns[1:]:
        total = total + pl.col(extra)
    return total if source.scale == 1.0 else total.cast(pl.Float64, strict=False) * source.scale
