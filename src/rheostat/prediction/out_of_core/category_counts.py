"""What must be counted, once, before names can become numbers?

For each name of each category: how many training jobs carry it and the sum of their log targets,
fold by fold.  Tallies are made part by part and merge by addition, so one process that reads
everything and a hundred workers that read a part each arrive at the same dictionary.

Notation
--------
n{i}, s{i}  rows with a value of target i, and the sum of its log, of one level in one fold
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.prediction.out_of_core.binning import Sampler
from rheostat.prediction.out_of_core.memory_plan import MemoryPlan, log_targets

FOLDS = 4


@dataclass(frozen=True)
class Tally:
    """Counts and sums per level and fold of each category, and per target overall.

    ``levels[category]`` has columns value, fold, and n0, s0, n1, s1, ... per target; ``totals`` is
    (2, t): rows and sum of each target; ``spans`` (2, numbers): least and greatest of each number;
    ``sample``: the features of some rows.
    """

    levels: Mapping[str, pl.DataFrame]
    totals: NDArray[np.float64]
    spans: NDArray[np.float64]
    rows: int
    sample: pl.DataFrame


def tally(plan: MemoryPlan, batches: Iterable[JobTable], keep: int) -> Tally:
    """One pass over batches of a part; ``keep`` bounds the levels kept per category."""
    result, sampler = _nothing(plan), Sampler()
    for batch, fold in with_folds(batches):
        result = merge([result, _tally_batch(plan, batch, fold)], keep)
        sampler.add(_features(plan, batch))
    return replace(result, sample=sampler.rows())


def _features(plan: MemoryPlan, jobs: JobTable) -> pl.DataFrame:
    """Features in one type each, so that samples of parts fit together."""
    return jobs.frame.select(
        *(pl.Series(c, jobs.numpy(c)) for c in plan.numbers),
        *(pl.col(c).cast(pl.String) for c in plan.categories),
    )


def with_folds(batches: Iterable[JobTable]) -> Iterable[tuple[JobTable, NDArray[np.int64]]]:
    """Each batch with the fold of each row: its number within the part, modulo folds."""
    at = 0
    for batch in batches:
        yield batch, (at + np.arange(len(batch))) % FOLDS
        at += len(batch)


def _nothing(plan: MemoryPlan) -> Tally:
    count = len(plan.targets)
    spans = np.array([np.full(len(plan.numbers), np.inf), np.full(len(plan.numbers), -np.inf)])
    return Tally({}, np.zeros((2, count)), spans, 0, pl.DataFrame())


def _tally_batch(plan: MemoryPlan, jobs: JobTable, fold: NDArray[np.int64]) -> Tally:
    y = log_targets(plan, jobs).astype(np.float64)
    there = np.isfinite(y)
    zero = np.where(there, y, 0.0)
    columns = {"fold": pl.Series(fold, dtype=pl.Int8)}
    for i in range(y.shape[1]):
        columns |= {f"n{i}": pl.Series(there[:, i]).cast(pl.Int64), f"s{i}": pl.Series(zero[:, i])}
    facts = pl.DataFrame(columns)
    levels = {
        c: _summed(facts.with_columns(value=jobs.frame[c].cast(pl.String))) for c in plan.categories
    }
    values = np.stack([jobs.numpy(c) for c in plan.numbers]) if plan.numbers else np.empty((0, 1))
    finite = np.isfinite(values)
    spans = np.stack(
        [
            np.where(finite, values, np.inf).min(axis=1),
            np.where(finite, values, -np.inf).max(axis=1),
        ]
    )
    totals = np.stack([there.sum(axis=0).astype(float), zero.sum(axis=0)])
    return Tally(levels, totals, spans, len(jobs), pl.DataFrame())


def _summed(facts: pl.DataFrame) -> pl.DataFrame:
    return (
        facts.drop_nulls("value").group_by("value", "fold").agg(pl.exclude("value", "fold").sum())
    )


def merge(tallies: Sequence[Tally], keep: int) -> Tally:
    """The tally of all their rows; rarest levels beyond ``keep`` go, ties by name."""
    names = {c for t in tallies for c in t.levels}
    levels = {
        c: prune(_summed(pl.concat([t.levels[c] for t in tallies if c in t.levels])), 2 * keep)
        for c in sorted(names)
    }
    spans = np.stack(
        [
            np.min([t.spans[0] for t in tallies], axis=0),
            np.max([t.spans[1] for t in tallies], axis=0),
        ]
    )
    return Tally(
        levels,
        np.sum([t.totals for t in tallies], axis=0),
        spans,
        sum(t.rows for t in tallies),
        pl.concat([t.sample for t in tallies if t.sample.height] or [pl.DataFrame()]),
    )


def prune(levels: pl.DataFrame, keep: int) -> pl.DataFrame:
    """The ``keep`` most frequent levels, if there are more rows than that."""
    if levels.height <= keep:
        return levels
    first = ranked(levels).head(keep)
    return levels.join(first.select("value"), on="value", how="semi")


def ranked(levels: pl.DataFrame) -> pl.DataFrame:
    """Levels by number of rows, most first, ties by name so that every process agrees."""
    total = levels.group_by("value").agg(pl.col("n0").sum())
    return total.sort(["n0", "value"], descending=[True, False])
