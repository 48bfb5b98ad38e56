"""How much should this job follow the others, how bumpy is it, how much does one setting jump?

These are hyper-parameters.  With two measurements they cannot be fitted, so they stay random: a
vector z of independent standard normals is mapped to scales, and whoever predicts averages over
many z, each weighted by how well it explains what was measured.

The curve of a job is (log runtime, log power) over the settings, jointly normal:

    y = a-scaled curve of the population of past jobs            (absent in structures without one)
      + b-scaled law terms of its own                            (slack of slopes and bends)
      + t-scaled Matern-5/2 process, correlated rho between runtime and power
      + r-scaled roughness: a jump of its own at each setting (domain shapes, placement)

Notation
--------
M  hyper-parameter vectors     C  mixture components      N  settings      n  rows in use
z : (M, Z)       K : (M, 2n, 2n), log runtime first      mean : (C, 2N)     log evidence : (M, C)

References
----------
Rasmussen and Williams: Gaussian Processes for Machine Learning (2006).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.prediction.scaling_law.coordinates import Array, law, law_scales
from rheostat.prediction.scaling_law.population import Population

Index = NDArray[np.int64]
_JITTER = 1e-6
DENSE = 512
"""Settings up to which matrices over all of them are kept."""
_ENTRIES = 2_000_000
"""Covariance entries (16 MB) of several curves worked on together."""
SHARED = 10
"""Entries of z beside one length scale per coordinate."""


@dataclass(frozen=True)
class Curve:
    """One job over its settings: coordinates, what past jobs have in common, data.

    ``features`` (N, q) and ``population`` are None in structures without a population.  ``reach``
    (D,) is how much a coordinate's unit can do: slopes and bends of its own are that much larger.
    """

    units: Array
    numeric: NDArray[np.bool_]
    means: Array
    features: Array | None = None
    population: Population | None = None
    width: float = 1.0
    level_variance: tuple[float, float] = (0.1, 0.01)
    slack: float = 1.0
    reach: Array | float = 1.0
    y: Array | None = None
    _cache: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def tensors(self) -> dict[str, Any]:
        """Torch copies of the arrays, made once; matrices over all settings where these are few."""
        if not self._cache:
            torch = require("torch", extra="search")
            features = law(self.units * self.reach, self.numeric)
            slopes = features * law_scales(self.numeric, 0.0, 1.0, 0.3)
            self._cache.update(
                units=torch.as_tensor(self.units),
                slopes=torch.as_tensor(slopes),
                means=torch.as_tensor(self.means),
            )
            if len(self.units) <= DENSE:
                every = np.arange(len(self.units))
                self._cache.update(
                    law=torch.as_tensor(slopes @ slopes.T), shared=self._shared(every, every)
                )
        return self._cache

    def law(self, rows: Index, columns: Index) -> Any:
        """Covariance (n, m) of unit slopes and bends between two sets of settings."""
        data = self.tensors()
        if "law" in data:
            return data["law"][rows][:, columns]
        return data["slopes"][rows] @ data["slopes"][columns].T

    def shared(self, rows: Index, columns: Index) -> Any:
        """Covariance (2n, 2m) of the population between two sets of settings; None without one."""
        data, n = self.tensors(), len(self.units)
        if "shared" not in data:
            return self._shared(rows, columns)
        every = data["shared"]
        return None if every is None else every[_both(rows, n)][:, _both(columns, n)]

    def _shared(self, rows: Index, columns: Index) -> Any:
        if self.population is None or self.features is None:
            return None
        pair = self.features[rows], self.features[columns]
        covariance = self.population.covariance_between(*pair, self.width)
        return require("torch", extra="search").as_tensor(covariance)


def named(z: Array) -> dict[str, Array]:
    """The scales that a batch of z (M, Z) stands for, each (M,), lengths (M, D)."""

    def lognormal(column: int, median: float, spread: float) -> Array:
        return np.asarray(np.exp(np.log(median) + spread * z[:, column]))

    return {
        "follow": 1.3 / (1 + np.exp(-(1.0 + 1.5 * z[:, 0]))),
        "slope": lognormal(1, 0.15, 1.0),
        "slope_ratio": lognormal(2, 0.6, 0.5),
        "slope_rho": np.tanh(-0.5 + 0.5 * z[:, 3]),
        "local_t": lognormal(4, 0.10, 1.0),
        "local_p": lognormal(5, 0.05, 1.0),
        "local_rho": np.tanh(-0.3 + 0.5 * z[:, 6]),
        "rough_t": lognormal(7, 0.012, 1.0),
        "rough_p": lognormal(8, 0.012, 0.8),
        "additive": 1 / (1 + np.exp(-1.5 * z[:, 9])),
        "length": np.exp(np.log(0.8) + 0.6 * z[:, SHARED:]),
    }


def covariance(
    curve: Curve, z: Array, rows: Index | None = None, columns: Index | None = None
) -> Any:
    """Prior covariance (M, 2n, 2m) of a job's curve between settings, by default all with all."""
    rows = np.arange(len(curve.units)) if rows is None else np.asarray(rows)
    columns = rows if columns is None else np.asarray(columns)
    k, shared = _own_covariance(curve, z, rows, columns), curve.shared(rows, columns)
    return k if shared is None else k + _follow(z) * shared


