"""What the weights of `predictor` are before any data."""

from __future__ import annotations

import numpy as np

from rheostat.prediction.effects.effect_coding import EffectCoding
from rheostat.prediction.effects.hierarchy import Prior
from rheostat.prediction.effects.identification import Identification

SIZE_SD, SIZE_SPREAD = 2.0, 0.2
"""Exponents of recorded sizes: of the population before any data, and between applications."""


def effect_prior(
    coding: EffectCoding, by: Identification, target: str, q: int, p: int, s: int
) -> Prior:
    """Effects as the shapes have them, requests as the log can be told, sizes wide.

    Of ``q`` columns the first ``p`` are effects, the next ``s`` requests.
    """
    first = np.zeros(s, dtype=bool)
    first[coding.first_requests] = True
    mean, sd, between = by.selection(target, first)
    rest = q - p - s
    curves = [h.curve(target) for h in coding.shapes]
    scale = np.concatenate([c.scale for c in curves])
    middle = np.concatenate([c.mean for c in curves])
    return Prior(
        np.concatenate([middle, mean, np.zeros(rest)]),
        np.concatenate([scale, sd, np.full(rest, SIZE_SD)]),
        np.concatenate([scale * 0.7, between, np.full(rest, SIZE_SPREAD)]),
        np.concatenate([np.zeros(p), np.ones(s), 2 + np.arange(rest)]).astype(np.int64),
    )
