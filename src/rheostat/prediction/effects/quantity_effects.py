"""What was learned of one quantity: how settings change it, and where each cell lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.by_request import ByRequest
from rheostat.prediction.effects.growth import Grown
from rheostat.prediction.effects.hierarchy import Hierarchy, Ints
from rheostat.prediction.effects.levels import EffectLevels
from rheostat.prediction.effects.machine_date import Stepped
from rheostat.prediction.effects.problem_levels import ProblemLevels


@dataclass(frozen=True)
class QuantityEffects:
    """One quantity: weights of every application, levels, exponents of perfect scaling.

    ``drift`` is the share of the noise that runs of one time have in common, ``by_request`` how a
    change depends on what was asked for, ``problems`` those that are known, ``grown`` how
    it changed over the log.
    """

    weights: Hierarchy
    levels: EffectLevels
    exponents: Array
    drift: float
    by_request: ByRequest
    problems: ProblemLevels | None = None
    grown: Grown | Stepped | None = None

    def moved(self, app: Ints, away: Array, begin: int = 0) -> Array:
        """(B, n): what columns ``away`` (n, r) make of its log; the first is column ``begin``."""
        weights = self.weights.weights[:, :, begin : begin + away.shape[1]]
        moved = np.empty((len(weights), len(app)))
        for a in np.unique(app):
            here = app == a
            moved[:, here] = weights[:, a] @ away[here].T
        return moved