def _follow(z: Array) -> Any:
    """How much each z follows the population, (M, 1, 1)."""
    return require("torch", extra="search").as_tensor(named(z)["follow"])[:, None, None]


def _own_covariance(curve: Curve, z: Array, rows: Index, columns: Index) -> Any:
    """The part (M, 2n, 2m) of `covariance` that no other job has a share in."""
    torch = require("torch", extra="search")
    data, h = curve.tensors(), {k: torch.as_tensor(v) for k, v in named(z).items()}
    scaled = data["units"][rows] / h["length"][:, None, :]
    other = scaled if columns is rows else data["units"][columns] / h["length"][:, None, :]
    local, slopes = _local(scaled, other, h["additive"]), curve.law(rows, columns)

    def col(v: Any) -> Any:
        return v[:, None, None]

    eye = torch.as_tensor((rows[:, None] == columns).astype(float))
    b2, ratio = (h["slope"] * curve.slack) ** 2, h["slope_ratio"]
    top, bottom = curve.level_variance
    tt = col(h["local_t"] ** 2) * local + col(b2) * slopes + col(h["rough_t"] ** 2) * eye + top
    pp = col(h["local_p"] ** 2) * local + col(b2 * ratio**2) * slopes
    pp = pp + col(h["rough_p"] ** 2) * eye + bottom
    tp = col(h["local_rho"] * h["local_t"] * h["local_p"]) * local
    tp = tp + col(h["slope_rho"] * b2 * ratio) * slopes
    k = torch.cat([torch.cat([tt, tp], dim=2), torch.cat([tp, pp], dim=2)], dim=1)
    return k + _JITTER * torch.kron(torch.eye(2, dtype=torch.float64), eye)


def variances(curve: Curve, z: Array, rows: Index) -> Array:
    """Prior variances (M, 3, n) at ``rows``: of log runtime, log power, and their covariance."""
    h, slopes = named(z), curve.tensors()["slopes"][rows].numpy()
    line = (slopes**2).sum(axis=1)
    b2, ratio = (h["slope"] * curve.slack) ** 2, h["slope_ratio"]
    top, bottom = curve.level_variance
    alone = (
        h["local_t"] ** 2 + h["rough_t"] ** 2 + top + _JITTER,
        h["local_p"] ** 2 + h["rough_p"] ** 2 + bottom + _JITTER,
        h["local_rho"] * h["local_t"] * h["local_p"],
    )
    bends = (b2, b2 * ratio**2, h["slope_rho"] * b2 * ratio)
    own = np.stack([a[:, None] + np.outer(b, line) for a, b in zip(alone, bends, strict=True)], 1)
    if curve.population is None or curve.features is None:
        return own
    shared = curve.population.variances(curve.features[rows], curve.width)
    return np.asarray(own + h["follow"][:, None, None] * shared)


