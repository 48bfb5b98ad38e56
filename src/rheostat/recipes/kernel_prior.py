"""Prior medians of a GPU type's parameters from its measured kernels.

Kernels say what memory and arithmetic reach and what that draws.  They say nothing of the host, of
prompts or of the cache: a step composed of them is too short, by half at small batches, so the
time of the host for each step and for each request stays to be fitted (per token, c + d / B).

Notation
--------
M, F, D  the maker's bytes/s, flop/s and watts      b, f, w  the kernels'
bandwidth = b / M     compute = f / F     static = w_idle / D
moving = (w_few - w_idle) / (D bandwidth)           computing = (w_many - w_idle) / (D compute)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rheostat.errors import DataError
from rheostat.measurement.serving.kernel_tables import KernelRates
from rheostat.prediction.serving_law.accelerators import accelerator

WATTS = ("static", "moving", "computing")


def kernel_prior(rates: Iterable[KernelRates]) -> dict[str, dict[str, float]]:
    """Medians by GPU type; types that the law does not know are left out.

    A type whose kernels have no watts gets the median shares of those that have.

    >>> rates = KernelRates("NVIDIA B200", 5.5e12, 1.4e15, 260.0, 640.0, 990.0)
    >>> {k: round(v, 2) for k, v in kernel_prior([rates])["NVIDIA B200"].items()}
    {'bandwidth': 0.69, 'compute': 0.62, 'static': 0.26, 'moving': 0.55, 'computing': 1.17}
    """
    made: dict[str, dict[str, float]] = {}
    for r in rates:
        try:
            gpu = accelerator(r.device)
        except DataError:
            continue
        bandwidth = min(r.memory_b_per_s / gpu.memory_b_per_s, 1.0)
        compute = min(r.flop_per_s / gpu.flop_per_s, 1.0)
        parts = {
            "bandwidth": bandwidth, "compute": compute, "static": r.idle_w / gpu.power_w,
            "moving": (r.moving_w - r.idle_w) / (gpu.power_w * bandwidth),
            "computing": (r.computing_w - r.idle_w) / (gpu.power_w * compute),
        }  # fmt: skip
        made[r.device] = {k: v for k, v in parts.items() if np.isfinite(v) and v > 0}
    for name in WATTS:  # comparable between types, also where the kernels of one have no watts
        known = [numbers[name] for numbers in made.values() if name in numbers]
        for numbers in made.values() if known else ():
            numbers.setdefault(name, float(np.median(known)))
    return made
