"""Parts of a model fitted on more rows than memory holds: its boosters and its errors.

Notation
--------
n  rows      t  targets      K  draws      mu : (n, t) predicted log targets
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.features.model_columns import CATEGORIES
from rheostat.prediction.intervals import Calibration, calibrate
from rheostat.prediction.out_of_core.binning import Codes
from rheostat.prediction.out_of_core.coding import Coding
from rheostat.prediction.out_of_core.engines import engine_of
from rheostat.prediction.out_of_core.memory_plan import log_targets
from rheostat.prediction.out_of_core.partitions import Part


@dataclass(frozen=True)
class Trees:
    """The boosters of all targets (stages of bytes each) and the mean each starts from."""

    kind: str
    stages: tuple[tuple[bytes, ...], ...]
    centres: tuple[float, ...]

    @cached_property
    def _predictors(self):  # type: ignore[no-untyped-def]
        engine = engine_of(self.kind)
        return [engine.load(s) for s in self.stages]

    def predict(self, x: Codes) -> Array:
        """(n, t) log targets per unit of what they scale with."""
        columns = [c + p(x) for c, p in zip(self.centres, self._predictors, strict=True)]
        return np.column_stack(columns).astype(np.float64)

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in self.__dict__.items() if k != "_predictors"}


def _group_column(coding: Coding) -> str | None:
    names = coding.plan.categories
    return next((c for c in ("app", "user", *names) if c in names and c in CATEGORIES), None)


def job_groups(jobs: JobTable, coding: Coding) -> NDArray[np.int64]:
    """Code of the job group whose errors go together: the application, else the user."""
    column = _group_column(coding)
    if column is None:
        return np.zeros(len(jobs), dtype=np.int64)
    return coding.levels[column].codes(jobs.frame[column]) + 1


def errors_of(
    coding: Coding, trees: Trees, part: Part
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Truth less prediction (m, t) of the log targets, and job groups, of rows not learnt from."""
    errors, groups = [], []
    for batch in part.batches(coding.plan.columns):
        off = log_targets(coding.plan, batch) - trees.predict(coding.matrix(batch))
        whole = np.isfinite(off).all(axis=1)
        errors.append(off[whole].astype(np.float32))
        groups.append(job_groups(batch, coding)[whole])
    if not errors:
        return np.empty((0, len(coding.plan.targets)), np.float32), np.empty(0, np.int64)
    return np.concatenate(errors), np.concatenate(groups)


def calibrated(
    pairs: Iterable[tuple[NDArray[np.float32], NDArray[np.int64]]], *, seed: int
) -> Calibration:
    """The calibration that errors on the last part imply."""
    errors, groups = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    rng = np.random.default_rng(seed)
    return calibrate(errors.astype(float), groups, n_draws=64, rng=rng)


def left_out(targets: Sequence[str], rows: int, learnt: Sequence[float]) -> tuple[Note, ...]:
    """Notes on training rows that a target could not be learnt from; `DataError` if all."""
    if not rows:
        raise DataError("fit", ["no training rows: expected at least two, the last calibrates"])
    text = "rows censored or without positive {} were not learnt from"
    return tuple(
        Note(text.format(t), (), int(rows - n), dropped=True)
        for t, n in zip(targets, learnt, strict=True)
        if n < rows
    )
