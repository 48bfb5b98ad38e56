"""`ScoreStack`: scores of a linear model made better by trees and a network that see them.

The linear scores that the stack learns from are of rows the linear model was not fitted to, or it
would trust them too much.  Trees and networks are learned with each part left out in turn; what
they say of that part decides how much each of them, and the linear score, counts, and how far the
whole is off.  A new row gets their mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.answer_length.boosted_trees import BoostedTrees
from rheostat.prediction.answer_length.pair_network import PairNetwork

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

FARTHEST = 4.0
COMPONENTS = 50
"""Directions of a vector, those in which texts differ most, that trees may choose."""


class ScoreStack:
    """Normal scores of lengths from linear scores, numbers and, if there are any, vectors.

    Parameters
    ----------
    seed
        Of trees and networks.

    Notes
    -----
    A row of ``x`` is (linear score, numbers...), of ``vectors`` the encoder's, also of width 0.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(
        self, x: Array, vectors: Array, z: Array, lengths: Array, part: NDArray[np.int64]
    ) -> ScoreStack:
        """Learn z, (n,), the normal scores of ``lengths``, leaving out one ``part`` in turn."""
        from scipy.optimize import nnls

        few = min(COMPONENTS, *vectors.shape)
        away = vectors - vectors.mean(axis=0)
        self.directions_ = np.linalg.svd(away, full_matrices=False)[2][:few].T
        whole = np.hstack([x, vectors])
        self.center_, self.scale_ = whole.mean(axis=0), whole.std(axis=0) + 1e-6
        trees, networks = self._inputs(x, vectors)
        left_out = np.column_stack([x[:, 0], z, z])
        grown, drawn = [], []
        for k in np.unique(part):
            others, rows = part != k, part == k
            grown.append(BoostedTrees(seed=self.seed).fit(trees[others], z[others]))
            drawn.append(PairNetwork(seed=self.seed).fit(networks[others], lengths[others]))
            left_out[rows, 1] = grown[-1].predict(trees[rows])
            left_out[rows, 2] = drawn[-1].predict(networks[rows])
        self.trees_, self.network_ = BoostedTrees.mean(grown), PairNetwork.mean(drawn)
        self.shares_ = nnls(left_out, z)[0]
        self.scatter_ = float(np.sqrt(np.mean((z - left_out @ self.shares_) ** 2)))
        return self

    def predict(self, x: Array, vectors: Array) -> Array:
        """Normal scores, (n,)."""
        trees, networks = self._inputs(x, vectors)
        of_linear, of_trees, of_network = self.shares_
        said = of_linear * x[:, 0] + of_trees * self.trees_.predict(trees)
        return np.asarray(said + of_network * self.network_.predict(networks))

    def _inputs(self, x: Array, vectors: Array) -> tuple[Array, Array]:
        """What trees see, and, standardised, what networks see."""
        wide = vectors.shape[1] > 0
        whole = np.hstack([x, vectors]) if wide else x
        standard = np.minimum(np.maximum((whole - self.center_) / self.scale_, -FARTHEST), FARTHEST)
        return (np.hstack([x, vectors @ self.directions_]) if wide else x), standard
