"""What applications under laws that nobody fitted have in common: watts, noise, what `Apps` lends.

Nodes that wait draw less, so watts per node fall where a job scales badly.

Notation
--------
A  applications      n  nodes      x  problem size, 1 = typical      w = work x^g
P = p0 + p1 n (i + (1 - i) e),   e : share of the runtime that is divided work
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.measurement.synthetic.site_law import IDLE_SHARE, Apps, Array

LEAST_GAIN = 0.93
"""Users stop where twice the nodes leave more than this share of the time."""


@dataclass(frozen=True)
class LawApps:
    """A applications under ``law``; ``plain`` lends work, watts, memory and noise, arrays (A,)."""

    law: str
    plain: Apps

    @property
    def work_s(self) -> Array:
        """Node-seconds of a typical problem."""
        return self.plain.work_s

    @property
    def memory_b(self) -> Array:
        """Of a typical problem."""
        return self.plain.memory_b

    def work(self, app: Array, size: Array) -> Array:
        """Node-seconds of each row."""
        return np.asarray(self.work_s[app] * size ** self.plain.growth[app])

    def divided_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """The part of the runtime that nodes share."""
        return np.asarray(self.work(app, size) / nodes)

    def runtime_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """Seconds without noise of each row."""
        raise NotImplementedError

    def fastest_nodes(self) -> Array:
        """Nodes beyond which a typical problem gains little, (A,)."""
        every = np.arange(len(self.work_s))
        n = 2.0 ** np.arange(10)
        t = np.stack([self.runtime_s(every, k, np.ones(len(every))) for k in n])
        gains = t[1:] / t[:-1] < LEAST_GAIN
        return np.asarray(2.0 ** np.where(gains.all(0), 8, np.argmin(gains, axis=0)))

    def power_w(self, app: Array, nodes: Array, size: Array) -> Array:
        """Mean watts of the whole job without noise."""
        n = np.asarray(nodes, dtype=float)
        busy = np.minimum(self.divided_s(app, n, size) / self.runtime_s(app, n, size), 1.0)
        node = self.plain.node_w[app] * (IDLE_SHARE + (1 - IDLE_SHARE) * busy)
        return np.asarray(self.plain.shared_w[app] + node * n)

    def noise(self, app: Array, user: Array) -> Array:
        """Standard deviation of log runtime between runs of one problem at one setting."""
        return np.asarray(self.plain.noise[app])

    def noise_draws(self, rng: np.random.Generator, n: int) -> Array:
        """Draws of unit variance of that noise, (n,)."""
        return rng.standard_normal(n)
