"""The additive cost model: a step takes the sum of what its parts take, each at the device's rate.

    t = sum_j  rate_dj  x_j,        log rate_dj = mu_j + s_d + delta_dj

with x the row of `cost_terms`, one scale s per device and a small departure delta per device and
entry.  All rates are positive.  mu, s and delta have Gaussian priors, so that a device with five
runs takes its pattern from the others and its scale from its runs; relative errors count, not
seconds.

Notation
--------
n  rows     J  entries     D  devices     q = J + D + D J  parameters (mu, s, delta)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

MEDIAN, SPREAD = -1.0, 2.0
"""Prior of mu: a rate of exp(-1), right within a factor of 7."""
SCALE_SPREAD, OWN_SPREAD = 1.5, 0.5
NOISE = 0.1
"""Log error that the model is given before its residual is looked at."""
GRADIENT = 1e-3
"""Of half the sum of squares, at which the fit is done."""


@dataclass(frozen=True)
class AdditiveCost:
    """Fitted log rates; device code D is that of a device without a run.

    ``parameters`` (q,) are mu, s and delta one after the other.
    """

    parameters: Array
    devices: int
    entries: int

    @property
    def rates(self) -> Array:
        """Seconds for each unit of each entry, (D, J)."""
        return np.asarray(np.exp(_log_rates(self.parameters, self.devices, self.entries)))

    def predict(self, terms: Array, device: Codes) -> Array:
        """Log time of each row, (n,)."""
        return np.asarray(np.log((terms * self.rates[device]).sum(axis=1)))

    def slopes(self, terms: Array, device: Codes) -> Array:
        """Derivatives of `predict` by the parameters, (n, q)."""
        parts = terms * self.rates[device]
        return _spread_out(parts / parts.sum(axis=1, keepdims=True), device, self.devices)

    @property
    def prior_mean(self) -> Array:
        """Of the parameters, (q,)."""
        return _prior(self.devices, self.entries)[0]

    @property
    def prior_variance(self) -> Array:
        """Of the parameters, (q,)."""
        return _prior(self.devices, self.entries)[1]


def fit_additive(
    terms: Array, log_y: Array, device: Codes, devices: int, start: Array | None = None
) -> AdditiveCost:
    """The most likely rates.

    Parameters
    ----------
    terms : array, (n, J)
        Rows of `cost_terms`.
    log_y : array, (n,)
        Logarithm of the measured time, energy or bytes.
    device : array of int, (n,)
        Code of each row's device, below ``devices``; a code without rows keeps its prior.
    devices : int
        D.
    start : array, (q,), optional
        Parameters to begin with.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    >>> y = np.log(x @ [2.0, 0.5])
    >>> np.exp(fit_additive(x, y, np.zeros(4, dtype=np.int64), 1).predict(x, np.zeros(4, int)))
    array([1.9..., 0.5..., 2.4..., 6.4...])
    """
    entries = terms.shape[1]
    mean, variance = _prior(devices, entries)
    root = np.sqrt(variance)

    def misfit(p: Array) -> Array:
        cost = (terms * np.exp(_log_rates(p, devices, entries))[device]).sum(axis=1)
        return np.concatenate([(np.log(cost) - log_y) / NOISE, (p - mean) / root])

    def jacobian(p: Array) -> Array:
        parts = terms * np.exp(_log_rates(p, devices, entries))[device]
        share = parts / parts.sum(axis=1, keepdims=True) / NOISE
        return np.concatenate([_spread_out(share, device, devices), np.diag(1.0 / root)])

    fit = minimize(
        lambda p: 0.5 * float(np.sum(misfit(p) ** 2)), mean if start is None else start,
        jac=lambda p: jacobian(p).T @ misfit(p),
        hess=lambda p: np.asarray(jacobian(p).T @ jacobian(p)),  # of Gauss and Newton
        method="trust-exact", options={"maxiter": 100, "gtol": GRADIENT},
    )  # fmt: skip
    return AdditiveCost(np.asarray(fit.x), devices, entries)


def _log_rates(p: Array, devices: int, entries: int) -> Array:
    own = p[entries + devices :].reshape(devices, entries)
    return np.asarray(p[:entries] + p[entries : entries + devices, None] + own)


def _spread_out(share: Array, device: Codes, devices: int) -> Array:
    """Each row's shares at mu, their sum at its device's s, and again at its device's delta."""
    n, entries = share.shape
    own = np.zeros((n, devices, entries))
    own[np.arange(n), device] = share
    scale = np.zeros((n, devices))
    scale[np.arange(n), device] = share.sum(axis=1)
    return np.concatenate([share, scale, own.reshape(n, -1)], axis=1)


def _prior(devices: int, entries: int) -> tuple[Array, Array]:
    mean = np.concatenate([np.full(entries, MEDIAN), np.zeros(devices * (1 + entries))])
    spread = np.concatenate([
        np.full(entries, SPREAD), np.full(devices, SCALE_SPREAD),
        np.full(devices * entries, OWN_SPREAD),
    ])  # fmt: skip
    return mean, spread**2
