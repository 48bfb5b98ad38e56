"""Where is a setting, in terms that carry over from one job to another?

Scaling laws are straight lines in the logarithm of a knob: twice the nodes, so many per cent less
time.  So a knob that is positive everywhere is taken by its logarithm, others as they are, names
one-hot, and each is scaled to [-1, 1] over the settings that matter.  "Absolute" coordinates scale
over the settings of all jobs (64 nodes are 64 nodes); "relative" ones over each job's own settings
(its smallest, its largest), which carries over better where every job has its own range.

Notation
--------
n  settings     k  knobs     D  coordinates (numeric knobs, then one per name)     z  landmarks
X : (n, k) knob values        U : (n, D) coordinates in [-1, 1]
law(U) : (n, p)  1, u_j, u_j^2, u_i u_j           matern(U, Z) : (n, z)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_ROOT5 = np.sqrt(5.0)


@dataclass(frozen=True)
class Scale:
    """Maps knob values to coordinates; ``levels[j]`` lists the codes of a named knob, else None."""

    low: Array
    high: Array
    log: NDArray[np.bool_]
    levels: tuple[tuple[float, ...] | None, ...]

    @classmethod
    def of(cls, settings: Array, names: Sequence[int] = ()) -> Scale:
        """The scale over the rows of ``settings`` (n, k); ``names`` are columns that hold codes.

        >>> Scale.of(np.array([[1.0], [4.0], [16.0]])).unit(np.array([[4.0], [64.0]])).ravel()
        array([0., 2.])
        """
        settings = np.asarray(settings, dtype=float)
        log = np.asarray((settings > 0).all(axis=0))
        v = np.where(log, np.log(np.where(log, settings, 1.0)), settings)
        levels = tuple(
            tuple(float(c) for c in np.unique(settings[:, j])) if j in names else None
            for j in range(settings.shape[1])
        )
        return cls(v.min(axis=0), v.max(axis=0), log, levels)

    def unit(self, settings: Array) -> Array:
        """Coordinates (n, D); a knob with one value is 0 everywhere, an unknown name is all 0."""
        columns = []
        for j, levels in enumerate(self.levels):
            v = np.asarray(settings, dtype=float)[:, j]
            if levels is not None:
                columns += [np.where(v == code, 1.0, 0.0) for code in levels]
                continue
            v = np.log(np.maximum(v, np.finfo(float).tiny)) if self.log[j] else v
            half = (self.high[j] - self.low[j]) / 2
            middle = (self.high[j] + self.low[j]) / 2
            columns.append((v - middle) / half if half > 0 else np.zeros_like(v))
        return np.stack(columns, axis=1)

    @property
    def reach(self) -> Array:
        """Half the span of each coordinate's logarithm, (D,): an exponent's slope; else 1.

        >>> Scale.of(np.array([[1.0, -1.0], [np.exp(4.0), 1.0]])).reach
        array([2., 1.])
        """
        half = np.where(self.log, (self.high - self.low) / 2, 1.0)
        widths = [1 if levels is None else len(levels) for levels in self.levels]
        ones = [1.0 if levels is None else np.nan for levels in self.levels]
        return np.nan_to_num(np.repeat(half * ones, widths), nan=1.0)

    @property
    def proportional(self) -> Array:
        """Slope of what falls in proportion to each knob, (D,); NaN where it is no logarithm.

        >>> Scale.of(np.array([[1.0, -1.0], [np.exp(4.0), 1.0]])).proportional
        array([-2., nan])
        """
        logarithms = [
            log and names is None for log, names in zip(self.log, self.levels, strict=True)
        ]
        widths = [1 if names is None else len(names) for names in self.levels]
        return np.where(np.repeat(logarithms, widths), -self.reach, np.nan)

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which of the D coordinates are numeric."""
        flags = [[True] if levels is None else [False] * len(levels) for levels in self.levels]
        return np.array([f for group in flags for f in group])


def law(units: Array, numeric: NDArray[np.bool_]) -> Array:
    """The law's terms (n, p): 1, every coordinate, squares and products of the numeric ones.

    In logarithms a power law is the linear term; the square bends it (saturation, super-linear
    regions), the product lets one knob change the exponent of another.
    """
    columns = [np.ones(len(units)), *units.T]
    smooth = np.flatnonzero(numeric)
    columns += [units[:, j] ** 2 for j in smooth]
    columns += [units[:, i] * units[:, j] for a, i in enumerate(smooth) for j in smooth[:a]]
    return np.stack(columns, axis=1)


def law_scales(numeric: NDArray[np.bool_], level: float, slope: float, bend: float) -> Array:
    """Standard deviations (p,) of the coefficients of `law`, in its order."""
    d, smooth = len(numeric), int(np.sum(numeric))
    return np.concatenate(
        [[level], np.full(d, slope), np.full(smooth + smooth * (smooth - 1) // 2, bend)]
    )


def matern(a: Array, b: Array, length: float) -> Array:
    """Matern-5/2 correlation (n, z) with one length scale."""
    d = np.sqrt(np.maximum(((a[:, None] - b[None]) ** 2).sum(axis=-1), 0.0)) * (_ROOT5 / length)
    return np.asarray((1 + d + d * d / 3) * np.exp(-d))


def spread_out(points: Array, count: int) -> NDArray[np.int64]:
    """Indices of ``count`` rows far from one another, first the most central; ascending.

    >>> spread_out(np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]), 3)
    array([0, 2, 4])
    """
    if len(points) <= count:
        return np.arange(len(points))
    chosen = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < count:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return np.sort(np.array(chosen))


@dataclass(frozen=True)
class Basis:
    """Functions of a setting: the law's terms, then local bumps around ``landmarks`` (z, D)."""

    landmarks: Array
    numeric: NDArray[np.bool_]
    length: float
    root: Array

    @classmethod
    def over(cls, units: Array, numeric: NDArray[np.bool_], *, count: int, length: float) -> Basis:
        """Landmarks spread over ``units``; the bumps span the Matern kernel's Nystrom space."""
        distinct = np.unique(np.round(units, 6), axis=0)
        z = distinct[spread_out(distinct, count)]
        values, vectors = np.linalg.eigh(matern(z, z, length))
        root = (vectors / np.sqrt(np.maximum(values, 1e-6))) @ vectors.T
        return cls(z, numeric, length, root)

    def __call__(self, units: Array) -> Array:
        """Features (n, p + z)."""
        bumps = matern(units, self.landmarks, self.length) @ self.root
        return np.hstack([law(units, self.numeric), bumps])

    def variances(self, level: float, slope: float, bend: float, bump: float) -> Array:
        """Prior variances (p + z,) of the weights."""
        laws = law_scales(self.numeric, level, slope, bend)
        return np.concatenate([laws, np.full(len(self.landmarks), bump)]) ** 2


def both(features: Array) -> Array:
    """Block-diagonal (2n, 2q): the same features for log runtime (first n rows) and log power.

    >>> both(np.array([[1.0, 2.0]]))
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    return np.asarray(np.kron(np.eye(2), features), dtype=float)
