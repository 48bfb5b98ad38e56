"""Which columns are counters, which are meters, and what is one run?

A model from counters may look at rates (instructions per second, bytes from memory) and at settings
(a cap), never at another meter: a model that sees the joules of the memory while it predicts the
watts of the package has not learnt from counters.  Intervals of one run are averaged by how long
each was counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError

METER_UNITS = ("W", "J", "s")
RATE_UNITS = ("1/s", "B/s", "Hz")
TARGETS = ("runtime_s", "power_w", "package_power_w", "dram_power_w")
"""What the chain of counters models: runtime, node, processor and memory power."""
NAMES = ("app", "job_id", "run_id", "region", "t_s", "span_s", "weight")
"""Columns that say which run a row is of and how long it was counted."""
RARE = 0.05
"""Share of runs that may lack a counter before it is the counter that is not used."""
FEWEST_READ = 5
RUNNING = (
    "a running total since the start of each run: write what each row adds to the one before it, "
    "and its seconds (span_s)"
)
REPEAT = re.compile(r"(run|rep|repeat|repetition|replicate)(_?(no|nr|num|number|index|idx))?")
A_TOTAL = 0.97
"""Rank correlation with the runtime from which on a column is taken for a total; what is counted
per second is none, though a clock may well fall as the runtime grows."""


def counters_of(jobs: JobTable) -> tuple[str, ...]:
    """Numeric columns that a model may look at: counters and settings, no meters, no targets.

    `ignored` says which columns are left out, and why.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"cap_w": [80, 90], "ipc": [1.0, 1.2], "power_w": [70.0, 80.0]},
    ...              [Column("ipc", "", Moment.END)])
    >>> counters_of(runs)
    ('cap_w', 'ipc')
    """
    gone = {*TARGETS, *NAMES, *ignored(jobs)}
    return tuple(c for c in jobs.columns if c not in gone)


def ignored(jobs: JobTable) -> dict[str, str]:
    """Columns that no model looks at, and why; targets and names of runs are not listed.

    >>> from rheostat.core.vocabulary import table
    >>> runs = table({"app": ["a", "b"], "energy_j": [7.0, 8.0], "mode": ["x", "y"],
    ...               "threads": [8, 8], "ipc": [1.0, None]}, [Column("ipc", "", Moment.END)])
    >>> for name, why in ignored(runs).items():
    ...     print(name, "-", why)
    energy_j - a meter (J): a model from counters may not see it
    mode - text
    threads - the same everywhere
    ipc - no value in 1 of 2 rows
    """
    said = {
        c: "the number of a repeat" if REPEAT.fullmatch(c.lower()) else _why_not(jobs, c)
        for c in jobs.columns
        if c not in (*TARGETS, *NAMES)
    }
    return {c: why for c, why in said.items() if why}


def _why_not(jobs: JobTable, name: str) -> str:
    """Why a model may not look at a column; empty if it may."""
    c, values = jobs.schema[name], jobs.frame[name]
    if c.known == Moment.END and c.unit in METER_UNITS:
        return f"a meter ({c.unit}): a model from counters may not see it"
    if not values.dtype.is_numeric():
        return "text"
    numbers = jobs.numpy(name)
    if holes := int((~np.isfinite(numbers)).sum()):
        return f"no value in {holes:,} of {len(jobs):,} rows"
    if values.n_unique() < 2:
        return "the same everywhere"
    total = c.known == Moment.END and c.unit not in RATE_UNITS
    if total and "runtime_s" in jobs.columns and len(jobs) >= 5:
        rank = rank_correlation(numbers, jobs.numpy("runtime_s"))
        if abs(rank) > A_TOTAL:
            return f"gives the runtime away (rank correlation {rank:.2f}), and is no rate"
    return ""


def running_totals(jobs: JobTable, by: str = "app") -> list[str]:
    """Columns that only grow with the time within each application, as counters read anew do.

    The time has to grow by equal steps from row to row, as readings do; whole runs do not.

    >>> from rheostat.core.vocabulary import table
    >>> read = {"app": ["a"] * 5, "runtime_s": [1.0, 2.0, 3.0, 4.0, 5.0],
    ...         "misses": [10.0, 25.0, 28.0, 41.0, 60.0], "ipc": [1.0, 1.2, 0.9, 1.1, 1.0]}
    >>> running_totals(table(read, [Column(c, "", Moment.END) for c in ("misses", "ipc")]))
    ['misses']
    """
    key = next((c for c in ("run_id", by) if c in jobs.columns), None)
    clock = next((c for c in ("t_s", "runtime_s") if c in jobs.columns), None)
    if key is None or clock is None:
        return []
    parts = [p for p in jobs.frame.partition_by(key) if p.height >= FEWEST_READ]
    if not parts or not all(_even(p[clock]) for p in parts):
        return []
    return [
        c
        for c, kind in jobs.schema.items()
        if c not in (*NAMES, clock) and jobs.frame[c].dtype.is_numeric()
        and kind.unit not in ("W", *RATE_UNITS) and not c.endswith("_per_s")
        and all(_grows(p[c]) for p in parts)
    ]  # fmt: skip


def _even(clock: pl.Series) -> bool:
    """Whether readings were taken at equal steps, within a tenth."""
    steps = clock.cast(pl.Float64).diff().drop_nulls().to_numpy()
    near = np.abs(steps - np.median(steps)) <= 0.1 * np.median(steps) if len(steps) else steps
    return bool(len(steps) and np.median(steps) > 0 and near.all())


def _grows(values: pl.Series) -> bool:
    steps = values.cast(pl.Float64).diff().drop_nulls().to_numpy()
    return bool(len(steps) and steps.min() >= 0 and steps.max() > 0)


def without_holes(runs: JobTable) -> tuple[np.ndarray, list[str]]:
    """Runs (r,) that have every counter which all but `RARE` of the runs have; what others lack."""
    there, why = np.ones(len(runs), dtype=bool), []
    for c in runs.schema.values():
        counted = c.known == Moment.END and c.unit not in METER_UNITS and c.name not in NAMES
        if not counted or not runs.frame[c.name].dtype.is_numeric():
            continue
        has = np.isfinite(runs.numpy(c.name))
        if 0 < (~has).sum() <= RARE * len(runs):
            there &= has
            why.append(f"{c.name} has no value")
    return there, why


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
    """Values of intervals (n,) as means of runs (r,), each interval by its length; NaN is none."""
    code = run_codes(jobs)
    weight = jobs.numpy("span_s") if "span_s" in jobs.columns else np.ones(len(jobs))
    there = np.isfinite(weight) & np.isfinite(values)
    weight = np.where(there, weight, 0.0)
    return np.bincount(code, np.where(there, values, 0.0) * weight) / np.bincount(code, weight)


def groups_of(jobs: JobTable, by: str = "app") -> np.ndarray:
    """The application of each row, as text."""
    if by not in jobs.columns:
        raise DataError(
            "counters",
            [f"column {by} is missing: which application is each run of?",
             f"present: {', '.join(jobs.columns)}"],
        )  # fmt: skip
    return jobs.frame[by].cast(pl.String).fill_null("").to_numpy()
