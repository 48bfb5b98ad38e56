"""Proposers that reduce everything to one number: expected improvement, and ParEGO.

Single-objective search finds one end of the front fast and knows nothing of the rest; it is here
for comparison, and for those who do want one end.  ParEGO draws a new weighting of the objectives
for every question, so that the single numbers walk along the front.

References
----------
Jones, Schonlau, Welch: Efficient global optimization of expensive black-box functions (1998).
Knowles: ParEGO (IEEE Transactions on Evolutionary Computation 2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

import numpy as np

from rheostat.core.front import Front, Objective
from rheostat.core.outcome import Array
from rheostat.core.space import Knob, Space
from rheostat.tradeoff.propose.acquisition import chebyshev, improvement
from rheostat.tradeoff.propose.candidate_view import CandidateView
from rheostat.tradeoff.propose.modelled import Modelled, Options


class ExpectedImprovement(Modelled):
    """Expected improvement of one ``quantity`` ("runtime_s", "edp_js", ...), minimised.

    Parameters
    ----------
    space, objectives, **options
        As for `Modelled`.
    quantity : str, optional
        What is minimised; the first objective by default.
    """

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        objectives: Sequence[str | Objective] = ("runtime_s", "energy_j"),
        *,
        quantity: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        wanted = tuple(Objective.of(o) for o in objectives)
        self.quantity = quantity or wanted[0].name
        super().__init__(space, wanted, **options)

    def also(self) -> tuple[str, ...]:
        """The quantity, if it is not an objective, and what limits need."""
        return (self.quantity, *super().also())

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """Mean improvement on the best feasible value, on the log axis where positive."""
        draws = np.broadcast_to(view.front.draws(self.quantity), view.y.shape[:2])
        observed = self._told_feasible()
        if (observed > 0).all() and not (draws <= 0).any():
            draws, observed = np.log(draws), np.log(observed)
        return scored(view, draws, observed)

    def _told_feasible(self) -> Array:
        front: Front = self.front
        if not len(front):
            return np.empty(0)
        value = front.mean(self.quantity)
        good = np.isfinite(value)
        for limit in self.limits:
            good &= limit.excess(front) <= 0
        return np.asarray(value[good])


class ParEGO(Modelled):
    """Expected improvement of a randomly weighted augmented Chebyshev distance."""

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """Weights are drawn from ``rng``, uniform on the simplex."""
        weights = rng.dirichlet(np.ones(len(self.objectives)))
        draws = chebyshev(view.y, weights, view.ideal, view.span)
        observed = chebyshev(view.known, weights, view.ideal, view.span)
        return scored(view, draws, observed)


def scored(view: CandidateView, draws: Array, observed: Array) -> Array:
    """Mean feasible improvement of ``draws`` (d, N) on the least of ``told`` and of fixed rows."""
    best = np.full((len(draws), 1), np.min(observed, initial=np.inf))
    if view.fixed:
        rows = list(view.fixed)
        coming = np.where(view.feasible[:, rows], draws[:, rows], np.inf)
        best = np.minimum(best, coming.min(axis=1, keepdims=True))
    gain = improvement(draws[:, : view.candidates], best)
    return np.asarray((gain * view.feasible[:, : view.candidates]).mean(axis=0))
