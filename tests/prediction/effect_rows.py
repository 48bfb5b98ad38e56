"""Rows of jobs for tests of the effects of settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rheostat.prediction.effects.effect_coding import Rows


def rows(n=12, **more) -> Rows:
    """Jobs of one user's application that ran as they asked, at one node."""
    zero, none = np.zeros(n, dtype=np.int64), np.zeros((n, 0))
    made = Rows(zero, zero, zero, np.arange(n), {}, zero > 0, none, none, none, np.zeros((n, 1)),
                np.zeros((n, 1)), zero - 1)  # fmt: skip
    return replace(made, **more)
