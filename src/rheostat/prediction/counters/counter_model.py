"""A model from counters that says how sure it is of an application it has never seen.

Whole applications are left out in turn while learning; what the model got wrong on them, as a
factor, becomes the spread of its draws.  Errors of one application resemble each other, so each
application counts once, however many of its runs there are.

Notation
--------
r  runs      n  rows (intervals or runs)      K  draws (odd: the middle one is the answer)
z : log(truth / prediction)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.counters.counter_columns import averaged, groups_of, run_codes, runs_of
from rheostat.prediction.counters.learners import fold_groups
from rheostat.prediction.counters.methods import Method, make_method
from rheostat.prediction.features.model_columns import target_values
from rheostat.prediction.saved_models.from_file import blames_its_file

FLOOR = 1e-3
"""A line may reach below zero; a prediction never goes below this share of the least seen."""


@dataclass(frozen=True)
class CounterFit:
    """One target: the fitted method, log errors it is likely to make (K,), the least truth."""

    method: Method
    scores: Array
    least: float


class CounterModel:
    """Predict power or runtime of runs from their counters, with calibrated intervals.

    Parameters
    ----------
    method : "law", "law+trees", "mummi", "cap" or one of the ten learners (`methods.METHODS`).
    targets : quantities, positive; see `columns.TARGETS`.
    group_by : column that names the application.
    features : counters to look at; None takes all that are no meters.  The laws choose themselves.
    folds : groups of applications left out in turn to learn the spread.

    The table holds runs, or intervals of runs with ``run_id`` and ``span_s``; `predict` answers
    each row, `predict_runs` each run.
    """

    def __init__(
        self,
        method: str = "law",
        targets: Sequence[str] = ("package_power_w",),
        *,
        group_by: str = "app",
        features: Sequence[str] | None = None,
        folds: int = 5,
        n_draws: int = 65,
        seed: int = 0,
    ) -> None:
        self.method = method
        self.targets = tuple(targets)
        self.group_by = group_by
        self.features = features
        self.folds = folds
        self.n_draws = n_draws
        self.seed = seed

    def fit(self, jobs: JobTable) -> CounterModel:
        """Learn from runs that were metered."""
        self.fitted_ = {t: self._fit(jobs, t) for t in self.targets}
        return self

    @blames_its_file
    def predict(self, jobs: JobTable) -> Outcome:
        """Draws (K, n) of every target for each row."""
        return self._outcome(jobs, lambda t: self._rows(t, jobs))

    @blames_its_file
    def predict_runs(self, jobs: JobTable) -> tuple[JobTable, Outcome]:
        """The runs of the table, and draws (K, r) of every target for each."""
        return runs_of(jobs), self._outcome(jobs, lambda t: self._runs(self._known(t), jobs))

    def _outcome(self, jobs: JobTable, answer) -> Outcome:  # type: ignore[no-untyped-def]
        draws = {}
        for t in self.targets:
            mu, fitted = answer(t), self._known(t)
            draws[t] = np.maximum(mu, fitted.least) * np.exp(fitted.scores)[:, None]
        return Outcome(draws)

    def _known(self, target: str) -> CounterFit:
        if not hasattr(self, "fitted_"):
            raise NotFitted(self)
        return self.fitted_[target]

    def _rows(self, target: str, jobs: JobTable) -> Array:
        return self._known(target).method.predict(jobs)

    @staticmethod
    def _runs(fitted: CounterFit, jobs: JobTable) -> Array:
        if fitted.method.by_interval:
            return averaged(jobs, fitted.method.predict(jobs))
        return fitted.method.predict(runs_of(jobs))

    def _new(self, target: str) -> Method:
        features = None if self.features is None else tuple(self.features)
        return make_method(self.method, target, features, self.seed)

    def _fit(self, jobs: JobTable, target: str) -> CounterFit:
        runs = runs_of(jobs)
        truth = target_values(runs, (target,))[:, 0]
        odd = int((~(truth > 0)).sum())
        if odd:
            raise DataError(target, [f"{odd} of {len(truth)} runs have no positive {target}"])
        method, groups = self._new(target), groups_of(runs, self.group_by)
        if len(np.unique(groups)) < 3:
            names = ", ".join(map(str, np.unique(groups)))
            problem = f"expected 3 applications or more to learn from, got {names}"
            raise DataError(self.group_by, [problem])
        rows, y = _shown(method, jobs, runs, target, truth)
        method.fit(rows, y, groups_of(rows, self.group_by))
        unseen = getattr(getattr(method, "model_", None), "unseen_", None)
        if unseen is None:
            unseen = self._unseen(jobs, runs, target, truth)
        least = FLOOR * float(truth.min())
        errors = np.log(truth / np.maximum(unseen, least))
        return CounterFit(method, equal_quantiles(errors, groups, self.n_draws), least)

    def _unseen(self, jobs: JobTable, runs: JobTable, target: str, truth: Array) -> Array:
        """Predictions (r,) of each run by a model that did not see its application."""
        groups, code = groups_of(runs, self.group_by), run_codes(jobs)
        fold = fold_groups(groups, self.folds, self.seed)
        unseen = np.full(len(runs), np.nan)
        for f in np.unique(fold):
            method = self._new(target)
            seen = fold != f
            part, out = jobs.rows(seen[code]), jobs.rows(~seen[code])
            rows, y = _shown(method, part, runs.rows(seen), target, truth[seen])
            fitted = CounterFit(
                method.fit(rows, y, groups_of(rows, self.group_by)), np.zeros(1), 0.0
            )
            unseen[~seen] = self._runs(fitted, out)
        return unseen


def _shown(
    method: Method, jobs: JobTable, runs: JobTable, target: str, truth: Array
) -> tuple[JobTable, Array]:
    """Rows a method learns from and their target: intervals where it wants them, else runs."""
    if not method.by_interval or len(jobs) == len(runs):
        return runs, truth
    return jobs, target_values(jobs, (target,))[:, 0] if target in jobs.columns else (
        jobs.numpy("package_power_w") + jobs.numpy("dram_power_w")
    )


def equal_quantiles(errors: Array, groups: np.ndarray, k: int) -> Array:
    """Quantiles (k,) of errors, taken with both signs, in which every group weighs the same.

    Both signs, because a shift seen on a few left-out applications says little about the next one:
    the middle of the draws stays the model's own answer.  Levels are drawn in as if there were one
    more group, so that the outermost draws stand for what a new group may do.

    >>> equal_quantiles(np.array([0.0, 0.0, 0.0, 1.0]), np.array(["a", "a", "a", "b"]), 3).tolist()
    [-1.0, 0.0, 1.0]
    """
    _, code, count = np.unique(groups, return_inverse=True, return_counts=True)
    weight = np.tile(1.0 / count[code], 2)
    both = np.concatenate([errors, -errors])
    order = np.argsort(both, kind="stable")
    level = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    level = 0.5 + (level - 0.5) * len(count) / (len(count) + 1)
    return np.asarray(np.interp((np.arange(k) + 0.5) / k, level, both[order]))
