"""Where does our method fall short, and are those the pools that no past application resembles?

A method that leans on other applications should do worst where none of them is like the target.  So
every pool is given its distance to the most similar other application, and the ranks of distance
and shortfall are correlated.

Notation
--------
f : (N, 2) log objectives of a pool    g_q : (N, 2) those of application q at the nearest settings
unlikeness = min_q mean over objectives of rms(f - mean f - g_q + mean g_q) / range(f)

Reference: C. Spearman, "The proof and measurement of association between two things", 1904.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from .pools import PAIRS, Pool, prior_of
from .stats import Scores

LARGEST = 6


def unlikeness(pool: Pool, others: list[Pool], columns: tuple[int, int]) -> float:
    """Distance in shape to the most similar of ``others``, 0 where one is the same; NaN if none."""
    own = pool.log_y[:, list(columns)]
    own = own - own.mean(axis=0)
    found = []
    for q in others:
        gap = ((pool.x[:, None] - pool.scale.unit(q.settings)[None]) ** 2).sum(axis=2)
        theirs = q.log_y[gap.argmin(axis=1)][:, list(columns)]
        off = own - (theirs - theirs.mean(axis=0))
        found.append(float(np.mean(np.sqrt((off**2).mean(axis=0)) / np.ptp(own, axis=0))))
    return min(found, default=float("nan"))


def by_pool(scores: Scores, pools: list[Pool]) -> list[str]:
    """A table of all pools under a sentence on what the shortfall goes with."""
    if "ours" not in scores.methods:
        return []
    at = {p.name: p for p in pools}
    lines, table = [], []
    for o in scores.objectives:
        share = _means(scores, "hv_attainable", "ours", o, 4)
        unlike = np.array(
            [unlikeness(at[p], prior_of(at[p], pools), PAIRS[o]) for p in scores.pools]
        )
        lines.append(_sentence(o, 1 - share, unlike))
        columns = [unlike, share, _means(scores, "hv_attainable", "botorch", o, 4)]
        columns += [_means(scores, "regret", m, o, 2) for m in ("ours", "botorch")]
        for pool, *cells in zip(scores.pools, *columns, strict=True):
            table.append(f"| {pool} | {o} | " + " | ".join(f"{c:.3f}" for c in cells) + " |")
    said = (
        "Share of the attainable hypervolume at 4 evaluations and regret at 2, mean over seeds. "
        "*Unlikeness*: how far the shape of the curves is from that of the most similar other "
        "application of the family, as a share of their range."
    )
    names = "pool, objectives, unlikeness, ours @4, botorch @4, ours regret @2, botorch regret @2"
    head = "| " + names.replace(", ", " | ") + " |"
    return [said, "", *lines, "", head, "|" + "---|" * 7, *sorted(table)]


def _means(scores: Scores, metric: str, method: str, objectives: str, budget: int) -> np.ndarray:
    """Mean over seeds (P,); NaN for pools not run."""
    if method not in scores.methods:
        return np.full(len(scores.pools), np.nan)
    rows = scores.of(metric, method, objectives, budget)
    return np.array([r[np.isfinite(r)].mean() if np.isfinite(r).any() else np.nan for r in rows])


def _sentence(objectives: str, short: np.ndarray, unlike: np.ndarray) -> str:
    """What the shortfall at 4 evaluations goes with."""
    known = np.isfinite(short) & np.isfinite(unlike)
    if known.sum() < 3:
        return f"- {objectives}: too few pools with other applications."
    found = spearmanr(unlike[known], short[known])
    run = short[np.isfinite(short)]
    top = np.sort(run)[::-1][:LARGEST].sum() / max(float(run.sum()), 1e-12)
    return (
        f"- {objectives}: {LARGEST} of {len(run)} pools make up {top:.0%} of what `ours` misses; "
        f"rank correlation of shortfall and unlikeness {found.statistic:.2f} "
        f"(p = {found.pvalue:.1g}, {int(known.sum())} pools)."
    )
