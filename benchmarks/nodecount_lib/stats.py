"""Means, paired differences and their bootstrap intervals over pools and seeds.

A score belongs to a pool and a seed.  Both were drawn: other pools and other seeds could have been
run.  So the bootstrap draws pools with replacement and, within each, seeds with replacement, and
takes the mean; the middle 95 % of 2,000 such means is the interval.  Two methods are compared on
the pools and seeds both were run on, pair by pair, because a seed's start is shared.

Notation
--------
P pools   S seeds   scores : (P, S), NaN where a seed was not run   B bootstrap means

Reference: B. Efron, R. Tibshirani, "An introduction to the bootstrap", 1993, chapter 13.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from .pools import Array
from .replay import Row

BOOTSTRAPS = 2000
METRICS = ("hv_fraction", "hv_attainable", "regret")
BEYOND_NOISE = ("hv_attainable_noise", "regret_noise")
LOWER_IS_BETTER = {"regret", "regret_noise"}
Cell = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def text(self, digits: int = 3) -> str:
        """`0.912 [0.897, 0.925]`."""
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


class Scores:
    """Rows by (method, objectives, budget) as (pools, seeds) arrays."""

    def __init__(self, rows: list[Row]) -> None:
        self.methods = list(dict.fromkeys(r["method"] for r in rows))
        self.pools = list(dict.fromkeys(r["pool"] for r in rows))
        self.objectives = list(dict.fromkeys(r["objectives"] for r in rows))
        self.budgets = sorted({r["budget"] for r in rows})
        self.seeds = 1 + max(r["seed"] for r in rows)
        at = {p: i for i, p in enumerate(self.pools)}
        kept = (*METRICS, *BEYOND_NOISE)
        blank = np.full((len(kept), len(self.pools), self.seeds), np.nan)
        self._cells: dict[Cell, Array] = defaultdict(blank.copy)
        for r in rows:
            cell = self._cells[r["method"], r["objectives"], r["budget"]]
            values = [np.nan if r.get(m) is None else r[m] for m in kept]
            cell[:, at[r["pool"]], r["seed"]] = values

    def of(self, metric: str, method: str, objectives: str, budget: int) -> Array:
        """Scores (P, S) of one method; NaN where it was not run."""
        return self._cells[method, objectives, budget][(*METRICS, *BEYOND_NOISE).index(metric)]

    def mean(self, metric: str, method: str, objectives: str, budget: int) -> float:
        """Mean over pools of the means over seeds; NaN if nothing was run."""
        scores = self.of(metric, method, objectives, budget)
        rows = scores[np.isfinite(scores).any(axis=1)]
        return (
            float(np.mean([r[np.isfinite(r)].mean() for r in rows])) if len(rows) else float("nan")
        )

    def complete(self, method: str) -> bool:
        """Whether a method has been run on every pool; means over fewer are not comparable."""
        cells = [self.of("regret", method, o, self.budgets[-1]) for o in self.objectives]
        return all(bool(np.isfinite(c).any(axis=1).all()) for c in cells)

    def best_peer(
        self, metric: str, objectives: str, budget: int, ours: str = "ours"
    ) -> str | None:
        """The peer with the best mean, chosen afresh for this cell, which favours the peers.

        Only methods run on every pool are candidates.
        """
        peers = [m for m in self.methods if m != ours and self.complete(m)]
        means = {m: self.mean(metric, m, objectives, budget) for m in peers}
        known = {m: v for m, v in means.items() if np.isfinite(v)}
        pick = min if metric in LOWER_IS_BETTER else max
        return pick(known, key=known.__getitem__) if known else None


def bootstrap(scores: Array, seed: int = 0) -> Estimate:
    """Mean of (P, S) scores and its interval; pools without any score are passed over."""
    rows = [r[np.isfinite(r)] for r in scores]
    rows = [r for r in rows if len(r)]
    if not rows:
        return Estimate(float("nan"), float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    means = np.stack(
        [r[rng.integers(len(r), size=(BOOTSTRAPS, len(rows), len(r)))].mean(axis=2) for r in rows]
    )
    which = rng.integers(len(rows), size=(BOOTSTRAPS, len(rows)))
    drawn = means[which, np.arange(BOOTSTRAPS)[:, None], np.arange(len(rows))[None, :]].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(float(np.mean([r.mean() for r in rows])), float(low), float(high))


def difference(
    scores: Scores, metric: str, ours: str, peer: str, *, cell: tuple[str, int]
) -> Estimate:
    """Paired mean of ours minus peer over common pools and seeds, with its interval."""
    return bootstrap(scores.of(metric, ours, *cell) - scores.of(metric, peer, *cell))


def verdict(metric: str, d: Estimate) -> str:
    """`ahead`, `behind` or `level`, by whether the interval excludes zero; `same` if both are
    equal."""
    if d.low == d.high == 0.0:
        return "same"
    sign = -1 if metric in LOWER_IS_BETTER else 1
    low, high = sorted((sign * d.low, sign * d.high))
    return "ahead" if low > 0 else "behind" if high < 0 else "level"
