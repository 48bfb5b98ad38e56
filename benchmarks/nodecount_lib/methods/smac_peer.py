"""SMAC3: random-forest surrogate with ParEGO scalarisation, on the ranks of each knob's levels.

Reference: M. Lindauer et al., "SMAC3: a versatile Bayesian optimization package", JMLR 2022.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..pools import Array
from .base import Method, Problem, nearest


class Smac(Method):
    """Ask SMAC, move to the nearest setting not measured, tell it that setting's value."""

    def __init__(self, problem: Problem, seed: int) -> None:
        super().__init__(problem, seed)
        logging.disable(logging.WARNING)
        levels = [np.unique(c, return_inverse=True)[1] for c in problem.settings.T]
        self._rank = np.stack(levels, axis=1)
        self._top = np.maximum(self._rank.max(axis=0), 1)
        self._folder = tempfile.TemporaryDirectory()
        self._smac = self._facade()
        self._spent = False

    def _facade(self) -> Any:
        from ConfigSpace import ConfigurationSpace, Integer
        from smac import HyperparameterOptimizationFacade as Facade
        from smac import Scenario
        from smac.multi_objective.parego import ParEGO

        space = ConfigurationSpace(seed=self.seed)
        space.add([Integer(f"k{j}", (0, int(t))) for j, t in enumerate(self._top)])
        scenario = Scenario(
            space,
            objectives=["a", "b"],
            n_trials=200,
            seed=self.seed,
            deterministic=True,
            output_directory=Path(self._folder.name),
        )
        self._space = space
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Facade(
                scenario,
                lambda config, seed=0: {"a": 0.0, "b": 0.0},
                multi_objective_algorithm=ParEGO(scenario),
                initial_design=Facade.get_initial_design(scenario, n_configs=0),
                overwrite=True,
            )

    def pick(self, remaining: int) -> int:
        """SMAC's suggestion, moved to the nearest setting that is not measured yet.

        In a small space SMAC gives up looking for something new; from then on the start's sequence
        is followed.
        """
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        if self._spent:
            return self.next_start()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                config = self._smac.ask().config
        except ConfigurationSpaceExhaustedException:
            self._spent = True
            return self.next_start()
        point = np.array([config[f"k{j}"] for j in range(len(self._top))]) / self._top
        return nearest(self._rank / self._top, point, self.unseen())

    def tell(self, index: int, log_y: Array) -> None:
        """Report the measured setting."""
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        super().tell(index, log_y)
        values = {f"k{j}": int(r) for j, r in enumerate(self._rank[index])}
        info = TrialInfo(Configuration(self._space, values), seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._smac.tell(info, TrialValue(cost=[float(log_y[c]) for c in self.problem.pair]))
