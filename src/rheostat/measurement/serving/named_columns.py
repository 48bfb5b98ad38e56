"""Columns of requests under our names, as ``--column`` says, in the unit that a name says."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from rheostat.measurement.runs.mapping import ColumnSource, spelled


def named_columns(frame: pl.DataFrame, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """The frame with those that it has under our names: ``arrival_ms`` as seconds.

    >>> trace = pl.DataFrame({"arrival_ms": [500.0], "t": [30.0]})
    >>> named_columns(trace, {"submit_s": "arrival_ms"}).to_dicts()
    [{'t': 30.0, 'submit_s': 0.5}]
    >>> named_columns(trace, {"submit_s": "t/60"})["submit_s"].to_list()
    [0.5]
    """
    sources = {o: ColumnSource.of(o, t) for o, t in spelled(columns or {}, frame.columns).items()}
    held = {o: s for o, s in sources.items() if {*s.theirs} <= {*frame.columns} and not s.over}
    made = {o: _values(frame, source).alias(o) for o, source in held.items()}
    gone = {s.theirs[0] for s in held.values() if len(s.theirs) == 1} - set(made)
    return frame.with_columns(made.values()).drop(gone)


def _values(frame: pl.DataFrame, source: ColumnSource) -> pl.Expr:
    """Numbers in our unit; what is no number, as a moment of the calendar, as it stands."""
    first = source.columns[0]
    return source.values() if frame[first].dtype.is_numeric() else pl.col(first)
