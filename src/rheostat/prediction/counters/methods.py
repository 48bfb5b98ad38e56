"""The methods that a table of counters is given to, under one roof.

"cap" is what would be guessed from the power cap alone: the mean of the runs seen at that cap, the
baseline of every figure.  "mummi" is the chain, "law" the physics of a package, "law+trees" the law
with boosted trees on what it leaves over, and ten learners have names of their own.  The laws look
at intervals and average what they say; all others look at the mean counters of a run.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.counters.chain import CounterChain
from rheostat.prediction.counters.counter_columns import cap_of, counters_of, ignored
from rheostat.prediction.counters.learners import LEARNERS, Tuned
from rheostat.prediction.counters.power_law import MemoryLaw, PowerLaw, activity_of


class Method(Protocol):
    """Learns one target from rows, predicts rows; ``by_interval`` says which rows it wants."""

    by_interval: bool

    def fit(self, jobs: JobTable, y: Array, groups: np.ndarray) -> Method:
        """Learn."""
        ...

    def predict(self, jobs: JobTable) -> Array:
        """Predict each row, (n,)."""
        ...


class MeanPerCap:
    """The mean of what was seen at the nearest cap; of everything where there is no cap."""

    by_interval = False

    def fit(self, jobs: JobTable, y: Array, groups: np.ndarray) -> MeanPerCap:
        """Remember one mean per cap."""
        self.cap_ = cap_of(jobs)
        caps = np.zeros(len(jobs)) if self.cap_ is None else jobs.numpy(self.cap_)
        self.caps_ = np.unique(caps)
        self.means_ = np.array([y[caps == c].mean() for c in self.caps_])
        return self

    def predict(self, jobs: JobTable) -> Array:
        """The mean at the nearest cap, (n,)."""
        caps = np.zeros(len(jobs)) if self.cap_ is None else jobs.numpy(self.cap_)
        nearest = np.abs(caps[:, None] - self.caps_).argmin(axis=1)
        return np.asarray(self.means_[nearest])


class OfMatrix:
    """A regressor of the counters' matrix: the chain, or a tuned learner."""

    by_interval = False

    def __init__(self, kind: str, features: tuple[str, ...] | None, seed: int) -> None:
        self.kind, self.features, self.seed = kind, features, seed

    def fit(self, jobs: JobTable, y: Array, groups: np.ndarray) -> OfMatrix:
        """Learn from the mean counters of runs."""
        self.names_ = self.features or counters_of(jobs)
        if not self.names_:
            why = [f"{name}: {reason}" for name, reason in ignored(jobs).items()]
            raise DataError("counters", ["no column that a model may learn from", *why])
        X = matrix(jobs, self.names_)
        if self.kind == "mummi":
            self.model_: Any = CounterChain().fit(X, y)
        else:
            self.model_ = Tuned(self.kind, seed=self.seed).fit(X, y, groups)
        return self

    def predict(self, jobs: JobTable) -> Array:
        """Predictions (n,); a line may go below zero."""
        return np.asarray(self.model_.predict(matrix(jobs, self.names_)))


class OfLaw:
    """The law of a package, of memory, or of both together; with trees on the rest if asked."""

    by_interval = True

    def __init__(self, target: str, seed: int, *, trees: bool = False) -> None:
        self.target, self.seed, self.trees = target, seed, trees

    def fit(self, jobs: JobTable, y: Array, groups: np.ndarray) -> OfLaw:
        """Learn from intervals."""
        law = MemoryLaw() if self.target == "dram_power_w" else PowerLaw()
        weight = jobs.numpy("span_s") if "span_s" in jobs.columns else np.ones(len(jobs))
        if "run_id" in jobs.columns:  # a long run must not count for more than a short one
            _, code = np.unique(jobs.frame["run_id"].to_numpy(), return_inverse=True)
            weight = weight / np.bincount(code, weight)[code]
        self.law_ = law.fit(jobs, y, weight)
        self.rest_ = self._rest(jobs, y, weight) if self.trees else None
        return self

    def _rest(self, jobs: JobTable, y: Array, weight: Array) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        trees = HistGradientBoostingRegressor(
            max_iter=120, max_leaf_nodes=15, min_samples_leaf=max(5, min(40, len(jobs) // 30)),
            l2_regularization=1.0, random_state=self.seed,
        )  # fmt: skip
        there = np.flatnonzero(np.isfinite(y) & (y > 0))
        rng = np.random.default_rng(self.seed)
        if len(there) > 12_000:
            there = rng.choice(there, 12_000, p=weight[there] / weight[there].sum())
        some = jobs.rows(there)
        said = self.law_.predict(some)
        return trees.fit(_beside(some, said), np.log(y[there] / said))

    def predict(self, jobs: JobTable) -> Array:
        """Watts (n,)."""
        said = self.law_.predict(jobs)
        return (
            said if self.rest_ is None else said * np.exp(self.rest_.predict(_beside(jobs, said)))
        )


def _beside(jobs: JobTable, said: Array) -> Array:
    """What the trees look at: the law's answer and what it looked at."""
    x = activity_of(jobs)
    cap = [] if x.cap_w is None else [x.cap_w, np.log(said / x.cap_w)]
    given = [x.core_ghz, x.uncore_ghz, x.busy, x.work, x.moved, np.log(said), *cap]
    return np.column_stack(given)


def matrix(jobs: JobTable, names: tuple[str, ...]) -> Array:
    """Counters (n, k); missing cells are an error that names them."""
    jobs.require(*names)
    X = np.column_stack([jobs.numpy(n) for n in names])
    holes = [n for n, bad in zip(names, ~np.isfinite(X).all(axis=0), strict=True) if bad]
    if holes:
        raise DataError("counters", [f"{n} has missing values in some runs" for n in holes])
    return X


METHODS = ("cap", "mummi", *LEARNERS, "law", "law+trees")


def make_method(
    kind: str, target: str, features: tuple[str, ...] | None = None, seed: int = 0
) -> Method:
    """An unfitted method by name."""
    if kind not in METHODS:
        raise DataError("method", [f"expected one of {', '.join(METHODS)}, got {kind!r}"])
    if kind == "cap":
        return MeanPerCap()
    if kind.startswith("law"):
        if target == "runtime_s":
            raise DataError("method", ["the law is one of power: take mummi or a learner"])
        return OfLaw(target, seed, trees=kind != "law")
    return OfMatrix(kind, features, seed)
