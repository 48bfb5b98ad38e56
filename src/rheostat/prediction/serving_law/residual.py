"""What the law leaves over: a Gaussian process over model, GPU type, workload, batch and GPUs.

A step may be slow for one model on one GPU for reasons no law holds (a kernel that is missing, a
server that runs without captured graphs).  A measurement of it therefore says most about the same
model on the same GPU under the same workload at a similar batch, less about its neighbours, least
about the rest.

Notation
--------
n, m  rows       k_same(x) = 1 where names agree       k_near(x, l) = exp(-(dx / l)^2 / 2)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.serving_law.configurations import Array, Configurations

NOISE = 0.05
"""Relative error of one measurement."""
# standard deviations of log residuals: by model; by GPU and workload; by model and GPU; by model,
# GPU and workload; by GPU and size of the model; by GPU, workload and size
BY_MODEL, BY_PLACE, BY_PAIR, BY_TRIPLE, BY_SIZE, BY_KIND = 0.15, 0.12, 0.12, 0.12, 0.12, 0.2
BATCH, GPUS, SIZE, FINE = 3.0, 1.5, 1.5, 1.0  # length scales in doublings


def covariance(a: Configurations, b: Configurations) -> Array:
    """Prior covariance of log residuals between rows of ``a`` and of ``b``: (n, m)."""
    model, gpu, workload = _same(a.app, b.app), _same(a.gpu, b.gpu), _same(a.workload, b.workload)
    batch = _near(a.batch, b.batch, BATCH)
    gpus = _near(a.gpus, b.gpus, GPUS) * _near(a.pp, b.pp, GPUS)
    size = _near(a.active, b.active, SIZE) * _near(a.params, b.params, SIZE)
    return np.asarray(
        BY_MODEL**2 * model * batch
        + BY_PLACE**2 * gpu * workload * batch
        + BY_PAIR**2 * model * gpu * batch * gpus
        + BY_TRIPLE**2 * model * gpu * workload * _near(a.batch, b.batch, FINE) * gpus
        + BY_SIZE**2 * gpu * size * batch
        + BY_KIND**2 * gpu * workload * size * batch
    )


def _same(a: NDArray[np.str_], b: NDArray[np.str_]) -> Array:
    return np.asarray(a[:, None] == b[None, :], dtype=float)


def _near(a: Array, b: Array, length: float) -> Array:
    difference = np.log2(a)[:, None] - np.log2(b)[None, :]
    return np.asarray(np.exp(-0.5 * (difference / length) ** 2))
