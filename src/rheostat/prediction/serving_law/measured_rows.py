"""What runs of a language model measured of a decoding step: its time, energy and power.

Notation
--------
n  rows     q  quantities: time of a step, energy, power
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.prediction.features.model_columns import learnable

TARGETS = ("itl_s", "energy_per_token_j")
QUANTITIES = (*TARGETS, "power_w")


def measured_rows(jobs: JobTable) -> tuple[JobTable, Array]:
    """Rows with a target, and the logarithms of these and of power (NaN: unknown), (n, q)."""
    if not len(jobs):
        return jobs, np.zeros((0, len(QUANTITIES)))
    there = [t for t in TARGETS if t in jobs.columns]
    if not there:
        jobs.require(*TARGETS)
    values = np.column_stack([_positive(jobs, t) for t in TARGETS])
    some = np.isfinite(values).any(axis=1) & ~jobs.cut_off
    if not some.any():
        learnable(jobs, there)  # says what is missing
    kept, values = jobs.rows(some), values[some]
    return kept, np.log(np.column_stack([values, _power(kept, values[:, 1])]))


def _positive(jobs: JobTable, name: str) -> Array:
    """A column, NaN where it has no number above 0."""
    if name not in jobs.columns:
        return np.full(len(jobs), np.nan)
    values = jobs.frame[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _power(jobs: JobTable, energy: Array) -> Array:
    """Measured watts of all GPUs; where only tokens per second are known, times their energy."""
    power = np.full(len(jobs), np.nan)
    for name, times in (("tokens_per_s", energy), ("power_w", np.ones(len(jobs)))):
        values = _positive(jobs, name) * times
        power = np.where(np.isfinite(values), values, power)
    return power
