"""What advice would have told jobs that ran without it, and what following it would have cost.

A job is found as the hooks find it: by user and partition, by user, by partition, by application
and nodes alone; of rows that differ in nothing else the newest stands.  What is saved is what the
job took, times the change that was forecast before it came.

Notation
--------
change : of a quantity by advice, relative; known as mean and 90 % interval, taken as a Gaussian
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl

from rheostat.core.outcome import Array

LEVEL = 0.9
HALF_WIDTHS = NormalDist().inv_cdf(0.5 + LEVEL / 2)


def advice_rows(jobs: pl.DataFrame, advice: pl.DataFrame) -> pl.Series:
    """The row of ``advice`` that each job would have been told; null where there is none.

    Parameters
    ----------
    jobs : DataFrame
        With ``app`` and ``nodes_requested``; ``user`` and ``partition`` where they are known.
    advice : DataFrame
        What ``rheostat decide --out`` wrote.

    Returns
    -------
    Series
        Numbers of rows, as many as jobs.

    Examples
    --------
    >>> advice = pl.DataFrame({"user": ["ann", "bob"], "app": ["cfd"] * 2,
    ...     "nodes_requested": [4, 4], "nodes": [2, 4]})
    >>> jobs = pl.DataFrame({"user": ["ann", "eve", "ann"], "app": ["cfd"] * 3,
    ...     "nodes_requested": [4, 4, 8]})
    >>> advice_rows(jobs, advice).to_list()
    [0, 1, None]
    """
    known = _keys(advice.with_row_index("advice_row"))
    if "submit_s" in advice.columns:
        known = known.sort("submit_s", maintain_order=True)
    known = known.filter(pl.all_horizontal(pl.col("app", "nodes_requested", "nodes").is_not_null()))
    asked = _keys(jobs).select("user", "app", "partition", "nodes_requested")
    matches = []
    for keys in (("user", "partition"), ("user",), ("partition",), ()):
        on = [*keys, "app", "nodes_requested"]
        newest = known.select(*on, "advice_row").unique(on, keep="last", maintain_order=True)
        matches.append(asked.join(newest, on=on, how="left", maintain_order="left")["advice_row"])
    return pl.select(pl.coalesce(matches).alias("advice_row")).to_series()


def _keys(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of a key in the types of a key; a name that is not known is null."""
    names = [
        (pl.col(n) if n in frame.columns else pl.lit(None)).cast(pl.String).alias(n)
        for n in ("user", "app", "partition")
    ]
    return frame.with_columns(*names, pl.col("nodes_requested").cast(pl.Int64))


def expected_loss(mean: Array, low: Array, high: Array) -> Array:
    """How much worse than as asked advice makes a job on average, where worse counts alone.

    Parameters
    ----------
    mean, low, high : array
        Relative change by advice, with its 90 % interval.

    Returns
    -------
    array
        Mean of the positive part of the change.

    Examples
    --------
    >>> expected_loss(np.array([-0.3, 0.0, 0.1]), np.array([-0.3, -0.1, 0.1]),
    ...               np.array([-0.3, 0.1, 0.1])).round(4).tolist()
    [0.0, 0.0243, 0.1]
    """
    from scipy.special import ndtr

    spread = np.asarray((high - low) / (2 * HALF_WIDTHS))
    wide = spread > 0
    z = np.divide(mean, spread, out=np.zeros_like(spread), where=wide)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.where(
        wide,
        mean * ndtr(z) + spread * density,
        np.where(spread == 0, np.maximum(mean, 0.0), np.nan),
    )
