"""Which learner turns the matrix into numbers?  A small registry, and any scikit-learn regressor.

The forest averages many trees grown on resampled rows and needs no tuning; XGBoost, LightGBM and
scikit-learn's boosting, which needs no further library, grow trees one after the other on what is
still unexplained; TabNet is a network that chooses, row
by row and step by step, which features to look at.  All learn several targets at once.

References
----------
Breiman: Random forests (2001).  Chen, Guestrin: XGBoost (2016).  Ke et al.: LightGBM (2017).
Arik, Pfister: TabNet (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rheostat._optional import require
from rheostat.core.outcome import Array
from rheostat.errors import DataError


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(
        n_estimators=80, min_samples_leaf=2, max_features=0.5, random_state=seed, n_jobs=1
    )


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    return MultiOutputRegressor(
        HistGradientBoostingRegressor(
            max_iter=300,
            learning_rate=0.06,
            max_leaf_nodes=31,
            min_samples_leaf=5,
            max_features=0.7,
            early_stopping=False,
            random_state=seed,
        )
    )


def _xgboost(seed: int) -> Any:
    return require("xgboost", extra="trees").XGBRegressor(
        n_estimators=300,
        learning_rate=0.06,
        max_depth=6,
        min_child_weight=3,
        subsample=0.8,
        colsample_bytree=0.7,
        tree_method="hist",
        max_bin=128,
        random_state=seed,
        n_jobs=1,
    )


def _lightgbm(seed: int) -> Any:
    from sklearn.multioutput import MultiOutputRegressor

    return MultiOutputRegressor(
        require("lightgbm", extra="trees").LGBMRegressor(
            n_estimators=300,
            learning_rate=0.06,
            num_leaves=31,
            min_child_samples=5,
            subsample=0.8,
            subsample_freq=1,
            colsample_bytree=0.7,
            random_state=seed,
            n_jobs=1,
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
        )
    )


def _tabnet(seed: int) -> Any:
    from rheostat.prediction.surrogate.tabnet import TabNetRegressor

    return TabNetRegressor(random_state=seed)


REGRESSORS: dict[str, Callable[[int], Any]] = {
    "forest": _forest,
    "boosting": _boosting,
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "tabnet": _tabnet,
}


def make_regressor(kind: Any, seed: int) -> Any:
    """An unfitted regressor of several targets: by name, or a copy of the one given.

    >>> make_regressor("forest", 0).random_state
    0
    >>> make_regressor("oracle", 0)
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: regressor: expected one of forest, boosting, xgboost, ...
    """
    if isinstance(kind, str):
        if kind not in REGRESSORS:
            names = ", ".join(REGRESSORS)
            raise DataError(
                "regressor",
                [f"expected one of {names} or a scikit-learn regressor, got {kind!r}"],
            )
        return REGRESSORS[kind](seed)
    from sklearn.base import clone, is_regressor
    from sklearn.multioutput import MultiOutputRegressor

    if not (hasattr(kind, "__sklearn_tags__") and is_regressor(kind)):
        raise DataError(
            "regressor", [f"expected a scikit-learn regressor, got {type(kind).__name__}"]
        )
    own = clone(kind)
    if "random_state" in own.get_params() and own.get_params()["random_state"] is None:
        own.set_params(random_state=seed)
    return own if _many(own) else MultiOutputRegressor(own)


def _many(regressor: Any) -> bool:
    from sklearn.utils import get_tags

    return bool(get_tags(regressor).target_tags.multi_output)


def shaped(regressor: Any, y: Array) -> Array:
    """(n, t) targets as ``fit`` wants them: (n,) for one target, unless each has its own model."""
    from sklearn.multioutput import MultiOutputRegressor

    return y if isinstance(regressor, MultiOutputRegressor) or y.shape[1] > 1 else y[:, 0]


def takes_nan(regressor: Any) -> bool:
    """Whether a regressor reads NaN as "missing" by itself."""
    from sklearn.utils import get_tags

    return bool(get_tags(getattr(regressor, "estimator", regressor)).input_tags.allow_nan)


def takes_weights(regressor: Any) -> bool:
    """Whether ``fit`` takes sample weights."""
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(getattr(regressor, "estimator", regressor), "sample_weight"))
