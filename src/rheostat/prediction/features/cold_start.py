"""Whose jobs has the model never seen, and how wrong is it about them?

Half of what a job costs is who runs what.  For a user, account and application that the past knows,
errors are small; for a new user they are several times larger, and a month of new projects would
break intervals that were calibrated on known ones.  So new groups get their own scores, measured by
hiding whole groups of jobs from the model and counting every hidden group alike.

Notation
--------
g  groups (distinct user, account and application together)      r : (n, t) log residuals

References
----------
Vovk: Conditional validity of inductive conformal predictors (2012): scores per category of row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.features.encode import codes, joined

IDENTITY = ("user", "account", "app")
FEWEST_RUNS = 3
FEWEST_GROUPS = 12
PER_GROUP = 9
UNLIKE = (
    "of an application or user never seen, and too few others tell how unlike they are: "
    "no prediction"
)
"""Said of rows of a new group where fewer than `FEWEST_GROUPS` were learned from."""


@dataclass(frozen=True)
class KnownGroups:
    """Groups with at least three past runs.

    >>> past = pl.DataFrame({"user": ["ann"] * 3 + ["bob"]})
    >>> fit_regulars(past).is_new(pl.DataFrame({"user": ["ann", "bob", "eve"]}))
    array([False,  True,  True])

    A table that names nobody has no new groups.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]

    def is_new(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Rows whose group is not among the regulars, (n,)."""
        if not self.columns:
            return np.zeros(frame.height, dtype=bool)
        return np.asarray(codes(joined(frame, self.columns), self.keys) < 0)


def fit_regulars(frame: pl.DataFrame) -> KnownGroups:
    """The groups of ``frame`` that ran often enough to be known."""
    columns = tuple(c for c in IDENTITY if c in frame.columns)
    if not columns:
        return KnownGroups((), ())
    counts = joined(frame, columns).drop_nulls().value_counts()
    often = counts.filter(pl.col("count") >= FEWEST_RUNS)["key"]
    return KnownGroups(columns, tuple(often.sort().to_list()))


def group_folds(
    frame: pl.DataFrame, folds: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(fold, group) of each row; all rows of a group share a fold; fold -1 where groups are few."""
    columns = [c for c in IDENTITY if c in frame.columns]
    if not columns:
        return np.full(frame.height, -1), np.zeros(frame.height, dtype=np.int64)
    key = joined(frame, columns).fill_null("").to_numpy()
    names, code = np.unique(key, return_inverse=True)
    if len(names) < FEWEST_GROUPS:
        return np.full(frame.height, -1), code
    return rng.permutation(np.arange(len(names)) % folds)[code], code


def equal_shares(residuals: Array, group: NDArray[np.int64]) -> Array:
    """Nine residual vectors of each group, spaced by its first target, so groups weigh alike."""
    order = np.lexsort((residuals[:, 0], group))
    _, start, size = np.unique(group[order], return_index=True, return_counts=True)
    step = (np.arange(PER_GROUP) + 0.5) / PER_GROUP
    at = (start[:, None] + np.floor(step * size[:, None])).astype(int).ravel()
    return np.asarray(residuals[order[at]])
