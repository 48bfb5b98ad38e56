"""Importances find the columns that matter, and share out exactly what they should."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.prediction.importance import (
    attention_importance,
    permutation_importance,
    shap_importance,
)
from rheostat.prediction.surrogate.embedded_regressor import EmbeddedRegressor
from rheostat.prediction.surrogate.embedding import AttentionEmbedding
from rheostat.prediction.surrogate.surrogate import Surrogate


def jobs(n: int = 400, seed: int = 0):
    """Runtime depends on the application, power on the node count; priority is noise."""
    rng = np.random.default_rng(seed)
    app, nodes = rng.integers(0, 4, n), 2 ** rng.integers(0, 5, n)
    return table(
        {
            "app": pl.Series([f"a{i}" for i in app]),
            "nodes": nodes,
            "priority": rng.uniform(1, 2, n),
            "runtime_s": 10.0 ** (1 + app) / nodes,
            "power_w": 300.0 * nodes ** np.where(nodes > 4, 1.3, 1.0),
        }
    )


PAST, HELD = jobs(), jobs(seed=1)
TREES = {
    "forest": RandomForestRegressor(n_estimators=10, random_state=0),
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
}


@pytest.fixture(scope="module", params=list(TREES))
def model(request: pytest.FixtureRequest) -> Surrogate:
    return Surrogate(TREES[request.param]).fit(PAST)


@pytest.mark.parametrize("method", [permutation_importance, shap_importance])
def test_the_column_that_matters_comes_first(model: Surrogate, method) -> None:
    runtime, power = (method(model, HELD, t) for t in ("runtime_s", "power_w"))
    assert runtime.names[0] == "app"
    assert power.names[0] == "nodes"
    assert runtime.low[0] <= runtime.values[0] <= runtime.high[0]
    noise = runtime.names.index("priority")
    assert runtime.values[noise] < 0.1 * runtime.values[0]


def test_shapley_values_add_up_to_the_prediction(model: Surrogate) -> None:
    from rheostat.prediction.importance import _shapley

    x = model.stage_.encoder.transform(HELD.frame.select(model.features_))
    total = _shapley(model.stage_.regressor, x, 0).sum(axis=1)
    mu = model.stage_.regressor.predict(x)[:, 0]
    assert np.std(mu - total) < 1e-3 * np.std(mu)


def test_a_model_without_a_network_has_no_attention() -> None:
    with pytest.raises(DataError, match="tabnet, attention or an embedding"):
        attention_importance(Surrogate(Ridge()).fit(PAST), HELD)
    with pytest.raises(DataError, match="not made of trees"):
        shap_importance(Surrogate(Ridge()).fit(PAST), HELD)
    with pytest.raises(DataError, match="one of runtime_s, power_w"):
        permutation_importance(Surrogate(Ridge()).fit(PAST), HELD, "energy_j")


@pytest.mark.slow
def test_attention_is_a_share() -> None:
    trees = RandomForestRegressor(n_estimators=5, random_state=0)
    model = Surrogate(EmbeddedRegressor(AttentionEmbedding(epochs=12), trees)).fit(PAST)
    found = attention_importance(model, HELD)
    assert found.values.sum() == pytest.approx(1.0, abs=1e-4)
    assert set(found.names) == {"app", "nodes", "priority"}
    assert found.names[-1] == "priority"
    assert "embedding" in shap_importance(model, HELD).names
