"""Optuna's samplers on the pool: GPSampler (logEHVI) and the multi-objective TPE.

Each knob is an integer, the rank of its level; a suggestion is moved to the nearest setting not
measured yet and reported to Optuna as that setting, so no evaluation is spent twice.  Start-up
trials are set to the same small number as for the other methods (the defaults, ten, would make most
of these budgets random).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import optuna

from ..pools import Array
from .base import Method, Problem, nearest

optuna.logging.set_verbosity(optuna.logging.ERROR)


class OptunaMethod(Method):
    """Ask, snap, tell."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        levels = [np.unique(c, return_inverse=True) for c in problem.settings.T]
        self._rank = np.stack([inverse for _, inverse in levels], axis=1)
        self._unit = self._rank / np.maximum(self._rank.max(axis=0), 1)
        self._space = {
            f"k{j}": optuna.distributions.IntDistribution(0, int(r))
            for j, r in enumerate(self._rank.max(axis=0))
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study = optuna.create_study(directions=["minimize"] * 2, sampler=self.sampler())

    def sampler(self) -> Any:
        """The Optuna sampler under test."""
        raise NotImplementedError

    def pick(self, remaining: int) -> int:
        """Optuna's suggestion, moved to the nearest setting that is not measured yet."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._study.ask(self._space)
        self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        point = np.array([trial.params[k] for k in self._space]) / np.maximum(
            self._rank.max(axis=0), 1
        )
        return nearest(self._unit, point, self.unseen())

    def tell(self, index: int, log_y: Array) -> None:
        """Report the measured setting as a finished trial."""
        super().tell(index, log_y)
        params = {k: int(r) for k, r in zip(self._space, self._rank[index], strict=True)}
        values = [float(log_y[c]) for c in self.problem.pair]
        self._study.add_trial(
            optuna.trial.create_trial(params=params, distributions=self._space, values=values)
        )


class OptunaGp(OptunaMethod):
    """GPSampler, told that measurements are deterministic."""

    def sampler(self) -> Any:
        """GPSampler with the common start."""
        return optuna.samplers.GPSampler(
            seed=self.seed, n_startup_trials=2, deterministic_objective=True
        )


class OptunaTpe(OptunaMethod):
    """Multivariate TPE; it needs four points before its two densities mean anything."""

    n_start = 4

    def sampler(self) -> Any:
        """Multivariate TPE with the common start."""
        return optuna.samplers.TPESampler(seed=self.seed, n_startup_trials=4, multivariate=True)
