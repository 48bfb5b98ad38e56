"""`ours`: rheostat's law-informed Gaussian process and planner, through its public search class.

It is handed what every method may have: the settings, the knobs' names, and the other applications'
runs.
"""

from __future__ import annotations

import numpy as np

from rheostat.tradeoff.lookahead import LawSearch

from ..pools import QUANTITIES, Array
from ..regret import Question
from .base import Method, Problem


class Ours(Method):
    """Adapter; start, model, plan and recommendation are `LawSearch`'s own."""

    n_start = 0
    ahead = 6

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        prior = [(j.settings, j.log_y[:, 0], j.log_y[:, 1]) for j in problem.prior]
        self._search = LawSearch(
            problem.settings,
            problem.knobs,
            prior,
            objectives=[QUANTITIES[c] for c in problem.pair],
            seed=seed,
            horizon=self.ahead,
        )

    def pick(self, remaining: int) -> int:
        """The first setting of its plan for the evaluations left."""
        return self._search.ask(remaining)

    def tell(self, index: int, log_y: Array) -> None:
        """Runtime and power; it derives energy."""
        super().tell(index, log_y)
        self._search.tell(index, float(np.exp(log_y[0])), float(np.exp(log_y[1])))

    def recommend(self, asked: list[Question]) -> list[int]:
        """Its own advice for each question, from past jobs alone if nothing is measured."""
        return [
            self._search.recommend(
                QUANTITIES[q.minimise], QUANTITIES[q.limit], float(np.exp(q.bound))
            )
            for q in asked
        ]
