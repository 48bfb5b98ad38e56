"""Reconstruction of attention-informed surrogates (arXiv 2601.15399) for these pools.

A tree ensemble, or TabNet, learns log runtime and log power from all runs of the other applications
of the family plus the target's own runs so far; expected hypervolume improvement over the spread of
the ensemble picks the next setting.  The `-emb` variants add the embedding of an attention network
(TabNet's encoder, sum of its step outputs) to the features.  The paper's acquisition, budget,
reference point and splits are not public: this is a reconstruction, never a reproduction.

Two things are granted to it that the paper does not mention, because it loses without them: each
application's targets are centred (the level of an application never run is unknowable, its shape is
not), the target's level being estimated from its own runs; and the target's runs weigh four times a
prior run.  `paper-lgbm-raw` goes without them.

Notation
--------
S members of the ensemble    n training rows    features: knobs in the unit cube, application label,
embedding
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..pools import Array
from .base import Method, Problem
from .tabnet_peer import Encoder, encoder_for
from .trees import improvement, inferred_reference, train_forest, train_lightgbm, train_xgboost

Predict = Callable[[Array], Array]
TARGET_WEIGHT = 4.0


class PaperMethod(Method):
    """Ensemble surrogate over prior and own runs, EHVI over its members."""

    embedded = False
    centred = True

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        jobs = problem.prior
        self.n_start = 0 if jobs else 2
        self._fitted: tuple[int, Array] | None = None
        self._prior_x = (
            np.concatenate([j.x for j in jobs]) if jobs else np.empty((0, problem.x.shape[1]))
        )
        labels = [np.full(len(j.x), i, dtype=float) for i, j in enumerate(jobs)]
        self._labels = np.concatenate(labels) if jobs else np.empty(0)
        levels = [j.log_y[:, :2].mean(axis=0) * self.centred for j in jobs]
        shapes = [j.log_y[:, :2] - level for j, level in zip(jobs, levels, strict=True)]
        self._prior_y = np.concatenate(shapes) if jobs else np.empty((0, 2))
        self._level = np.mean(levels, axis=0) if jobs else np.zeros(2)
        self._encoder: Encoder | None = self._make_encoder()
        self._shape = (
            self._train(self._prior_features(), self._prior_y, None)(self._own()) if jobs else None
        )

    def _make_encoder(self) -> Encoder | None:
        if not (self.embedded and self.problem.prior):
            return None
        return encoder_for(self._prior_x, self._prior_y, self.seed)

    def _train(self, x: Array, y: Array, weight: Array | None) -> Predict:
        raise NotImplementedError

    def _features(self, x: Array, labels: Array) -> Array:
        parts = [x, labels[:, None]]
        if self._encoder is not None:
            parts.append(self._encoder.embed(x))
        return np.concatenate(parts, axis=1)

    def _prior_features(self) -> Array:
        return self._features(self._prior_x, self._labels)

    def _own(self) -> Array:
        return self._features(
            self.problem.x, np.full(self.problem.n, float(len(self.problem.prior)))
        )

    def draws(self) -> Array | None:
        """Members' log runtime and power at every setting (S, N, 2), or None without any data."""
        if self._fitted is None or self._fitted[0] != len(self.seen):
            drawn = self._fit()
            if drawn is None:
                return None
            self._fitted = (len(self.seen), drawn)
        return self._fitted[1]

    def _fit(self) -> Array | None:
        if not self.seen:
            return None if self._shape is None else self._shape + self._level
        own = np.stack(self.y)[:, :2]
        shape = np.zeros_like(own) if self._shape is None else self._shape.mean(axis=0)[self.seen]
        level = (own - shape).mean(axis=0) * self.centred
        features = self._own()
        x = np.concatenate([self._prior_features(), features[self.seen]])
        y = np.concatenate([self._prior_y, own - level])
        weight = np.append(
            np.ones(len(self._prior_y)), np.full(len(own), TARGET_WEIGHT if self.centred else 1.0)
        )
        return self._train(x, y, weight)(features) + level

    def believe(self) -> Array | None:
        """Mean of the members; energy from runtime and power."""
        drawn = self.draws()
        if drawn is None:
            return None
        mean = drawn.mean(axis=0)
        return np.column_stack([mean, mean.sum(axis=1)])

    def pick(self, remaining: int) -> int:
        """Largest expected hypervolume improvement over the members."""
        drawn = self.draws()
        left = self.unseen()
        if drawn is None:
            return int(left[0])
        triple = np.concatenate([drawn, drawn.sum(axis=2, keepdims=True)], axis=2)
        pair = list(self.problem.pair)
        measured = np.stack(self.y)[:, pair] if self.seen else np.empty((0, 2))
        reference = inferred_reference(np.concatenate([measured, triple.mean(axis=0)[:, pair]]))
        gain = improvement(triple[:, left][:, :, pair], measured, reference).mean(axis=0)
        if gain.max() <= 0:
            gain = triple[:, left][:, :, pair].std(axis=0).sum(axis=1)
        return int(left[int(np.argmax(gain))])


