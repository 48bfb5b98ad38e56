"""Boosted regression trees as plain arrays: learned by scikit-learn, walked without it.

A row alone takes microseconds, where scikit-learn takes a millisecond, and a saved model needs no
library to be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rheostat._threads import one_thread
from rheostat.errors import ModelFileError
from rheostat.prediction.saved_models.tree_checks import check_nodes

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

FEW = 8
"""Rows that no compiler is loaded for, whose loader takes 130 MB."""
CODE = "rheostat.prediction.answer_length.tree_code"
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
        paths = _paths_of(self)
        if x.shape[1] <= paths.last_feature:
            raise ModelFileError("its trees ask about columns that are not there")
        if len(x) <= FEW and CODE not in sys.modules:
            return self.start_ + np.array([paths.walked(row) for row in x])
        from rheostat.prediction.answer_length.tree_code import walked

        sums: Array = walked(np.ascontiguousarray(x, dtype=float), self.roots_, self.nodes_)
        return self.start_ + sums


@dataclass(frozen=True)
class Paths:
    """Nodes as columns, as single rows are walked by: each says where it leads, all go down."""

    nodes: NDArray[np.float32]
    roots: NDArray[np.int64]
    inner: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Array
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Array
    depth: int
    last_feature: int

    @staticmethod
    def of(nodes: NDArray[np.float32], roots: NDArray[np.int64]) -> Paths:
        """Of trees as `BoostedTrees` has them."""
        feature, value = nodes[:, 0].astype(np.int64), nodes[:, 1].astype(float)
        inner = np.flatnonzero(feature >= 0)
        left, right = (nodes[:, k].astype(np.int64) for k in (2, 3))
        depth, level = 0, roots[feature[roots] >= 0]
        while len(level):
            depth, below = depth + 1, np.concatenate([left[level], right[level]])
            level = below[feature[below] >= 0]
        return Paths(nodes, roots, inner, feature[inner], value[inner], left[inner], right[inner],
                     value, depth, int(feature.max(initial=LEAF)))  # fmt: skip

    def walked(self, row: Array) -> float:
        """As `tree_code.walked`, of one row."""
        leads = np.arange(len(self.value))
        leads[self.inner] = np.where(row[self.feature] <= self.threshold, self.left, self.right)
        at = self.roots
        for _ in range(self.depth):
            at = leads[at]
        return float(np.cumsum(self.value[at])[-1])  # one after the other, as they are there


def _paths_of(trees: BoostedTrees) -> Paths:
    """Made once, and beside the model, whose file they would only lengthen."""
    paths = PATHS.get(trees)
    if paths is None or paths.nodes is not trees.nodes_:
        paths = PATHS[trees] = Paths.of(trees.nodes_, trees.roots_)
    return paths


PATHS: WeakKeyDictionary[BoostedTrees, Paths] = WeakKeyDictionary()
