"""How does a table of jobs become a matrix of numbers?

Counts and sizes are taken on a log scale, times of day are kept and dates dropped, names become
their rank by frequency and the mean log target of the past runs that carry the same name.  That
last number would betray the answer on the very rows it is computed from, so on the training rows it
is *cross-fitted*: computed from the other folds only [Micci2001]_.

Notation
--------
n  rows        k  columns of the matrix        t  targets        c  categories of one column
Y : (n, t) log targets        X : (n, k) float64, NaN = missing (or median + indicator)
means : (t, c) shrunk mean log target of each category, prior : (t,) mean of all rows

References
----------
.. [Micci2001] Micci-Barreca, D.: A preprocessing scheme for high-cardinality categorical attributes
   in classification and prediction problems. SIGKDD Explorations 3(1), 2001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.features.model_columns import is_category

SHRINK = 5.0
"""Runs that the mean of all weighs in the mean of a category."""
FOLDS = 5
DAY_S, WEEK_S = 86_400.0, 604_800.0


@dataclass(frozen=True)
class NumberPlan:
    """A numeric column: its transform ("plain", "log" or "clock"), median and missing values."""

    name: str
    how: str
    median: float
    had_null: bool


@dataclass(frozen=True)
class CategoryPlan:
    """A column of names (or several, joined): categories by frequency and their mean targets."""

    columns: tuple[str, ...]
    categories: tuple[str, ...]
    means: Array
    prior: Array


@dataclass(frozen=True)
class Encoder:
    """What was learnt about each column; `transform` applies it to any table with those columns.

    >>> frame = pl.DataFrame({"app": ["cfd", "cfd", "md", "md"], "nodes": [1, 8, 1, None]})
    >>> encoder = fit_encoder(frame, np.log([[8.0], [1.0], [80.0], [10.0]]))
    >>> encoder.names
    ('nodes', 'app#rank', 'app#y0')
    >>> encoder.transform(pl.DataFrame({"app": ["new"], "nodes": [2]})).shape
    (1, 3)

    A category never seen gets rank -1 and the mean of all rows; a null number stays NaN, or becomes
    the median beside an indicator column when ``impute``.
    """

    numbers: tuple[NumberPlan, ...]
    categories: tuple[CategoryPlan, ...]
    impute: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column of the matrix; `sources` tells the table column behind it."""
        return tuple(
            [f"{p.name}{part}" for p in self.numbers for part in _parts(p, impute=self.impute)]
            + [
                f"{'+'.join(p.columns)}#{part}"
                for p in self.categories
                for part in ("rank", *(f"y{t}" for t in range(len(p.prior))))
            ]
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """The table column behind each column of the matrix ("user+app" for a pair)."""
        return tuple(name.split("#")[0] for name in self.names)

    def transform(self, frame: pl.DataFrame) -> Array:
        """The matrix (n, k) of rows the encoder did not learn from."""
        columns = [x for p in self.numbers for x in _number(p, frame[p.name], impute=self.impute)]
        for plan in self.categories:
            code = _code(frame, plan)
            columns += [code.astype(float), *np.column_stack([plan.means, plan.prior])[:, code]]
        return np.column_stack(columns) if columns else np.empty((frame.height, 0))

    def cross_fitted(self, frame: pl.DataFrame, y: Array, rng: np.random.Generator) -> Array:
        """The matrix of the training rows, each category's mean from the other folds only."""
        x = self.transform(frame)
        fold = rng.permutation(np.arange(frame.height) % FOLDS)
        at = x.shape[1]
        for plan in reversed(self.categories):
            at -= 1 + len(plan.prior)
            code = _code(frame, plan)
            for f in np.unique(fold):
                out = fold == f
                if out.all():
                    continue
                means = _shrunk(code[~out], y[~out], len(plan.categories), y[~out].mean(axis=0))
                x[out, at + 1 : at + 1 + len(plan.prior)] = means[:, code[out]].T
        return x


def fit_encoder(frame: pl.DataFrame, y: Array, *, impute: bool = False) -> Encoder:
    """Learn how to encode the columns of ``frame`` given log targets ``y`` (n, t).

    Where both columns are there the mean target of (user, app) together is added.
    """
    numbers: list[NumberPlan] = []
    groups: list[tuple[str, ...]] = []
    for name in frame.columns:
        if is_category(frame[name]):
            groups.append((name,))
        else:
            numbers.append(_plan_number(frame[name]))
    if {"user", "app"} <= set(frame.columns):
        groups.append(("user", "app"))
    return Encoder(
        tuple(numbers), tuple(_plan_category(frame, g, y) for g in groups), impute=impute
    )


def _plan_number(series: pl.Series) -> NumberPlan:
    values = _floats(series)
    how = "clock" if series.name == "submit_s" or series.dtype.is_temporal() else "plain"
    there = values[np.isfinite(values)]
    if (
        how == "plain"
        and there.size
        and there.min() >= 0
        and there.max() >= 4 * max(there.min(), 1)
    ):
        how = "log"
    median = float(np.median(there)) if there.size else 0.0
    return NumberPlan(series.name, how, median, had_null=there.size < values.size)


def _plan_category(frame: pl.DataFrame, columns: Sequence[str], y: Array) -> CategoryPlan:
    key = joined(frame, columns)
    counts = key.drop_nulls().value_counts().sort(["count", key.name], descending=[True, False])
    plan = CategoryPlan(
        tuple(columns), tuple(counts[key.name].to_list()), np.empty((y.shape[1], 0)), y.mean(axis=0)
    )
    means = _shrunk(_code(frame, plan), y, len(plan.categories), plan.prior)[:, :-1]
    return CategoryPlan(plan.columns, plan.categories, means, plan.prior)


def joined(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """One column of text from one or several columns; null where any is null."""
    texts = [pl.col(c).cast(pl.String) for c in columns]
    return frame.select(pl.concat_str(texts, separator="\x1f").alias("key"))["key"]


def _code(frame: pl.DataFrame, plan: CategoryPlan) -> NDArray[np.int64]:
    """Rank of each row's category, -1 for unseen and null."""
    return codes(joined(frame, plan.columns), plan.categories)


def codes(key: pl.Series, categories: Sequence[str]) -> NDArray[np.int64]:
    """Position of each text in ``categories``, -1 where it is not among them."""
    if not categories:
        return np.full(len(key), -1, dtype=np.int64)
    known = pl.DataFrame({"key": list(categories), "code": np.arange(len(categories))})
    joined_codes = key.to_frame("key").join(known, on="key", how="left", maintain_order="left")
    return joined_codes["code"].fill_null(-1).to_numpy().astype(np.int64)


def _shrunk(code: NDArray[np.int64], y: Array, size: int, prior: Array) -> Array:
    """Mean of ``y`` per category, drawn towards ``prior``; column -1 (unseen) is the prior."""
    seen = code >= 0
    count = np.bincount(code[seen], minlength=size)
    total = np.stack([np.bincount(code[seen], c[seen], minlength=size) for c in y.T])
    means = (total + SHRINK * prior[:, None]) / (count + SHRINK)
    return np.column_stack([means, prior])


def _floats(series: pl.Series) -> Array:
    if series.dtype.is_temporal():
        series = series.dt.epoch("s")
    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _parts(plan: NumberPlan, *, impute: bool) -> tuple[str, ...]:
    parts = ("#hour", "#weekday") if plan.how == "clock" else ("",)
    return (*parts, "#missing") if impute and plan.had_null else parts


def _number(plan: NumberPlan, series: pl.Series, *, impute: bool) -> list[Array]:
    values = _floats(series)
    gone = ~np.isfinite(values)
    values = np.where(gone, plan.median if impute else np.nan, values)
    if plan.how == "clock":
        columns = [values % DAY_S / 3600.0, np.floor(values % WEEK_S / DAY_S)]
    elif plan.how == "log":
        columns = [np.log1p(np.maximum(values, 0.0))]
    else:
        columns = [values]
    return [*columns, gone.astype(float)] if impute and plan.had_null else columns
