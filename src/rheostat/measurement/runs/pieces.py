"""Energies and times of a step of a run, of which the table says how many there were."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

_KINDS = r"(?P<piece>epoch|step|it(?:er(?:ation)?)?|sample|im(?:a)?ge?)"
OF_A_PIECE = {
    "energy_j": re.compile(rf"energy_per_{_KINDS}"),
    "runtime_s": re.compile(rf"time_per_{_KINDS}|{_KINDS.replace('piece', 'ahead')}_time"),
}
"""Names, without their unit, of what one step took."""
ALIKE = {"it": "iteration", "iter": "iteration", "img": "image", "image": "image"}
COUNTS = r"(?:(?:n|no|nr|num|number|total)_(?:of_)?{0}s?|{0}s)(?:_(?:total|done|run|count))?"
"""``steps``, ``num_epochs``; a ``step`` alone is which one, and not how many."""


def of_all_pieces(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """With the energy of whole runs where a table has that of a step, their steps and run times.

    Likewise the run time where energies are of whole runs.

    >>> runs = pl.DataFrame({"steps": [10, 20], "time_s": [5.0, 9.0], "energy_per_step_J": [2, 3]})
    >>> whole, notes = of_all_pieces(runs)
    >>> whole["energy_j"].to_list(), notes[0].message
    ([20.0, 60.0], 'energy_j is energy_per_step_J times steps')
    """
    named = {guess_name(c) for c in frame.columns if not any(_piece(c, q) for q in OF_A_PIECE)}
    metered = named & {"energy_j", "power_w", "power_per_node_w"}
    if "runtime_s" in named and not metered:
        return _times_count(frame, "energy_j")
    if "energy_j" in named and not named & {"runtime_s", "start_s", "submit_s"}:
        return _times_count(frame, "runtime_s")
    return frame, []


def _times_count(frame: pl.DataFrame, ours: str) -> tuple[pl.DataFrame, list[Note]]:
    """With one quantity, what a step took times how many there were, where both are told once."""
    pieces = [(c, m) for c in frame.columns if (m := _piece(c, ours)) and _number(frame, c)]
    if len(pieces) != 1:
        return frame, []
    each, piece = pieces[0]
    counts = [c for c in frame.columns if c != each and _counts(c, piece) and _number(frame, c)]
    if len(counts) != 1 or not frame.select((pl.col(counts[0]) > 0).all()).item():
        return frame, []
    amount = pl.col(each).cast(pl.Float64) * split_unit(each, timed=ours == "runtime_s")[3]
    made = frame.with_columns((amount * pl.col(counts[0])).alias(ours)).drop(each)
    return made, [Note(f"{ours} is {each} times {counts[0]}")]


def _piece(heading: str, ours: str) -> str:
    """What a column's amount is of, ``step`` of ``energy_per_step_J``; "" where of none."""
    stem, suffix, _, _ = split_unit(heading, timed=ours == "runtime_s")
    plain = re.sub(r"[\W_]+", "_", stem.lower()).strip("_")
    match = OF_A_PIECE[ours].fullmatch(plain) if suffix == ours[-2:] else None
    said = next((g for g in match.groups() if g), "") if match else ""
    return ALIKE.get(said, said)


def _counts(heading: str, piece: str) -> bool:
    words = [piece, *(short for short, whole in ALIKE.items() if whole == piece)]
    plain = re.sub(r"[\W_]+", "_", heading.lower()).strip("_")
    return any(re.fullmatch(COUNTS.format(word), plain) for word in words)


def _number(frame: pl.DataFrame, name: str) -> bool:
    return frame[name].dtype.is_numeric() and frame[name].count() > 0
