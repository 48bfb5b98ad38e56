"""Can a network find features that help a tree?  Attention embeddings of a row.

A network is trained to predict the targets; what it knows just before its last layer is a short
vector that describes the row.  Put beside the plain features, it gives trees ready-made
combinations of columns.  Both kinds follow scikit-learn's law: ``fit(X, y)``, ``transform(X)``.

Notation
--------
n  rows      k  features      d  width of the embedding      Z = [embedding, X] : (n, d + k)
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rheostat.core.outcome import Array
from rheostat.errors import DataError


class DeepTable(BaseEstimator):  # type: ignore[misc]
    """What both networks share: standardised inputs and targets, training, evaluation."""

    def __init__(
        self,
        *,
        width: int = 16,
        steps: int = 2,
        epochs: int = 25,
        max_rows: int = 6000,
        random_state: int | None = 0,
    ) -> None:
        self.width = width
        self.steps = steps
        self.epochs = epochs
        self.max_rows = max_rows
        self.random_state = random_state

    def _net(self, k: int, t: int) -> Any:
        raise NotImplementedError

    def _plan(self) -> Any:
        from rheostat.prediction.surrogate.nets import Training

        return Training(epochs=self.epochs)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network on X (n, k) and y (n,) or (n, t), on at most ``max_rows`` of them."""
        from rheostat.prediction.surrogate.nets import train

        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
        )
        weights = _check_sample_weight(sample_weight, X)
        self.one_target_ = y.ndim == 1
        y = np.asarray(y, dtype=float).reshape(len(X), -1)
        self.shape_ = (X.shape[1], y.shape[1])
        self.x_mean_, self.x_scale_ = _centre_and_scale(X)
        self.y_mean_, self.y_scale_ = _centre_and_scale(y)
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.permutation(len(X))[: self.max_rows])
        self.net_ = train(
            lambda: self._net(*self.shape_),
            self._standard(X[rows]),
            (y[rows] - self.y_mean_) / self.y_scale_,
            weights[rows] / max(weights[rows].mean(), 1e-300),
            seed=int(rng.integers(2**31)),
            plan=self._plan(),
        )
        return self

    def _standard(self, X: Array) -> Array:
        """Standardised and held within six deviations, so that a wild value cannot rule the row."""
        return np.clip((X - self.x_mean_) / self.x_scale_, -6.0, 6.0)

    def _evaluate(self, X: Any, what: str) -> Array:
        from rheostat.prediction.surrogate.nets import evaluate

        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return evaluate(self.net_, self._standard(X), what)

    def masks(self, X: Any) -> Array:
        """How much the network looks at each feature in each row, (n, k); rows sum to 1."""
        return self._evaluate(X, "masks")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class _Embedding(TransformerMixin, DeepTable):  # type: ignore[misc]
    def transform(self, X: Any) -> Array:
        """The embedding of each row, (n, width)."""
        return self._evaluate(X, "embedding")

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the embedding's columns."""
        check_is_fitted(self)
        stem = type(self).__name__.lower()
        return np.array([f"{stem}{i}" for i in range(self.width)], dtype=object)


class AttentionEmbedding(_Embedding):
    """Embedding of the feature-token encoder; ``steps`` is its number of attention layers."""

    def _net(self, k: int, t: int) -> Any:
        from rheostat.prediction.surrogate.nets import TokenNet

        return TokenNet(k, t, width=self.width, layers=self.steps)


class TabNetEmbedding(_Embedding):
    """Sum of the step outputs of TabNet's encoder; ``steps`` is its number of decision steps."""

    def _net(self, k: int, t: int) -> Any:
        from rheostat.prediction.surrogate.nets import TabNetNet

        return TabNetNet(k, t, width=self.width, steps=self.steps)

    def _plan(self) -> Any:
        from rheostat.prediction.surrogate.nets import Training

        return Training(epochs=self.epochs, rate=2e-2, batch=256)


EMBEDDINGS = {"attention": AttentionEmbedding, "tabnet": TabNetEmbedding}


def make_embedding(kind: str, seed: int) -> DeepTable:
    """An unfitted embedding by name."""
    if kind not in EMBEDDINGS:
        raise DataError("embedding", [f"expected one of {', '.join(EMBEDDINGS)}, got {kind!r}"])
    return EMBEDDINGS[kind](random_state=seed)


def _centre_and_scale(a: Array) -> tuple[Array, Array]:
    scale = a.std(axis=0)
    return a.mean(axis=0), np.where(scale > 1e-12, scale, 1.0)
