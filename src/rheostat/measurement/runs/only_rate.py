"""A table without a run time: the time of a piece of the work, from the only speed that it has."""

from __future__ import annotations

import re
from collections.abc import Collection
from shlex import quote

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.counters.rates import COUNTERS
from rheostat.measurement.runs.derived import ENERGY_OF_A_PIECE, only_grows
from rheostat.measurement.runs.guess import guess_name, lone_quantity, lone_time
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.mapping import RATE, YIELD, ColumnSource

TIMED = {"runtime_s", "span_s", "start_s", "end_s", "submit_s"}
SERVED = re.compile(r"ttft|tpot|itl|first_?token|inter_?token|per_output_token", re.IGNORECASE)
"""Beside these a speed is of a server that answers many at once."""
OF_ONE = re.compile(
    r"(?:/|per)[ _]*(gpu|accelerator|device|card|node|host|server)s?(?![a-z])", re.IGNORECASE
)
SPREAD = re.compile(r"(^|[\W_])(std|stdev|min|max|peak|p\d\d|ci|err(or)?)([\W_]|$)", re.IGNORECASE)


def with_rate(
    frame: pl.DataFrame, taken: Collection[str]
) -> tuple[pl.DataFrame, dict[str, ColumnSource], list[Note]]:
    """The table, ``runtime_s`` as one over its only speed where power goes with it, and a note.

    A speed of each GPU or node counts times their number.  Joules of a whole run are none of a
    piece of its work: beside them, and where there are several speeds, it is left to be asked for.

    >>> runs = pl.DataFrame({"nodes": [1, 2], "ns/day": [10.0, 18.0], "power_w": [300.0, 600.0]})
    >>> _, sources, notes = with_rate(runs, [])
    >>> sources["runtime_s"].scale, notes[0].message
    (86400.0, 'no column is a run time: --column runtime_s=1/ns/day is taken')
    """
    numbers = [c for c in frame.columns if frame[c].dtype.is_numeric() and c not in COUNTERS]
    rates = [c for c in numbers if RATE.search(c) and not (YIELD.search(c) or SPREAD.search(c))]
    if not rates or _has_time(frame, taken):
        return frame, {}, []
    energy, powered = _energy(frame, numbers, taken)
    whole = [c for c in rates if not OF_ONE.search(c)]
    rates = whole or rates
    if not powered or len(rates) > 1 or only_grows_with_rows(frame, rates[0]):
        return frame, {}, []
    name, notes = rates[0], list[Note]()
    if not whole:
        frame, name, notes = _of_all(frame, name)
    if not name:
        return frame, {}, []
    sources = {"runtime_s": ColumnSource.of("runtime_s", {"from": name, "inverse": True})}
    said = [f"--column {quote(f'runtime_s=1/{name}')}"]
    if energy:
        sources["energy_j"] = ColumnSource.of("energy_j", {"from": energy, "inverse": True})
        said.append(f"--column {quote(f'energy_j=1/{energy}')}")
    verb = "are" if energy else "is"
    notes.append(Note(f"no column is a run time: {' '.join(said)} {verb} taken"))
    return frame, sources, notes


def only_grows_with_rows(frame: pl.DataFrame, name: str) -> bool:
    """Whether it may be the reading of a counter: in seconds, watts or joules, and it grows."""
    return split_unit(name)[1] != "" and only_grows(frame[name])


def _has_time(frame: pl.DataFrame, taken: Collection[str]) -> bool:
    named = {guess_name(c) for c in frame.columns} | set(taken)
    served = any(SERVED.search(c) for c in frame.columns)
    alone = lone_quantity("runtime_s", frame.columns) or lone_time(frame)
    return bool(TIMED & named) or served or alone is not None


def _energy(frame: pl.DataFrame, numbers: list[str], taken: Collection[str]) -> tuple[str, bool]:
    """What is done with an energy, if that says what a piece takes; and whether anything does."""
    named = {guess_name(c) for c in frame.columns} | set(taken)
    joules = [c for c in numbers if split_unit(c)[1] == "_j" and not YIELD.search(c)]
    watts = named & {"power_w", "power_per_node_w"} or any(
        split_unit(c)[1] == "_w" and guess_name(c) != "cap_w" for c in numbers
    )
    yields = [c for c in numbers if YIELD.search(c)]
    if joules or "energy_j" in named or any(map(ENERGY_OF_A_PIECE.fullmatch, frame.columns)):
        return "", False
    if watts:
        return "", True
    return (yields[0], True) if len(yields) == 1 else ("", False)


def _of_all(frame: pl.DataFrame, name: str) -> tuple[pl.DataFrame, str, list[Note]]:
    """A speed of each GPU or node times their number; no name where that is not known."""
    match = OF_ONE.search(name)
    part = match[1].lower() if match else ""
    kind = "nodes" if part in ("node", "host", "server") else "gpus"
    counts = [c for k in (f"{kind}_alloc", kind) for c in frame.columns if guess_name(c) == k]
    if not counts or not frame[counts[0]].dtype.is_numeric():
        return frame, "", []
    whole = OF_ONE.sub("", name).strip()
    whole = whole if whole not in frame.columns else f"{whole} of all {kind}"
    said = Note(f"{whole} is {name} times {counts[0]}")
    return frame.with_columns((pl.col(name) * pl.col(counts[0])).alias(whole)), whole, [said]
