"""How does a quantity move with a knob?  A few columns whose weighted sum is a curve.

For a number of nodes the columns are departures from perfect division of work, and of power from
equal watts per node: the principal shapes of many curves, all of which are zero on one node.  Half
of the curves are of known laws (universal scalability with and without a cache effect, affine
power), half of none: their exponent wanders with the nodes.  Codes that obey no law that anybody
wrote down are so within reach, and what a setting does is not laid at the door of why it was asked
for.  Any other number gets a line and a bend in its logarithm, a knob of names a column for each
name but the commonest.

Notation
--------
n  values      p  columns

References
----------
Gunther, N.: A general theory of computational scalability based on rational functions (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from rheostat.core.outcome import Array

PARALLEL = ("nodes", "gpus", "cores", "threads", "tasks", "ranks")
CURVES, SHAPES, MOST = 600, 6, 4096
BASELINE = {"runtime_s": -1.0, "power_w": 1.0, "power_max_w": 1.0, "energy_j": 0.0}
"""Exponent of each quantity in the number of nodes if work divides perfectly."""


Columns = Callable[[pl.Series], Array]


@dataclass(frozen=True)
class BentLine:
    """Two columns of a number: its logarithm less ``centre``, and half its square."""

    centre: float

    def __call__(self, values: pl.Series) -> Array:
        """(n, 2)."""
        x = logs(values) - self.centre
        return np.stack([x, x * x / 2], axis=-1)


@dataclass(frozen=True)
class OneHot:
    """A column for each of ``names``."""

    names: tuple[str, ...]

    def __call__(self, values: pl.Series) -> Array:
        """(n, p)."""
        text = values.cast(pl.String).to_numpy().astype(object)
        return np.asarray(text[:, None] == np.array(self.names, dtype=object), dtype=float)


@dataclass(frozen=True)
class ShapeCurve:
    """Columns of a setting's effect on one quantity.

    ``mean`` and ``scale`` (p,) are those of their weights before any data.
    """

    columns: Columns
    mean: Array
    scale: Array


@dataclass(frozen=True)
class Shape:
    """One knob: how quantities move with the setting, and columns for why it was asked for.

    >>> nodes = shape_of(pl.Series("nodes", [1, 4, 16, 64]))
    >>> nodes.curve("runtime_s").columns(pl.Series([1, 16])).any(axis=1).tolist()
    [False, True]
    >>> nodes.exponent("runtime_s"), nodes.exponent("power_w")
    (-1.0, 1.0)
    """

    name: str
    request: Columns
    plain: ShapeCurve
    parallel: bool = False
    logarithmic: bool = True

    def curve(self, quantity: str) -> ShapeCurve:
        """The columns for a quantity."""
        if not self.parallel:
            return self.plain
        grid, columns, mean = affine() if "power" in quantity else speed_up()

        def departure(v: pl.Series) -> Array:
            return np.stack([np.interp(logs(v), grid, c) for c in columns], axis=-1)

        return ShapeCurve(departure, mean, np.ones(SHAPES))

    def exponent(self, quantity: str) -> float:
        """What `log` (quantity) over `log` (knob) is before any departure."""
        return BASELINE.get(quantity, 0.0) if self.parallel else 0.0


def shape_of(values: pl.Series) -> Shape:
    """The columns for a knob, from the values it had."""
    numeric = values.dtype.is_numeric() and float(values.min() or 0) > 0  # type: ignore[arg-type]
    if not numeric:
        return _named(values)
    bent = BentLine(float(np.mean(logs(values))))
    plain = ShapeCurve(bent, np.zeros(2), np.full(2, 0.5))
    return Shape(values.name, bent, plain, parallel=values.name in PARALLEL)


def logs(values: pl.Series) -> Array:
    """Natural logarithms, NaN where there is no positive value."""
    v = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.log(np.where(v > 0, v, np.nan))


def _named(values: pl.Series) -> Shape:
    count = values.cast(pl.String).value_counts(sort=True)
    names = count[count.columns[0]].drop_nulls().to_list()
    names = names[1:] or names  # of a single name a column that says nothing
    hot = OneHot(tuple(names))
    plain = ShapeCurve(hot, np.zeros(len(names)), np.full(len(names), 0.5))
    return Shape(values.name, hot, plain, logarithmic=False)


Family = tuple[Array, Array, Array]
KNOTS = 7
"""Places between which the exponent of a curve of no law goes straight."""


@cache
def speed_up() -> Family:
    """(grid of log nodes, (p, grid) principal shapes of scalability curves, mean weights (p,)).

    Contention, coherency, cache effects and exponents are drawn from wide ranges.
    """
    rng = np.random.default_rng(0)
    n = np.exp(_grid())
    contention = 10 ** rng.uniform(-5, -0.7, (CURVES, 1))
    coherency = 10 ** rng.uniform(-8, -2.5, (CURVES, 1))
    gain = rng.uniform(0, 0.6, (CURVES, 1)) * (rng.random((CURVES, 1)) < 0.5)
    fits = np.log2(n) - rng.uniform(0, 5, (CURVES, 1))
    cached = np.log(1 - gain / (1 + np.exp(-2 * fits)))
    slower = np.minimum(coherency * n * (n - 1), 4.0)  # nobody runs far beyond the fastest count
    laws = np.log(1 + contention * (n - 1) + slower) + cached - cached[:, :1]
    return _principal(np.concatenate([laws, _wandering(rng, (-0.1, 1.0), 0.22, (-0.35, 1.25))]))


@cache
def affine() -> Family:
    """The same for watts per node: a part that the nodes share, and nodes that wait for others."""
    rng = np.random.default_rng(0)
    n = np.exp(_grid())
    shared = 10 ** rng.uniform(-2, 0.7, (CURVES, 1))
    waiting = rng.uniform(-0.02, 0.1, (CURVES, 1))
    laws = np.log((1 + shared / n) / (1 + shared)) - waiting * np.log(n)
    return _principal(np.concatenate([laws, _wandering(rng, (-0.3, 0.05), 0.1, (-0.6, 0.1))]))


def _wandering(
    rng: np.random.Generator, first: tuple[float, float], step: float, ends: tuple[float, float]
) -> Array:
    """Curves whose exponent starts between ``first`` and wanders by ``step`` within ``ends``."""
    steps = rng.normal(0, step, (CURVES, KNOTS)).cumsum(axis=1)
    at = np.clip(rng.uniform(*first, (CURVES, 1)) + steps, *ends)
    grid = _grid()
    exponent = np.stack([np.interp(grid, np.linspace(0, grid[-1], KNOTS), a) for a in at])
    each = (exponent[:, 1:] + exponent[:, :-1]) / 2 * np.diff(grid)
    return np.concatenate([np.zeros((CURVES, 1)), np.cumsum(each, axis=1)], axis=1)


def _grid() -> Array:
    return np.linspace(0.0, np.log(MOST), 120)


def _principal(curves: Array) -> Family:
    """Principal shapes, each scaled so that its weight over the curves has a deviation of one."""
    shapes = np.linalg.eigh(curves.T @ curves)[1].T[::-1][:SHAPES]
    shapes = shapes * np.where(shapes[:, -1:] < 0, -1.0, 1.0)
    weights = curves @ shapes.T
    spread = weights.std(axis=0)
    return _grid(), shapes * spread[:, None], weights.mean(axis=0) / spread
