"""MuMMI's chain: which counters explain a quantity, in a model that a person can read?

Counters whose rank correlation with the target is weak are dropped; a regression on the rest drops,
one after the other, those with the smallest standardised coefficient while it is negligible;
principal components of what is left, which are uncorrelated, carry the final linear model.  Of
counters that are copies of each other one is kept, before a regression can set them off.
Multiplied back, the model is one coefficient per counter.

Notation
--------
X : (n, k) counters      y : (n,) target      Z : standardised X      c  components kept
b : (k,) coefficient of each counter in units of y per unit of the counter, 0 where dropped

References
----------
Wu, Taylor, Lan: Performance and energy improvement of parallel applications using MuMMI and ten
machine-learning methods, Concurrency and Computation 2023 (arXiv 2011.06655).  Lively et al.:
E-AMOM, Computer Science R&D 2014.  The thresholds are not public; those here are ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rheostat.core.outcome import Array
from rheostat.prediction.counters.counter_columns import rank_correlation

COPY = 0.995
"""Correlation from which on two counters are taken for one."""


class CounterChain(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Rank filter, regression elimination, principal components, linear model.

    Parameters
    ----------
    rank : least absolute Spearman correlation with the target; the best three counters stay anyway.
    negligible : least standardised coefficient, as a share of the largest one.
    explained : share of the variance of the counters that the components must carry.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> chain = CounterChain().fit(X, 5 + 2 * X[:, 0] - X[:, 2])
    >>> chain.coef_.round(2).tolist(), round(chain.intercept_, 2), chain.kept_.tolist()
    ([2.0, 0.0, -1.0, 0.0], 5.0, [0, 2])
    """

    def __init__(
        self, rank: float = 0.2, negligible: float = 0.05, explained: float = 0.99
    ) -> None:
        self.rank = rank
        self.negligible = negligible
        self.explained = explained

    def fit(self, X: Any, y: Any) -> CounterChain:
        """Learn from counters (n, k) and a target (n,)."""
        X, y = validate_data(self, X, y, y_numeric=True)
        X, y = X.astype(float), y.astype(float)
        self.ranks_ = np.array([rank_correlation(x, y) for x in X.T])
        kept = np.flatnonzero(np.abs(self.ranks_) >= self.rank)
        if len(kept) < min(3, X.shape[1]):
            kept = np.sort(np.argsort(-np.abs(self.ranks_), kind="stable")[: min(3, X.shape[1])])
        kept = kept[X[:, kept].std(axis=0) > 0]
        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale[scale == 0] = 1.0
        Z = (X - mean) / scale
        kept = _without_copies(Z, kept, np.abs(self.ranks_))
        self.kept_ = _eliminated(Z, y, kept, self.negligible)
        b = _components_model(Z[:, self.kept_], y, self.explained)
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[self.kept_] = b / scale[self.kept_]
        self.intercept_ = float(y.mean() - self.coef_ @ mean)
        return self

    def predict(self, X: Any) -> Array:
        """The linear model's values, (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_, dtype=float)


def _without_copies(Z: Array, kept: np.ndarray, ranks: Array) -> np.ndarray:
    """One counter of each group that says the same thing: their coefficients would be arbitrary."""
    chosen: list[int] = []
    for k in sorted(kept, key=lambda k: -ranks[k]):
        if all(abs(Z[:, k] @ Z[:, c]) < COPY * len(Z) for c in chosen):
            chosen.append(int(k))
    return np.sort(np.array(chosen, dtype=np.int64))


def _eliminated(Z: Array, y: Array, kept: np.ndarray, negligible: float) -> np.ndarray:
    """Counters left when no coefficient is a negligible share of the largest."""
    while len(kept) > 1:
        b = np.abs(np.linalg.lstsq(Z[:, kept], y - y.mean(), rcond=None)[0])
        if b.min() >= negligible * b.max():
            break
        kept = np.delete(kept, int(b.argmin()))
    return kept


def _components_model(Z: Array, y: Array, explained: float) -> Array:
    """Coefficients (k,) in standard units of a regression on the leading components."""
    if not Z.shape[1]:
        return np.zeros(0)
    _, s, V = np.linalg.svd(Z, full_matrices=False)
    share = np.cumsum(s**2) / max(float((s**2).sum()), 1e-300)
    c = min(int(np.searchsorted(share, explained - 1e-12)) + 1, len(s))
    scores = Z @ V[:c].T
    return np.asarray(V[:c].T @ np.linalg.lstsq(scores, y - y.mean(), rcond=None)[0])
