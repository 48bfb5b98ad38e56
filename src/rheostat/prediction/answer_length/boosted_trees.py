"""Boosted regression trees as plain arrays: learned by scikit-learn, walked without it.

A row alone takes microseconds, where scikit-learn takes a millisecond, and a saved model needs no
library to be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rheostat._threads import one_thread
from rheostat.errors import ModelFileError
from rheostat.prediction.saved_models.tree_checks import check_nodes

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

FEW = 8
"""Rows that are walked without a compiler, whose loader takes 130 MB."""
TREES, LEAVES, RATE, SMALLEST_LEAF, SHRINKAGE, TRIED = 30, 12, 0.15, 30, 5.0, 0.5
LEAF = -1.0


class BoostedTrees:
    """Squared errors, boosted; each node chooses among half of the columns.

    Parameters
    ----------
    seed
        Of the columns that a node may choose.

    Notes
    -----
    A node is (feature, threshold, left, right), a leaf (LEAF, value, ., .): all that is read of it
    lies in one line of the cache.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(size=(400, 2))
    >>> trees = BoostedTrees().fit(x, np.where(x[:, 0] > 0.5, 1.0, 0.0))
    >>> trees.predict(np.array([[0.2, 0.3], [0.8, 0.3]])).round(1).tolist()
    [0.0, 1.0]
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, x: Array, target: Array) -> BoostedTrees:
        """Learn ``target``, (n,), from finite rows, (n, F)."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        learner = HistGradientBoostingRegressor(
            max_iter=TREES, max_leaf_nodes=LEAVES, learning_rate=RATE, l2_regularization=SHRINKAGE,
            min_samples_leaf=SMALLEST_LEAF, max_features=TRIED, early_stopping=False,
            random_state=self.seed,
        )  # fmt: skip
        with one_thread():
            learner.fit(x, target)
        grown = [stage[0].nodes for stage in learner._predictors]
        nodes, sizes = np.concatenate(grown), [len(g) for g in grown]
        self.roots_ = np.cumsum([0, *sizes[:-1]])
        before, leaf = np.repeat(self.roots_, sizes), nodes["is_leaf"] > 0
        self.nodes_ = np.column_stack([
            np.where(leaf, LEAF, nodes["feature_idx"]),
            np.where(leaf, nodes["value"], nodes["num_threshold"]),
            before + nodes["left"], before + nodes["right"],
        ]).astype(np.float32)  # fmt: skip
        self.start_ = float(np.ravel(learner._baseline_prediction)[0])
        return self

    @classmethod
    def mean(cls, models: Sequence[BoostedTrees]) -> BoostedTrees:
        """One that says what these say in the mean."""
        made, before = cls(seed=models[0].seed), 0
        nodes, roots = [], []
        for model in models:
            nodes.append(model.nodes_ + np.array([0, 0, before, before], np.float32))
            nodes[-1][model.nodes_[:, 0] == LEAF, 1] /= len(models)
            roots.append(model.roots_ + before)
            before += len(model.nodes_)
        made.nodes_, made.roots_ = np.concatenate(nodes), np.concatenate(roots)
        made.start_ = float(np.mean([m.start_ for m in models]))
        return made

    def check(self) -> None:
        """Raise a `ModelFileError` where walking the trees would lead out of them."""
        check_nodes(self.nodes_, self.roots_)

    def predict(self, x: Array) -> Array:
        """Of each row, (n,)."""
        if x.shape[1] <= self.nodes_[:, 0].max(initial=LEAF):
            raise ModelFileError("its trees ask about columns that are not there")
        if len(x) <= FEW:
            return self.start_ + np.array([_walked(row, self.roots_, self.nodes_) for row in x])
        from rheostat.prediction.answer_length.tree_code import walked

        sums: Array = walked(np.ascontiguousarray(x, dtype=float), self.roots_, self.nodes_)
        return self.start_ + sums


def _walked(row: Array, roots: NDArray[np.int64], nodes: NDArray[np.float32]) -> float:
    """As `tree_code.walked`, of one row: every node says where it leads, then all trees go down."""
    feature, own = nodes[:, 0].astype(np.int64), np.arange(len(nodes))
    side = np.where(row[feature] <= nodes[:, 1], nodes[:, 2], nodes[:, 3])
    leads = np.where(feature < 0, own, side.astype(np.int64))
    at, before = leads[roots], roots
    while (at != before).any():
        at, before = leads[at], at
    return float(np.cumsum(nodes[at, 1], dtype=float)[-1])  # one after the other, as they are there
