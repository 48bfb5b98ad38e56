"""What the law takes from measured kernels as its prior of a GPU type.

Kernels say what memory, arithmetic and links reach and what that draws.  They say nothing of the
host or of prompts: a step composed of them is too short, by half at small batches, so the time of
the host for each step and for each request stays to be fitted (per token, c + d / B).

Notation
--------
M, F, L, D  the maker's bytes/s, flop/s, link bytes/s and watts      b, f, l, w  the kernels'
bandwidth = b / M     compute = f / F     link = l / L     static = w_idle / D
moving = (w_few - w_idle) / (D bandwidth)           computing = (w_many - w_idle) / (D compute)
cache = 2.5e7 bytes x 0.82 M / b of attention       (0.82: the A100 and H100 its prior is from)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from rheostat.errors import DataError
from rheostat.measurement.serving.kernel_tables import KernelRates
from rheostat.prediction.accelerators import Accelerator, accelerator
from rheostat.prediction.serving_law.law import MEDIAN, NAMES

CACHE_READ = 0.82
"""Share of the memory's rate that attention reaches on the GPUs the law's own prior is from."""
SAME_SHARE = ("static", "moving", "computing", "join_s", "link")
"""Numbers that a type without them takes from another."""


def kernel_prior(rates: Iterable[KernelRates]) -> dict[str, dict[str, float]]:
    """Numbers by GPU type (`kernel_medians`); types that the law does not know are left out.

    Shares of watts and of links, and how much slower experts are read than other weights, a type
    without them takes from that of the nearest rated watts which has them.

    >>> from rheostat.measurement.serving.kernel_weights import WeightRates
    >>> measured = {16: WeightRates("vLLM", 5.5e12, 1.4e15, 260.0, 640.0, 990.0)}
    >>> numbers = kernel_prior([KernelRates("NVIDIA B200", measured)])["NVIDIA B200"]
    >>> {k: round(v, 2) for k, v in numbers.items()}
    {'bandwidth': 0.69, 'compute': 0.62, 'static': 0.26, 'moving': 0.55, 'computing': 1.17}
    """
    made: dict[str, dict[str, float]] = {}
    for r in rates:
        try:
            gpu = accelerator(r.device)
        except DataError:
            continue
        numbers = _weights(r, gpu) | _joins(r, gpu)
        if r.cache_b_per_s > 0:
            reached = min(r.cache_b_per_s / gpu.memory_b_per_s, 1.0)
            numbers["cache"] = math.exp(MEDIAN[NAMES.index("cache")]) * CACHE_READ / reached
        made[r.device] = {k: v for k, v in numbers.items() if np.isfinite(v) and v > 0}
    _lend(made)
    return made


def _weights(r: KernelRates, gpu: Accelerator) -> dict[str, float]:
    """Shares of the maker's rates and of its watts.

    Products of 8 and 4 bits are left out: with them the choice is worse (docs/systems/energylens).
    """
    numbers = {
        f"bandwidth of experts of {bits} bits": min(e.memory_b_per_s / gpu.memory_b_per_s, 1.0)
        for bits, e in r.experts.items()
    }
    if 16 in r.products:
        p = r.products[16]
        bandwidth = min(p.memory_b_per_s / gpu.memory_b_per_s, 1.0)
        compute = min(p.flop_per_s / gpu.flop_per_s, 1.0)
        numbers |= {
            "bandwidth": bandwidth, "compute": compute, "static": p.idle_w / gpu.power_w,
            "moving": (p.moving_w - p.idle_w) / (gpu.power_w * bandwidth),
            "computing": (p.computing_w - p.idle_w) / (gpu.power_w * compute),
        }  # fmt: skip
    return numbers


def _joins(r: KernelRates, gpu: Accelerator) -> dict[str, float]:
    pairs = [(f" of {n} GPUs", j) for n, j in r.joins.items()]
    seconds = {f"join_s{of}": j.seconds for of, j in pairs}
    return seconds | {f"link{of}": j.b_per_s / gpu.link_b_per_s for of, j in pairs}


def _lend(made: dict[str, dict[str, float]]) -> None:
    """Fill, in place, what some types have and others have not."""
    names = sorted({name for numbers in made.values() for name in numbers})
    for name in names:
        known = {d: dict(n) for d, n in made.items() if name in n and "bandwidth" in n}
        for device, numbers in made.items():
            if name in numbers or "bandwidth" not in numbers or not known:
                continue
            near = min(known, key=lambda other: _watts_apart(device, other))
            if name.split(" of ")[0] in SAME_SHARE:
                numbers[name] = known[near][name]
            elif "experts" in name:
                slower = known[near][name] / known[near]["bandwidth"]
                numbers[name] = min(slower * numbers["bandwidth"], 1.0)


def _watts_apart(device: str, other: str) -> float:
    return abs(math.log(accelerator(device).power_w / accelerator(other).power_w))
