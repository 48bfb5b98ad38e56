"""Our own regressors and transformers keep scikit-learn's law."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from rheostat.errors import DataError
from rheostat.prediction.surrogate.embedded_regressor import EmbeddedRegressor
from rheostat.prediction.surrogate.embedding import (
    AttentionEmbedding,
    TabNetEmbedding,
    make_embedding,
)
from rheostat.prediction.surrogate.regressors import make_regressor, takes_nan, takes_weights
from rheostat.prediction.surrogate.tabnet import TabNetRegressor

QUICK = {"epochs": 3, "width": 4}
TREES = RandomForestRegressor(n_estimators=5, random_state=0)
MINIBATCHES = "training takes random minibatches, so repeating a row is not the same as weighing it"


def known_differences(estimator) -> dict[str, str]:
    """Checks that hold for closed-form learners only, with the reason."""
    return {
        "check_sample_weight_equivalence_on_dense_data": MINIBATCHES,
        "check_sample_weight_equivalence_on_sparse_data": MINIBATCHES,
    }


@pytest.mark.slow
@parametrize_with_checks(
    [
        TabNetRegressor(epochs=15, width=4),
        AttentionEmbedding(**QUICK),
        TabNetEmbedding(**QUICK),
        EmbeddedRegressor(TabNetEmbedding(**QUICK), TREES),
    ],
    expected_failed_checks=known_differences,
)
def test_scikit_learns_law(estimator, check) -> None:
    check(estimator)


def sample(n: int = 500, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    return x, np.column_stack([2 * x[:, 0] + x[:, 1] * x[:, 2], x[:, 3]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["attention", "tabnet"])
def test_an_embedding_knows_the_targets_and_looks_at_what_matters(kind: str) -> None:
    x, y = sample()
    new_x, new_y = sample(seed=1)
    model = make_embedding(kind, 0).fit(x, y)
    z = model.transform(new_x)
    assert z.shape == (500, 16)
    linear = Ridge().fit(model.transform(x), y)
    assert linear.score(z, new_y) > 0.75
    look = model.masks(new_x)
    assert look.sum(axis=1) == pytest.approx(1.0, abs=1e-4)
    assert look[:, :4].mean() > 1.2 * look[:, 4:].mean()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["attention", "tabnet"])
def test_same_seed_same_bytes_whatever_the_batch_and_the_global_state(kind: str) -> None:
    import torch

    x, y = sample(120)
    torch.manual_seed(1)
    first = make_embedding(kind, 5).fit(x, y).transform(x)
    before = torch.random.get_rng_state()
    model = make_embedding(kind, 5).fit(x, y)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert first.tobytes() == model.transform(x).tobytes()
    alone = np.vstack([model.transform(row[None]) for row in x[:20]])
    assert alone.tobytes() == first[:20].tobytes()
    assert not np.array_equal(first, make_embedding(kind, 6).fit(x, y).transform(x))


def test_tabnet_embedding_is_the_sum_of_the_step_outputs() -> None:
    import torch

    x, y = sample(80)
    model = TabNetEmbedding(**QUICK).fit(x, y)
    with torch.no_grad():
        rows = torch.as_tensor(model._standard(x), dtype=torch.float32)
        model.net_.encoder.group_attention_matrix = torch.eye(6)
        steps, _ = model.net_.encoder(rows)
    assert len(steps) == model.steps
    assert np.allclose(sum(s.numpy() for s in steps), model.transform(x), atol=1e-4)


def test_an_embedding_helps_a_regressor_that_cannot_multiply() -> None:
    (x, y), (new_x, new_y) = sample(800), sample(seed=1)
    y, new_y = y[:, 0] - 2 * x[:, 0], new_y[:, 0] - 2 * new_x[:, 0]
    plain = Ridge().fit(x, y).score(new_x, new_y)
    fed = EmbeddedRegressor(AttentionEmbedding(), Ridge()).fit(x, y).score(new_x, new_y)
    assert plain < 0.1
    assert fed > 0.5


def test_registry_says_what_it_has() -> None:
    with pytest.raises(DataError, match="forest, boosting, xgboost, lightgbm, tabnet"):
        make_regressor("oracle", 0)
    with pytest.raises(DataError, match="regressor, got _NotOne"):
        make_regressor(_NotOne(), 0)
    with pytest.raises(DataError, match="attention, tabnet"):
        make_embedding("bert", 0)


class _NotOne:
    pass


def test_what_a_regressor_can_take() -> None:
    assert takes_nan(make_regressor("forest", 0))
    assert takes_nan(make_regressor("lightgbm", 0))
    assert not takes_nan(make_regressor(Ridge(), 0))
    assert takes_weights(make_regressor("xgboost", 0))
