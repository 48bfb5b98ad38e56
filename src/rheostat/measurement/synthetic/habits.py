"""How people use the generated site: who runs what, when, at which size, again and again.

A *project* is one user running one application.  It has a favourite node count (mostly a power of
two), a few problem sizes, a wall-time habit, a season in which it is active, and it repeats its
last submission more often than not.  These are the regularities a model of job logs lives on, and
the confounding it suffers from: large problems go to many nodes.

Notation
--------
P  projects        n  jobs        all arrays below are (P,) or (n,)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.measurement.synthetic.site_law import Apps, Array

Ints = NDArray[np.int64]

GIB = 2.0**30
LIMITS_S = 3600.0 * np.array([0.5, 1, 2, 4, 6, 8, 12, 24, 36, 48, 72, 96])
SIZES = np.array([0.5, 1.0, 2.0, 4.0])
BINS = 25


@dataclass(frozen=True)
class ProjectHabits:
    """P projects: what each runs and how it usually asks for it."""

    user: Ints
    app: Ints
    weight: Array
    level: Array
    size: Array
    margin: Array
    start: Array
    stop: Array
    nameless: NDArray[np.bool_]

    @classmethod
    def draw(cls, apps: Apps, n_users: int, rng: np.random.Generator) -> ProjectHabits:
        """Every application has at least one project; each user has one to three."""
        n_apps = len(apps.work_s)
        user = np.repeat(np.arange(n_users), rng.integers(1, 4, n_users))
        p = max(len(user), n_apps)
        user = np.concatenate([user, rng.integers(0, n_users, p - len(user))])
        app = np.concatenate([np.arange(n_apps), rng.integers(0, n_apps, p - n_apps)])
        start = np.where(rng.random(p) < 0.5, 0.0, rng.random(p) * 0.9)
        start[:n_apps] = 0.0
        return cls(
            user=rng.permutation(user),
            app=app,
            weight=1 / (1 + rng.permutation(p)) ** 0.8,
            level=np.clip(rng.normal(2.5, 1.6, p), 0, 7),
            size=2 ** rng.normal(0, 0.7, p),
            margin=rng.uniform(1.1, 3.0, p),
            start=start,
            stop=np.where(np.arange(p) < n_apps, 1.0, start + rng.uniform(0.3, 1.5, p)),
            nameless=rng.random(p) < 0.15,
        )

    def active(self, when: Array, rng: np.random.Generator) -> Ints:
        """The project of each job; ``when`` runs from 0 (first job) to 1 (last)."""
        bins = np.minimum((when * BINS).astype(np.int64), BINS - 1)
        u, chosen = rng.random(len(when)), np.zeros(len(when), dtype=np.int64)
        for b in np.unique(bins):
            here, middle = bins == b, (b + 0.5) / BINS
            w = self.weight * ((self.start <= middle) & (middle <= self.stop))
            chosen[here] = np.searchsorted(np.cumsum(w) / w.sum(), u[here], side="right")
        return np.asarray(np.minimum(chosen, len(self.weight) - 1))

    def nodes(self, project: Ints, max_nodes: int, rng: np.random.Generator) -> Ints:
        """Asked-for nodes: 85 % powers of two around the favourite, the rest anything near it."""
        level = self.level[project] + rng.normal(0, 1.0, len(project))
        odd = rng.random(len(project)) < 0.15
        wanted = 2.0 ** np.where(odd, level, np.rint(level))
        return np.asarray(np.clip(np.rint(wanted), 1, max_nodes), dtype=np.int64)

    def memory_b(
        self, project: Ints, apps: Apps, when: Array, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Memory of the whole job in whole GiB: the visible trace of the problem size."""
        step = SIZES[rng.choice(4, len(project), p=[0.2, 0.45, 0.25, 0.1])]
        x = self.size[project] * step * np.exp(0.25 * when)
        gib = np.maximum(1, np.rint(apps.memory_b[self.app[project]] * x / GIB))
        return np.asarray(gib * GIB, dtype=np.int64)

    def limit_s(self, project: Ints, guess_s: Array) -> Array:
        """Wall time asked for: a guess times a personal margin, up to the next usual figure."""
        want = np.minimum(guess_s * self.margin[project], LIMITS_S[-1])
        return np.asarray(LIMITS_S[np.searchsorted(LIMITS_S, want)])


def repeated(project: Ints, rng: np.random.Generator, again: float = 0.6) -> Ints:
    """Index of the job whose request each job repeats (itself where it asks for something new).

    >>> repeated(np.array([0, 1, 0]), np.random.default_rng(0), again=1.0)
    array([0, 1, 0])
    """
    order = np.argsort(project, kind="stable")
    grouped = project[order]
    first = np.concatenate([[True], grouped[1:] != grouped[:-1]])[: len(order)]
    fresh = first | (rng.random(len(order)) >= again)
    source = np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))
    result = np.empty_like(order)
    result[order] = order[source]
    return result
