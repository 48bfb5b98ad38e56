"""Controls without a model: uniform random, scrambled Sobol, and NSGA-II snapped to the pool.

Reference: K. Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE TEC
2002.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pools import Array
from .base import Method, Problem, nearest


class RandomSearch(Method):
    """Settings in uniformly random order."""

    pair_free = True
    n_start = 0

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._order = np.random.default_rng([seed, 31]).permutation(problem.n)

    def pick(self, remaining: int) -> int:
        """Next of the random order."""
        return int(self._order[len(self.seen)])


class SobolSearch(Method):
    """The quasi-random start, continued."""

    pair_free = True

    def pick(self, remaining: int) -> int:
        """Next of the quasi-random order."""
        return self.next_start()


class Nsga2(Method):
    """pymoo's NSGA-II with a population of four, because only twenty evaluations are paid for.

    An offspring is moved to the nearest setting not measured yet, so no evaluation is spent twice.
    """

    n_start = 0

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.core.problem import Problem as PymooProblem

        k = problem.x.shape[1]
        start = problem.x[self._start[: min(4, problem.n)]]
        self._space = PymooProblem(n_var=k, n_obj=2, xl=0.0, xu=1.0)
        self._algorithm = NSGA2(pop_size=4, sampling=start)
        self._algorithm.setup(self._space, termination=("n_gen", 10_000), seed=seed, verbose=False)
        self._population: Any = None
        self._waiting: list[int] = []

    def pick(self, remaining: int) -> int:
        """Serve the current generation one member at a time."""
        if not self._waiting:
            self._new_generation()
        return self._waiting[0]

    def _new_generation(self) -> None:
        self._population = self._algorithm.ask()
        left = self.unseen()
        for member in self._population[: len(left)]:
            i = nearest(self.problem.x, member.get("X"), left)
            self._waiting.append(i)
            left = left[left != i]
        self._planned = list(self._waiting)

    def tell(self, index: int, log_y: Array) -> None:
        """Store the value; when a generation is complete, let NSGA-II select."""
        super().tell(index, log_y)
        self._waiting.remove(index)
        if not self._waiting:
            from pymoo.problems.static import StaticProblem

            members = self._population[: len(self._planned)]
            at = [self.seen.index(i) for i in self._planned]
            members.set("X", self.problem.x[self._planned])
            f = np.stack(self.y)[at][:, list(self.problem.pair)]
            self._algorithm.evaluator.eval(StaticProblem(self._space, F=f), members)
            self._algorithm.tell(infills=members)
