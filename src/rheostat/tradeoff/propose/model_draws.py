"""Two simple ways to use a model's draws: go where it is unsure, or believe one draw.

References
----------
Thompson: On the likelihood that one unknown probability exceeds another (1933); with random
scalarisations for several objectives: Paria, Kandasamy, Poczos (UAI 2019).
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array
from rheostat.tradeoff.propose.acquisition import chebyshev
from rheostat.tradeoff.propose.candidate_view import CandidateView
from rheostat.tradeoff.propose.modelled import Modelled


class MostUncertain(Modelled):
    """The setting whose objectives the model knows least: for learning a model, not a front.

    Within a batch, what earlier picks will reveal (by the draws' correlation) is taken off first.
    """

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """Remaining variance, each objective in units of its span."""
        return view.uncertainty()


class Thompson(Modelled):
    """The best setting of one draw of the model, for one random weighting of the objectives."""

    steps = ()  # a second look would be at another draw of the model

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """Minus the draw's Chebyshev distance; draws that miss a limit come last."""
        one = int(rng.integers(len(view.y)))
        weights = rng.dirichlet(np.ones(len(self.objectives)))
        rows = slice(0, view.candidates)
        distance = chebyshev(view.y[one, rows], weights, view.ideal, view.span)
        return np.where(view.feasible[one, rows], -distance, -np.inf)
