"""Trees on a table of sizes and names, that the law of training steps is compared with.

The first part of the poster of `docs/systems/dnnperf.md`; its size is not public.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat._optional import require
from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Array

NOT_SIZES = ("graph", "experiment", "instance", "samples", "flops", "bytes_accessed",
             "transcendentals", "gpu_index", "runtime_min_s")  # fmt: skip
"""Columns that the black box is not shown: identities, and what a graph says."""


class BlackBox:
    """The poster's first part: boosted trees on a table of sizes and names, of the logarithm.

    Parameters
    ----------
    trees, depth : int
        Size; the poster's is not public.
    seed : int
        Of the trees.
    """

    def __init__(self, trees: int = 300, depth: int = 6, *, seed: int = 0) -> None:
        self.trees, self.depth, self.seed = trees, depth, seed

    def fit(self, jobs: JobTable, log_y: Array, extra: Array | None = None) -> BlackBox:
        """Learn; ``extra`` (n, k) are columns beside, such as what a graph network says."""
        self.columns_ = [c for c in jobs.known_at(Moment.SUBMIT).columns if c not in NOT_SIZES]
        self.names_ = {c: sorted(set(jobs.frame[c].cast(pl.String).drop_nulls()))
                       for c in self.columns_ if jobs.frame[c].dtype == pl.String}  # fmt: skip
        made = require("xgboost", extra="trees").XGBRegressor(
            n_estimators=self.trees, max_depth=self.depth, learning_rate=0.06, subsample=0.8,
            colsample_bytree=0.8, random_state=self.seed, n_jobs=1,
        )  # fmt: skip
        self.regressor_ = made.fit(self._matrix(jobs, extra), log_y)
        return self

    def predict(self, jobs: JobTable, extra: Array | None = None) -> Array:
        """Logarithms, (n,)."""
        return np.asarray(self.regressor_.predict(self._matrix(jobs, extra)), dtype=float)

    def _matrix(self, jobs: JobTable, extra: Array | None) -> Array:
        columns = []
        for c in self.columns_:
            if c in self.names_:
                values = jobs.frame[c].cast(pl.String).to_numpy()
                columns += [(values == name).astype(float) for name in self.names_[c]]
            else:
                columns.append(jobs.numpy(c))
        beside = [] if extra is None else list(extra.T)
        return np.column_stack([*columns, *beside])


def corrected(source: Array, known: Array, log_y: Array) -> Array:
    """A pre-trained logarithm, (n,), moved by a line that ridge fits to the ``known`` rows."""
    x = np.column_stack([np.ones(len(known)), source[known]])
    line = np.linalg.solve(x.T @ x + 1e-3 * np.eye(2), x.T @ log_y + 1e-3 * np.array([0.0, 1.0]))
    return np.asarray(line[0] + line[1] * source)
