"""A regressor that is fed by an embedding, beside the plain features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from rheostat.core.outcome import Array
from rheostat.prediction.surrogate.embedding import AttentionEmbedding
from rheostat.prediction.surrogate.regressors import make_regressor, takes_weights


class EmbeddedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that sees [embedding, X]; defaults: attention embedding, random forest."""

    def __init__(
        self, embedding: Any = None, regressor: Any = None, random_state: int | None = 0
    ) -> None:
        self.embedding = embedding
        self.regressor = regressor
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the embedding, then the regressor on the widened matrix."""
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
        )
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        given = self.embedding if self.embedding is not None else AttentionEmbedding()
        self.embedding_ = clone(given).set_params(random_state=seed)
        self.regressor_ = make_regressor(
            self.regressor if self.regressor is not None else "forest", seed
        )
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.embedding_.fit(X, y, **extra)
        self.regressor_.fit(
            np.hstack([self.embedding_.transform(X), X]),
            y,
            **(extra if takes_weights(self.regressor_) else {}),
        )
        return self

    def predict(self, X: Any) -> Array:
        """Targets of each row, in the shape of the y that was fitted."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        Z = np.hstack([self.embedding_.transform(X), X])
        return np.asarray(self.regressor_.predict(Z), dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
