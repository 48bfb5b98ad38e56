"""Who asks for more nodes may have a larger problem, which scales farther: does a trial say so?

What a setting does is learned of an application at each setting.  Where requests follow the size of
problems, a job that asked for 64 nodes loses more on 16 than the application's others would that
run on 64.  One slope for all applications is asked of the jobs that chance turned, and it counts as
far as it is surely there.

Notation
--------
n  rows      B  draws      z : (n,) log setting over log request, times log request less ``middle``
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.doubts import within_slope
from rheostat.prediction.effects.effect_coding import Rows

SURE = 2.6
"""Standard errors, one in a hundred by chance, below which the slope is none."""


@dataclass(frozen=True)
class ByRequest:
    """Draws of the ``slope`` (B,) on z, and the ``middle`` of the requests, a logarithm."""

    slope: Array
    middle: float

    def of(self, rows: Rows) -> Array:
        """What it makes of the log of a quantity, (B, n)."""
        return self.slope[:, None] * _product(rows, self.middle)

    def mean_of(self, rows: Rows) -> Array:
        """The same, (n,), by the mean of the draws."""
        return float(self.slope.mean()) * _product(rows, self.middle)


def fit_by_request(rows: Rows, flat: Array, normal: Array, *, by_trial: bool = True) -> ByRequest:
    """The slope beside all columns of ``flat`` (n, q + 1), less their cell's mean, outcome last.

    ``normal`` (B,) are draws; errors of an application's jobs go together.  Without a trial
    there is none.
    """
    if not by_trial:
        return ByRequest(np.zeros(len(normal)), 0.0)
    middle = float(rows.log_asked[rows.turned, 0].mean())
    z = _product(rows, middle)
    slope = within_slope(z, flat[:, -1], rows.cell, rows.app, flat[:, :-1])
    if slope is None or abs(slope.value) <= SURE * slope.error:
        return ByRequest(np.zeros(len(normal)), middle)
    kept = 1.0 - (SURE * slope.error / slope.value) ** 2
    return ByRequest(kept * slope.value + slope.error * normal, middle)


def _product(rows: Rows, middle: float) -> Array:
    asked = rows.log_asked[:, 0]
    return np.asarray((rows.log_run[:, 0] - asked) * (asked - middle))
