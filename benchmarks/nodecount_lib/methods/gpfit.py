"""Fast MAP hyper-parameters for BoTorch's default Gaussian process.

BoTorch maximises the exact marginal likelihood plus its log-normal priors by automatic
differentiation, some 150 ms for twenty points on one core.  The same objective has a short
closed-form gradient, so it is maximised here in a few milliseconds from several starts and the
optimum is written into the model.  A test holds the objective, as GPyTorch itself computes it,
against BoTorch's own fit.

Notation
--------
x : (n, d)  inputs in the unit cube       y : (n,)  standardised targets
l : (d,)  length-scales                   s  noise variance       K = exp(-|x - x'|^2 / 2 l^2) + s I
theta = (log l_1 .. log l_d, log s); the constant mean m = 1'K^-1 y / 1'K^-1 1 is profiled out
"""

from __future__ import annotations

import numpy as np
import torch
from botorch.models import SingleTaskGP
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize

from ..pools import Array

STARTS = ((0.3, 1e-3), (1.0, 1e-2), (0.15, 0.1))
"""Length-scale (times sqrt d) and noise that the local optimisation starts from."""


def fit_map(model: SingleTaskGP) -> SingleTaskGP:
    """Set every output's length-scales, noise and mean to their MAP values, in place."""
    x = model.train_inputs[0].reshape(-1, *model.train_inputs[0].shape[-2:])[0].numpy()
    y = model.train_targets.reshape(-1, len(x)).numpy()
    kernel, noise = model.covar_module, model.likelihood.noise_covar
    priors = [
        (float(p.loc.reshape(-1)[0]), float(p.scale.reshape(-1)[0]))
        for p in (kernel.lengthscale_prior, noise.noise_prior)
    ]
    lower = (
        float(kernel.raw_lengthscale_constraint.lower_bound),
        float(noise.raw_noise_constraint.lower_bound),
    )
    found = [_best(x, target, priors, lower) for target in y]
    shape = kernel.lengthscale.shape
    with torch.no_grad():
        kernel.lengthscale = torch.tensor(np.stack([f[0] for f in found])).reshape(shape)
        noise.noise = torch.tensor([f[1] for f in found]).reshape(noise.noise.shape)
        model.mean_module.constant.copy_(
            torch.tensor([f[2] for f in found]).reshape(model.mean_module.constant.shape)
        )
    return model.eval()


def _best(
    x: Array, y: Array, priors: list[tuple[float, float]], lower: tuple[float, float]
) -> tuple[Array, float, float]:
    d = x.shape[1]
    gap2 = (x[:, None, :] - x[None, :, :]) ** 2
    bounds = [(np.log(lower[0]) + 1e-6, np.log(1e3))] * d + [
        (np.log(lower[1]) + 1e-6, np.log(10.0))
    ]
    runs = []
    for scale, noise in STARTS:
        start = np.append(np.full(d, np.log(scale * np.sqrt(d))), np.log(noise))
        runs.append(
            minimize(
                negative_map,
                start,
                args=(gap2, y, priors),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
            )
        )
    theta = min(runs, key=lambda r: float(r.fun)).x
    return np.exp(theta[:-1]), float(np.exp(theta[-1])), _state(theta, gap2, y)[2]


def _state(theta: Array, gap2: Array, y: Array) -> tuple[Array, tuple[Array, bool], float, Array]:
    n = len(y)
    signal = np.exp(-0.5 * gap2 @ np.exp(-2 * theta[:-1]))
    factor = (cholesky(signal + np.exp(theta[-1]) * np.eye(n), lower=True), True)
    ones = cho_solve(factor, np.ones(n))
    mean = float(ones @ y / ones.sum())
    return signal, factor, mean, cho_solve(factor, y - mean)


def negative_map(
    theta: Array, gap2: Array, y: Array, priors: list[tuple[float, float]]
) -> tuple[float, Array]:
    """Minus the log posterior of `theta` (up to a constant) and its gradient."""
    n = len(y)
    signal, factor, mean, alpha = _state(theta, gap2, y)
    inner = np.outer(alpha, alpha) - cho_solve(factor, np.eye(n))
    value = -0.5 * (y - mean) @ alpha - np.log(np.diag(factor[0])).sum()
    slope = [
        0.5 * np.sum(inner * signal * gap2[:, :, j]) * np.exp(-2 * theta[j])
        for j in range(len(theta) - 1)
    ]
    gradient = np.append(slope, 0.5 * np.trace(inner) * np.exp(theta[-1]))
    for j, t in enumerate(theta):
        loc, scale = priors[1] if j == len(theta) - 1 else priors[0]
        value -= t + 0.5 * ((t - loc) / scale) ** 2
        gradient[j] -= 1 + (t - loc) / scale**2
    return -float(value), -gradient