class PaperForest(PaperMethod):
    """Random forest; its trees are the members."""

    def _train(self, x: Array, y: Array, weight: Array | None) -> Predict:
        return train_forest(x, y, weight, self.seed)


class PaperXgboost(PaperMethod):
    """XGBoost, members from bootstrap samples."""

    def _train(self, x: Array, y: Array, weight: Array | None) -> Predict:
        return train_xgboost(x, y, weight, self.seed)


class PaperLightgbm(PaperMethod):
    """LightGBM, members from bootstrap samples."""

    def _train(self, x: Array, y: Array, weight: Array | None) -> Predict:
        return train_lightgbm(x, y, weight, self.seed)


class PaperLightgbmRaw(PaperLightgbm):
    """LightGBM without the two grants: raw log targets, all rows of equal weight."""

    centred = False


class PaperForestEmb(PaperForest):
    """Random forest on embeddings."""

    embedded = True


class PaperXgboostEmb(PaperXgboost):
    """XGBoost on embeddings."""

    embedded = True


class PaperLightgbmEmb(PaperLightgbm):
    """LightGBM on embeddings."""

    embedded = True


class PaperTabnet(PaperMethod):
    """TabNet itself as the regressor: trained on the prior jobs, corrected by the target's own
    residuals.

    Retraining the network at each of twenty steps is not affordable; the three members keep their
    shape and a kernel-weighted mean of the residuals at measured settings bends it towards what was
    seen.
    """

    WIDTH = 0.2

    def _train(self, x: Array, y: Array, weight: Array | None) -> Predict:
        members = encoder_for(self._prior_x, self._prior_y, self.seed)
        return lambda features: members.predict(features[:, : self.problem.x.shape[1]])

    def _fit(self) -> Array | None:
        if self._shape is None:
            return self._spread_without_prior() if self.seen else None
        if not self.seen:
            return self._shape + self._level
        own = np.stack(self.y)[:, :2]
        level = (own - self._shape.mean(axis=0)[self.seen]).mean(axis=0)
        residual = own - level - self._shape.mean(axis=0)[self.seen]
        gap2 = ((self.problem.x[:, None] - self.problem.x[self.seen][None]) ** 2).sum(axis=2)
        k = np.exp(-0.5 * gap2 / self.WIDTH**2)
        return self._shape + level + (k @ residual) / (1.0 + k.sum(axis=1, keepdims=True))

    def _spread_without_prior(self) -> Array:
        own = np.stack(self.y)[:, :2]
        gap2 = ((self.problem.x[:, None] - self.problem.x[self.seen][None]) ** 2).sum(axis=2)
        k = np.exp(-0.5 * gap2 / self.WIDTH**2) + 1e-9
        mean = (k @ own) / k.sum(axis=1, keepdims=True)
        noise = self.rng.normal(size=(3, 1, 1)) * own.std(axis=0)
        return mean + noise * np.sqrt(gap2.min(axis=1))[None, :, None]
