"""`ours`: the proposer that `rheostat search` runs where knobs are lists of numbers.

It is handed what every method may have: the settings, the knobs' names, and the other applications'
runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rheostat.core.outcome import Outcome
from rheostat.core.space import Knob, Space
from rheostat.core.vocabulary import table
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.law_guided import HORIZON, LawGuided

from ..pools import QUANTITIES, Array
from ..regret import Question
from .base import Method, PriorJob, Problem

COLUMNS = dict(zip(range(len(QUANTITIES)), ("runtime_s", "power_w", "energy_j"), strict=True))


class Ours(Method):
    """Adapter; start, model, plan and recommendation are `LawGuided`'s own."""

    n_start = 0
    ahead = HORIZON

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        self._settings = [tuple(row) for row in problem.settings.tolist()]
        self._search = LawGuided(
            _space(problem),
            [COLUMNS[c] for c in problem.pair],
            prior=_prior(problem.prior, problem.knobs),
            seed=seed,
        )

    def pick(self, remaining: int) -> int:
        """The first setting of its plan for the evaluations left."""
        self._search.budget = len(self.seen) + remaining
        row = self._search.ask(1).select(self.problem.knobs).frame.row(0)
        return self._settings.index(row)

    def tell(self, index: int, log_y: Array) -> None:
        """Runtime and power; it derives energy."""
        super().tell(index, log_y)
        setting = dict(zip(self.problem.knobs, self._settings[index], strict=True))
        runtime, power = np.exp(log_y[:2])
        self._search.tell(
            self._search.space.alternatives(None, [setting]),
            Outcome({"runtime_s": np.array([[runtime]]), "power_w": np.array([[power]])}),
        )

    def recommend(self, asked: list[Question]) -> list[int]:
        """Its own advice for each question, from past jobs alone if nothing is measured."""
        return [self._answer(q) for q in asked]

    def _answer(self, question: Question) -> int:
        limit = Limit(COLUMNS[question.limit], float(np.exp(question.bound)), "")
        chosen = self._search.recommend(COLUMNS[question.minimise], limit)
        return self._settings.index(tuple(chosen.values()))


class OursCold(Ours):
    """The same, by a site that has no runs of other applications."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(replace(problem, prior=[]), seed)


class _Listed:
    """Allows the settings of a pool, whose grid may have holes."""

    def __init__(self, settings: Array) -> None:
        self.rows = {tuple(row) for row in settings.tolist()}

    def __call__(self, setting: Any) -> bool:
        return tuple(setting.values()) in self.rows


def _space(problem: Problem) -> Space:
    columns = zip(problem.knobs, problem.settings.T, strict=True)
    knobs = tuple(Knob(name, values.tolist()) for name, values in columns)
    return Space(knobs, (_Listed(problem.settings),))


def _prior(jobs: list[PriorJob], knobs: tuple[str, ...]) -> Any:
    """One table of the other applications' runs; None without any."""
    if not jobs:
        return None
    columns = {
        name: np.concatenate([j.settings[:, i] for j in jobs]) for i, name in enumerate(knobs)
    }
    app = np.repeat([str(i) for i in range(len(jobs))], [len(j.settings) for j in jobs])
    logs = np.concatenate([j.log_y for j in jobs])
    return table(
        {"app": app, **columns, "runtime_s": np.exp(logs[:, 0]), "power_w": np.exp(logs[:, 1])}
    )