def _local(scaled: Any, other: Any, additive: Any) -> Any:
    """Correlation (M, n, m): a share of sums of one-knob curves, the rest of joint ones."""
    apart = [(scaled[:, :, None, j] - other[:, None, :, j]).abs_() for j in range(scaled.shape[2])]
    if len(apart) == 1:
        return _matern(apart[0])
    alone = sum(_matern(d) for d in apart) / len(apart)
    joint = _matern(sum(d**2 for d in apart).sqrt())
    share = additive[:, None, None]
    return share * alone + (1 - share) * joint


def _matern(distance: Any) -> Any:
    """Matern-5/2 correlation at distances in length scales."""
    d = distance * np.sqrt(5.0)
    return (1 + d + d * d / 3) * (-d).exp()


def log_evidence(
    curve: Curve, z: Array, y: Array, rows: Index | None = None, noise: Array | None = None
) -> Array:
    """Log density (M, C) of measured ``y`` (2n,) at ``rows`` under each z and component.

    ``noise`` (2n,) are variances of the measurements themselves; none by default.
    """
    torch = require("torch", extra="search")
    with torch.no_grad():
        k = covariance(curve, z, rows)
        k = k if noise is None else k + torch.diag(torch.as_tensor(noise))
        left = torch.as_tensor(y) - curve.tensors()["means"][:, _both(rows, len(curve.units))]
        return np.asarray(_log_density(k, left).numpy())


def log_evidence_of_each(curves: Sequence[Curve], z: Array) -> Array:
    """Log density (M, J) of every curve's own data under each z, all components alike likely."""
    torch = require("torch", extra="search")
    out = np.zeros((len(z), len(curves)))
    for places in _alike(curves, len(z)):
        these = [curves[j] for j in places]
        every = np.arange(len(these[0].units))
        with torch.no_grad():
            k = _own_covariance(these[0], z, every, every)[:, None]
            if these[0].population is not None:
                shared = torch.stack([c.shared(every, every) for c in these])
                k = k + _follow(z)[:, None] * shared
            y = torch.as_tensor(np.array([c.y for c in these]))
            left = y[:, None] - torch.stack([c.tensors()["means"] for c in these])
            each = _log_density(k, left).numpy()
        out[:, places] = np.logaddexp.reduce(each, axis=2) - np.log(each.shape[2])
    return out


def _alike(curves: Sequence[Curve], batch: int) -> Iterator[list[int]]:
    """Places of curves over the same settings that differ by data and population alone."""
    groups: list[list[int]] = []
    for j, curve in enumerate(curves):
        for group in groups:
            first = curves[group[0]]
            few = batch * (len(group) + 1) * (2 * len(first.units)) ** 2 <= _ENTRIES
            same = np.array_equal(first.units, curve.units) and len(first.means) == len(curve.means)
            if few and same:
                group.append(j)
                break
        else:
            groups.append([j])
    yield from groups


def _log_density(k: Any, left: Any) -> Any:
    """Normal log density (..., C) of residuals (..., C, 2n) under covariances (..., 2n, 2n)."""
    torch = require("torch", extra="search")
    cholesky = require("linear_operator", extra="search").utils.cholesky.psd_safe_cholesky
    factor = cholesky(k)
    white = torch.linalg.solve_triangular(factor, left.mT, upper=False)
    logdet = factor.diagonal(dim1=-2, dim2=-1).log().sum(dim=-1)
    size = left.shape[-1]
    return -0.5 * (white**2).sum(dim=-2) - logdet[..., None] - 0.5 * size * np.log(2 * np.pi)


def _both(rows: Index | None, n: int) -> Index:
    """Rows of log runtime and of log power in a stacked vector of 2n."""
    at = np.arange(n) if rows is None else np.asarray(rows)
    return np.concatenate([at, n + at])
