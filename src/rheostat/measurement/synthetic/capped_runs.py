"""Generated runs under a CPU cap and a GPU cap, with the law that made them.

Each application has a part that the CPU paces, a part that the GPU paces and a part that neither
does.  A paced part slows down below the watts at which its device saturates, and a device draws
its cap or its appetite, whichever is less.

Notation
--------
A  applications      c, g  CPU and GPU cap, watts      a  steepness, between 0.4 and 1.2
t(c, g) = t0 (s + p max(1, C / c)^a + q max(1, G / g)^b),  s + p + q = 1
P(c, g) = min(c, C) + min(g, G)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.errors import DataError

CPU_CAPS = tuple(range(140, 201, 10))
GPU_CAPS = tuple(range(150, 251, 10))
MOST_RUNS = 10_000_000
"""A gigabyte in memory."""


def capped_runs(
    apps: int = 12,
    *,
    repeats: int = 1,
    noise: float = 0.01,
    cpu_caps: Sequence[float] = CPU_CAPS,
    gpu_caps: Sequence[float] = GPU_CAPS,
    seed: int = 0,
) -> JobTable:
    """Runs of ``apps`` applications at every pair of caps; noise is relative, one draw per run.

    >>> runs = capped_runs(2, noise=0.0)
    >>> len(runs), runs.frame["app"].unique().sort().to_list()
    (154, ['app00', 'app01'])
    """
    if (count := apps * repeats * len(cpu_caps) * len(gpu_caps)) > MOST_RUNS:
        problem = f"expected at most {MOST_RUNS:,} runs, {apps:,} applications and {repeats:,}"
        raise DataError("generated runs", [f"{problem} repeats come to {count:,}"])
    rng = np.random.default_rng(seed)
    t0 = rng.lognormal(4.0, 0.6, apps)
    share = rng.dirichlet((1.0, 1.0, 2.0), apps)
    cpu_full, gpu_full = rng.uniform(130, 210, apps), rng.uniform(100, 260, apps)
    steep = rng.uniform(0.4, 1.2, (2, apps))
    c, g = (x.ravel() for x in np.meshgrid(cpu_caps, gpu_caps, indexing="ij"))
    a, c, g = np.repeat(np.arange(apps), len(c)), np.tile(c, apps), np.tile(g, apps)
    slow_c = np.maximum(1, cpu_full[a] / c) ** steep[0, a]
    slow_g = np.maximum(1, gpu_full[a] / g) ** steep[1, a]
    runtime = t0[a] * (share[a, 0] + share[a, 1] * slow_c + share[a, 2] * slow_g)
    power = np.minimum(c, cpu_full[a]) + np.minimum(g, gpu_full[a])
    again = np.tile(np.arange(len(a)), repeats)
    wobble = np.exp(noise * rng.standard_normal((2, len(again))))
    names = [f"app{i:02d}" for i in range(apps)]
    return table(
        {
            "app": [names[i] for i in a[again]],
            "cpu_cap_w": c[again].astype(float),
            "gpu_cap_w": g[again].astype(float),
            "runtime_s": runtime[again] * wobble[0],
            "power_w": power[again] * wobble[1],
        }
    )
