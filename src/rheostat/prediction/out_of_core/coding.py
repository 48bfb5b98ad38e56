"""How does a table too large for memory become numbers, the same way in every process?

A name (user, application, partition) becomes the mean log target of the
past jobs that carry it, and how many there were.  Both come from *tallies*, counts and sums per
name, which are made part by part, merge by addition, and are therefore the same whether one process
reads everything or a hundred read a part each.  On the training rows a name's mean leaves out the
row's own fold, or the answer would be given away on the rows it was computed from [Micci2001]_.
All columns are then cut into bins of one byte (see `binning`).

Notation
--------
n  rows      t  targets      c  levels (distinct names) of a category      f  folds
y : (n, t) float32, log target less the log of what it scales with, NaN = nothing to learn
x : (n, k) uint8      means : (f + 1, t, c), fold by fold left out, last: of all rows
counts : (f + 1, c)     prior : (t,) mean of all rows

References
----------
.. [Micci2001] Micci-Barreca, D.: A preprocessing scheme for high-cardinality categorical attributes
   in classification and prediction problems. SIGKDD Explorations 3(1), 2001.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.prediction.out_of_core.binning import Codes, edges_of, encode
from rheostat.prediction.out_of_core.category_counts import FOLDS, Tally, prune, ranked
from rheostat.prediction.out_of_core.memory_plan import MemoryPlan

SHRINK = 5.0
"""Rows that the mean of all weighs in the mean of a level."""


@dataclass(frozen=True)
class Levels:
    """The levels of one category and, leaving out each fold in turn, what is known of them."""

    values: tuple[str, ...] | pl.Series
    counts: NDArray[np.float32]
    means: NDArray[np.float32]

    @cached_property
    def _index(self) -> pl.DataFrame:
        values = pl.Series("value", self.values, dtype=pl.String)
        return pl.DataFrame({"value": values, "code": np.arange(len(values), dtype=np.int64)})

    def codes(self, names: pl.Series) -> NDArray[np.int64]:
        """Position of each name, -1 where it was never seen or is null."""
        asked = names.cast(pl.String).to_frame("value")
        joined_codes = asked.join(self._index, on="value", how="left", maintain_order="left")
        return joined_codes["code"].fill_null(-1).to_numpy()

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in self.__dict__.items() if k != "_index"}


@dataclass(frozen=True)
class Coding:
    """From a table to the matrix that boosters see; the same in every process.

    >>> from rheostat.core.jobs import Moment
    >>> from rheostat.core.vocabulary import table
    >>> from rheostat.prediction.out_of_core.memory_plan import make_plan
    >>> from rheostat.prediction.out_of_core.category_counts import tally
    >>> t = table({"app": ["md", "md", "cfd", "cfd"] * 4, "nodes": [1, 2] * 8,
    ...            "runtime_s": [1.0, 1.0, 9.0, 9.0] * 4})
    >>> plan = make_plan(t, ["runtime_s"], None, Moment.SUBMIT)
    >>> coding = make_coding(plan, tally(plan, [t], 9))
    >>> plan.names
    ('nodes', 'app#n', 'app#runtime_s')
    >>> _, count, mean = coding.columns(table({"app": ["md", "cfd", "new"], "nodes": [1, 1, 1]}))
    >>> bool(mean[0] < mean[2] < mean[1]), count[2].item()
    (True, 0.0)

    A level never seen gets count 0 and the mean of all rows.
    """

    plan: MemoryPlan
    levels: Mapping[str, Levels]
    prior: NDArray[np.float32]
    spans: NDArray[np.float64]
    edges: tuple[Array, ...] = ()

    def matrix(self, jobs: JobTable, fold: NDArray[np.int64] | None = None) -> Codes:
        """(n, k) uint8; ``fold`` is given for training rows, whose own fold is left out."""
        return encode(self.columns(jobs, fold), self.edges)

    def columns(self, jobs: JobTable, fold: NDArray[np.int64] | None = None) -> list[Array]:
        """The k columns before they are cut, each (n,)."""
        row = np.full(len(jobs), FOLDS) if fold is None else fold
        columns = [v for c in self.plan.numbers for v in _number_values(c, jobs)]
        for name in self.plan.categories:
            level = self.levels[name]
            code = level.codes(jobs.frame[name])
            seen = code >= 0
            columns.append(np.where(seen, np.log1p(level.counts[row, code]), 0.0))
            columns += [
                np.where(seen, level.means[row, t, code], self.prior[t])
                for t in range(len(self.plan.targets))
            ]
        return columns

    def support(self, jobs: JobTable) -> NDArray[np.float64]:
        """(n,) training rows that share the row's rarest name: a bound on how many are alike."""
        least = np.full(len(jobs), np.inf)
        for name in self.plan.categories:
            level = self.levels[name]
            code = level.codes(jobs.frame[name])
            least = np.minimum(least, np.where(code >= 0, level.counts[FOLDS, code], 0.0))
        return least

    def outside(self, jobs: JobTable) -> NDArray[np.bool_]:
        """(n,) rows with a number beyond the least or greatest value learnt from."""
        outside = np.zeros(len(jobs), dtype=bool)
        for name, low, high in zip(self.plan.numbers, *self.spans, strict=True):
            if name != "submit_s":
                values = jobs.numpy(name)
                outside |= (values < low) | (values > high)
        return outside


def make_coding(plan: MemoryPlan, counted: Tally, keep: int = 200_000) -> Coding:
    """The coding that a tally of the training rows implies."""
    empty = [t for t, n in zip(plan.targets, counted.totals[0], strict=True) if not n]
    if empty:
        what = [f"no row has {t} > 0 and ran to its end (of {counted.rows} rows)" for t in empty]
        raise DataError("fit", what)
    prior = counted.totals[1] / counted.totals[0]
    levels = {c: _levels(prune(counted.levels[c], keep), prior) for c in plan.categories}
    uncut = Coding(plan, levels, prior.astype(np.float32), counted.spans)
    edges = (edges_of(c) for c in uncut.columns(table(counted.sample)))
    return replace(uncut, edges=tuple(edges))


def _levels(summed: pl.DataFrame, prior: NDArray[np.float64]) -> Levels:
    values = ranked(summed)["value"]
    none = np.empty(0, dtype=np.float32)
    code = Levels(values, none, none).codes(summed["value"])
    count = np.zeros((len(prior), FOLDS, len(values)))
    total = np.zeros_like(count)
    for t in range(len(prior)):
        count[t, summed["fold"].to_numpy(), code] = summed[f"n{t}"].to_numpy()
        total[t, summed["fold"].to_numpy(), code] = summed[f"s{t}"].to_numpy()
    left = _leave_out(count)
    means = (_leave_out(total) + SHRINK * prior[:, None, None]) / (left + SHRINK)
    # Leaving one fold out shows fewer rows than there are: scaled up, or counts would tell folds.
    shown = left[0] * np.array([FOLDS / (FOLDS - 1)] * FOLDS + [1.0])[:, None]
    return Levels(values, shown.astype(np.float32), means.transpose(1, 0, 2).astype(np.float32))


def _leave_out(per_fold: NDArray[np.float64]) -> NDArray[np.float64]:
    """(t, f + 1, c): the sum over all folds but one, last the sum over all."""
    whole = per_fold.sum(axis=1, keepdims=True)
    return np.concatenate([whole - per_fold, whole], axis=1)


def _number_values(name: str, jobs: JobTable) -> list[NDArray[np.float64]]:
    values = jobs.numpy(name)
    if name != "submit_s":
        return [values]
    return [values % 86_400.0 / 3600.0, np.floor(values % 604_800.0 / 86_400.0)]
