"""A table of measured serving configurations in the house's own names, as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.runs.mapping import ColumnSource, load_mapping
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.frames import csv_frame

NEEDED = {"gpu_model", "batch_cap", "energy_per_token_j"}


def is_serving(columns: set[str]) -> bool:
    """Whether these are the columns of such a table."""
    return columns >= NEEDED


def read_serving(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    map: str | Path | None = None,
) -> JobTable:
    """Configurations, one row each.

    Parameters
    ----------
    path : path
        CSV with at least ``gpu_model``, ``batch_cap`` and ``energy_per_token_j``.
    columns : mapping, optional
        Our name to the file's, where they differ.
    map : path, optional
        The same as a TOML file with a table ``columns``, with sums and scales.

    Returns
    -------
    JobTable
        A row per configuration; rows with an energy that is not above 0 J are left out and noted.

    Raises
    ------
    DataError
        The file is no CSV, or a needed or mapped column is missing.
    """
    frame = csv_frame(path, "table of serving runs")
    named = load_mapping(map).columns if map else {}
    named = {**named, **{o: ColumnSource.of(o, t) for o, t in (columns or {}).items()}}
    absent = sorted({t for s in named.values() for t in s.columns} - set(frame.columns))
    if absent:
        raise DataError(str(path), [f"mapped column {c} is missing" for c in absent])
    frame = frame.with_columns(**{ours: _mapped(source) for ours, source in named.items()})
    if missing := sorted(NEEDED - set(frame.columns)):
        raise DataError(str(path), [f"no serving table: {', '.join(missing)} missing"])
    energy = frame["energy_per_token_j"].cast(pl.Float64, strict=False)
    good = (energy.is_finite() & (energy > 0)).fill_null(False)
    bad = tuple((~good).arg_true().to_list())
    kept = frame.with_columns(energy_per_token_j=energy).filter(good)
    said = "energy per token is no number above 0"
    return table(kept, COLUMNS, [Note(said, bad[:20], len(bad), dropped=True)] if bad else [])


def _mapped(source: ColumnSource) -> pl.Expr:
    if len(source.columns) == 1 and source.scale == 1.0 and not source.inverse:
        return pl.col(source.columns[0])
    numbers = (pl.col(c).cast(pl.Float64, strict=False) for c in source.columns)
    total = pl.sum_horizontal(numbers, ignore_nulls=False)  # a sum without a part is none
    return source.scale / total if source.inverse else source.scale * total
