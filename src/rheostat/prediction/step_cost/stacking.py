"""How much of an answer comes from each part: weights by device, chosen on what was left out.

Parts: the joint Gaussian (`transfer`), the additive model alone, and boosted trees on sizes, names
and the graph's costs.  Every part predicts each run, or each whole network, from a fit without it.
On each device the part that was most right answers, and with it in equal shares those that were
wrong by no more than a standard error of the difference between groups (the one-standard-error
rule [Breiman1984]_).  Ten networks left out cannot tell near parts apart: to take the best of them
is luck, and fitted weights lose to a plain mean [Bates1969]_ [Smith2009]_.

Notation
--------
n  runs      P  parts      D  devices      q  draws

References
----------
.. [Breiman1984] Breiman, Friedman, Olshen, Stone: Classification and regression trees.
   Wadsworth 1984, section 3.4.3.
.. [Bates1969] Bates, Granger: The combination of forecasts. Operational Research Quarterly 20,
   1969.
.. [Smith2009] Smith, Wallis: A simple explanation of the forecast combination puzzle. Oxford
   Bulletin of Economics and Statistics 71, 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.prediction.step_cost.additive import Array, Codes
from rheostat.prediction.step_cost.transfer import Known, TransferGP, coordinates

FOLDS = 5
FEWEST = 4
"""With fewer runs the Gaussian answers, with fewer networks the additive model for further ones."""
PRIOR_RUNS, PRIOR_NETWORKS = 10.0, 3.0
"""Of all devices, that stand beside those of one device where its weights and errors are learned.
"""


@dataclass(frozen=True)
class StackedErrors:
    """What the parts say of groups of runs that they were not fitted to.

    ``weights`` (D + 1, P), one row for each device and one for a device never run; ``error`` and
    ``spread`` (n,) are the mixture's errors, in the logarithm, and the deviations that the joint
    Gaussian gave them.
    """

    weights: Array
    error: Array
    spread: Array


class TreesOnCosts:
    """Boosted trees of the logarithm, on device, network, batch and the costs of the graph."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, rows: Known, log_y: Array) -> TreesOnCosts:
        """Learn from n runs."""
        self.levels_ = [np.unique(rows.device), np.unique(rows.app)]
        made = require("xgboost", extra="trees").XGBRegressor(
            n_estimators=120, max_depth=5, learning_rate=0.12, subsample=0.8,
            colsample_bytree=0.8, random_state=self.seed, n_jobs=1,
        )  # fmt: skip
        self.regressor_ = made.fit(self._matrix(rows), log_y)
        return self

    def predict(self, rows: Known) -> Array:
        """Logarithms."""
        return np.asarray(self.regressor_.predict(self._matrix(rows)), dtype=float)

    def _matrix(self, rows: Known) -> Array:
        device, app = (c[:, None] == known for c, known in
                       zip((rows.device, rows.app), self.levels_, strict=True))  # fmt: skip
        return np.column_stack([device, app, coordinates(rows.terms, rows.batch, 1e-12)])


def with_trees(rows: int) -> bool:
    """Whether trees are a part: their library is there, and enough runs for them to learn from."""
    return rows >= 10 * FOLDS and find_spec("xgboost") is not None


def left_out(
    fit: TransferGP, groups: Codes, prior: float, seed: int, *, trees: bool
) -> StackedErrors:
    """Weights of the parts, and the mixture's errors, when each group of runs is left out.

    Parameters
    ----------
    fit : TransferGP
        The joint Gaussian of all runs.
    groups : array of int, (n,)
        What is left out together: a run, or all runs of a network.
    prior : float
        Groups of average error that stand beside those of each device.
    seed : int
        Of the folds and the trees.
    trees : bool
        Whether trees are a part.
    """
    rows, log_y, few = fit.known, fit.log_y, len(np.unique(groups))
    if few < FEWEST:
        alone = np.eye(2 + trees)[0 if few == len(log_y) else 1]
        return StackedErrors(np.tile(alone, (fit.law.devices, 1)), *fit.scores(groups))
    errors, spread = np.empty((2 + trees, len(log_y))), np.empty(len(log_y))
    for out in folds(groups, seed):
        less = fit.refitted(~out)
        asked = rows.of(out)
        mean, spread[out] = less.predict(_unknown(asked, less.app))
        parts = [mean, less.law.predict(asked.terms, asked.device)]
        if trees:
            parts.append(TreesOnCosts(seed).fit(less.known, less.log_y).predict(asked))
        errors[:, out] = log_y[out] - np.array(parts)
    weights = chosen_weights(errors, rows.device, groups, fit.law.devices, prior)
    return StackedErrors(weights, (weights[rows.device].T * errors).sum(axis=0), spread)


