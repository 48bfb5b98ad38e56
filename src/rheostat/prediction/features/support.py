"""Has anything like this been run before?

A prediction outside the data is a guess dressed as a number.  For each row asked about, the past
runs of the same application (or user, where no application is recorded) that used nearly the same
resources are counted; with too few, or beyond the range those runs covered, the model abstains.

Notation
--------
n  rows asked about     p  distinct past points     d  resource columns
point : (d + 1,) group code and resources in units of the tolerance, so "near" is a Chebyshev ball
        of radius 1; sizes are near within a factor of 2, others within a fifth of their range
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.features.encode import codes, joined
from rheostat.prediction.features.model_columns import is_category

NOT_RESOURCES = frozenset({"submit_s", "time_limit_s", "priority", "memory_b"})
"""Numbers that do not say how the job uses the machine: a new value of them is no extrapolation."""
GRID = 4
"""Points are counted on a grid of a quarter of the tolerance: fast, and finer than "near"."""
APART = 4.0
MISSING = -1e3


@dataclass(frozen=True)
class Support:
    """Past runs as points; `counts` says how many support each row of a frame.

    >>> past = pl.DataFrame({"app": ["cfd"] * 4 + ["md"], "nodes": [1, 2, 4, 8, 16]})
    >>> support = fit_support(past)
    >>> support.counts(pl.DataFrame({"app": ["cfd"] * 3 + ["new"], "nodes": [4, 8, 16, 16]}))
    array([3., 2., 0., 2.])

    Two runs of cfd are near 8 nodes; none covers 16.  An application never seen is counted among
    all runs.  Columns that are names, times of day or limits do not matter.
    """

    context: tuple[str, ...]
    groups: tuple[str, ...]
    columns: tuple[str, ...]
    logs: tuple[bool, ...]
    tolerance: Array
    points: Array
    multiplicity: Array
    low: Array
    high: Array

    def counts(self, frame: pl.DataFrame) -> Array:
        """Past runs near each row, (n,); 0 beyond the range that its group covered."""
        if not frame.height:
            return np.zeros(0)
        code = self.group(frame)
        values = _resources(frame, self.columns, self.logs)
        cells = np.column_stack([APART * code, np.round(values / self.tolerance * GRID) / GRID])
        unique, back = np.unique(cells, axis=0, return_inverse=True)
        neighbours = self._tree.query_ball_point(unique, r=1.0 + 1e-9, p=np.inf)
        size = np.fromiter(map(len, neighbours), dtype=np.int64, count=len(neighbours))
        hits = np.concatenate([np.asarray(f, dtype=np.int64) for f in neighbours])
        owner = np.repeat(np.arange(len(unique)), size)
        count = np.bincount(owner, self.multiplicity[hits], minlength=len(unique))
        inside = ((values >= self.low[code] - 1e-9) & (values <= self.high[code] + 1e-9)).all(
            axis=1
        )
        return np.where(inside, count[back.reshape(-1)], 0.0)

    def grade(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """What each row's forecast rests on, (n,), as a place in `core.outcome.GRADES`.

        3 measured: runs of its group at this setting; 2 interpolated: within the settings that its
        group ran at; 1 borrowed: within those of other groups; 0 none.

        >>> past = pl.DataFrame({"app": ["cfd"] * 4 + ["md"], "nodes": [1, 2, 4, 8, 16]})
        >>> asked = pl.DataFrame({"app": ["cfd"] * 4 + ["new"], "nodes": [4, 6, 16, 64, 2]})
        >>> fit_support(past).grade(asked)
        array([3, 2, 1, 0, 1])
        """
        code = self.group(frame)
        values = _resources(frame, self.columns, self.logs)
        slack = 1e-9
        inside = ((values >= self.low[code] - slack) & (values <= self.high[code] + slack)).all(1)
        anywhere = ((values >= self.low[-1] - slack) & (values <= self.high[-1] + slack)).all(1)
        known = (code >= 0) | (not self.groups)
        cells = np.column_stack([APART * code, np.round(values / self.tolerance * GRID) / GRID])
        exact = _among(cells, self.points)
        return np.select([known & exact, known & inside, anywhere], [3, 2, 1], 0)

    def group(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """Code of each row's group, -1 for one never seen (or where there are no groups)."""
        if not self.context or not set(self.context) <= set(frame.columns):
            return np.full(frame.height, -1, dtype=np.int64)
        return codes(joined(frame, self.context), self.groups)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self.points)


