"""The law: time and energy of one decoding step of a served language model.

All requests that run take one token per step.  A step reads the weights it touches and the cache of
every request, computes on each token, exchanges activations between the GPUs, and waits for the
host.  Every GPU draws its static power for the whole step, and more while it moves bytes or
computes.  Energy per token is the energy of a step over the tokens of a step.

Notation
--------
B  requests that run at once (the batch cap)      G  GPUs (tensor x pipeline x expert parallel)
W  bytes of weights touched in a step             A, P  parameters active per token, in all
K  bytes of cache read per request                M, F, L, D  a GPU's bytes/s, flop/s, link, watts

    t     = host + request B + sqrt(t_w^2 + t_c^2) + t_k + [G > 1] log2 G (sync + exchange B a / L)
    t_w   = W / (G M bandwidth)       t_k = B K / (G M)       t_c = 2 A B / (G F compute)
    W     = bytes (A + (P - A) (1 - exp(-experts B A / P)))   the experts that B tokens touch
    E     = G D (static t + moving (t_w bandwidth + t_k) + computing t_c compute) / B    per token

A dense model has A = P.  K grows with the square root of A, the exchanged activations a too: public
models widen with the root of their size.  Every parameter is positive; the prior of each is a
log-normal around a value of measurements on other machines (ML.ENERGY V2: A100 and H100).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.prediction.serving_law.configurations import Array, Configurations


@dataclass(frozen=True)
class Parameter:
    """A positive number of the law: its unit, its prior median and log standard deviation."""

    name: str
    unit: str
    median: float
    spread: float
    meaning: str


PARAMETERS = (
    Parameter("host", "s", 5e-3, 0.7, "time of a step that nothing else explains"),
    Parameter("request", "s", 8e-5, 1.0, "host time per running request"),
    Parameter("bandwidth", "", 0.75, 0.3, "share of the memory bandwidth that is reached"),
    Parameter("compute", "", 0.4, 0.5, "share of the arithmetic rate that is reached"),
    Parameter("cache", "B", 2e7, 1.0, "cache read per request, for 1e9 active parameters"),
    Parameter("sync", "s", 3e-3, 1.0, "time to join the GPUs, per doubling of their number"),
    Parameter("exchange", "B", 1e7, 1.0, "bytes exchanged per request, for 1e9 active parameters"),
    Parameter("experts", "", 1.0, 0.4, "how evenly tokens spread over the experts"),
    Parameter("static", "", 0.25, 0.5, "share of the rated power drawn all the time"),
    Parameter("moving", "", 0.5, 0.5, "share drawn besides at full memory bandwidth"),
    Parameter("computing", "", 0.5, 0.5, "share drawn besides at full arithmetic rate"),
)
MEDIAN = np.log([p.median for p in PARAMETERS])
SPREAD = np.array([p.spread for p in PARAMETERS])
HIGHEST = np.where([p.name in ("bandwidth", "compute") for p in PARAMETERS], 0.0, np.inf)
"""No rate is above the maker's."""


def step(log_parameters: Array, c: Configurations) -> tuple[Array, Array]:
    """Logarithms of the time of a step (s) and of the energy per token (J), each (n,)."""
    (host, request, bandwidth, compute, cache, sync, exchange, experts, static, moving,
     computing) = np.exp(log_parameters)  # fmt: skip
    touched = 1.0 - np.exp(-experts * c.batch * c.active / c.params)
    weights_b = c.weight_b * (c.active + (c.params - c.active) * touched)
    root = np.sqrt(c.active / 1e9)
    t_weights = weights_b / (c.gpus * c.memory_b_per_s * bandwidth)
    t_cache = c.batch * cache * root / (c.gpus * c.memory_b_per_s)
    t_compute = 2.0 * c.active * c.batch / (c.gpus * c.flop_per_s * compute)
    t_joined = np.log2(c.gpus) * (sync + exchange * c.batch * root / c.link_b_per_s)
    time = host + request * c.batch + np.hypot(t_weights, t_compute) + t_cache + t_joined
    busy = moving * (t_weights * bandwidth + t_cache) + computing * t_compute * compute
    energy = c.gpus * c.power_w * (static * time + busy) / c.batch
    return np.log(time), np.log(energy)


def jacobian(log_parameters: Array, c: Configurations, *, step_size: float = 1e-5) -> Array:
    """Derivatives of `step` stacked (2n,) by each log-parameter: (2n, parameters)."""
    at = np.concatenate(step(log_parameters, c))
    moves = np.eye(len(log_parameters)) * step_size
    return np.stack(
        [(np.concatenate(step(log_parameters + m, c)) - at) / step_size for m in moves], axis=1
    )
