"""A table of measured serving configurations in the house's own names, as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.serving.columns import COLUMNS

NEEDED = {"gpu_model", "batch_cap", "energy_per_token_j"}


def is_serving(columns: set[str]) -> bool:
    """Whether these are the columns of such a table."""
    return columns >= NEEDED


def read_serving(path: str | Path, *, columns: Mapping[str, str] | None = None) -> JobTable:
    """Configurations, one row each.

    Parameters
    ----------
    path : path
        CSV with at least ``gpu_model``, ``batch_cap`` and ``energy_per_token_j``.
    columns : mapping, optional
        Our name to the file's, where they differ.

    Returns
    -------
    JobTable
        A row per configuration; rows with an energy that is not above 0 J are left out and noted.

    Raises
    ------
    DataError
        The file is no CSV, or a column is missing.
    """
    try:
        frame = pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise DataError(str(path), [f"is no CSV: {error}"[:300]]) from error
    theirs = {t: ours for ours, t in (columns or {}).items()}
    frame = frame.rename({c: theirs[c] for c in frame.columns if c in theirs})
    if missing := sorted(NEEDED - set(frame.columns)):
        raise DataError(str(path), [f"no serving table: {', '.join(missing)} missing"])
    energy = frame["energy_per_token_j"].cast(pl.Float64, strict=False)
    good = (energy.is_finite() & (energy > 0)).fill_null(False)
    bad = tuple((~good).arg_true().to_list())
    kept = frame.with_columns(energy_per_token_j=energy).filter(good)
    said = "energy per token is no number above 0"
    return table(kept, COLUMNS, [Note(said, bad[:20], len(bad), dropped=True)] if bad else [])
