"""A pool: one application measured at every setting of a finite space, so its true front is known.

A search method is judged by replaying the pool: it names a setting, the stored measurement answers.
Nothing is interpolated, so no score can rest on what a model believes.

Notation
--------
N   settings in the pool                     k   knobs (design variables)
settings : (N, k)  knob values in their own units
x        : (N, k)  the same, each knob mapped to [0, 1]
log_y    : (N, 3)  natural logarithms of (runtime_s, power_w, energy_j)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .noise import of_neighbours

Array = NDArray[np.float64]

QUANTITIES = ("runtime", "power", "energy")
PAIRS: dict[str, tuple[int, int]] = {"runtime,energy": (0, 2), "runtime,power": (0, 1)}
LOG_SCALE_RATIO = 8.0
"""A positive knob spanning at least this ratio (nodes, threads, batch sizes) is mapped on a log
scale."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps raw knob values to the unit cube; linear or logarithmic per knob."""

    low: Array
    high: Array
    log: NDArray[np.bool_]

    @classmethod
    def of(cls, settings: Array) -> Scale:
        """Scale whose unit cube is the bounding box of `settings`."""
        low, high = settings.min(axis=0), settings.max(axis=0)
        log = (low > 0) & (high >= LOG_SCALE_RATIO * np.where(low > 0, low, 1.0))
        return cls(low, high, log)

    def unit(self, settings: Array) -> Array:
        """Unit-cube coordinates; settings outside the box map outside [0, 1].

        >>> Scale.of(np.array([[1.0], [4.0], [16.0]])).unit(np.array([[4.0]]))
        array([[0.5]])
        """
        out = np.empty_like(settings, dtype=float)
        for j, is_log in enumerate(self.log):
            low, high, v = self.low[j], self.high[j], settings[:, j].astype(float)
            if is_log:
                low, high, v = np.log(low), np.log(high), np.log(np.maximum(v, 1e-300))
            out[:, j] = (v - low) / (high - low) if high > low else 0.5
        return out


@dataclass(frozen=True)
class Pool:
    """One application's complete table of measured settings.

    `family` names the set of pools that share machine and knobs: the other applications of a family
    are the prior jobs a method may learn from, the pool's own application never is.
    """

    name: str
    family: str
    app: str
    knobs: tuple[str, ...]
    settings: Array
    log_y: Array
    source: str = ""
    repeats: Array | None = None

    @cached_property
    def noise(self) -> Array:
        """Standard deviations (3,) of one measurement's logs, by repeats or else by neighbours."""
        return of_neighbours(self.x, self.log_y) if self.repeats is None else self.repeats

    @property
    def n(self) -> int:
        """Number of settings."""
        return len(self.settings)

    @property
    def scale(self) -> Scale:
        """The knob scaling all methods are given."""
        return Scale.of(self.settings)

    @property
    def x(self) -> Array:
        """Settings in the unit cube, shape (N, k)."""
        return self.scale.unit(self.settings)

    @property
    def digest(self) -> str:
        """Short hash of the measured table; part of the cache key."""
        h = hashlib.sha256(np.ascontiguousarray(self.settings).tobytes())
        h.update(np.ascontiguousarray(self.log_y).tobytes())
        return h.hexdigest()[:12]


def make_pool(
    name: str,
    family: str,
    app: str,
    *,
    knobs: tuple[str, ...],
    settings: Array,
    y: Array,
    source: str,
    repeats: Array | None = None,
) -> Pool:
    """Pool from raw values `y` (N, 3), rows sorted by setting so file order does not matter.

    ``repeats`` (3,) is what repeated runs say of the noise, if there are any.
    """
    settings = np.asarray(settings, dtype=float)
    order = np.lexsort(settings.T[::-1])
    return Pool(name, family, app, knobs, settings[order], np.log(y[order]), source, repeats)


def prior_of(pool: Pool, pools: list[Pool]) -> list[Pool]:
    """The other applications of the same family (leave-one-application-out)."""
    return [
        p
        for p in pools
        if p.family == pool.family
        and p.app != pool.app
        and p.knobs == pool.knobs
        and p.name != pool.name
    ]
