"""Which counter is worth optimising, and what if there were 20 % less of it?

One counter of every run is multiplied by a factor, all others stay, and the model is asked again:
the change of what it predicts is the leverage.  It is what the model says, not what a program would
do: a counter may stand in for another that moves with it, and a real optimisation moves several.
The interval comes from drawing whole applications again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.counters.counter_columns import counters_of, groups_of
from rheostat.prediction.counters.counter_model import CounterModel


@dataclass(frozen=True)
class WhatIf:
    """Relative change of a target under ``factors``: mean, low, high over applications."""

    target: str
    factors: Mapping[str, float]
    change: tuple[float, float, float]


def what_if(
    model: CounterModel, jobs: JobTable, factors: Mapping[str, float], *, seed: int = 0
) -> list[WhatIf]:
    """Change of each target when counters are multiplied, ``{"llc_misses_per_s": 0.8}``."""
    missing = [c for c in factors if c not in counters_of(jobs)]
    if missing:
        raise DataError(
            "what if",
            [f"{c} is no counter of this table" for c in missing]
            + [f"there are {', '.join(counters_of(jobs))}"],
        )
    other = jobs.with_columns([], **{c: pl.col(c) * f for c, f in factors.items()})
    runs, before = model.predict_runs(jobs)
    _, after = model.predict_runs(other)
    groups = groups_of(runs, model.group_by)
    return [
        WhatIf(t, dict(factors), _mean(after.mean(t) / before.mean(t) - 1, groups, seed))
        for t in model.targets
    ]


def leverage(model: CounterModel, jobs: JobTable, *, seed: int = 0) -> list[WhatIf]:
    """`what_if` of every counter by itself, the largest change first; settings are left out."""
    changes = []
    for name in counters_of(jobs):
        if jobs.schema[name].known.name == "SUBMIT":
            continue
        changes += what_if(model, jobs, {name: 0.8}, seed=seed)
    return sorted(changes, key=lambda w: (model.targets.index(w.target), -abs(w.change[0])))


def _mean(change: Array, groups: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Mean over applications, each counted once, with a 95 % interval over them."""
    _, code = np.unique(groups, return_inverse=True)
    each = np.bincount(code, change) / np.bincount(code)
    picks = np.random.default_rng(seed).integers(0, len(each), (2000, len(each)))
    low, high = np.quantile(each[picks].mean(axis=1), [0.025, 0.975])
    return float(each.mean()), float(low), float(high)
