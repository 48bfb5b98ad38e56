"""Ten learners by name, each with the settings that are tried on the applications it may see.

The ten methods of the published comparison are not named in public.  These ten are ours: four
linear or nearly so, two that compare runs with runs, four made of trees.  Each learns the log of
the target, so that no prediction is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from rheostat.core.outcome import Array
from rheostat.errors import DataError


@dataclass(frozen=True)
class Learner:
    """How to make a regressor from settings and a seed, and the settings to try."""

    make: Callable[..., Any]
    space: Mapping[str, Sequence[Any]]

    def settings(self, rows: int, columns: int) -> list[dict[str, Any]]:
        """Every combination, in a fixed order, that a matrix of this shape is large enough for."""
        most = {"n_components": min(rows, columns), "n_neighbors": rows}
        every = (dict(zip(self.space, v, strict=True)) for v in product(*self.space.values()))
        return [s for s in every if all(s.get(name, 0) <= n for name, n in most.items())]


def _scaled(regressor: Any, *before: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), *before, regressor)


def _ridge(alpha: float, seed: int) -> Any:
    from sklearn.linear_model import Ridge

    return _scaled(Ridge(alpha=alpha))


def _elastic(alpha: float, seed: int) -> Any:
    from sklearn.linear_model import ElasticNet

    return _scaled(ElasticNet(alpha=alpha, max_iter=20_000))


def _quadratic(alpha: float, seed: int) -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import PolynomialFeatures

    return _scaled(Ridge(alpha=alpha), PolynomialFeatures(2, include_bias=False))


def _pls(n_components: int, seed: int) -> Any:
    from sklearn.cross_decomposition import PLSRegression

    return PLSRegression(n_components=n_components)


def _neighbours(n_neighbors: int, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return _scaled(KNeighborsRegressor(n_neighbors, weights="distance"))


def _vectors(C: float, seed: int) -> Any:
    from sklearn.svm import SVR

    return _scaled(SVR(C=C, epsilon=0.01))


def _tree(min_samples_leaf: int, seed: int) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(min_samples_leaf=min_samples_leaf, random_state=seed)


def _forest(min_samples_leaf: int, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(
        60, min_samples_leaf=min_samples_leaf, max_features=0.5, random_state=seed, n_jobs=1
    )


def _extra(min_samples_leaf: int, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(60, min_samples_leaf=min_samples_leaf, random_state=seed, n_jobs=1)


def _boosting(max_leaf_nodes: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=80, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=5, random_state=seed
    )


LEARNERS: dict[str, Learner] = {
    "ridge": Learner(_ridge, {"alpha": (0.1, 10.0, 100.0)}),
    "elastic": Learner(_elastic, {"alpha": (0.001, 0.01, 0.1)}),
    "quadratic": Learner(_quadratic, {"alpha": (1.0, 30.0, 1000.0)}),
    "pls": Learner(_pls, {"n_components": (1, 2, 4)}),
    "neighbours": Learner(_neighbours, {"n_neighbors": (3, 6, 12)}),
    "vectors": Learner(_vectors, {"C": (0.3, 3.0, 30.0)}),
    "tree": Learner(_tree, {"min_samples_leaf": (2, 5, 10)}),
    "forest": Learner(_forest, {"min_samples_leaf": (1, 3)}),
    "extra": Learner(_extra, {"min_samples_leaf": (1, 3)}),
    "boosting": Learner(_boosting, {"max_leaf_nodes": (4, 15)}),
}


class Tuned:
    """A learner of log targets whose settings are chosen on groups it had not seen.

    After ``fit``, ``chosen_`` are the settings and ``unseen_`` (n,) the predictions made for each
    row by the chosen settings when the row's group was left out.
    """

    def __init__(self, name: str, *, folds: int = 4, seed: int = 0) -> None:
        if name not in LEARNERS:
            raise DataError("learner", [f"expected one of {', '.join(LEARNERS)}, got {name!r}"])
        self.name, self.folds, self.seed = name, folds, seed

    def fit(self, X: Array, y: Array, groups: np.ndarray) -> Tuned:
        """Try every setting on left-out groups, keep the best, learn from all rows."""
        learner, fold = LEARNERS[self.name], fold_groups(groups, self.folds, self.seed)
        best, rows = np.inf, len(y) - int(np.bincount(fold).max())
        choices = learner.settings(rows, X.shape[1])
        if not choices:
            raise DataError(self.name, [f"{rows} runs of other applications are too few to learn"])
        for settings in choices:
            unseen = np.full(len(y), np.nan)
            for f in np.unique(fold):
                fitted = learner.make(**settings, seed=self.seed).fit(
                    X[fold != f], np.log(y[fold != f])
                )
                unseen[fold == f] = np.exp(np.ravel(fitted.predict(X[fold == f])))
            error = float(np.abs(unseen / y - 1).mean())
            if error < best:
                best, self.chosen_, self.unseen_ = error, settings, unseen
        self.model_ = learner.make(**self.chosen_, seed=self.seed).fit(X, np.log(y))
        return self

    def predict(self, X: Array) -> Array:
        """Predictions (n,), positive."""
        return np.exp(np.ravel(self.model_.predict(X)))


def fold_groups(groups: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """A fold for each row such that a group is whole in one; at most as many as groups.

    >>> fold_groups(np.array(["a", "b", "a", "c"]), 9, 0).tolist()
    [2, 0, 2, 1]
    """
    names, code = np.unique(groups, return_inverse=True)
    k = max(2, min(folds, len(names)))
    if len(names) < 2:
        return np.arange(len(groups)) % k
    return (np.random.default_rng(seed).permutation(len(names)) % k)[code]
