"""TabNet as a plain regressor: the direct alternative to trees fed by its embedding."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from rheostat.core.outcome import Array
from rheostat.prediction.surrogate.embedding import DeepTable, TabNetEmbedding


class TabNetRegressor(RegressorMixin, DeepTable):  # type: ignore[misc]
    """TabNet (Arik and Pfister, 2021) with scikit-learn's interface, several targets at once."""

    _net = TabNetEmbedding._net
    _plan = TabNetEmbedding._plan

    def predict(self, X: Any) -> Array:
        """Targets of each row, in the shape of the y that was fitted."""
        y = self._evaluate(X, "head") * self.y_scale_ + self.y_mean_
        return y[:, 0] if self.one_target_ else y
