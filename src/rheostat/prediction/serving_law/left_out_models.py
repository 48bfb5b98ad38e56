"""How near a law is to models that it has not seen: each model of its runs left out in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.prediction.serving_law.measured_rows import QUANTITIES
from rheostat.prediction.serving_law.predictor import ServingLaw

Z = 1.6449
FEWEST = 3
"""Models without which nothing is said."""


@dataclass(frozen=True)
class LeftOutModels:
    """What was found of one quantity.

    Parameters
    ----------
    models
        How many were left out, one at a time.
    median_error
        Median relative error over the models; NaN where nothing of them was measured.
    held
        Share of 90 % intervals, as wide as they are printed, that held; models count alike.
    """

    models: int
    median_error: float
    held: float


def left_out_models(law: ServingLaw) -> dict[str, LeftOutModels]:
    """By quantity; empty where fewer than `FEWEST` models were seen.

    The law's answers follow in closed form from its Gaussian of all runs; the learned part, which
    knows a model by its name, has no say of a new one.

    Parameters
    ----------
    law
        Fitted.
    """
    apps, codes = np.unique(law.seen_.app, return_inverse=True)
    if len(apps) < FEWEST or law.evidence_ is None:
        return {}
    left = law.left_out(codes)
    made = {}
    for q, name in enumerate(QUANTITIES):
        known = np.isfinite(left.error[q])
        own = codes[known]
        if not len(own):
            continue
        weight = 1.0 / np.bincount(own)[own]
        error, wide = (
            np.abs(left.error[q][known]),
            law.evidence_.width[q] * left.deviation[q][known],
        )
        each = [np.median(np.expm1(error[own == k])) for k in np.unique(own)]
        held = float(np.average(error <= Z * wide, weights=weight))
        made[name] = LeftOutModels(len(each), float(np.median(each)), held)
    return made
