"""The boosting libraries by name."""

from __future__ import annotations

from rheostat.errors import DataError
from rheostat.prediction.out_of_core.boosters import Engine
from rheostat.prediction.out_of_core.lgb import LightGBM
from rheostat.prediction.out_of_core.xgb import XGBoost

ENGINES: dict[str, type[Engine]] = {"xgboost": XGBoost, "lightgbm": LightGBM}


def engine_of(kind: str) -> Engine:
    """The engine of this name; a `DataError` lists those there are."""
    if kind not in ENGINES:
        raise DataError("kind", [f"expected one of {', '.join(ENGINES)}, got {kind!r}"])
    return ENGINES[kind]()