def folds(groups: Codes, seed: int) -> list[NDArray[np.bool_]]:
    """Which rows are left out together."""
    names = np.random.default_rng(seed).permutation(np.unique(groups))
    return [np.isin(groups, held) for held in np.array_split(names, min(FOLDS, len(names)))]


def _unknown(asked: Known, apps: Codes) -> Known:
    """Networks without a run left get the code of one that was never run."""
    return asked._replace(app=np.where(np.isin(asked.app, apps), asked.app, -1))


def chosen_weights(
    errors: Array, device: Codes, groups: Codes, devices: int, prior: float
) -> Array:
    """What answers on each device: the best part and those near it, in equal shares, (devices, P).

    The mean relative error counts.  Groups count alike, and ``prior`` groups with the mean error of
    all devices stand beside those of each.

    Examples
    --------
    >>> e = np.array([[0.1, 0.1, 0.4, 0.4], [0.3, 0.3, 0.0, 0.0]])
    >>> chosen_weights(np.tile(e, 9), np.tile([0, 0, 1, 1], 9), np.arange(36), 2, 1.0).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    wrong = np.abs(np.expm1(-errors))
    share = group_shares(device, groups)
    every = prior * np.average(wrong, axis=1, weights=share)
    chosen = []
    for d in range(devices):
        here = device == d if (device == d).any() else np.ones(len(device), dtype=bool)
        own = (wrong * share)[:, here]
        loss = (own.sum(axis=1) + every) / (share[here].sum() + prior)
        best = own[np.argmin(loss)]
        luck = np.array([_standard_error(part - best, groups[here]) for part in own])
        chosen.append(loss - loss.min() <= luck)
    near = np.array(chosen, dtype=float)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def _standard_error(difference: Array, groups: Codes) -> float:
    """Of the mean over groups, whose values add up; infinite for one group."""
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], difference)
    return float(sums.std(ddof=1) / np.sqrt(len(sums))) if len(sums) > 1 else np.inf


def group_shares(device: Codes, groups: Codes) -> Array:
    """One over the number of runs of the same group on the same device, (n,)."""
    _, pair = np.unique(np.stack([device, groups]), axis=1, return_inverse=True)
    return np.asarray(1.0 / np.bincount(pair.reshape(-1))[pair.reshape(-1)])


class Repeats(NamedTuple):
    """Measured runs: the configuration of each, and how far it is from its median, in the log."""

    which: Codes
    away: Array

    def of(self, kept: Codes) -> Repeats:
        """Runs of these configurations, which are counted anew."""
        place = {int(k): i for i, k in enumerate(kept)}
        there = np.isin(self.which, kept)
        return Repeats(np.array([place[int(w)] for w in self.which[there]], dtype=np.int64),
                       self.away[there])  # fmt: skip


@dataclass(frozen=True)
class ErrorScores:
    """Standardised errors of what was left out: quantiles (q,) of all, and widths (D + 1,)."""

    quantiles: Array
    widths: Array


def error_scores(
    errors: StackedErrors, device: Codes, groups: Codes, prior: float, count: int, repeats: Repeats
) -> ErrorScores:
    """How far off answers are, in the deviations that the Gaussian gives them.

    Parameters
    ----------
    errors : StackedErrors
        Of groups left out.
    device, groups : array of int, (n,)
        Of each configuration; groups of a device count alike.
    prior : float
        Groups of average width that stand beside those of each device.
    count : int
        Quantiles, q.
    repeats : Repeats
        Runs of the configurations: what is asked about is a run, not the median of several.
    """
    share = group_shares(device, groups)
    size = np.abs(errors.error / errors.spread) * share
    devices = len(errors.weights)
    widths = np.bincount(device, size, devices) / (size.sum() / share.sum()) + prior
    widths /= np.bincount(device, share, devices) + prior
    which, away, few = *repeats, len(np.unique(groups))
    z = (errors.error[which] + away) / errors.spread[which]
    weight = share[which] / np.bincount(which)[which]
    further = 1.0
    if few < len(groups):  # a further network may err to either side; of few, half of it is taken:
        further = 0.5  # a whole one would give 90 % or up to 1 / (few + 1) more
        z, weight = np.concatenate([z, -z]), np.tile(weight, 2)
    order = np.argsort(z)
    place = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    level = 0.5 + ((np.arange(count) + 0.5) / count - 0.5) * (few + further) / few
    return ErrorScores(np.interp(level, place, z[order]), widths)
