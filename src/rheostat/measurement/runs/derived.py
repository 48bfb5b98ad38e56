"""What a table does not hold and its other columns tell."""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Note


def runtime_between(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The table with ``runtime_s``, end less start, where it has those two and no run time.

    >>> runs = pl.DataFrame({"start_s": [10.0, 20.0], "end_s": [70.0, None]})
    >>> with_runtime, notes = runtime_between(runs)
    >>> with_runtime["runtime_s"].to_list(), notes[0].message
    ([60.0, None], 'runtime_s is end_s less start_s')
    """
    if "runtime_s" in table.columns or not {"start_s", "end_s"} <= set(table.columns):
        return table, []
    length = (pl.col("end_s") - pl.col("start_s")).cast(pl.Float64)
    forward = pl.when(length >= 0).then(length)
    return table.with_columns(runtime_s=forward), [Note("runtime_s is end_s less start_s")]
