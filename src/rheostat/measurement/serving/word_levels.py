"""Columns of words that part the runs of one setting into levels, which no law here knows.

Two engines, versions or formats in one table are no repeats of each other: their mean is of none.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.measurement.runs.levels_apart import levels_apart
from rheostat.measurement.serving.columns import COLUMNS

KNOWN = {"app", *(c.name for c in COLUMNS)}
MOST_LEVELS = 12
"""Words of more levels, or of as many as there are runs, are names of runs, hosts or days."""


def word_levels(runs: JobTable, keys: Sequence[str], quantities: Sequence[str]) -> tuple[Note, ...]:
    """A note on each column of words or flags by which runs of one setting differ clearly.

    Parameters
    ----------
    runs
        Measured configurations.
    keys
        Columns that make a setting.
    quantities
        What is compared, each above 0.

    Examples
    --------
    >>> from rheostat import table
    >>> runs = table({"batch_cap": [1, 1, 2, 2, 4, 4], "engine": ["a", "b"] * 3,
    ...               "itl_s": [1.0, 1.3, 2.0, 2.7, 4.0, 5.2]})
    >>> word_levels(runs, ["batch_cap"], ["itl_s"])[0].message.partition(";")[0]
    'itl_s with engine=b is 1.32 times that with engine=a in the same 3 settings'
    """
    notes = []
    for name in runs.columns:
        if name in KNOWN or name in keys or not of_words(runs.frame[name]):
            continue
        if (apart := levels_apart(runs.frame, keys, name, quantities)) is not None:
            notes.append(Note(
                f"{apart.words(name)}; the law does not know {name} and takes them together: "
                f"--knob {name}={apart.low} shows the runs of one, {name}={apart.low},{apart.high} "
                "compares them, and a table of one is surer"
            ))  # fmt: skip
    return tuple(notes)


def of_words(column: pl.Series) -> bool:
    """Whether a column holds words or flags of a few levels."""
    levels = column.drop_nulls().n_unique()
    plain = column.dtype in (pl.String, pl.Boolean) or (column.dtype.is_numeric() and levels == 2)
    return plain and 2 <= levels <= min(MOST_LEVELS, len(column) // 2)
