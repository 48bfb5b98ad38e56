"""What an application costs at a setting: the law behind the generated site, free of noise.

Runtime follows the universal scalability law (contention and coherency on top of perfect
division of work), a cache term makes some applications faster than linear, and power is affine
in the number of nodes: each node of an application draws the same watts, and a part (its share of
service nodes, storage and network) does not depend on the node count.

Notation
--------
A  applications      n  nodes      x  problem size, 1 = typical      c  cap of one node, watts
t(n, x) = w x^b / n * (1 + s (n - 1) + k n (n - 1)) * (1 - h logistic(2 (log2 n - log2(m x))))
P(n, x) = p0 + p1 n
w node-seconds   b growth with size   s contention   k coherency   h cache gain   m nodes at which
a typical problem fits into cache
Under a cap, the speed of the compute-bound part f goes with the cube root of the dynamic power.

References
----------
Gunther, N.: A general theory of computational scalability based on rational functions (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

IDLE_SHARE = 0.35


@dataclass(frozen=True)
class Apps:
    """Hidden parameters of A applications, each array (A,); see the notation above."""

    work_s: Array
    growth: Array
    contention: Array
    coherency: Array
    cache_gain: Array
    cache_nodes: NDArray[Any]
    shared_w: Array
    node_w: Array
    compute_bound: Array
    memory_b: Array
    noise: Array
    gpus_per_node: NDArray[np.int64]

    @classmethod
    def draw(cls, n_apps: int, rng: np.random.Generator, work_scale: float = 1.0) -> Apps:
        """Applications of many kinds: well and badly scaling, a third of them super-linear."""

        def u(low: float, high: float) -> Array:
            return rng.uniform(low, high, n_apps)

        gpus = np.where(rng.permutation(n_apps) % 2 == 0, 4, 0)
        node_w = np.where(gpus > 0, u(900, 1900), u(350, 750))
        superlinear = rng.permutation(n_apps) % 3 == 0
        return cls(
            work_s=work_scale * 10 ** u(3.6, 5.2),
            growth=u(0.9, 1.4),
            contention=10 ** u(-4, -1.5),
            coherency=10 ** u(-6.5, -3.3),
            cache_gain=np.where(superlinear, u(0.3, 0.55), 0.0),
            cache_nodes=2 ** u(1, 5),
            shared_w=node_w * u(0.1, 2.0),
            node_w=node_w,
            compute_bound=u(0.2, 0.95),
            memory_b=2 ** u(33, 38),
            noise=u(0.02, 0.06),
            gpus_per_node=gpus,
        )

    def runtime_s(self, app: NDArray[np.int64], nodes: NDArray[Any], size: Array) -> Array:
        """Seconds without noise of each row: application index, nodes, problem size."""
        n = np.asarray(nodes, dtype=float)
        scaled = 1 + self.contention[app] * (n - 1) + self.coherency[app] * n * (n - 1)
        fits = np.log2(n) - np.log2(self.cache_nodes[app] * size)
        cache = 1 - self.cache_gain[app] / (1 + np.exp(-2 * fits))
        return np.asarray(self.work_s[app] * size ** self.growth[app] / n * scaled * cache)

    def fastest_nodes(self) -> Array:
        """Nodes beyond which coherency makes each application slower, (A,), cache effects aside."""
        return np.sqrt((1 - self.contention) / self.coherency)

    def power_w(self, app: NDArray[np.int64], nodes: NDArray[Any]) -> Array:
        """Mean watts of the whole job without noise."""
        return np.asarray(self.shared_w[app] + self.node_w[app] * np.asarray(nodes, dtype=float))

    def under_cap(self, app: NDArray[np.int64], cap_w: Array) -> tuple[Array, Array]:
        """(slowdown factor, watts of one node) under a cap of one node; NaN means no cap."""
        full, idle = self.node_w[app], IDLE_SHARE * self.node_w[app]
        cap = np.where(np.isnan(cap_w), full, cap_w)
        dynamic = np.clip((cap - idle) / (full - idle), 0.02, 1.0)
        bound = self.compute_bound[app]
        return bound * dynamic ** (-1 / 3) + 1 - bound, idle + dynamic * (full - idle)
