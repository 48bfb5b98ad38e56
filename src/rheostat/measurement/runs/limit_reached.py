"""Runs that took just their time limit: cut off there, where nothing says how they ended."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows

BEYOND_S, BEYOND = 60.0, 0.02
"""How long after its limit a job is ended, at most, and what part of it that may be."""
SHARE = 0.5
"""Of the runs at most; where more took their limit it was written down after the run."""
SAID = (
    "runtime_s is time_limit_s: cut off there, it did not do its work and counts as unfinished; if "
    "it ended by itself, --column censored==false counts all runs"
)


def with_limit_reached(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Flag runs of a table that end at their limit, or where the batch system ends them after it.

    >>> runs = {ROW: [0, 1], "runtime_s": [3610.0, 90.0], "time_limit_s": [3600, 3600]}
    >>> with_limit_reached(pl.DataFrame(runs))[0]["censored"].to_list()
    [True, False]
    """
    both = ("runtime_s", "time_limit_s")
    if not all(table.schema.get(name, pl.String).is_numeric() for name in both):
        return table, []
    took, limit = (pl.col(name).cast(pl.Float64) for name in both)
    late = pl.min_horizontal(pl.lit(BEYOND_S), BEYOND * limit)
    cut = ((limit > 0) & (took >= limit) & (took <= limit + late)).fill_null(value=False)
    rows = table.filter(cut)[ROW].to_list()
    if not rows or len(rows) > SHARE * table.height:
        return table, []
    return table.with_columns(censored=cut), [note_rows(SAID, rows)]
