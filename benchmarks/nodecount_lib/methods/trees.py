"""Small tree ensembles with a spread, and the hypervolume improvement of their draws.

Notation
--------
S members   n rows   N candidates   x : (n, p)   y : (n, 2)   draws : (S, N, 2)   front : (m, 2)   r
: (2,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..metric import front_of
from ..pools import Array

Predict = Callable[[Array], Array]
TREES = 24
MEMBERS = 5
ROUNDS = 30


def train_forest(x: Array, y: Array, weight: Array | None, seed: int) -> Predict:
    """Multi-output random forest; every tree is a draw."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        TREES, max_features=0.7, min_samples_leaf=1, random_state=seed, n_jobs=1
    )
    forest.fit(x, y, sample_weight=weight)
    return lambda q: np.stack(
        [t.predict(q.astype(np.float32), check_input=False) for t in forest.estimators_]
    )


def _bootstraps(n: int, weight: Array | None, seed: int) -> list[Array]:
    """Row weights of each member: Poisson(1) counts times the given weights, never all zero."""
    rng = np.random.default_rng([seed, n])
    given = np.ones(n) if weight is None else weight
    return [np.maximum(rng.poisson(1.0, n), 1e-3) * given for _ in range(MEMBERS)]


def train_xgboost(x: Array, y: Array, weight: Array | None, seed: int) -> Predict:
    """Bootstrapped XGBoost with vector leaves."""
    import xgboost as xgb

    setting = {
        "max_depth": 4,
        "eta": 0.25,
        "nthread": 1,
        "seed": seed,
        "multi_strategy": "multi_output_tree",
        "tree_method": "hist",
    }
    models = [
        xgb.train(setting, xgb.DMatrix(x, y, weight=w), ROUNDS)
        for w in _bootstraps(len(x), weight, seed)
    ]
    return lambda q: np.stack([m.predict(xgb.DMatrix(q)) for m in models]).astype(float)


def train_lightgbm(x: Array, y: Array, weight: Array | None, seed: int) -> Predict:
    """Bootstrapped LightGBM, one booster per target."""
    import lightgbm as lgb

    setting = {
        "num_leaves": 12,
        "min_data_in_leaf": 2,
        "min_sum_hessian_in_leaf": 1e-4,
        "learning_rate": 0.25,
        "num_threads": 1,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "verbosity": -1,
        "min_data_in_bin": 1,
    }

    def grow(target: Array, w: Array) -> Any:
        return lgb.train(
            setting,
            lgb.Dataset(x, target, weight=w, params={"verbosity": -1, "min_data_in_bin": 1}),
            ROUNDS,
        )

    pairs = [[grow(column, w) for column in y.T] for w in _bootstraps(len(x), weight, seed)]
    return lambda q: np.stack([np.stack([m.predict(q) for m in pair], axis=1) for pair in pairs])


def inferred_reference(points: Array) -> Array:
    """Nadir of the non-dominated points plus a tenth of their range (BoTorch's rule)."""
    front = points[front_of(points)]
    low, high = front.min(axis=0), front.max(axis=0)
    return high + 0.1 * np.maximum(high - low, 1e-6)


def improvement(draws: Array, measured: Array, reference: Array) -> Array:
    """Hypervolume each draw would add to the measured points, shape (S, N).

    >>> improvement(np.array([[[0.0, 0.0]]]), np.array([[0.5, 0.5]]), np.array([1.0, 1.0]))
    array([[0.75]])
    """
    front = measured[front_of(measured)] if len(measured) else measured
    front = front[(front < reference).all(axis=1)]
    left = np.concatenate([[-np.inf], front[:, 0]])
    right = np.concatenate([front[:, 0], reference[:1]])
    ceiling = np.concatenate([reference[1:], front[:, 1]])
    x, y = draws[..., 0:1], draws[..., 1:2]
    width = np.maximum(np.minimum(right, reference[0]) - np.maximum(left, x), 0.0)
    return (width * np.maximum(ceiling - y, 0.0)).sum(axis=-1)
