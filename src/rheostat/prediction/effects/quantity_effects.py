"""What was learned of one quantity: how settings change it, and where each cell lies."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.core.outcome import Array
from rheostat.prediction.effects.by_request import ByRequest
from rheostat.prediction.effects.hierarchy import Hierarchy
from rheostat.prediction.effects.levels import EffectLevels
from rheostat.prediction.effects.problem_levels import ProblemLevels


@dataclass(frozen=True)
class QuantityEffects:
    """One quantity: weights of every application, levels, exponents of perfect scaling.

    ``drift`` is the share of the noise that runs of one time have in common, ``by_request`` how a
    change depends on what was asked for, ``problems`` those that are known.
    """

    weights: Hierarchy
    levels: EffectLevels
    exponents: Array
    drift: float
    by_request: ByRequest
    problems: ProblemLevels | None = None
