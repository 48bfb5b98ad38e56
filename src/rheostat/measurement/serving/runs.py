"""A table of measured serving configurations, in our names or in common ones of others, as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, rows_where
from rheostat.measurement.runs.mapping import ColumnSource, load_mapping
from rheostat.measurement.runs.reader import table_frame
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.model_size import with_params
from rheostat.measurement.serving.serving_names import in_our_names, our_names
from rheostat.measurement.serving.stated_units import ENERGY, POWER, with_energy_per_token

NEEDED = {"gpu_model", "batch_cap"}
SPENT = {"energy_per_token_j", "energy_per_request_j", *ENERGY, *POWER}


def is_serving(columns: set[str]) -> bool:
    """Whether these are the columns of such a table."""
    ours = our_names(columns)
    return ours >= NEEDED and bool(ours & SPENT)


def read_serving(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    map: str | Path | None = None,
    units: Mapping[str, str] | None = None,
) -> JobTable:
    """Configurations, one row each.

    Parameters
    ----------
    path : path
        CSV with at least ``gpu_model``, ``batch_cap`` and ``energy_per_token_j``, or energy per
        request with ``output_tokens``, or power with ``tokens_per_s``; in these or others' names.
    columns : mapping, optional
        Our name to the file's, where they differ.
    map : path, optional
        The same as a TOML file with a table ``columns``, with sums and scales.
    units : mapping, optional
        Per what energy and power are, where the names do not say: ``{"energy": "J/request",
        "power": "W/gpu"}``.

    Returns
    -------
    JobTable
        A row per configuration; rows with an energy that is not above 0 J are left out and noted.

    Raises
    ------
    DataError
        The file is no CSV, a needed or mapped column is missing, or per what energy or power are
        is not said.
    """
    frame, read_in = table_frame(path)
    named = load_mapping(map).columns if map else {}
    named = {**named, **{o: ColumnSource.of(o, t) for o, t in (columns or {}).items()}}
    absent = sorted({t for s in named.values() for t in s.columns} - set(frame.columns))
    if absent:
        raise DataError(str(path), [f"mapped column {c} is missing" for c in absent])
    frame = frame.with_columns(**{ours: _mapped(source) for ours, source in named.items()})
    theirs = [c for c in frame.columns if c != ROW]
    frame = in_our_names(frame)
    problems: list[str] = []
    frame = with_energy_per_token(frame, units or {}, problems)
    needed = NEEDED | (set() if problems else {"energy_per_token_j"})
    if missing := sorted(needed - set(frame.columns)):
        advice = f"name a column: --column {missing[0]}=THEIRS; it has {', '.join(theirs)}"
        said = f"no table of serving runs: {', '.join(missing)} missing ({advice[:300]})"
        problems.insert(0, said)
    if problems:
        raise DataError(str(path), problems)
    energy = pl.col("energy_per_token_j")
    frame = frame.with_columns(energy.cast(pl.Float64, strict=False))
    good = energy.is_finite() & (energy > 0)
    if "app" in frame.columns and not {"params", "active_params"} & set(frame.columns):
        sized = with_params(frame)
        frame = sized if sized["params"].is_not_null().any() else frame
    kept, notes = rows_where(frame, good, "energy per token is no number above 0")
    kept, more = _of_this_world(kept)
    return table(kept.drop(ROW), COLUMNS, [*read_in, *notes, *more])


PLAUSIBLE = {
    "gpus": (1, 1e6), "tp": (1, 1e6), "pp": (1, 1e6), "dp": (1, 1e6), "ep": (1, 1e6),
    "batch_cap": (1, 1e8), "params": (1e3, 1e16), "active_params": (1e3, 1e16),
    "itl_s": (1e-7, 1e5), "energy_per_token_j": (1e-9, 1e9),
    "prompt_tokens": (0, 1e9), "output_tokens": (0, 1e9),
}  # fmt: skip
"""What any deployment of a language model may have; beyond lies a mistake or a wrong unit."""


def _of_this_world(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Rows without a value that no deployment has, and what was left out by which column."""
    notes: list[Note] = []
    for name, (low, high) in PLAUSIBLE.items():
        if name in frame.columns and frame[name].dtype.is_numeric():
            value = pl.col(name)
            good = value.is_null() | value.is_between(low, high) & ~value.cast(float).is_nan()
            frame, said = rows_where(frame, good, f"{name} is not between {low:g} and {high:g}")
            notes += said
    return frame, notes


def _mapped(source: ColumnSource) -> pl.Expr:
    if len(source.columns) == 1 and source.scale == 1.0 and not source.inverse:
        return pl.col(source.columns[0])
    numbers = (pl.col(c).cast(pl.Float64, strict=False) for c in source.columns)
    total = pl.sum_horizontal(numbers, ignore_nulls=False)  # a sum without a part is none
    return source.scale / total if source.inverse else source.scale * total
