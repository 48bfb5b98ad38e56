"""Which columns are counters, which are meters, and what is one run?

A model from counters may look at rates (instructions per second, bytes from memory) and at settings
(a cap), never at another meter: a model that sees the joules of the memory while it predicts the
watts of the package has not learnt from counters.  Intervals of one run are averaged by how long
each was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError

METER_UNITS = ("W", "J", "s")
TARGETS = ("runtime_s", "power_w", "package_power_w", "dram_power_w")
"""What the chain of counters models: runtime, node, processor and memory power."""
A_TOTAL = 0.97
"""Rank correlation with the runtime from which on a column is taken for a total."""


def counters_of(jobs: JobTable, targets: Iterable[str] = TARGETS) -> tuple[str, ...]:
    """Numeric columns that a model may look at: counters and settings, no meters, no targets.

    Left out too: columns with holes, constants, and totals that give the runtime away.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"cap_w": [80, 90], "ipc": [1.0, 1.2], "power_w": [70.0, 80.0]},
    ...              [Column("ipc", "", Moment.END)])
    >>> counters_of(runs)
    ('cap_w', 'ipc')
    """
    found, totals = [], totals_in(jobs)
    for c in jobs.schema.values():
        series = jobs.frame[c.name]
        meter = c.known == Moment.END and c.unit in METER_UNITS
        flat = not series.dtype.is_numeric() or series.n_unique() < 2 or series.null_count()
        if not (meter or flat or c.name in (*targets, *totals, "job_id", "weight")):
            found.append(c.name)
    return tuple(found)


def totals_in(jobs: JobTable) -> tuple[str, ...]:
    """Columns that only tell how long a run took: they rise with the runtime in nearly every pair.

    A number of samples, or of instructions in all, gives the runtime away.
    """
    if "runtime_s" not in jobs.columns or len(jobs) < 5:
        return ()
    runtime = jobs.numpy("runtime_s")
    late = [c.name for c in jobs.schema.values() if c.known == Moment.END]
    found = []
    for name in late:
        series = jobs.frame[name]
        if name == "runtime_s" or not series.dtype.is_numeric() or series.n_unique() < 2:
            continue
        if abs(rank_correlation(jobs.numpy(name), runtime)) > A_TOTAL:
            found.append(name)
    return tuple(found)


def rank_correlation(x: Array, y: Array) -> float:
    """Spearman's, over the pairs that are there; 0 where either does not vary."""
    from scipy.stats import rankdata

    there = np.isfinite(x) & np.isfinite(y)
    if there.sum() < 3:
        return 0.0
    a, b = (rankdata(v[there]) - (there.sum() + 1) / 2 for v in (x, y))
    below = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / below if below else 0.0


def cap_of(jobs: JobTable) -> str | None:
    """The column of the power cap: a setting in watts; None without one, the first of several."""
    caps = [c.name for c in jobs.schema.values() if c.unit == "W" and c.known == Moment.SUBMIT]
    return next((c for c in caps if jobs.frame[c].null_count() == 0), None)


def runs_of(jobs: JobTable) -> JobTable:
    """One row per run: numbers averaged over its intervals, settings as they are.

    A table without ``run_id`` has one row per run already.  ``runtime_s`` is the time counted where
    the table has none of its own; ``power_w`` is package plus memory where there is no node meter.
    """
    if "run_id" not in jobs.columns:
        return _totals(jobs)
    weight = pl.col("span_s") if "span_s" in jobs.columns else pl.lit(1.0)
    means, kept = [], []
    for c in jobs.schema.values():
        if c.name in ("run_id", "t_s", "span_s"):
            continue
        if c.known == Moment.END and jobs.frame[c.name].dtype.is_numeric():
            there = pl.col(c.name).is_not_null() & pl.col(c.name).is_not_nan()
            means.append(
                ((pl.col(c.name) * weight).filter(there).sum() / weight.filter(there).sum()).alias(
                    c.name
                )
                if c.name != "runtime_s"
                else pl.col(c.name).first()
            )
        else:
            kept.append(pl.col(c.name).first())
    span = [weight.sum().alias("span_s")] if "span_s" in jobs.columns else []
    frame = jobs.frame.group_by("run_id", maintain_order=True).agg(*kept, *means, *span)
    left = [c for c in jobs.schema.values() if c.name in frame.columns]
    return _totals(JobTable(frame.select([c.name for c in left]), _schema(jobs, left), jobs.notes))


def _schema(jobs: JobTable, left: Sequence[Column]):  # type: ignore[no-untyped-def]
    return jobs.schema.only([c.name for c in left])


def _totals(jobs: JobTable) -> JobTable:
    if "runtime_s" not in jobs.columns and "span_s" in jobs.columns:
        jobs = jobs.with_columns([VOCABULARY["runtime_s"]], runtime_s=pl.col("span_s"))
    parts = ("package_power_w", "dram_power_w")
    if "power_w" not in jobs.columns and set(parts) <= set(jobs.columns):
        jobs = jobs.with_columns([VOCABULARY["power_w"]], power_w=pl.sum_horizontal(*parts))
    return jobs


def run_codes(jobs: JobTable) -> np.ndarray:
    """Number of the run of each row, in order of first appearance, as `runs_of` orders them."""
    if "run_id" not in jobs.columns:
        return np.arange(len(jobs))
    ids = jobs.frame["run_id"].cast(pl.String)
    order = {name: k for k, name in enumerate(ids.unique(maintain_order=True))}
    return np.array([order[i] for i in ids])


def averaged(jobs: JobTable, values: Array) -> Array:
    """Values of intervals (n,) as means of runs (r,), each interval by its length."""
    code = run_codes(jobs)
    weight = jobs.numpy("span_s") if "span_s" in jobs.columns else np.ones(len(jobs))
    weight = np.where(np.isfinite(weight), weight, 0.0)
    return np.bincount(code, values * weight) / np.bincount(code, weight)


def groups_of(jobs: JobTable, by: str = "app") -> np.ndarray:
    """The application of each row, as text."""
    if by not in jobs.columns:
        raise DataError(
            "counters",
            [f"column {by} is missing: which application is each run of?",
             f"present: {', '.join(jobs.columns)}"],
        )  # fmt: skip
    return jobs.frame[by].cast(pl.String).fill_null("").to_numpy()
