"""How right is a model from counters about an application it has never seen?

Every application is left out in turn; the random split, which shows a model the same application at
other caps, stands beside it because it is what is usually reported, and flatters by up to eight
times.  The mean per cap is always in the table.  Intervals of each score come from drawing whole
applications again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.counters.counter_columns import groups_of, run_codes, runs_of
from rheostat.prediction.counters.counter_model import CounterModel
from rheostat.prediction.features.model_columns import target_values

SPLITS = ("application", "random")
BASELINE = "cap"


@dataclass(frozen=True)
class CounterMarks:
    """Scores of a method on one target and split: (value, low, high) of each."""

    method: str
    target: str
    split: str
    runs: int
    applications: int
    mape: tuple[float, float, float]
    worst_application: tuple[str, float]
    r2: float
    coverage: float
    width: float
    errors: Array


def compare_counters(
    jobs: JobTable,
    methods: Sequence[str] = ("mummi", "law"),
    targets: Sequence[str] = ("package_power_w",),
    *,
    splits: Sequence[str] = SPLITS,
    group_by: str = "app",
    folds: int = 5,
    seed: int = 0,
) -> list[CounterMarks]:
    """Score each method on each target and split; the baseline is added where it is not asked for.

    A method that cannot do a target (the law has no runtime) has no row for it.
    """
    odd = [s for s in splits if s not in SPLITS]
    if odd:
        raise DataError("split", [f"expected {' or '.join(SPLITS)}, got {', '.join(odd)}"])
    scores = []
    for target in targets:
        jobs_, runs, truth = with_target(jobs, target)
        groups, code = groups_of(runs, group_by), run_codes(jobs_)
        for method in dict.fromkeys([BASELINE, *methods]):
            if target == "runtime_s" and method.startswith("law"):
                continue
            for split in splits:
                fold = _folds(groups, split, seed)
                model = CounterModel(method, (target,), group_by=group_by, folds=folds, seed=seed)
                draws = _held_out(jobs_, code, fold, model)
                scores.append(_scores(method, target, split, truth, draws, groups, 0.9, seed))
    return scores


def with_target(jobs: JobTable, target: str) -> tuple[JobTable, JobTable, Array]:
    """(rows, runs, truth) of the runs that have a positive ``target``."""
    runs = runs_of(jobs)
    truth = target_values(runs, (target,))[:, 0]
    there = truth > 0
    if there.all():
        return jobs, runs, truth
    return jobs.rows(there[run_codes(jobs)]), runs.rows(there), truth[there]


def _folds(groups: np.ndarray, split: str, seed: int) -> np.ndarray:
    """A fold per application, or five at random."""
    if split == "application":
        return np.asarray(np.unique(groups, return_inverse=True)[1])
    rng = np.random.default_rng(seed)
    return np.asarray(rng.permutation(len(groups)) % 5)


def _held_out(jobs: JobTable, code: np.ndarray, fold: np.ndarray, model: CounterModel) -> Array:
    """Draws (K, r) of each run by a model fitted on the other folds."""
    draws = np.full((model.n_draws, len(fold)), np.nan)
    for f in np.unique(fold):
        out = fold == f
        model.fit(jobs.rows(~out[code]))
        _, said = model.predict_runs(jobs.rows(out[code]))
        draws[:, out] = said[model.targets[0]]
    return draws


def _scores(
    method: str,
    target: str,
    split: str,
    truth: Array,
    draws: Array,
    groups: np.ndarray,
    level: float,
    seed: int,
) -> CounterMarks:
    guess = np.median(draws, axis=0)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    errors = np.abs(guess / truth - 1)
    names = np.unique(groups)
    each = np.array([errors[groups == a].mean() for a in names])
    spread = ((truth - truth.mean()) ** 2).sum()
    left = ((guess - truth) ** 2).sum() / spread if spread > 0 else np.nan
    return CounterMarks(
        method, target, split, len(truth), len(names),
        (float(errors.mean()), *_by_groups(errors, groups, seed)),
        (str(names[each.argmax()]), float(each.max())),
        float(1 - left),
        float(((truth >= low) & (truth <= high)).mean()),
        float(np.median((high - low) / truth)),
        errors,
    )  # fmt: skip


def _by_groups(errors: Array, groups: np.ndarray, seed: int) -> tuple[float, float]:
    """95 % interval of the mean error, drawing whole groups again."""
    _, code = np.unique(groups, return_inverse=True)
    total, count = np.bincount(code, errors), np.bincount(code)
    picks = np.random.default_rng(seed).integers(0, len(count), (2000, len(count)))
    means = total[picks].sum(axis=1) / count[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
