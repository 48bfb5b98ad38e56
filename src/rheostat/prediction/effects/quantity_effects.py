"""What was learned of one quantity: how settings change it, and where each cell lies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.by_request import ByRequest
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.growth import Grown
from rheostat.prediction.effects.hierarchy import Hierarchy, Ints
from rheostat.prediction.effects.levels import EffectLevels
from rheostat.prediction.effects.machine_date import Stepped
from rheostat.prediction.effects.problem_levels import ProblemLevels
from rheostat.prediction.effects.setting_levels import SettingLevels, fit_setting_levels

TIMED = {"runtime_s", "energy_j"}
"""What a job takes longer of by as much as it runs longer: power is over time, energy is not."""


@dataclass(frozen=True)
class QuantityEffects:
    """One quantity: weights of every application, levels, exponents of perfect scaling.

    ``drift`` is the share of the noise that runs of one time have in common, ``by_request`` how a
    change depends on what was asked for, ``problems`` those that are known, ``grown`` how
    it changed over the log, ``settings`` those that were chosen to be compared.
    """

    weights: Hierarchy
    levels: EffectLevels
    exponents: Array
    drift: float
    by_request: ByRequest
    problems: ProblemLevels | None = None
    grown: Grown | Stepped | None = None
    settings: SettingLevels | None = None

    def moved(self, app: Ints, away: Array, begin: int = 0) -> Array:
        """(B, n): what columns ``away`` (n, r) make of its log; the first is column ``begin``."""
        weights = self.weights.weights[:, :, begin : begin + away.shape[1]]
        moved = np.empty((len(weights), len(app)))
        for a in np.unique(app):
            here = app == a
            moved[:, here] = weights[:, a] @ away[here].T
        return moved

    def at_settings(self, x: Array, y: Array, rows: Rows, target: str) -> QuantityEffects:
        """With what settings that were chosen to be compared took, from rows ``x``, ``y``."""
        at = fit_setting_levels(x, y, self.levels, self.weights, rows, target)
        return replace(self, settings=at)

    def support(self, rows: Rows, near: Array) -> Array:
        """Runs at the setting of each row, where settings are known; else those ``near``, (n,)."""
        return near if self.settings is None else self.settings.counts(rows, near)

    def beside(self, rows: Rows, shared: Array, own: Array) -> tuple[Array, Array, Array]:
        """What settings lie beside the curves, (B, n); what runs ``shared`` and ``own``, (n,)."""
        if self.settings is None:
            return np.zeros((1, 1)), shared, own
        return self.settings.placed(rows, self.weights.weights, shared, own)

    def own_change(
        self, rows: Rows, unlike: Array, own: Array, other: Array, otherwise: Array
    ) -> Array:
        """What a setting does to one job beside most; see `SettingLevels.own_change`."""
        if self.settings is None:
            return otherwise
        return self.settings.own_change(rows, unlike, own, other, otherwise)
