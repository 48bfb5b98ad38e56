"""How sure is a prediction, in a way that holds next month?

The model is fitted on the older part of the past and asked about the newer part; what it got wrong
there is what it will get wrong tomorrow.  Each error is divided by the spread expected for such a
job, and the quantiles of these scores, times the spread of the row asked about, are the interval
(split conformal prediction with locally scaled scores [Lei2018]_).  Draws of several targets are
put in the order in which their errors occurred together (Schaake shuffle [Clark2004]_), so energy =
power x runtime has honest bounds too.

Notation
--------
n  rows to predict      m  calibration rows     t  targets     K  draws     P  stored permutations
mu : (n, t) predicted log targets     s : (n, t) spread     z : (m, t) scores = residual / spread
marginals : (t, K) quantiles of z, draw k of all targets taken from errors seen together

References
----------
.. [Lei2018] Lei et al.: Distribution-free predictive inference for regression. JASA 113, 2018.
.. [Clark2004] Clark et al.: The Schaake shuffle. J. Hydrometeorology 5, 2004.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
PERMUTATIONS = 257
"""A prime, so that hashes of rows spread over the stored permutations."""
FEWEST_SCORES = 3
UNKNOWN_SPREAD = 0.5
"""Log units (a factor of 1.6) assumed where there are too few runs to learn the error from."""


@dataclass(frozen=True)
class Calibration:
    """Scores turned into draws; ``shared`` of the K positions are common to one job group.

    Rows of one group (same application or user) get equal scores at the shared positions and
    their own at the others, so settings of one job are compared with errors that mostly cancel,
    as they do in the calibration runs; every row has exactly the same marginal quantiles.
    """

    marginals: Array
    shared: int
    group_orders: Ints
    row_orders: Ints
    spread: Any = None
    floor: Array | None = None
    new_group_marginals: Array | None = None

    def spreads(self, x: Array) -> Array:
        """Expected absolute log error of each row, (n, t)."""
        if self.spread is None or self.floor is None:
            return np.ones((len(x), len(self.marginals)))
        return np.asarray(np.maximum(self.spread.predict(x).reshape(len(x), -1), self.floor))

    def draws(self, mu: Array, x: Array, groups: Ints, is_new: NDArray[np.bool_]) -> list[Array]:
        """Draws of each log target, t arrays (K, n); new groups have scores of their own."""
        s = self.spreads(x)
        g, r = groups % PERMUTATIONS, row_hash(x) % PERMUTATIONS
        new = is_new if self.new_group_marginals is not None else np.zeros(len(x), dtype=bool)
        result = []
        for t, marginal in enumerate(self.marginals):
            errors = s[:, t, None] * self._placed(marginal, g, r)
            if self.new_group_marginals is not None and new.any():
                errors[new] = self._placed(self.new_group_marginals[t], g[new], r[new])
            result.append((mu[:, t, None] + errors).T)
        return result

    def _placed(self, marginal: Array, g: Ints, r: Ints) -> Array:
        """Scores (n, K): the shared ones in the group's order, the others in the row's."""
        return np.concatenate(
            [marginal[self.group_orders][g], marginal[self.row_orders][r]], axis=1
        )


def row_hash(x: Array) -> Ints:
    """A number per row that depends on that row alone, so batches of any size agree."""
    bits = np.ascontiguousarray(np.where(np.isnan(x), -1.0, x) + 0.0).view(np.uint64)
    odd = (np.arange(bits.shape[1], dtype=np.uint64) * 2 + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed = ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1), dtype=np.int64)


def calibrate(
    residuals: Array,
    groups: Ints,
    *,
    spreads: Array | None = None,
    spread: Any = None,
    new_group_residuals: Array | None = None,
    n_draws: int = 64,
    rng: np.random.Generator,
) -> Calibration:
    """Turn out-of-sample log ``residuals`` (m, t) = truth - prediction into a `Calibration`.

    ``spreads`` are the expected absolute errors of those rows by the model ``spread``; ``groups``
    are codes of the job group of each row; ``new_group_residuals`` are residuals on hidden groups.
    With fewer than three rows a spread of a factor 1.6 is assumed.
    """
    t = residuals.shape[1]
    if len(residuals) < FEWEST_SCORES:
        residuals = UNKNOWN_SPREAD * _normal_scores(max(n_draws, 9), t)
        groups, spreads, spread = np.arange(len(residuals)), None, None
    scores = residuals if spreads is None else residuals / spreads
    shared = round(group_correlation(scores, groups) * n_draws)
    order = rng.permutation(n_draws)
    fixed, free = np.arange(shared), np.arange(shared, n_draws)
    return Calibration(
        joint_marginals(scores, n_draws)[:, order],
        shared,
        np.stack([rng.permutation(fixed) for _ in range(PERMUTATIONS)]),
        np.stack([rng.permutation(free) for _ in range(PERMUTATIONS)]),
        spread,
        None if spreads is None else spreads.min(axis=0),
        None
        if new_group_residuals is None
        else joint_marginals(new_group_residuals, n_draws)[:, order],
    )


def _normal_scores(m: int, t: int) -> Array:
    from scipy.stats import norm

    return np.tile(norm.ppf((np.arange(m) + 0.5) / m)[:, None], (1, t))


def joint_marginals(scores: Array, n_draws: int) -> Array:
    """Quantiles (t, K) of each target's scores, ordered as the errors occurred together.

    >>> z = np.array([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]])
    >>> joint_marginals(z, 3)
    array([[-1.,  0.,  1.],
           [-2.,  0.,  2.]])

    Interior quantiles use the rank i / (m + 1) that makes a split conformal interval valid.
    """
    levels = np.clip(np.arange(n_draws) / max(n_draws - 1, 1), 0.5 / n_draws, 1 - 0.5 / n_draws)
    place = np.floor(np.arange(n_draws) / n_draws * len(scores)).astype(np.int64)
    sample = scores[np.argsort(scores[:, 0], kind="stable")[place]]
    rank = np.argsort(np.argsort(sample, axis=0, kind="stable"), axis=0, kind="stable")
    values = np.quantile(scores, levels, axis=0, method="weibull")
    return np.take_along_axis(values, rank, axis=0).T


def group_correlation(scores: Array, groups: Ints) -> float:
    """Correlation of errors between runs of the same group, in [0, 0.95], averaged over targets."""
    centre = scores - np.median(scores, axis=0)
    scale = np.median(np.abs(centre), axis=0) * 1.4826
    z = np.clip(centre / np.where(scale > 0, scale, 1.0), -3, 3)
    z = z - z.mean(axis=0)
    _, code, count = np.unique(groups, return_inverse=True, return_counts=True)
    if not (count > 1).any():
        return 0.5  # nothing repeats: neither cancelling nor independence is known
    total = np.stack([np.bincount(code, c) for c in z.T])
    square = np.stack([np.bincount(code, c**2) for c in z.T])
    many = count > 1
    within = ((total**2 - square)[:, many] / (count[many] - 1)).sum(axis=1) / count[many].sum()
    variance = np.maximum((z**2).mean(axis=0), 1e-12)
    return float(np.clip((within / variance).mean(), 0.0, 0.95))


def fit_spread(x: Array, residuals: Array, seed: int) -> Any:
    """A small forest of the absolute log error (n, t) to expect for a row of ``x``."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        n_estimators=30,
        max_depth=8,
        min_samples_leaf=max(5, len(x) // 100),
        max_features=0.5,
        random_state=seed,
        n_jobs=1,
    )
    error = np.abs(residuals)
    return forest.fit(x, error[:, 0] if error.shape[1] == 1 else error)


def bounded_spreads(spread: Any, x: Array, t: int) -> Array:
    """Spreads (n, t) on calibration rows, not below a tenth of their median."""
    s = spread.predict(x).reshape(len(x), t)
    return np.asarray(np.maximum(s, np.maximum(0.1 * np.median(s, axis=0), 1e-6)))
