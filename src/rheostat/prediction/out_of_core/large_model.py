"""A model fitted on more rows than memory holds, that predicts like any other.

It is a coding of columns, one booster per target and the errors made on the last part in time;
`ScaleModel.predict` gives draws, so fronts, rules and reports use it as they use a small model.

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

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import DataError
from rheostat.prediction.intervals import Calibration, calibrate
from rheostat.prediction.model_columns import CATEGORIES
from rheostat.prediction.out_of_core.binning import Codes
from rheostat.prediction.out_of_core.coding import Coding
from rheostat.prediction.out_of_core.engines import engine_of
from rheostat.prediction.out_of_core.memory_plan import log_scales, log_targets
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


@dataclass(frozen=True)
class ScaleModel:
    """A fitted `Predictor`; made by `fit_out_of_core` and `fit_dask`.

    A number beyond the range learnt from is outside the support: the row's draws are NaN and a note
    says so.  ``support`` is the number of training rows that carry the row's rarest name, 0 for a
    name never seen; such rows are still predicted, from their other columns.
    """

    coding: Coding
    trees: Trees
    calibration: Calibration
    asked_at: Moment
    rows_learnt: int
    notes: tuple[Note, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """What is predicted."""
        return self.coding.plan.targets

    def fit(self, jobs: JobTable) -> ScaleModel:
        """A new model of the same kind, targets and features, learnt from ``jobs``."""
        from rheostat.prediction.out_of_core.outofcore import fit_out_of_core

        plan = self.coding.plan
        return fit_out_of_core(
            jobs, targets=plan.targets, features=plan.features, kind=self.trees.kind
        )

    def predict_log(self, jobs: JobTable) -> Array:
        """Median prediction of each log target, (n, t), also outside the support."""
        asked = self._asked(jobs)
        if not len(asked):
            return np.empty((0, len(self.targets)))
        return self.trees.predict(self.coding.matrix(asked)) + log_scales(self.coding.plan, asked)

    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (K, n) of every target, support (n,), and a note on rows it abstains on."""
        asked = self._asked(jobs)
        mu, outside = self.predict_log(asked), self.coding.outside(asked)
        x = np.where(outside[:, None], np.nan, mu)
        known = np.zeros(len(asked), dtype=bool)
        draws = self.calibration.draws(x, mu, _groups(asked, self.coding), known)
        values = {t: np.exp(d) for t, d in zip(self.targets, draws, strict=True)}
        return Outcome(values, self.coding.support(asked), _abstentions(outside))

    def bounds(self, level: float = 0.9) -> tuple[Array, Array]:
        """(low, high) factors on the median that hold ``level`` of the truth, each (t,)."""
        errors = self.calibration.marginals
        tail = (1 - level) / 2
        return (
            np.exp(np.quantile(errors, tail, axis=1)),
            np.exp(np.quantile(errors, 1 - tail, axis=1)),
        )

    def _asked(self, jobs: JobTable) -> JobTable:
        plan = self.coding.plan
        jobs.require(*plan.features)
        jobs.refuse_later_than(self.asked_at, plan.features)
        return jobs.select(plan.features)


def _group_column(coding: Coding) -> str | None:
    names = coding.plan.categories
    return next((c for c in ("app", "user", *names) if c in names and c in CATEGORIES), None)


def _groups(jobs: JobTable, coding: Coding) -> NDArray[np.int64]:
    """Code of the job group whose errors go together: the application, else the user."""
    column = _group_column(coding)
    if column is None:
        return np.zeros(len(jobs), dtype=np.int64)
    return coding.levels[column].codes(jobs.frame[column]) + 1


def _abstentions(outside: NDArray[np.bool_]) -> tuple[Note, ...]:
    if not outside.any():
        return ()
    where = tuple(np.flatnonzero(outside)[:20].tolist())
    text = "outside the range of the past jobs: no prediction"
    return (Note(text, where, int(outside.sum())),)


def errors_of(
    coding: Coding, trees: Trees, part: Part
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Truth less prediction (m, t) of the log targets, and job groups, of rows not learnt from."""
    errors, groups = [], []
    for batch in part.batches(coding.plan.columns):
        off = log_targets(coding.plan, batch) - trees.predict(coding.matrix(batch))
        whole = np.isfinite(off).all(axis=1)
        errors.append(off[whole].astype(np.float32))
        groups.append(_groups(batch, coding)[whole])
    if not errors:
        return np.empty((0, len(coding.plan.targets)), np.float32), np.empty(0, np.int64)
    return np.concatenate(errors), np.concatenate(groups)


def calibrated(
    pairs: Iterable[tuple[NDArray[np.float32], NDArray[np.int64]]], *, seed: int, n_draws: int = 64
) -> Calibration:
    """The calibration that errors on the last part imply."""
    errors, groups = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    rng = np.random.default_rng(seed)
    return calibrate(errors.astype(float), groups, n_draws=n_draws, rng=rng)


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
