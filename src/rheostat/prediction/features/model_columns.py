"""Which columns may a model look at, and which rows may it learn from?

A feature must be known at the moment the model is asked; an identifier or a text that never repeats
teaches nothing.  A run that was cut off has a runtime that is only a lower bound: it is left out of
learning and counted in a note, not treated as if it had finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import DERIVED, Array, Outcome
from rheostat.errors import DataError

IDENTIFIERS = frozenset({"job_id", "job_name", "step_id", "array_id"})
CATEGORIES = frozenset({"user", "group", "account", "app", "partition", "qos"})
"""Columns that are names even where a site writes them as numbers."""


def choose_features(
    jobs: JobTable, asked_at: Moment, targets: Sequence[str], asked: Sequence[str] | None
) -> tuple[str, ...]:
    """The features: those asked for, else every usable column known at ``asked_at``.

    Raises `LeakError` naming each asked column that becomes known later, `DataError` naming each
    that is missing or is of a type no model here reads.
    """
    if asked is not None:
        jobs.require(*asked)
        jobs.refuse_later_than(asked_at, asked)
        odd = [c for c in asked if not _readable(jobs.frame[c].dtype) or c in targets]
        if odd:
            raise DataError(
                "features",
                [f"{c} ({jobs.frame[c].dtype}) is a target or not a plain column" for c in odd],
            )
        return tuple(asked)
    known = [c for c in jobs.known_at(asked_at).columns if c not in targets]
    chosen = tuple(c for c in known if _is_informative(jobs.frame[c]))
    if not chosen:
        raise DataError(
            "features",
            [f"no column known at {asked_at.name} varies; present: {', '.join(jobs.columns)}"],
        )
    return chosen


def _readable(dtype: pl.DataType) -> bool:
    return (
        dtype.is_numeric()
        or dtype.is_temporal()
        or dtype in (pl.Boolean, pl.String, pl.Categorical)
        or isinstance(dtype, pl.Enum)
    )


def is_category(series: pl.Series) -> bool:
    """Whether a column holds names rather than numbers."""
    numeric = series.dtype.is_numeric() or series.dtype.is_temporal() or series.dtype == pl.Boolean
    return series.name in CATEGORIES or not numeric


def _is_informative(series: pl.Series) -> bool:
    """Whether a column can teach: readable, not an identifier, empty, or a text without repeats."""
    if (
        series.name in IDENTIFIERS
        or not _readable(series.dtype)
        or series.null_count() == len(series)
    ):
        return False
    return not is_category(series) or series.n_unique() <= max(10, 0.5 * len(series))


def learnable(
    jobs: JobTable, targets: Sequence[str], needed: Sequence[str] = ()
) -> tuple[JobTable, Array, tuple[Note, ...]]:
    """Rows to learn from, their target values (n, targets), and notes on the rows left out.

    Left out: rows marked ``censored``, rows where a target is missing or not positive, and rows
    without a value of a ``needed`` column.
    """
    if not targets:
        raise DataError("fit", ["no row has a runtime, power or energy: jobs that have yet to run"])
    y = target_values(jobs, targets)
    cut = jobs.cut_off
    odd = ~cut & ~((y > 0) & np.isfinite(y)).all(axis=1)
    blank = ~(cut | odd) & np.any([jobs.frame[c].is_null() for c in needed], axis=0)
    notes = [
        Note(text, tuple(np.flatnonzero(rows)[:20].tolist()), int(rows.sum()), dropped=True)
        for text, rows in (
            ("censored runs were not learnt from: their runtime is only a lower bound", cut),
            (f"rows without positive {', '.join(targets)} were not learnt from", odd),
            (f"rows without {', '.join(needed)} were not learnt from", blank),
        )
        if rows.any()
    ]
    keep = ~(cut | odd | blank)
    if not keep.any():
        known = "".join(f"{c}, " for c in needed)
        problem = (
            f"no row has {known}{', '.join(targets)} > 0 and ran to its end (of {len(jobs):,} rows)"
        )
        if not len(jobs):
            problem = "no job is left to learn from: none has an end before those that are asked of"
        raise DataError("fit", [problem])
    return jobs.rows(keep), y[keep], tuple(notes)


def target_values(jobs: JobTable, targets: Iterable[str]) -> Array:
    """Measured targets (n, targets), derived where the table has the parts of one."""
    parts = {p for t in targets for p in (t, *(DERIVED[t][0] if t in DERIVED else ()))}
    measured = Outcome.measured(jobs, *sorted(parts & set(jobs.columns)))
    missing = [t for t in targets if t not in measured]
    if missing:
        jobs.require(*missing)
    return np.column_stack([measured[t][0] for t in targets])
