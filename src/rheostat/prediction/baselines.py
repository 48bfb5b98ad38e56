"""What would be guessed without a model?  The baselines that every figure must be read against.

The mean or median of all past runs; the mean of the user's own last two runs; the user's own most
similar recent runs (k = 5 of the last 50, the scheme of UoPC, Antici et al.).  Each answers one
draw: a guess, with no claim how sure it is.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.features.model_columns import is_category, learnable

TARGETS = ("runtime_s", "power_w")


class Constant:
    """The mean ("mean") or median ("median") of all past runs, for every job.

    >>> from rheostat.core.vocabulary import table
    >>> past = table({"user": ["a", "a", "b"], "runtime_s": [1.0, 2.0, 9.0]})
    >>> Constant("median", targets=("runtime_s",)).fit(past).predict(past).mean("runtime_s")
    array([2., 2., 2.])
    """

    def __init__(self, how: str = "mean", targets: tuple[str, ...] = TARGETS) -> None:
        self.how = how
        self.targets = targets

    def fit(self, jobs: JobTable) -> Constant:
        """Remember one number per target."""
        _, y, _ = learnable(jobs, self.targets)
        self.value_ = np.median(y, axis=0) if self.how == "median" else y.mean(axis=0)
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """The same number in each row."""
        if not hasattr(self, "value_"):
            raise NotFitted(self)
        return _outcome(self.targets, np.tile(self.value_, (len(jobs), 1)))


class LastTwo:
    """The mean of the user's last two runs; the median of all runs for a user never seen.

    >>> from rheostat.core.vocabulary import table
    >>> past = table({"user": ["a"] * 3 + ["b"], "runtime_s": [9.0, 1.0, 3.0, 7.0]})
    >>> asked = table({"user": ["a", "b", "c"]})
    >>> LastTwo(targets=("runtime_s",)).fit(past).predict(asked).mean("runtime_s")
    array([2., 7., 5.])
    """

    def __init__(self, targets: tuple[str, ...] = TARGETS) -> None:
        self.targets = targets

    def fit(self, jobs: JobTable) -> LastTwo:
        """Remember the last two runs of each user by submit time (or table order)."""
        jobs, y = _by_time(jobs, self.targets)
        users = jobs.frame["user"].cast(pl.String).to_list()
        rows: dict[str, list[int]] = {}
        for i, user in enumerate(users):
            rows.setdefault(user, []).append(i)
        self.last_ = {user: y[own[-2:]].mean(axis=0) for user, own in rows.items()}
        self.otherwise_ = np.median(y, axis=0)
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """The user's own mean in each row."""
        if not hasattr(self, "last_"):
            raise NotFitted(self)
        users = jobs.frame["user"].cast(pl.String).to_list()
        values = [self.last_.get(u, self.otherwise_) for u in users]
        return _outcome(self.targets, np.array(values).reshape(len(users), len(self.targets)))


class UserNeighbours:
    """Mean of the ``k`` most similar of the user's ``last`` runs, by what was asked for."""

    def __init__(self, targets: tuple[str, ...] = TARGETS, *, k: int = 5, last: int = 50) -> None:
        self.targets = targets
        self.k = k
        self.last = last

    def fit(self, jobs: JobTable) -> UserNeighbours:
        """Remember each user's last runs and the scale of each column."""
        jobs, y = _by_time(jobs, self.targets)
        known = jobs.known_at(0).frame  # type: ignore[arg-type]
        self.columns_ = tuple(
            c for c in known.columns
            if known[c].dtype.is_numeric() and not is_category(known[c])
            and c not in ("job_id", "submit_s")
        )  # fmt: skip
        x = _matrix(known, self.columns_)
        self.scale_ = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
        users = known["user"].cast(pl.String).to_numpy()
        self.runs_ = {}
        for user in dict.fromkeys(users):
            own = np.flatnonzero(users == user)[-self.last :]
            self.runs_[user] = (x[own] / self.scale_, y[own])
        self.otherwise_ = np.median(y, axis=0)
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """The neighbours' mean in each row; the median of all runs for a user never seen."""
        if not hasattr(self, "runs_"):
            raise NotFitted(self)
        x = _matrix(jobs.frame, self.columns_) / self.scale_
        users = jobs.frame["user"].cast(pl.String).to_numpy()
        values = np.tile(self.otherwise_, (len(jobs), 1))
        for user in set(users) & set(self.runs_):
            rows = np.flatnonzero(users == user)
            points, y = self.runs_[user]
            far = ((x[rows][:, None, :] - points[None]) ** 2).sum(axis=2)
            near = np.argsort(far, axis=1, kind="stable")[:, : self.k]
            values[rows] = y[near].mean(axis=1)
        return _outcome(self.targets, values)


def baselines(targets: tuple[str, ...] = TARGETS, *, users: bool = True) -> dict[str, object]:
    """Every baseline by name; those that need a ``user`` column only where there is one."""
    plain = {"mean": Constant("mean", targets), "median": Constant("median", targets)}
    own = {"user last two": LastTwo(targets), "user neighbours": UserNeighbours(targets)}
    return plain | own if users else dict(plain)


def _by_time(jobs: JobTable, targets: tuple[str, ...]) -> tuple[JobTable, Array]:
    jobs.require("user")
    jobs, y, _ = learnable(jobs, targets)
    if "submit_s" in jobs.columns:
        order = np.argsort(jobs.numpy("submit_s"), kind="stable")
        jobs, y = jobs.rows(order), y[order]
    return jobs, y


def _matrix(frame: pl.DataFrame, columns: tuple[str, ...]) -> Array:
    values = [frame[c].cast(pl.Float64).fill_null(0.0).to_numpy() for c in columns]
    logs = [np.sign(v) * np.log1p(np.abs(v)) for v in values]
    return np.column_stack(logs) if logs else np.zeros((frame.height, 1))


def _outcome(targets: tuple[str, ...], values: Array) -> Outcome:
    return Outcome({t: values[None, :, i] for i, t in enumerate(targets)})
