"""What the weights of `predictor` are before any data."""

from __future__ import annotations

import numpy as np

from rheostat.prediction.effects.effect_coding import EffectCoding
from rheostat.prediction.effects.hierarchy import Prior
from rheostat.prediction.effects.identification import Identification

SIZE_SD, SIZE_SPREAD = 2.0, 0.2
"""Exponents of recorded sizes: of the population before any data, and between applications."""
COARSE, OFF = 4, 1e-3
"""Shapes of a knob that are always free, and the scale of others where they are off."""


def effect_prior(
    coding: EffectCoding, by: Identification, target: str, q: int, p: int, s: int
) -> Prior:
    """Effects as the shapes have them, requests as the log can be told, sizes wide.

    Of ``q`` columns the first ``p`` are effects, the next ``s`` requests.  Where a recorded size
    tells effect from choice, all shapes are free: what they do not hold would pass for choice.
    Elsewhere the finer ones are off, which the few turned jobs of a trial do not tell.
    """
    first = np.zeros(s, dtype=bool)
    first[coding.first_requests] = True
    mean, sd, between = by.selection(target, first)
    rest = q - p - s
    curves = [h.curve(target) for h in coding.shapes]
    all_free = [by.by == "size" or not h.parallel for h in coding.shapes]
    free = np.concatenate(
        [(np.arange(len(c.scale)) < COARSE) | f for c, f in zip(curves, all_free, strict=True)]
    )
    scale = np.concatenate([c.scale for c in curves]) * np.where(free, 1.0, OFF)
    middle = np.concatenate([c.mean for c in curves]) * free
    return Prior(
        np.concatenate([middle, mean, np.zeros(rest)]),
        np.concatenate([scale, sd, np.full(rest, SIZE_SD)]),
        np.concatenate([scale * 0.7, between, np.full(rest, SIZE_SPREAD)]),
        np.concatenate([np.zeros(p), np.ones(s), 2 + np.arange(rest)]).astype(np.int64),
    )
