"""Which columns move because the knob moved?

A user who asks for more nodes also asks for more cores and a shorter time limit.  These columns
predict the runtime of the run as it was submitted very well, and mislead about any other setting:
turn the nodes and they still describe the old choice.  Within one group of jobs (the same user and
application) a column that tells what the job *is* does not depend on the setting; one that follows
the setting does.

Notation
--------
n  rows      k : (n,) log of the knob, x : (n,) log of the column, both less their group's mean
r = correlation of k and x over all groups
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.outcome import Array
from rheostat.prediction.features.encode import joined
from rheostat.prediction.features.model_columns import is_category

FOLLOWS = 0.3
"""Within-group correlation with the knob from which a column counts as its consequence."""
FEWEST = 20


def followers(frame: pl.DataFrame, knob: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Those of ``columns`` that move with ``knob`` inside groups of the same user and application.

    >>> frame = pl.DataFrame({
    ...     "app": ["cfd", "md"] * 12, "nodes": [1, 1, 2, 2, 4, 4] * 4,
    ...     "cores": [64, 64, 128, 128, 256, 256] * 4, "mesh": [9.0, 3.0] * 6 + [7.0, 2.0] * 6})
    >>> followers(frame, "nodes", ("app", "cores", "mesh"))
    ('cores',)

    With fewer than 20 rows, or a knob that never moves inside a group, nothing is called follower.
    """
    by = [c for c in ("user", "app") if c in frame.columns]
    group = joined(frame, by).fill_null("") if by else pl.Series([""] * frame.height)
    code = np.unique(group.to_numpy(), return_inverse=True)[1]
    k = _centred(_scale(frame[knob]), code)
    if frame.height < FEWEST or not np.std(k) > 1e-9:
        return ()
    moved = [c for c in columns if c != knob and c not in by]
    return tuple(
        c for c in moved if abs(_correlation(k, _centred(_scale(frame[c]), code))) > FOLLOWS
    )


def _scale(series: pl.Series) -> Array:
    """Numbers as logs where positive, names as their rank by frequency; a gap is the median."""
    if is_category(series):
        values = series.cast(pl.String).fill_null("").to_numpy()
        _, code, count = np.unique(values, return_inverse=True, return_counts=True)
        return np.argsort(np.argsort(-count, kind="stable"))[code].astype(float)
    values = series.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    values[~np.isfinite(values)] = np.nanmedian(values) if np.isfinite(values).any() else 0.0
    return np.log1p(values) if (values >= 0).all() else values


def _centred(x: Array, code: NDArray[np.int64]) -> Array:
    count = np.bincount(code)
    return np.asarray(x - (np.bincount(code, x) / np.maximum(count, 1))[code])


def _correlation(a: Array, b: Array) -> float:
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 1e-9 else 0.0
