"""Instants of a local clock, which is put back for an hour each autumn and shows it twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

HOUR_S = 3600.0
INSTANTS = ("submit_s", "start_s", "end_s")
PUT_BACK = (
    "times run backwards by up to an hour, as where a clock was put back: {} not known; times with "
    "their offset (2026-10-25T02:30:00+02:00) or in seconds since 1970 tell them"
)


def clocks_of(frame: pl.DataFrame, taken: Mapping[str, pl.Expr]) -> list[str]:
    """Which of the instants ``taken`` from a table are those of a clock without a zone."""
    theirs = {n: taken[n].meta.root_names()[0] for n in INSTANTS if n in taken}
    return [n for n, name in theirs.items() if frame[name].dtype == pl.String]


def put_back(table: pl.DataFrame, clocks: Sequence[str]) -> tuple[pl.DataFrame, list[Note]]:
    """Where ``clocks`` run backwards by up to an hour, start and end are not known; rows stay.

    >>> runs = pl.DataFrame({ROW: [0, 1], "start_s": [9000.0, 100.0], "end_s": [7200.0, 900.0]})
    >>> mended, notes = put_back(runs, ["start_s", "end_s"])
    >>> mended["end_s"].to_list(), notes[0].count
    ([None, 900.0], 1)
    """
    there = [n for n in INSTANTS if n in clocks and table[n].dtype.is_numeric()]
    steps = [pl.col(a) - pl.col(b) for a, b in pairwise(there)]
    if not steps:
        return table, []
    short = pl.any_horizontal((step > 0) & (step <= HOUR_S) for step in steps)
    back = table.select(short.fill_null(value=False)).to_series()
    if not back.any():
        return table, []
    late = [n for n in there if n != "submit_s"]
    known = pl.when(~back).then(pl.col(late))
    said = PUT_BACK.format(" and ".join(late))
    return table.with_columns(known), [note_rows(said, table[ROW].filter(back))]
