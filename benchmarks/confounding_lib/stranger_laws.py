"""Laws of runtime and power that no form of the fitted model contains, for sites of known truth.

`floor`: a power of the nodes above a part that no node shortens.  `communication`: divided work and
a part that grows with the nodes.  `kinks`: straight lines on log axes that break where a problem
fits into memory and where it is too small for its nodes, both at other nodes for other problems.
`blocks`: a problem comes in blocks that nodes take whole, so that time falls in steps and then not.
`imbalance`: all wait for the slowest of the nodes, the more the more there are.
`unshared`: communication, on nodes that share no watts, so that more nodes never take less energy.
`users`: communication, and a noise of runtime that is each user's own, from 2 % to 40 %.

Notation
--------
A  applications      n  nodes      x  problem size, 1 = typical
floor          t = w x^g n^-a + f x^h
communication  t = w x^g / n + c x^h n^p
kinks          t = w x^g / n s(n / (m x)) u(n / (k x^h)),  s(v) = 1 + o if v < 1, u(v) = v^.9 if
               v > 1, else both are 1
blocks         t = w x^g ceil(b / n) / b,  b = k x^h
imbalance      t = w x^g / n (1 + c x^-h log2(n)^2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.measurement.synthetic.site_law import Apps, Array

from .laws import LawApps

LAWS = ("floor", "communication", "kinks", "users", "blocks", "imbalance", "unshared")


@dataclass(frozen=True)
class StrangerApps(LawApps):
    """A applications under one of `LAWS`, arrays (A,)."""

    exponent: Array
    overhead_s: Array
    growth: Array
    first: Array
    last: Array
    out_of_core: Array

    @classmethod
    def draw(cls, law: str, n_apps: int, rng: np.random.Generator) -> StrangerApps:
        """Overheads from negligible to half of the runtime on sixteen nodes."""
        plain = Apps.draw(n_apps, rng)
        if law == "unshared":
            plain = replace(plain, shared_w=np.zeros(n_apps))
        part = 10 ** rng.uniform(-2.2, -0.2, n_apps)
        floor = law == "floor"
        exponent = rng.uniform(0.7, 1.0, n_apps) if floor else rng.uniform(0.2, 0.9, n_apps)
        scale = 16.0**-exponent if floor else 16.0 ** -(1 + exponent)
        return cls(
            law, plain, exponent, part * plain.work_s * scale, rng.uniform(0.0, 0.8, n_apps),
            2 ** rng.uniform(0, 4, n_apps), 2 ** rng.uniform(3.5, 8, n_apps),
            np.where(rng.random(n_apps) < 0.5, rng.uniform(0.2, 1.5, n_apps), 0.0),
        )  # fmt: skip

    def divided_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """The part of the runtime that nodes share."""
        power = self.exponent[app] if self.law == "floor" else 1.0
        return np.asarray(self.work_s[app] * size ** self.plain.growth[app] / nodes**power)

    def runtime_s(self, app: Array, nodes: Array, size: Array) -> Array:
        """Seconds without noise of each row."""
        n = np.asarray(nodes, dtype=float)
        divided = self.divided_s(app, n, size)
        rest = self.overhead_s[app] * size ** self.growth[app]
        if self.law == "floor":
            return np.asarray(divided + rest)
        if self.law == "kinks":
            few = n < self.first[app] * size
            beyond = np.maximum(n / (self.last[app] * size ** self.growth[app]), 1.0)
            return np.asarray(divided * (1 + few * self.out_of_core[app]) * beyond**0.9)
        if self.law == "blocks":
            blocks = self.last[app] * size ** self.growth[app]
            return np.asarray(divided * n * np.ceil(blocks / n) / blocks)
        if self.law == "imbalance":
            share = self.overhead_s[app] / self.work_s[app] * 16.0 ** (1 + self.exponent[app])
            return np.asarray(
                divided * (1 + share / 2 * size ** -self.growth[app] * np.log2(n) ** 2)
            )
        return np.asarray(divided + rest * n ** self.exponent[app])

    def fastest_nodes(self) -> Array:
        """Nodes beyond which a typical problem gains little or loses, (A,)."""
        ratio = self.work_s / self.overhead_s
        if self.law == "floor":
            return np.asarray((4 * ratio) ** (1 / self.exponent))
        if self.law in ("kinks", "blocks", "imbalance"):
            return self.last
        return np.asarray((ratio / self.exponent) ** (1 / (1 + self.exponent)))

    def noise(self, app: Array, user: Array) -> Array:
        """Standard deviation of log runtime between runs of one problem at one setting."""
        own = 0.02 * 20.0 ** np.random.default_rng([len(self.work_s), 9]).random(user.max() + 1)
        return np.asarray(own[user] if self.law == "users" else self.plain.noise[app])
