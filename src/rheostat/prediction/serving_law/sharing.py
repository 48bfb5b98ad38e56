"""How much rows have in common: parameters and residuals vary over models, GPU types and services.

A step may be slow on one type of server for reasons no law holds: its host runs without captured
graphs, a kernel of one weight format is missing.  A measurement therefore says most about the same
model on the same GPU under the same workload, less about its neighbours, least about the rest.
A hybrid's state is read as no cache is; weights of 8 bits take their kernels longer than the bytes
they save, those of experts above all; models of one kind and size may be one network, tuned twice.
How many tokens of prompts there are is the workload's where lengths were not stated; where they
were, little of that is left for its name to say, which then tells servers apart: another engine,
another host of the same GPUs, dearer or cheaper whatever model they serve.  What the law leaves
over of requests of one length it leaves over of all such, wherever they are served.
Each parameter of the law, and the logarithm of what it leaves over, is a sum of independent normal
deviations, one for each level below; two rows share a level as far as its covariance says.

Notation
--------
n, m  rows       k_same(x) = 1 where names agree       k_near(x, l) = exp(-(dx / l)^2 / 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.serving_law.configurations import Array, Configurations

GPUS, PLACEMENT_BATCH, SERVICE_BATCH, SIZE = 1.4, 2.0, 1.5, 0.5  # length scales in doublings
LENGTH = 1.5  # of prompts and answers; unstated ones are like any

PARAMETERS: Mapping[str, Mapping[str, float]] = {
    "host": {"every": 0.7, "gpu": 0.5, "placement": 0.55, "kind, placement": 0.3,
             "placement, batch": 0.6, "run": 0.3, "run, batch": 0.2},
    "request": {"every": 0.9, "kind": 0.5, "workload": 0.5, "placement": 0.5, "run": 0.5},
    "bandwidth": {"every": 0.15, "gpu": 0.1, "app": 0.15, "app, gpu": 0.1, "kind, format": 0.4},
    "compute": {"every": 0.25, "gpu": 0.3, "app": 0.3},
    "cache": {"every": 0.6, "kind": 0.6, "app": 0.3, "workload": 0.6, "app, workload": 0.6},
    "sync": {"every": 0.5, "gpu": 0.4, "app": 0.6},
    "exchange": {"every": 0.8, "gpu": 0.4, "app": 0.5},
    "experts": {"every": 0.3, "app": 0.5},
    "static": {"every": 0.3, "gpu": 0.15},
    "moving": {"every": 0.2, "gpu": 0.25, "kind, format": 0.3},
    "computing": {"every": 0.2, "gpu": 0.15},
    "prefill": {"every": 0.7, "requests": 1.44, "workload": 0.42, "app, requests": 0.672,
                "app, workload": 0.196},
    "prepare": {"every": 1.0, "workload": 2.0, "placement": 0.8, "run": 0.6},
    "crowd": {"every": 0.7, "workload": 1.2},
}  # fmt: skip
"""Standard deviations of the log-parameters of `law`, level by level."""
RESIDUALS: tuple[Mapping[str, float], ...] = (
    {"server": 0.05, "lengths": 0.1, "size": 0.1, "app": 0.03,
     "run": 0.13, "run, batch": 0.085, "itself": 0.08},
    {"server": 0.05, "lengths": 0.1, "size": 0.12, "app": 0.08,
     "run": 0.08, "run, batch": 0.065, "itself": 0.05},
    {"server": 0.05, "lengths": 0.1, "size": 0.1, "app": 0.06,
     "run": 0.08, "run, batch": 0.03, "itself": 0.05},
)  # fmt: skip
"""Of the logarithms of the time of a step, the energy per token and the power, beside the law."""
TOGETHER = np.array([[1.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.0]])
"""Their correlations: half of a slow step's surplus is energy's too, at less power."""


def levels(a: Configurations, b: Configurations) -> dict[str, Array]:
    """How far rows of ``a`` and of ``b`` share each level, 0 to 1: (n, m) each."""
    app, gpu, workload = _same(a.app, b.app), _same(a.gpu, b.gpu), _same(a.workload, b.workload)
    gpus = np.prod(
        [_near(getattr(a, f), getattr(b, f), GPUS) for f in ("gpus", "pp", "dp")], axis=0
    )
    long = _near(a.prompt, b.prompt, LENGTH) * _near(a.output, b.output, LENGTH)
    # the format of the weights decides which kernels run, and how much the host has to do
    weights = _same(a.weight_b, b.weight_b)
    requests = _same(_requests(a), _requests(b))
    stated = np.outer(_stated(a), _stated(b))
    placement = gpu * workload * gpus * weights
    kind = _same(a.kind, b.kind)
    size = kind * _near(a.params, b.params, SIZE) * _near(a.active, b.active, SIZE)
    run = app * gpu * workload * gpus * long
    alike = [_same(getattr(a, f), getattr(b, f)) for f in
             ("gpus", "pp", "ep", "dp", "batch", "cap_w")]  # fmt: skip
    return {
        "every": np.ones((len(a), len(b))), "kind": kind, "kind, format": kind * weights,
        "size": size, "app": app, "gpu": gpu, "workload": workload,
        "server": gpu * workload * stated, "lengths": long * stated,
        "requests": requests, "app, requests": app * requests,
        "app, gpu": app * gpu, "app, workload": app * workload, "placement": placement,
        "kind, placement": kind * placement,
        "placement, batch": placement * _near(a.batch, b.batch, PLACEMENT_BATCH),
        "run": run, "run, batch": run * _near(a.batch, b.batch, SERVICE_BATCH),
        "itself": (long > 1.0 - 1e-9) * run * np.prod(alike, axis=0),
    }  # fmt: skip


@dataclass(frozen=True)
class PriorCovariance:
    """Prior covariances (n, m) between rows: of each parameter, and of the residuals by level."""

    parameters: Mapping[str, Array]
    by_level: Mapping[str, Array]

    @cached_property
    def _by_row(self) -> Array:
        """Covariances of all parameters (k), (n, k, 1, m)."""
        return np.stack(list(self.parameters.values()), axis=1)[:, :, None]

    @staticmethod
    def between(a: Configurations, b: Configurations) -> PriorCovariance:
        """What rows of ``a`` have in common with rows of ``b``."""
        by_level = levels(a, b)
        made = {name: covariance(by_level, spreads) for name, spreads in PARAMETERS.items()}
        return PriorCovariance(made, by_level)

    def residual(self, i: int, j: int) -> Array:
        """Covariance of the residuals of quantities ``i`` and ``j``."""
        both = {k: (s * RESIDUALS[j][k]) ** 0.5 for k, s in RESIDUALS[i].items()}
        return np.asarray(TOGETHER[i, j] * covariance(self.by_level, both))

    def add_parameters(
        self, total: Array, of_a: Array, of_b: Array,
        kinds_a: Sequence[int], kinds_b: Sequence[int],
    ) -> None:  # fmt: skip
        """Add to ``total``, in place, what the parameters do to both, by their slopes."""
        a, b = (
            slopes.reshape(len(kinds), len(slopes) // len(kinds), len(self.parameters))
            for slopes, kinds in ((of_a, kinds_a), (of_b, kinds_b))
        )
        blocks = total.reshape(len(kinds_a), a.shape[1], len(kinds_b), b.shape[1])
        moved = self._by_row
        other = np.ascontiguousarray(b.transpose(2, 0, 1))
        for i, row in enumerate(moved):  # one row at a time stays in the processor's cache
            both = (row * other).reshape(len(self.parameters), -1)
            blocks[:, i] += (a[:, i] @ both).reshape(len(a), *b.shape[:2])


def covariance(shared: Mapping[str, Array], spreads: Mapping[str, float]) -> Array:
    """Prior covariance (n, m) of a quantity with these standard deviations per level."""
    total = np.zeros_like(next(iter(shared.values())))
    for level, spread in spreads.items():
        total += spread**2 * shared[level]
    return total


def variance(spreads: Mapping[str, float]) -> float:
    """Prior variance of the quantity at one row."""
    return sum(spread**2 for spread in spreads.values())


def _requests(c: Configurations) -> NDArray[np.str_]:
    """What says how long requests are, by name: their lengths where stated, else the workload."""
    return np.where(_stated(c), "lengths are stated", c.workload)


def _stated(c: Configurations) -> NDArray[np.bool_]:
    return np.isfinite(c.prompt + c.output)


def _same(a: NDArray[np.generic], b: NDArray[np.generic]) -> Array:
    return np.asarray(a[:, None] == b[None, :], dtype=float)


def _near(a: Array, b: Array, length: float) -> Array:
    difference = np.nan_to_num(np.log2(a)[:, None] - np.log2(b)[None, :])
    return np.asarray(np.exp(-0.5 * (difference / length) ** 2))
