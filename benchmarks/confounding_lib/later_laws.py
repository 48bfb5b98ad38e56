"""Four more laws, written when the method stood, to judge it by; nothing was set on them.

`halo`: nodes exchange the surface of their share, and messages wait.  `cache`: a node works faster
on a share that its cache holds, slower on one that its memory does not.  `tail`: a power of the
nodes above a floor, with a noise of each user's own whose tails are heavy (Student's t, three
degrees of freedom).  `tree`: reductions along a tree, and a serial part.

Notation
--------
A  applications      n  nodes      x  problem size, 1 = typical      w = work x^g
halo   t = w / n + w (a x^-b n^(-2/3) + c x^-d log2(n + 1))
cache  t = w / n (1 + a s(v)) (1 + c where v > 12) + w d x^-0.3,  v = b x / n,  s = v^6 / (1 + v^6)
tail   t = w n^-a + w b x^-c
tree   t = w / n + w (a x^-c log2 n + b x^-d)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.measurement.synthetic.site_law import Apps, Array

from .laws import LawApps

LATER = ("halo", "cache", "tail", "tree")


@dataclass(frozen=True)
class LaterApps(LawApps):
    """A applications under one of `LATER`; a to d as in the notation."""

    a: Array
    b: Array
    c: Array
    d: Array

    @classmethod
    def draw(cls, law: str, n_apps: int, rng: np.random.Generator) -> LaterApps:
        """Overheads from negligible to most of the runtime."""
        plain = Apps.draw(n_apps, rng)

        def between(low: float, high: float) -> Array:
            return rng.uniform(low, high, n_apps)

        if law == "halo":
            a, b = 10 ** between(-1.5, 0.2), between(0.2, 0.5)
            return cls(law, plain, a, b, 10 ** between(-3.5, -1.7), between(0.1, 0.6))
        if law == "cache":
            a, b = between(0.1, 0.6), 2 ** between(1, 7)
            c = between(0.5, 3.0) * (rng.random(n_apps) < 0.4)
            return cls(law, plain, a, b, c, 10 ** between(-3, -1))
        if law == "tail":
            a, b = between(0.35, 0.95), 10 ** between(-3, -0.8)
            return cls(law, plain, a, b, between(0.2, 0.9), between(0, 1))
        a, b = 10 ** between(-3.5, -1.3), 10 ** between(-3.5, -1.2)
        return cls(law, plain, a, b, between(0.1, 0.9), between(0.3, 1.0))

    def divided_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """The part of the runtime that nodes share."""
        n, work = np.asarray(nodes, dtype=float), self.work(app, size)
        if self.law == "tail":
            return np.asarray(work * n ** -self.a[app])
        if self.law != "cache":
            return np.asarray(work / n)
        share = size * self.b[app] / n
        slow = 1 + self.a[app] / (1 + np.maximum(share, 1e-9) ** -6)
        return np.asarray(work / n * slow * (1 + self.c[app] * (share > 12)))

    def runtime_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """Seconds without noise of each row."""
        n = np.asarray(nodes, dtype=float)
        a, b, c, d = (v[app] for v in (self.a, self.b, self.c, self.d))
        part = {
            "halo": a * size**-b * n ** (-2 / 3) + c * np.log2(n + 1) * size**-d,
            "cache": d * size**-0.3,
            "tail": b * size**-c,
            "tree": a * size**-c * np.log2(n) + b * size**-d,
        }[self.law]
        return np.asarray(self.divided_s(app, n, size) + self.work(app, size) * part)

    def noise(self, app: Array, user: Array) -> Array:
        """Standard deviation of log runtime between runs of one problem at one setting."""
        own = 0.02 * 15.0 ** np.random.default_rng([len(self.work_s), 11]).random(user.max() + 1)
        return np.asarray(own[user] if self.law == "tail" else self.plain.noise[app])

    def noise_draws(self, rng: np.random.Generator, n: int) -> Array:
        """Draws of unit variance of that noise, (n,)."""
        heavy = self.law == "tail"
        return np.asarray(rng.standard_t(3, n) / 3**0.5 if heavy else rng.standard_normal(n))
