"""`PairNetwork`: one hidden layer, learned from pairs of which one is longer by a fifth or more.

    loss = mean over such pairs of max(0, 1 - (s_i - s_j)),  L_i >= L_j + FILTER max(L_i, L_j)

as PARS has it, on numbers in place of a pretrained encoder's output, and without a library.

References
----------
Tao, Zhang, Dearing, Wang, Fan, Papka, Lan: PARS, arXiv 2510.03243.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rheostat._threads import one_thread

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

FILTER, MARGIN = 0.2, 1.0
WIDTH, EPOCHS, BATCH, RATE, DECAY = 96, 12, 128, 1e-3, 0.05
DROPPED, DROPPED_HIDDEN = 0.3, 0.4
MOMENTS = (0.9, 0.999)
Singles = NDArray[np.float32]
Weights = list[NDArray[np.floating]]


class PairNetwork:
    """Scores rows: the longer the answer, the higher.

    Parameters
    ----------
    seed
        Of the first weights, the batches and what is dropped.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, x: Array, lengths: Array) -> PairNetwork:
        """Learn from standardised rows, (n, F), and the lengths of their answers, (n,)."""
        rng = np.random.default_rng(self.seed)
        rows, columns = x.shape
        self.weights_ = [
            _uniform(rng, columns, (columns, WIDTH)), _uniform(rng, columns, (WIDTH,)),
            _uniform(rng, WIDTH, (WIDTH,)),
        ]  # fmt: skip
        given, step = x.astype(np.float32), 0
        means: Weights = [np.zeros_like(w) for w in self.weights_]
        squares: Weights = [np.zeros_like(w) for w in self.weights_]
        with one_thread():
            for _ in range(EPOCHS):
                for batch in np.array_split(rng.permutation(rows), max(1, rows // BATCH)):
                    step += 1
                    slopes = self._slopes(given[batch], lengths[batch], rng)
                    _adam(self.weights_, slopes, means, squares, step)
        return self

    def predict(self, x: Array) -> Array:
        """Of each row, (n,)."""
        first, bias, last = self.weights_
        return np.asarray(np.maximum(x @ first + bias, 0) @ last)

    @classmethod
    def mean(cls, models: Sequence[PairNetwork]) -> PairNetwork:
        """One that says what these say in the mean."""
        made = cls(seed=models[0].seed)
        first, bias, last = zip(*(m.weights_ for m in models), strict=True)
        joined = (np.hstack(first), np.hstack(bias), np.hstack(last) / len(models))
        made.weights_ = [w.astype(float) for w in joined]  # or a batch would round another way
        return made

    def _slopes(self, x: Singles, lengths: Array, rng: np.random.Generator) -> Weights:
        """Of the loss of a batch by each of the weights."""
        first, bias, last = self.weights_
        x = x * _kept(rng, x.shape, DROPPED)
        before = x @ first + bias
        mask = _kept(rng, before.shape, DROPPED_HIDDEN) * (before > 0)
        hidden = before * mask
        by_score = pair_slopes(np.asarray(hidden @ last), lengths)
        by_hidden = by_score[:, None] * last * mask
        return [x.T @ by_hidden, by_hidden.sum(axis=0), hidden.T @ by_score]


def pair_slopes(scores: Singles, lengths: Array) -> Singles:
    """Of the loss by each score, (n,).

    >>> pair_slopes(np.float32([0, 0, 5]), np.array([1.0, 1.1, 2.0])).tolist()
    [0.0, 0.0, 0.0]
    >>> pair_slopes(np.float32([0, 2]), np.array([2.0, 1.0])).tolist()
    [-1.0, 1.0]
    """
    longer, shorter = lengths[:, None], lengths[None]
    far = (longer - shorter >= FILTER * np.maximum(longer, shorter)) & (longer > shorter)
    pushed = far & (scores[:, None] - scores[None] < MARGIN)
    slopes = pushed.sum(axis=0) - pushed.sum(axis=1)
    return np.asarray(slopes / max(1, int(far.sum())), np.float32)


def _uniform(rng: np.random.Generator, inputs: int, shape: tuple[int, ...]) -> Singles:
    bound = inputs**-0.5
    return np.asarray(rng.uniform(-bound, bound, shape), np.float32)


def _kept(rng: np.random.Generator, shape: tuple[int, ...], dropped: float) -> Singles:
    kept = rng.random(shape, dtype=np.float32) >= dropped
    return np.asarray(kept / (1 - dropped), np.float32)


def _adam(weights: Weights, slopes: Weights, means: Weights, squares: Weights, step: int) -> None:
    """AdamW's step, in place."""
    for i, slope in enumerate(slopes):
        means[i] += (1 - MOMENTS[0]) * (slope - means[i])
        squares[i] += (1 - MOMENTS[1]) * (slope**2 - squares[i])
        size = np.sqrt(squares[i] / (1 - MOMENTS[1] ** step)) + 1e-8
        weights[i] -= RATE * (means[i] / (1 - MOMENTS[0] ** step) / size + DECAY * weights[i])
