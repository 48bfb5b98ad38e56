"""Which columns does a large fit read, and what exactly is learnt from them?

Nothing but the columns of the plan leaves the disk: a trace may carry a text embedding of hundreds
of numbers per job that no tree here looks at.  What is learnt is the log of each target; totals
over the nodes of a job (power, energy) are learnt per node.

Notation
--------
n  rows      t  targets      y : (n, t) float32 log targets, NaN = nothing to learn
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable, Moment
from rheostat.prediction.features.model_columns import choose_features, is_category, target_values

Matrix = NDArray[np.float32]
SCALES_WITH: Mapping[str, str] = {"power_w": "nodes", "energy_j": "nodes"}
"""Totals over the nodes of a job: learnt per node, so that trees need not learn to multiply."""


@dataclass(frozen=True)
class MemoryPlan:
    """What is read of each job: numbers, categories, targets, and the columns behind them."""

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    targets: tuple[str, ...]
    extra: tuple[str, ...] = ()
    """Further columns needed to learn: parts of derived targets, ``censored``."""

    @property
    def features(self) -> tuple[str, ...]:
        """Columns a prediction needs."""
        return self.numbers + self.categories

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns learning needs; nothing else is read from disk."""
        return tuple(dict.fromkeys(self.features + self.extra))

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column of the matrix."""
        plain = [c for n in self.numbers for c in _number_names(n)]
        coded = [(f"{c}#n", *(f"{c}#{t}" for t in self.targets)) for c in self.categories]
        return tuple(plain + [name for group in coded for name in group])

    def scale_of(self, target: str) -> str | None:
        """The feature that ``target`` is divided by before it is learnt."""
        scale = SCALES_WITH.get(target)
        return scale if scale in self.numbers else None


def make_plan(
    jobs: JobTable, targets: Sequence[str], features: Sequence[str] | None, asked_at: Moment
) -> MemoryPlan:
    """Choose columns by looking at one batch; later-known features raise `LeakError`."""
    chosen = choose_features(jobs, asked_at, targets, features)
    names = tuple(c for c in chosen if is_category(jobs.frame[c]))
    wanted = (*targets, "energy_j", "power_w", "runtime_s", "censored")
    extra = tuple(c for c in dict.fromkeys(wanted) if c in jobs.columns)
    target_values(jobs, targets)  # raises here, before anything long has begun
    direct = all(t in jobs.columns for t in targets)
    extra = tuple(c for c in extra if not direct or c in (*targets, "censored"))
    return MemoryPlan(tuple(c for c in chosen if c not in names), names, tuple(targets), extra)


def log_targets(plan: MemoryPlan, jobs: JobTable) -> Matrix:
    """What is learnt, (n, t); NaN where a target is not positive or the run was cut off."""
    y = target_values(jobs, plan.targets)
    y[jobs.cut_off] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(np.where(y > 0, y, np.nan)) - log_scales(plan, jobs)
    return np.where(np.isfinite(y), y, np.nan).astype(np.float32)


def log_scales(plan: MemoryPlan, jobs: JobTable) -> NDArray[np.float64]:
    """(n, t) log of what each target was divided by; 0 where nothing."""
    scales = np.zeros((len(jobs), len(plan.targets)))
    for i, scale in enumerate(map(plan.scale_of, plan.targets)):
        if scale is not None:
            values = jobs.numpy(scale)
            scales[:, i] = np.log(np.where(values > 0, values, np.nan))
    return scales


def _number_names(name: str) -> tuple[str, ...]:
    return ("submit_s#hour", "submit_s#weekday") if name == "submit_s" else (name,)