def fit_support(frame: pl.DataFrame, group_by: Sequence[str] | None = None) -> Support:
    """Learn where the runs of ``frame`` lie; ``group_by`` names the columns of a group.

    Without it: the application if recorded, else the user, else all runs are one group.
    """
    context = tuple(group_by) if group_by is not None else _context(frame)
    columns = tuple(
        c
        for c in frame.columns
        if c not in NOT_RESOURCES and not is_category(frame[c]) and not frame[c].dtype.is_temporal()
    )
    raw = _resources(frame, columns, (False,) * len(columns))
    logs = tuple(_wide(v) for v in raw.T)
    values = _resources(frame, columns, logs)
    tolerance = np.array([1.0 if w else _fifth(v) for w, v in zip(logs, values.T, strict=True)])
    key = joined(frame, context) if context else pl.Series("key", [None] * frame.height, pl.String)
    groups = tuple(key.drop_nulls().unique().sort().to_list())
    code = codes(key, groups)
    cells = np.round(values / tolerance * GRID) / GRID
    stacked = np.concatenate([np.column_stack([APART * c, cells]) for c in (code, -1.0 + 0 * code)])
    points, multiplicity = np.unique(stacked[_first_or_known(code)], axis=0, return_counts=True)
    low, high = _ranges(values, code, len(groups))
    return Support(
        context, groups, columns, logs, tolerance, points, multiplicity.astype(float), low, high
    )


def _context(frame: pl.DataFrame) -> tuple[str, ...]:
    return next(((c,) for c in ("app", "user") if c in frame.columns), ())


def _among(rows: Array, points: Array) -> NDArray[np.bool_]:
    """Which of ``rows`` (n, d) are among ``points`` (p, d)."""
    both = np.concatenate([points, rows]) + 0.0
    _, code = np.unique(both, axis=0, return_inverse=True)
    code = code.reshape(-1)
    return np.isin(code[len(points) :], code[: len(points)])


def _first_or_known(code: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows of the doubled table to keep: known groups once as themselves, every run once as -1."""
    return np.concatenate([code >= 0, np.ones(len(code), dtype=bool)])


def _resources(frame: pl.DataFrame, columns: Sequence[str], logs: Sequence[bool]) -> Array:
    values = [frame[c].cast(pl.Float64).fill_null(np.nan).to_numpy().astype(float) for c in columns]
    done = [np.log2(np.maximum(v, 0.5)) if w else v for v, w in zip(values, logs, strict=True)]
    done = [np.where(np.isfinite(v), v, MISSING) for v in done]
    return np.column_stack(done) if done else np.empty((frame.height, 0))


def _wide(values: Array) -> bool:
    """Whether a column spans a factor of 4 or more, so that ratios are what matters."""
    there = values[values > MISSING]
    return bool(there.size and there.min() >= 0 and there.max() >= 4 * max(there.min(), 1.0))


def _fifth(values: Array) -> float:
    there = values[values > MISSING]
    span = float(np.ptp(there)) if there.size else 0.0
    return span / 5 if span > 0 else 1.0


def _ranges(values: Array, code: NDArray[np.int64], size: int) -> tuple[Array, Array]:
    """Lowest and highest resource of each group, (size + 1, d); the last row is all runs."""
    low = np.full((size + 1, values.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, code, values)
    np.maximum.at(high, code, values)
    low[-1], high[-1] = values.min(axis=0), values.max(axis=0)
    return low, high
