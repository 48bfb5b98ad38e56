"""How does a column become one byte, the same byte in every process?

Each column is cut at quantiles of a sample of training rows, chosen by row number alone, into at
most 254 bins.  Trees that are grown on histograms keep no more than that anyway; cutting once and
before them makes the chunks on disk four times smaller, and makes the boosting libraries find the
very same splits whether rows come at once, in chunks or on several machines.

Notation
--------
n  rows      k  columns      edges : per column, ascending      code : 0 missing, else 1 + bin
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Codes = NDArray[np.uint8]
BINS = 254
SAMPLE = 8192
"""Rows kept of a part to find the edges from."""


class Sampler:
    """Every s-th row of a part, s a power of two just large enough to keep at most `SAMPLE`."""

    def __init__(self) -> None:
        self.at, self.step, self.kept = 0, 1, [pl.DataFrame()][:0]

    def add(self, frame: pl.DataFrame) -> None:
        """Take the next rows."""
        number = np.arange(self.at, self.at + frame.height)
        self.at += frame.height
        while self.at > SAMPLE * self.step:
            self.step *= 2
        self.kept.append(frame.with_columns(__number=number))
        self.kept = [f.filter(pl.col("__number") % self.step == 0) for f in self.kept]

    def rows(self) -> pl.DataFrame:
        """The sample; it depends on the rows of the part and not on how they were batched.

        >>> def sampled(*sizes):
        ...     sampler = Sampler()
        ...     for frame in np.split(np.arange(20_000), np.cumsum(sizes)):
        ...         sampler.add(pl.DataFrame({"x": frame}))
        ...     return sampler.rows()["x"].to_list()
        >>> sampled(7, 9000) == sampled(15_000), len(sampled(10))
        (True, 5000)
        """
        return pl.concat(self.kept).drop("__number") if self.kept else pl.DataFrame()


def edges_of(values: Array) -> Array:
    """Edges of one column from a sample: between all values if few, else at quantiles.

    >>> edges_of(np.array([1.0, 4.0, 2.0, 1.0, np.nan])).tolist()
    [1.5, 3.0]
    >>> len(edges_of(np.arange(10_000.0)))
    253
    >>> edges_of(np.array([np.nan])).tolist()
    []
    """
    there = values[np.isfinite(values)]
    distinct = np.unique(there)
    if len(distinct) <= BINS:
        return (distinct[1:] + distinct[:-1]) / 2
    levels = np.arange(1, BINS) / BINS
    return np.unique(np.quantile(there, levels, method="inverted_cdf"))


def encode(columns: Sequence[Array], edges: Sequence[Array]) -> Codes:
    """(n, k) codes.

    >>> encode([np.array([np.nan, 1.0, 2.0, 9.0])], [np.array([1.5, 3.0])]).ravel().tolist()
    [0, 1, 2, 3]
    """
    codes = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=np.uint8)
    for i, (values, cuts) in enumerate(zip(columns, edges, strict=True)):
        place = np.searchsorted(cuts, values, side="right") + 1
        codes[:, i] = np.where(np.isfinite(values), place, 0)
    return codes
