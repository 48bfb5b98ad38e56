"""Draws of one parameter of a fitted law: as wide as the measurements leave it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import ndtri

from rheostat.prediction.serving_law.configurations import Array, Configurations
from rheostat.prediction.serving_law.law import NAMES, in_units
from rheostat.prediction.serving_law.measured_rows import QUANTITIES
from rheostat.prediction.serving_law.predictor import ServingLaw
from rheostat.prediction.serving_law.sharing import PARAMETERS, PriorCovariance, variance


def parameter_draws(law: ServingLaw, name: str, asked: Configurations, draws: int) -> Array:
    """Draws (draws, n) of a parameter at each configuration, in its unit, evenly over its spread.

    Parameters
    ----------
    law
        Fitted.
    name
        Of the parameter.
    asked
        n configurations.
    draws
        How many.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> asked = table({"app": ["m"], "params": [8e9], "gpu_model": ["H100"], "gpus": [1],
    ...                "batch_cap": [64]})
    >>> law, at = ServingLaw().fit(asked.rows([])), Configurations.of(asked)
    >>> bool(parameter_draws(law, "compute", at, 100).std() > 0.1)
    True
    """
    k = NAMES.index(name)
    middle, deviation = law.log_parameters_of(asked)[:, k], _deviation(law, k, asked)
    even = (np.arange(draws) + 0.5) / draws
    z = ndtri(np.random.default_rng(law.seed).permutation(even))[:, None]
    drawn = (middle + deviation * z)[..., None] * (np.arange(len(NAMES)) == k)
    return in_units(drawn)[..., k]


def _deviation(law: ServingLaw, k: int, asked: Configurations) -> Array:
    """Standard deviation (n,) of a log-parameter: its prior, narrowed by what was measured."""
    prior = np.full(len(asked), variance(PARAMETERS[NAMES[k]]))
    if law.factor_ is None:
        return np.asarray(np.sqrt(prior))
    shared = PriorCovariance.between(law.seen_, asked).parameters[NAMES[k]]
    cross = law.slopes_[:, k, None] * np.tile(shared, (len(QUANTITIES), 1))
    cross = cross[law.observed_]
    known = np.sum(cross * cho_solve(law.factor_, cross), axis=0)
    return np.asarray(np.sqrt(np.maximum(prior - known, 0.0)))
