"""Draws of what is the job's own: the same whenever it is asked about, at whatever setting."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import polars as pl

from rheostat.core.outcome import Array
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.hierarchy import Ints
from rheostat.prediction.intervals import PERMUTATIONS, row_hash


def job_noise(
    frame: pl.DataFrame, rows: Rows, orders: Ints, kinds: int
) -> list[tuple[Array, Array]]:
    """Standard normal draws of each kind, each (B, n): common to a level, and of each job.

    They depend on the job, not on the setting, so that settings of one job share them.  ``orders``
    are `PERMUTATIONS` orders of B draws.
    """
    from scipy.stats import norm

    draws = orders.shape[1]
    scores = norm.ppf((np.arange(draws) + 0.5) / draws)[orders].T
    group = row_hash(np.stack([rows.cell, rows.app], axis=1).astype(float))
    job = [rows.cell[:, None].astype(float), rows.log_asked, rows.size, rows.guess]
    if "job_id" in frame.columns:
        job.append(_numbers(frame["job_id"])[:, None])
    mine = row_hash(np.concatenate(job, axis=1))
    return [
        (
            scores[:, (group // PERMUTATIONS**i) % PERMUTATIONS],
            scores[:, (mine // PERMUTATIONS**i) % PERMUTATIONS],
        )
        for i in range(kinds)
    ]


def _numbers(ids: pl.Series) -> Array:
    """A number for each id: itself, or a checksum of its text, (n,)."""
    if ids.dtype.is_numeric():
        return ids.cast(pl.Float64).fill_null(-1.0).to_numpy()
    text = ids.cast(pl.String).fill_null("")
    return np.array([float(crc32(t.encode())) for t in text])
