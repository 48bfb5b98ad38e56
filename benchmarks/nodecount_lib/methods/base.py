"""What a search method is, for this benchmark: ask for a setting, be told the measurement,
recommend.

A method sees the pool's settings (raw and in the unit cube), which two quantities are the
objectives, and, if it uses them, the other applications' runs.  It never sees the true box,
reference, front or the questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import qmc

from ..pools import Array
from ..regret import Question, choose


@dataclass(frozen=True)
class PriorJob:
    """Runs of another application of the same family: settings raw and in the target's unit
    cube."""

    app: str
    settings: Array
    x: Array
    log_y: Array


@dataclass(frozen=True)
class Problem:
    """The finite space to be searched; `x` (N, k) in the unit cube, `pair` the columns that are
    objectives."""

    x: Array
    settings: Array
    knobs: tuple[str, ...]
    pair: tuple[int, int]
    prior: list[PriorJob] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Number of settings."""
        return len(self.x)


class Method:
    """Base of all methods: bookkeeping, the shared quasi-random start, the default recommendation.

    Subclasses choose in `pick`; `believe` returns mean log quantities (N, 3), NaN where they have
    no opinion, or None.  `pair_free` says that the trajectory does not depend on the pair of
    objectives.  `ahead` is how many evaluations a method plans: with more left it chooses alike.
    """

    pair_free = False
    n_start = 2
    ahead = 1

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self.rng = np.random.default_rng([seed, 7919])
        self.seen: list[int] = []
        self.y: list[Array] = []
        self._start = quasi_random(problem.x, seed)

    def unseen(self) -> np.ndarray:
        """Indices not measured yet, ascending."""
        return np.setdiff1d(np.arange(self.problem.n), self.seen)

    def ask(self, remaining: int) -> int:
        """Index of the next setting to measure; `remaining` counts this evaluation and those after
        it."""
        if len(self.seen) < self.n_start:
            return self.next_start()
        return int(self.pick(remaining))

    def next_start(self) -> int:
        """Next unmeasured setting of the quasi-random sequence all methods share for a seed."""
        return next(i for i in self._start if i not in self.seen)

    def pick(self, remaining: int) -> int:
        """Choose among the unmeasured settings once the start is over."""
        raise NotImplementedError

    def tell(self, index: int, log_y: Array) -> None:
        """Take the measured log (runtime, power, energy) of a setting."""
        self.seen.append(index)
        self.y.append(log_y)

    def believe(self) -> Array | None:
        """Mean log quantities (N, 3) by the method's model, or None if it has none (yet)."""
        return None

    def recommend(self, asked: list[Question]) -> list[int]:
        """One setting per question: measured values where measured, the model's mean elsewhere.

        With neither measurements nor a model, the setting nearest to the middle of the space.
        """
        model = self.believe()
        if model is None and not self.seen:
            middle = int(np.argmin(((self.problem.x - 0.5) ** 2).sum(axis=1)))
            return [middle] * len(asked)
        belief = np.full((self.problem.n, 3), np.nan) if model is None else model.copy()
        if self.seen:
            belief[self.seen] = np.stack(self.y)
        return [choose(belief, q) for q in asked]


def nearest(x: Array, point: Array, among: np.ndarray) -> int:
    """Index in `among` of the row of `x` nearest to `point`."""
    return int(among[np.argmin(((x[among] - point) ** 2).sum(axis=1))])


def quasi_random(x: Array, seed: int) -> list[int]:
    """Scrambled Sobol points, each snapped to the nearest setting not taken yet; then the rest."""
    points = qmc.Sobol(x.shape[1], seed=seed).random(32)
    left = np.arange(len(x))
    order = []
    for p in points[: len(x)]:
        order.append(nearest(x, p, left))
        left = left[left != order[-1]]
    rng = np.random.default_rng([seed, 104729])
    return order + [int(i) for i in rng.permutation(left)]


@dataclass(frozen=True)
class Entry:
    """A registered method: how it is built, which revision its cached results carry, what it
    needs."""

    name: str
    build: Callable[[Problem, int], Method]
    version: str
    pair_free: bool = False
    uses_prior: bool = False
    max_seeds: int | None = None
    about: str = ""
