"""Columns known before a run that explain what a law of the knobs leaves over of the run time.

A curve over the knobs, at a level of its own for each application, is fitted to the log run time.
What it leaves over is set against each further column: a number by its logarithm and the square of
it, names by a level each.

Notation
--------
n  runs     y : (n,) log run time     B : (n, b) the curve's terms     Z : (n, z) a column's terms
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import fdtrc

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array
from rheostat.measurement.serving.energy_names import plain
from rheostat.prediction.features.model_columns import CATEGORIES, IDENTIFIERS, is_category
from rheostat.prediction.features.support import NOT_RESOURCES
from rheostat.recipes.nodecount import REPEAT

LEAST_SHARE, LEAST_PART, CHANCE = 0.1, 0.05, 1e-3
"""A column matters from a tenth of what is left over, and 5 % of the run time, beyond chance."""
SMOOTH = 0.8
"""A number whose curve explains less than this share of what its values do is a name."""
MOST, REPEATED = 3, 3
"""Columns that are named at most; runs of each value, on average, from which values are names."""
OTHERS = IDENTIFIERS | (CATEGORIES - {"app", "partition"}) | (NOT_RESOURCES - {"memory_b"})


@dataclass(frozen=True)
class LeftOver:
    """A column, the share of what was left over that it explains, and whether as a number."""

    column: str
    share: float
    number: bool


def left_over(jobs: JobTable, knobs: Sequence[str], by: Sequence[str]) -> tuple[LeftOver, ...]:
    """What explains the run time beside ``knobs`` and the applications ``by``, the most first.

    Each is judged beside those before it, so that of two words for one size one is taken.

    >>> from rheostat import table
    >>> nodes, cells = np.repeat([1.0, 2.0, 4.0, 8.0], 4), np.tile([1.0, 2.0, 4.0, 8.0], 4)
    >>> runs = {"nodes": nodes, "cells": cells, "unknowns": 5 * cells, "runtime_s": cells / nodes}
    >>> [(c.column, round(c.share, 2), c.number) for c in left_over(table(runs), ["nodes"], [])]
    [('cells', 1.0, True)]
    """
    if not {"runtime_s", *knobs} <= set(jobs.columns):
        return ()
    frame = jobs.rows(~jobs.cut_off).frame.filter(pl.col("runtime_s") > 0).drop_nulls([*knobs])
    y = np.log(frame["runtime_s"].to_numpy().astype(float))
    levels, curves = (_levels(frame[c]) for c in by), (_curve(frame[k]) for k in knobs)
    base = [np.ones((len(y), 1)), *levels, *curves]
    known = [c for c in jobs.known_at(Moment.SUBMIT).columns if not REPEAT.fullmatch(plain(c))]
    names = [c for c in known if c not in (*knobs, *by, *OTHERS)]
    chosen: list[LeftOver] = []
    while names and len(chosen) < MOST:
        judged = [(_judged(frame[c], y, np.hstack(base)), c) for c in names]
        (share, number), best = max(judged, key=lambda j: j[0][0])
        if share < LEAST_SHARE:
            break
        chosen.append(LeftOver(best, share, number))
        base.append(_curve(frame[best]) if number else _levels(frame[best]))
        names.remove(best)
    return tuple(chosen)


def _judged(values: pl.Series, y: Array, base: Array) -> tuple[float, bool]:
    """Share of what ``base`` leaves over that a column explains, and whether as a number."""
    number = not is_category(values) and values.dtype != pl.Boolean
    smooth = _share(y, base, _curve(values)) if number else 0.0
    repeated = REPEATED * values.n_unique() <= len(values)
    names = _share(y, base, _levels(values)) if repeated else 0.0
    return max(smooth, names), number and smooth >= SMOOTH * names


def _share(y: Array, base: Array, more: Array) -> float:
    """What ``more`` terms explain of the squares that ``base`` leaves; 0 of what may be chance."""
    before, rank = _fit(y, base)
    after, full = _fit(y, np.hstack([base, more]))
    free, terms, gain = len(y) - full, full - rank, before - after
    if free < 1 or terms < 1 or gain < len(y) * LEAST_PART**2:
        return 0.0
    ratio = gain / terms / max(after / free, np.finfo(float).tiny)
    return float(gain / before) if fdtrc(terms, free, ratio) < CHANCE else 0.0


def _fit(y: Array, terms: Array) -> tuple[float, int]:
    """Squares that a least-squares fit leaves over, and its rank."""
    weights, _, rank, _ = np.linalg.lstsq(terms, y, rcond=1e-9)
    return float(((y - terms @ weights) ** 2).sum()), int(rank)


def _curve(values: pl.Series) -> Array:
    """Logarithm, or value where some are not positive, its square, and whether it is missing."""
    v = values.cast(pl.Float64).fill_nan(None)
    if not v.count():
        return np.zeros((len(v), 1))
    if float(v.min() or 0.0) > 0:  # type: ignore[arg-type]
        v = v.log()
    x = (v - v.mean()).fill_null(0.0).to_numpy()
    x = x / (np.abs(x).max() or 1.0)
    return np.column_stack([x, x**2, v.is_null().to_numpy().astype(float)])


def _levels(values: pl.Series) -> Array:
    """One column for each value."""
    codes = values.cast(pl.String).fill_null("").to_numpy()
    return np.asarray(np.unique(codes)[None] == codes[:, None], dtype=float)
