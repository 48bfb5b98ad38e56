"""Columns that would explain the run time and are not learned from, as they count as known late."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.vocabulary import VOCABULARY

FEWEST = 20
"""Finished jobs from which a correlation is looked at."""
GOES_WITH = 0.3
"""Rank correlation with the run time, within applications, from which a column is named."""
MOST = 3
SIZES = ("", "B")
"""Units of columns that may say how much there is to do: counts and bytes."""
MEASURED = re.compile(
    r"(^|_)(used?|usage|max|avg|mean|peak|util\w*|rate|ratio|temp\w*|rss|instr\w*|cycles?|miss\w*|flops?|"
    r"read|writ\w+|loss|error|wait\w*|end|exit|elapsed|time|cost|score|speed\w*|throughput|bandwidth)(_|$)",
    re.IGNORECASE,
)
"""Words of columns that a run itself makes."""


def unused_columns(jobs: JobTable) -> tuple[str, ...]:
    """Numbers of the user's own that go with the run time, and that no forecast is shown.

    >>> from rheostat import table
    >>> from rheostat.core.jobs import Column
    >>> size = np.arange(1.0, 31.0)
    >>> log = table({"runtime_s": 9 * size, "mesh": size, "watts_max": size})
    >>> late = [Column(c, "", Moment.END, "") for c in ("mesh", "watts_max")]
    >>> unused_columns(log.with_columns(late))
    ('mesh',)
    """
    if "runtime_s" not in jobs.columns:
        return ()
    late = [c for c in jobs.columns if jobs.schema[c].known is Moment.END]
    named = [
        c for c in late
        if c not in VOCABULARY and jobs.schema[c].unit in SIZES
        and jobs.frame[c].dtype.is_numeric() and not MEASURED.search(c)
    ]  # fmt: skip
    strength = {c: _rank_correlation(jobs.frame, c) for c in named}
    strong = [c for c in named if abs(strength[c]) >= GOES_WITH]
    return tuple(sorted(strong, key=lambda c: -abs(strength[c]))[:MOST])


def _rank_correlation(frame: pl.DataFrame, column: str) -> float:
    """Of a column and the run time, by ranks within applications; 0 of too few."""
    app = pl.col("app") if "app" in frame.columns else pl.lit(0)
    both = frame.select(app=app, x=pl.col(column), y=pl.col("runtime_s")).drop_nulls(["x", "y"])
    if len(both) < FEWEST or both["x"].n_unique() < 2:
        return 0.0
    ranks = both.select((pl.col("x", "y").rank() / pl.len() - 0.5).over("app"))
    value = float(np.corrcoef(ranks["x"].to_numpy(), ranks["y"].to_numpy())[0, 1])
    return value if np.isfinite(value) else 0.0
