"""Three laws written to judge intervals of logs that record sizes; nothing was set on them.

`sweep`: a wave passes the square of the nodes, which it fills and drains.  `storage`: files are
read through servers that few nodes saturate.  `decks`: inputs of one application and size are of
two kinds that the log does not tell apart, one of which hardly gains beyond some nodes.

Notation
--------
A  applications      n  nodes      x  problem size, 1 = typical      w = work x^g
sweep    t = w / n (1 + a n^.5 x^-b) + c w
storage  t = w / n + w d x^-b / min(n, k)
decks    t = w / n (1 + (n / k)^1.1 [kind])   kind : of every second interval of log x, a wide
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.measurement.synthetic.site_law import Apps, Array

from .laws import LawApps

RECENT = ("sweep", "storage", "decks")


@dataclass(frozen=True)
class RecentApps(LawApps):
    """A applications under one of `RECENT`; the arrays (A,) as in the notation."""

    a: Array
    b: Array
    c: Array
    k: Array

    @classmethod
    def draw(cls, law: str, n_apps: int, rng: np.random.Generator) -> RecentApps:
        """Overheads from negligible to most of the runtime."""
        plain = Apps.draw(n_apps, rng)
        return cls(
            law, plain, 10 ** rng.uniform(-2.5, -0.3, n_apps), rng.uniform(0.2, 0.8, n_apps),
            10 ** rng.uniform(-4, -2, n_apps), 2 ** rng.uniform(1, 6, n_apps),
        )  # fmt: skip

    def runtime_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """Seconds without noise of each row."""
        n, work = np.asarray(nodes, dtype=float), self.work(app, size)
        a, b, c, k = (v[app] for v in (self.a, self.b, self.c, self.k))
        if self.law == "sweep":
            return np.asarray(work / n * (1 + a * np.sqrt(n) * size**-b) + c * work)
        if self.law == "storage":
            return np.asarray(work / n + work * a * size**-b / np.minimum(n, k))
        kind = np.floor(np.log(size) / (a / 5 + 1e-3)) % 2
        return np.asarray(work / n * (1 + kind * (n / (4 * k)) ** 1.1))
