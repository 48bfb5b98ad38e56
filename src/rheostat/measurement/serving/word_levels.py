"""Columns of words that part the runs of one setting into levels, which no law here knows.

Two engines, versions or formats in one table are no repeats of each other: their mean is of none.

Notation
--------
d  difference of two levels' mean logarithms in a setting that both ran in    k  such settings
levels differ clearly where |mean d| > log `CLEAR` and > `SURE` deviations of d / sqrt(k); where k
is less than `FEW` and d has no deviation to speak of, where |mean d| > log `FAR`
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.measurement.serving.columns import COLUMNS

KNOWN = {"app", *(c.name for c in COLUMNS)}
CLEAR, FAR, SURE, FEW = 1.05, 1.5, 3.0, 3
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
        if name in KNOWN or name in keys or not _of_words(runs.frame[name]):
            continue
        clearly = [f for q in quantities if (f := _farthest(runs.frame, keys, name, q)) is not None]
        if clearly:
            factor, quantity, low, high, count = max(clearly)
            where = f"the same {count} settings" if count > 1 else "the same setting"
            notes.append(Note(
                f"{quantity} with {name}={high} is {factor:.3g} times that with {name}={low} in "
                f"{where}; the law does not know {name} and takes them together: --knob "
                f"{name}={low} shows the runs of one, and a table of one is surer"))  # fmt: skip
    return tuple(notes)


def _of_words(column: pl.Series) -> bool:
    """Whether a column holds words or flags of a few levels."""
    levels = column.drop_nulls().n_unique()
    plain = column.dtype in (pl.String, pl.Boolean) or (column.dtype.is_numeric() and levels == 2)
    return plain and 2 <= levels <= min(MOST_LEVELS, len(column) // 2)


def _farthest(
    frame: pl.DataFrame, keys: Sequence[str], name: str, quantity: str
) -> tuple[float, str, str, str, int] | None:
    """Factor, quantity, lower and higher level and settings of the clearest pair of levels."""
    value = pl.col(quantity).cast(pl.Float64, strict=False)
    known = frame.filter(value.is_finite() & (value > 0) & pl.col(name).is_not_null())
    cells = known.group_by([*keys, name], maintain_order=True).agg(log=value.log().mean())
    levels = cells[name].unique(maintain_order=True).to_list()
    pairs = []
    for a, b in itertools.combinations(levels, 2):
        both = cells.filter(pl.col(name) == a).join(
            cells.filter(pl.col(name) == b), on=list(keys), nulls_equal=True, suffix="_b"
        )
        apart = (both["log_b"] - both["log"]).to_numpy()
        if _clear(apart):
            low, high = (a, b) if apart.mean() > 0 else (b, a)
            pairs.append((math.exp(abs(apart.mean())), quantity, str(low), str(high), len(apart)))
    return max(pairs) if pairs else None


def _clear(apart: np.ndarray) -> bool:
    """Whether differences of logarithms, one a setting, are of one direction for sure."""
    if len(apart) < FEW:
        return bool(len(apart)) and bool(np.abs(apart.mean()) > math.log(FAR))
    error = apart.std(ddof=1) / math.sqrt(len(apart))
    return bool(abs(apart.mean()) > max(math.log(CLEAR), SURE * error))
