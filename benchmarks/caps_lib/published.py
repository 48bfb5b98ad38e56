"""OPEN: predict speed under CPU and GPU caps from a few tries, and choose caps within a loss.

The published system learns on known applications, profiles a new one at a few settings for seconds,
infers speeds there from counters and fills in the others by neural collaborative filtering.  Here
are its networks and its simpler baselines by name, and the protocol of its public notebooks
(`PUBLISHED`), whose leaks `caps_lib.protocol` closes one by one.  Ours is
`rheostat.prediction.completion.mixture`, put to use by `rheostat.decision.caps`.

References
----------
Zheng, Lan, Wu, Taylor, Papka: Coordinated power management on heterogeneous systems,
arXiv 2508.07605 (2025); notebooks in github.com/zzheng33/power_2 and power-3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caps_lib.classic import LowRank, Neighbours, TrainMean
from caps_lib.protocol import CapProtocol

PUBLISHED = CapProtocol(sweep_normalised=True, judged_on_tried=True, answer_key=True)


def baselines(seed: int = 0, *, deep: bool = True) -> dict[str, Callable[[], Any]]:
    """Methods that fill a row from speeds at tried settings."""
    found: dict[str, Callable[[], Any]] = {
        "mean of known applications": TrainMean,
        "SVD": LowRank,
        "neighbours": Neighbours,
    }
    if deep:
        from caps_lib.neural import Autoencoder, Collaborative

        found["autoencoder"] = lambda: Autoencoder(seed=seed)
        found["collaborative filtering"] = lambda: Collaborative(seed=seed)
    return found
