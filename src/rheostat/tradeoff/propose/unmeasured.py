"""How far may settings that were not measured be from the laws of those that were?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rheostat.core.outcome import Array
from rheostat.prediction.scaling_law import DefensiveEnsemble, jump
from rheostat.prediction.scaling_law.coordinates import Scale
from rheostat.prediction.scaling_law.left_out import inner, widening

DRAWS = 128
ROUNDING = 1e-12
"""Variance of logs below which repeats are equal."""
Index = NDArray[np.int64]


def spread_out(model: DefensiveEnsemble, scale: Scale, asked: Index, logs: Array) -> Array:
    """Draws (2, S, n) of log runtime and log power, as wide as what was measured shows.

    Parameters
    ----------
    model : DefensiveEnsemble
        The laws, after what was told.
    scale : Scale
        Of the model's settings.
    asked : array of int (n,)
        Settings.
    logs : array (2, S, n)
        The laws' own draws at ``asked``.
    """
    units, measured = model.structures[-1].target.units, np.array(model.measured, dtype=np.int64)
    between = np.flatnonzero(~np.isin(asked, measured))
    if not len(between):
        return logs
    wider = widening(units[asked[between]], *_errors(model, units, measured))
    logs, noise = logs.copy(), np.reshape(model.noise, (-1, 2)).T
    own = np.reshape(model.logs, (-1, 2)).T
    for i, factor in zip(between, wider, strict=True):
        middle = logs[:, :, i].mean(axis=1, keepdims=True)
        logs[:, :, i] = middle + factor[:, None] * (logs[:, :, i] - middle)
        sides = jump.two_sides(units[asked[i]], units[measured], own, noise, scale.proportional)
        if sides is not None:
            logs[:, :, i] = jump.drawn(sides, np.zeros(2), _normal(int(asked[i]), logs.shape[1]))
    return logs


def _errors(model: DefensiveEnsemble, units: Array, measured: Index) -> tuple[Array, Array]:
    """Measured settings within the others, and errors (m, 2) of the laws of the others there."""
    known, places = np.unique(measured), inner(units[measured])
    scores = np.empty((len(places), 2))
    for row, place in enumerate(places):
        drawn = np.stack(model.without(int(place)).draws(DRAWS, known))
        of = drawn[:, :, np.searchsorted(known, measured[place])]
        error = np.array(model.logs[place]) - of.mean(axis=1)
        scores[row] = error / np.sqrt(of.var(axis=1) + model.noise[place] + ROUNDING)
    return units[measured[places]], scores


def _normal(seed: int, draws: int) -> Array:
    """Normal quantiles (3, S), each row in an order of its own."""
    rng = np.random.default_rng(seed)
    return np.asarray(ndtri((np.stack([rng.permutation(draws) for _ in range(3)]) + 0.5) / draws))
