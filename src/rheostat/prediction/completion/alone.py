"""What the runs of the new application say alone, without any known one: baselines of `CapModel`.

A line between the runs, multilinear interpolation of the corners of the grid, and a Gaussian
process with its lower bound.  They are printed beside the answer wherever they can be computed.

Notation
--------
p  settings      k  knobs      n  settings tried      speed : (n,) there
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from rheostat.core.outcome import Array
from rheostat.prediction.completion.curves import linear
from rheostat.prediction.completion.table import CapTable


class Line:
    """Linear interpolation between the runs; in one dimension the piecewise line."""

    def fit(self, known: CapTable) -> Line:
        """Remember where the settings are."""
        self.depth_ = known.depth
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """Speeds on the line; constant beyond the runs."""
        return linear(self.depth_, tried, np.asarray(speed, dtype=float))


class Corners:
    """Multilinear interpolation of the 2^k corners of the grid (bilinear for two caps).

    >>> t = CapTable(("a",), ("cap_w",), np.array([[1.0], [2.0], [3.0]]), np.ones((1, 3)))
    >>> Corners().fit(t).fill([0, 2], np.array([0.5, 1.0]))
    array([0.5 , 0.75, 1.  ])
    """

    def fit(self, known: CapTable) -> Corners:
        """Remember where the settings and the corners are; a corner not in the table is -1."""
        self.depth_ = known.depth
        self.corners_ = corners(known)
        return self

    def possible(self, tried: Sequence[int]) -> bool:
        """Whether all corners were tried."""
        return set(self.corners_) <= set(tried)

    def fill(self, tried: list[int], speed: Array) -> Array:
        """Speeds (p,) from those at the corners; NaN where a corner was not tried."""
        if not self.possible(tried):
            return np.full(len(self.depth_), np.nan)
        at = np.array([speed[tried.index(c)] for c in self.corners_])
        sides = np.stack([1.0 - self.depth_, self.depth_])  # (2, p, k): share of high, of low
        every = np.ones((len(at), len(self.depth_)))
        for row, corner in enumerate(itertools.product((0, 1), repeat=self.depth_.shape[1])):
            for j, side in enumerate(corner):
                every[row] *= sides[side, :, j]
        return np.asarray(at @ every)


def corners(known: CapTable) -> list[int]:
    """Settings with every knob at its highest or its lowest, the default first; -1 is missing."""
    corners = []
    for corner in itertools.product((0.0, 1.0), repeat=known.depth.shape[1]):
        place = np.flatnonzero(np.isclose(known.depth, corner).all(axis=1))
        corners.append(int(place[0]) if len(place) else -1)
    return corners


class Process:
    """A Gaussian process of the new application's runs alone (Matern 5/2, scikit-learn)."""

    def fit(self, known: CapTable) -> Process:
        """Remember where the settings are."""
        self.depth_ = known.depth
        return self

    def fill(self, tried: list[int], speed: Array) -> Array:
        """Speeds (p,): the mean of the process."""
        return np.asarray(np.exp(self._answer(tried, speed)[0]))

    def bound(self, tried: list[int], speed: Array, probability: float) -> Array:
        """The speed that is reached with this probability, (p,)."""
        mean, sd = self._answer(tried, speed)
        return np.asarray(np.exp(mean - ndtri(probability) * sd))

    def _answer(self, tried: list[int], speed: Array) -> tuple[Array, Array]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        scale = np.ones(self.depth_.shape[1])
        kernel = ConstantKernel(0.01, (1e-5, 1.0)) * Matern(scale, (0.1, 10.0), nu=2.5)
        process = GaussianProcessRegressor(kernel + WhiteKernel(1e-4, (1e-6, 1e-2)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # few runs: scales at their ends
            process.fit(self.depth_[tried], np.log(speed))
        mean, sd = process.predict(self.depth_, return_std=True)
        return np.asarray(mean), np.asarray(sd)
