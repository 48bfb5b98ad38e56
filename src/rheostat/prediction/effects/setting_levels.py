"""A setting at which chance ran an application takes what those runs took, whatever the curve says.

`hierarchy` lays a smooth curve through all settings.  Where chance drew them all, the runs of one
setting are a fair sample of what jobs take there: their mean tells where that setting lies beside
the curve, and their spread what one more run differs by.

Notation
--------
n  rows      S  settings of applications      q  columns      B  draws
r = gap + noise,  variances ``between`` and w^2; a setting of k runs is pulled to the curve by
``between`` / (``between`` + w^2 / k)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.hierarchy import NOISE_WORTH, Hierarchy, Ints
from rheostat.prediction.effects.levels import EffectLevels
from rheostat.prediction.effects.plausible import Mask

FEWEST = 20
"""Runs of a setting whose spread is that of the next one."""
DIGITS = 9


@dataclass(frozen=True)
class SettingLevels:
    """Of S settings: mean of rows less their level, ``y`` (S,) and columns ``x`` (S, q).

    ``keys`` (S, 1 + p) are application and effect columns.  ``own`` is how much of the gap to the
    curve is believed, ``error`` how far that may be off, ``spread`` what one run differs by,
    ``app`` whose setting it is, ``runs`` how many, all (S,).
    """

    target: str
    keys: Array
    y: Array
    x: Array
    own: Array
    error: Array
    spread: Array
    app: Ints
    runs: Ints

    def of(self, rows: Rows) -> Ints:
        """The place of each row's setting, (n,); -1 where its application never ran there."""
        place = {tuple(key): i for i, key in enumerate(self.keys.tolist())}
        asked = _keys(rows, self.target).tolist()
        return np.array([place.get(tuple(key), -1) for key in asked], np.int64)

    def placed(
        self, rows: Rows, weights: Array, shared: Array, own: Array
    ) -> tuple[Array, Array, Array]:
        """What lies beside curves of ``weights`` (B, A, q), (B, n), and spreads with these runs.

        ``shared`` and ``own`` (n,) are those of what runs share, and do not, without them.
        """
        at = self.of(rows)
        gap = self.own * (self.y - np.einsum("bsq,sq->bs", weights[:, self.app], self.x))
        beside = np.where(at >= 0, gap[:, at], 0.0)
        shared = np.hypot(shared, np.where(at >= 0, self.error[at], 0.0))
        return beside, shared, np.where(self._spread_known(at), self.spread[at], own)

    def counts(self, rows: Rows, near: Array) -> Array:
        """Runs at each row's setting, (n,), of its application; where it has none ``near`` (n,)."""
        at = self.of(rows)
        return np.where(at >= 0, self.runs[at].astype(float), near)

    def own_change(
        self, rows: Rows, unlike: Array, own: Array, other: Array, otherwise: Array
    ) -> Array:
        """(B, n) by which a job is off where its application ran often, else ``otherwise``.

        As `apart` has it, less what it is off wherever it runs.
        """
        at = self.of(rows)
        off = apart(self.spread[at], unlike, own, other) - self.spread[at] * own
        return np.asarray(np.where(self._spread_known(at), off, otherwise))

    def _spread_known(self, at: Ints) -> Mask:
        """Rows (n,) at settings whose runs tell the spread."""
        return np.asarray((at >= 0) & (self.runs[at] >= FEWEST))


def fit_setting_levels(
    x: Array, y: Array, levels: EffectLevels, curves: Hierarchy, rows: Rows, target: str
) -> SettingLevels:
    """From rows ``x`` (n, q), ``y`` (n,), their levels and curves."""
    weights, noise = curves.weights[:, :-1].mean(axis=0), curves.noise[rows.app]
    level = levels.place(rows.cell, rows.app)
    x, y = x - levels.x[level], y - levels.y[level]
    keys, at, runs = np.unique(_keys(rows, target), axis=0, return_inverse=True, return_counts=True)
    at = at.reshape(-1)
    rest = y - np.einsum("nq,nq->n", x, weights[rows.app])
    my, gap, square, *mx = (np.bincount(at, v) / runs for v in (y, rest, noise**2, *x.T))
    between = max(float((runs * gap**2 - square).sum() / runs.sum()), 0.0)
    own = between / (between + square / runs)
    inside = np.bincount(at, (rest - gap[at]) ** 2)
    spread = np.sqrt((inside + NOISE_WORTH * square) / (runs - 1 + NOISE_WORTH))
    app = keys[:, 0].astype(np.int64)
    error = np.sqrt(own * square / runs)
    return SettingLevels(target, keys, my, np.stack(mx, -1), own, error, spread, app, runs)


def apart(spread: Array, unlike: Array, own: Array, other: Array) -> Array:
    """(B, n) that one job is off at a setting whose runs differ by ``spread`` (n,).

    ``own`` (B, n) is what it is off wherever it runs and ``other`` (B, n) what it is off here; they
    share the spread so that its change from another setting differs by ``unlike`` (n,), at most by
    what two unlike jobs do.

    >>> rng = np.random.default_rng(0)
    >>> own, other = rng.standard_normal((2, 4000, 2))
    >>> off = apart(np.array([0.5, 0.1]), np.array([0.2, 0.2]), own, other)
    >>> off.std(axis=0).round(1).tolist(), (off - 0.5 * own).std(axis=0).round(1).tolist()[0]
    ([0.5, 0.1], 0.2)
    """
    shared = np.clip(1 - (unlike / spread) ** 2 / 2, 0.0, 1.0)
    return np.asarray(spread * (shared * own + np.sqrt(1 - shared**2) * other))


def _keys(rows: Rows, target: str) -> Array:
    """Application and effect columns of each row, (n, 1 + p)."""
    return np.column_stack([rows.app, np.round(rows.effect[target], DIGITS)]) + 0.0
