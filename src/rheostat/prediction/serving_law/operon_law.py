"""`OperonLaw`: energy per token by genetic programming (Operon, extra ``symbolic``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.errors import NotFitted
from rheostat.prediction.features.model_columns import learnable
from rheostat.prediction.serving_law.configurations import Array
from rheostat.prediction.serving_law.products import TARGET, variables_of

SYMBOLS = "add,sub,mul,div,constant,variable,exp,log,sqrt,square"
LENGTH, SECONDS, EVALUATIONS = 30, 60, 200_000


class OperonLaw:
    """A formula of the logarithms of `ProductLaw`'s variables for the logarithm of the energy.

    Parameters
    ----------
    seed
        Of the search.
    length
        Nodes of the formula, at most.
    evaluations
        Formulas that are looked at, at most.
    """

    def __init__(
        self, *, seed: int = 0, length: int = LENGTH, evaluations: int = EVALUATIONS
    ) -> None:
        self.seed = seed
        self.length = length
        self.evaluations = evaluations

    def fit(self, jobs: JobTable) -> OperonLaw:
        """Search a formula; one thread, so that the same seed gives the same one."""
        pyoperon = require("pyoperon.sklearn", extra="symbolic")
        kept, values, _ = learnable(jobs, (TARGET,))
        self.model_ = pyoperon.SymbolicRegressor(
            allowed_symbols=SYMBOLS, max_length=self.length, optimizer_iterations=5,
            max_evaluations=self.evaluations, max_time=SECONDS, n_threads=1, random_state=self.seed,
            model_selection_criterion="minimum_description_length",
        )  # fmt: skip
        self.model_.fit(_logs(kept), np.log(values[:, 0]))
        return self

    def predict(self, jobs: JobTable) -> Outcome:
        """One draw per row; NaN where the formula has no value."""
        if not hasattr(self, "model_"):
            raise NotFitted(self)
        logs = np.asarray(self.model_.predict(_logs(jobs)), dtype=float).ravel()
        return Outcome({TARGET: np.exp(np.clip(logs, -50, 50))[None]})

    def as_text(self) -> str:
        """The formula; X1 to X6 are the logarithms of T, P, B, W, H and S."""
        model: Any = self.model_
        return f"ln E = {model.get_model_string(model.model_, 4)}"


def _logs(jobs: JobTable) -> Array:
    return np.log(np.column_stack(list(variables_of(jobs).values())))
