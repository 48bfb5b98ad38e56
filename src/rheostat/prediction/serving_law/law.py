"""The law: time and energy of one decoding step of a served language model.

All requests that run take one token per step.  A step reads the weights it touches and the cache of
every request, computes on each token, exchanges activations between the GPUs, and waits for the
host.  Every GPU draws its static power for the whole step, and more while it moves bytes or
computes.  Energy per token is the energy of a step over the tokens of a step, and that of computing
the prompts, over the tokens that answer them.

Notation
--------
B  requests that run at once (the batch cap)      G  GPUs: D copies x T tensor parallel x N stages
b  requests of one copy, B / D                    S  GPUs that weights are split over: T, or E where
W  bytes of weights touched in a step                copies of the attention share E GPUs of experts
K  bytes of cache read per request                A, P  parameters active per token, in all
M, F, L, H  a GPU's bytes/s, flop/s, link, watts  C  watts a GPU may draw (its power cap, else H)
p, o  tokens of a prompt and of its answer, where they were stated before the run

    t     = host + request b + sqrt(t_w^2 + t_c^2) + t_k
            + (log2 S + N - 1) (sync + exchange b / N a / L)
    t_w   = W / (S M bandwidth)       t_k = B K / (G M)       t_c = 2 A B / (G F compute)
    W     = bytes (A + (P - A) (1 - exp(-experts b S / T A / P)))   experts that their tokens touch
    K     = cache a (p + o / 2) / 540
    busy  = moving (t_w bandwidth + t_k) + computing t_c compute
    t     = H busy / (C - H static), where that is longer: a GPU slows down at its cap
    t_p   = 2 A r / (G F compute)                             prompts, per token of the answers
    r     = prefill p / (0.15 o) (1 + p l h / A)              attention grows with the prompt
    each  = t / B + t_p + q (0.3 + 0.7 / (1 + B / crowd))            s per token of the deployment
    q     = prepare 400 / o
    E     = G H (static each + busy / B + computing compute t_p)     per token; power = E / each

Where lengths were not stated K = cache a, r = prefill and q = prepare: 540 tokens of context, 0.15
of a prompt for each token of an answer, answers of 400 tokens.  Copies each read their own weights
for their own requests and exchange nothing.  The stages of a pipeline each read theirs for each of
N parts of the batch, one after the other.  A dense model has A = P.  K grows with the square root
of A, the exchanged activations a too: public models widen with the root of their size; they have
l = 32 (P / 8e9)^(1/3) layers of width h = sqrt(A / 12 l).  Every parameter is positive; the prior
of each is a log-normal around a value of measurements on other machines (ML.ENERGY V2: A100, H100).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rheostat.prediction.serving_law.configurations import Array, Configurations
from rheostat.prediction.serving_law.sharing import PARAMETERS as LEVELS
from rheostat.prediction.serving_law.sharing import variance


@dataclass(frozen=True)
class Parameter:
    """A positive number of the law: its unit, its prior median and what it is."""

    name: str
    unit: str
    median: float
    meaning: str


PARAMETERS = (
    Parameter("host", "s", 5e-3, "time of a step that nothing else explains"),
    Parameter("request", "s", 8e-5, "host time per running request"),
    Parameter("bandwidth", "", 0.6, "share of the memory bandwidth that is reached"),
    Parameter("compute", "", 0.5, "share of the arithmetic rate that is reached"),
    Parameter("cache", "B", 2.5e7, "cache read per request, for 1e9 active parameters"),
    Parameter("sync", "s", 3e-3, "time to join the GPUs, per doubling of their number"),
    Parameter("exchange", "B", 1e7, "bytes exchanged per request, for 1e9 active parameters"),
    Parameter("experts", "", 0.5, "routed share of a token's experts, over its share of weights"),
    Parameter("static", "", 0.25, "share of the rated power drawn all the time"),
    Parameter("moving", "", 0.6, "share drawn besides at full memory bandwidth"),
    Parameter("computing", "", 0.75, "share drawn besides at full arithmetic rate"),
    Parameter("prefill", "", 0.15, "tokens of prompts computed per token of the answers"),
    Parameter("prepare", "s", 3e-5, "time in which no GPU works, per token of the answers"),
    Parameter("crowd", "", 300, "requests at once that hide half of what can be hidden of it"),
)
NAMES = tuple(p.name for p in PARAMETERS)
MEDIAN = np.log([p.median for p in PARAMETERS])
SPREAD = np.array([variance(LEVELS[p.name]) ** 0.5 for p in PARAMETERS])
"""Standard deviation of each log-parameter at one configuration before anything is measured."""
SEEN = 0.3
"""Share of the time to prepare a request that no crowd hides: hosts prepare so many and no more."""
RATES = np.array([n in ("bandwidth", "compute") for n in NAMES])
NEAR = 0.1
"""How far, in the logarithm, from the maker's rates it tells that none is above them: smoothly, as
the most likely parameters were sought in dozens of steps to and fro over a kink there."""
LEAST_HEADROOM = 0.05
"""Share of the rated power that is left for work at the tightest cap that is told apart."""


CONTEXT, PROMPTS, ANSWER = 540.0, 0.15, 400.0
"""Tokens of context, of prompts for each token of an answer, and of an answer, where not stated."""


class Lengths(NamedTuple):
    """How many times what is assumed of unstated lengths the stated ones take, (n,) each."""

    context: Array
    prefill: Array
    answers: Array


def lengths(c: Configurations) -> Lengths:
    """Context, prefill per token of the answers, and answers, over those of unstated lengths."""
    layers = 32.0 * np.cbrt(c.params / 8e9)
    attention = c.prompt * np.sqrt(layers * c.active / 12.0) / c.active
    made = ((c.prompt + c.output / 2) / CONTEXT,
            c.prompt / c.output / PROMPTS * (1.0 + attention), ANSWER / c.output)  # fmt: skip
    stated = np.isfinite(c.prompt + c.output)
    return Lengths(*(np.where(stated, m, 1.0) for m in made))


def step(log_parameters: Array, c: Configurations) -> tuple[Array, Array, Array]:
    """Logarithms of the time of a step (s), energy per token (J) and mean power (W), each (n,).

    ``log_parameters`` are those of all rows, (k,), or of each row, (n, k).
    """
    (host, request, bandwidth, compute, cache, sync, exchange, experts, static, moving, computing,
     prefill, prepare, crowd) = in_units(log_parameters).T  # fmt: skip
    split, batch = c.experts_split, c.batch / c.dp
    crowd_of_experts = batch * split / c.split
    touched = 1.0 - np.exp(-experts * crowd_of_experts * c.active / c.params)
    weights_b = c.weight_b * (c.active + (c.params - c.active) * touched)
    root, long = np.sqrt(c.active / 1e9), lengths(c)
    t_weights = weights_b / (split * c.memory_b_per_s * bandwidth)
    t_cache = c.batch * cache * long.context * root / (c.gpus * c.memory_b_per_s)
    t_compute = 2.0 * c.active * c.batch / (c.gpus * c.flop_per_s * compute)
    hops = np.log2(split) + c.pp - 1.0
    t_joined = hops * (sync + exchange * batch / c.pp * root / c.link_b_per_s)
    time = host + request * batch + np.hypot(t_weights, t_compute) + t_cache + t_joined
    busy = moving * (t_weights * bandwidth + t_cache) + computing * t_compute * compute
    headroom = np.maximum(c.cap_w / c.power_w - static, LEAST_HEADROOM)
    time = np.maximum(time, busy / headroom)
    prompts = prefill * long.prefill * token_s(compute, c)
    hidden = SEEN + (1.0 - SEEN) / (1.0 + c.batch / crowd)
    each = time / c.batch + prompts + prepare * long.answers * hidden
    work = static * each + busy / c.batch + computing * compute * prompts
    energy = c.gpus * c.power_w * work
    return np.log(time), np.log(energy), np.log(energy / each)


def in_units(log_parameters: Array) -> Array:
    """The parameters in their units, (..., k); rates that a maker states are below 1.

    Examples
    --------
    >>> [f"{in_units(x * RATES).min():.3f}" for x in (-0.5, 0.0, 9.0)]
    ['0.606', '0.933', '1.000']
    """
    below = np.where(RATES, -NEAR * np.logaddexp(0.0, -log_parameters / NEAR), log_parameters)
    return np.asarray(np.exp(below))


def token_s(compute: Array | float, c: Configurations) -> Array:
    """Seconds that one token of a prompt takes at a share of the arithmetic rate: (n,)."""
    return np.asarray(2.0 * c.active / (c.gpus * c.flop_per_s * compute))


def jacobian(log_parameters: Array, c: Configurations, *, step_size: float = 1e-5) -> Array:
    """Derivatives of `step` stacked (3n,) by each row's log-parameters: (3n, parameters)."""
    at = np.concatenate(step(log_parameters, c))
    moves = np.eye(len(PARAMETERS)) * step_size
    return np.stack(
        [(np.concatenate(step(log_parameters + m, c)) - at) / step_size for m in moves], axis=1
    )
