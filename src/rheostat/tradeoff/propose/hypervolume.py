"""`ExpectedHypervolume`: measure the setting that should add most to the front.

The front dominates an area; a new result adds to it or does not.  Over draws of a model, the
mean addition is what measuring a setting adds to the front as a whole, with no need to say in
advance how runtime and energy compare.  Draws that miss a limit add nothing.

References
----------
Emmerich, Deutz, Klinkenberg: Hypervolume-based expected improvement on the Pareto front (2011).
Daulton, Balandat, Bakshy: Parallel Bayesian optimization of multiple noisy objectives with expected
hypervolume improvement (2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

import numpy as np

from rheostat.core.front import Objective
from rheostat.core.outcome import Array
from rheostat.core.space import Knob, Space
from rheostat.errors import DataError
from rheostat.tradeoff.propose.acquisition import hypervolume_improvement
from rheostat.tradeoff.propose.candidate_view import CandidateView
from rheostat.tradeoff.propose.modelled import Modelled, Options


class ExpectedHypervolume(Modelled):
    """Largest mean hypervolume improvement over the model's draws.

    Exact in every draw, batches and pending settings included, over any `Predictor`.  The area is
    exact for two objectives; for any other number use `NoisyHypervolume`.

    Parameters
    ----------
    space, objectives, **options
        As for `Modelled`.

    Raises
    ------
    DataError
        Other than two objectives.
    """

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        objectives: Sequence[str | Objective] = ("runtime_s", "energy_j"),
        **options: Unpack[Options],
    ) -> None:
        super().__init__(space, objectives, **options)
        if len(self.objectives) != 2:
            raise DataError(
                "ExpectedHypervolume",
                [f"expected two objectives, got {len(self.objectives)}: use NoisyHypervolume"],
            )

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """Mean improvement of each candidate, in the coordinates of the view."""
        return expected_improvement_of_front(view)


def expected_improvement_of_front(view: CandidateView) -> Array:
    """Exact two-objective expected hypervolume improvement over draws, (candidates,).

    A fixed row joins the front of each draw at that draw's own value, where feasible; so a batch
    picked one by one is greedy in the joint criterion.
    """
    known = np.broadcast_to(view.known, (len(view.y), *view.known.shape))
    if view.fixed:
        rows = list(view.fixed)
        coming = np.where(view.feasible[:, rows, None], view.y[:, rows], np.inf)
        known = np.concatenate([known, coming], axis=1)
    else:
        known = view.known
    gain = hypervolume_improvement(view.y[:, : view.candidates], known, view.reference)
    return np.asarray((gain * view.feasible[:, : view.candidates]).mean(axis=0))
