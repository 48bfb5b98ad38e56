"""Sums over many advised jobs, and how many miss a limit, with intervals that count applications.

Notation
--------
d  draws      cluster : the jobs of one user with one application

References
----------
.. [Owen2012] Owen, A., Eckles, D.: Bootstrapping data arrays of arbitrary order. AoAS 6 (2012).
.. [Angelopoulos2024] Angelopoulos, A., Bates, S., Fisch, A., Lei, L., Schuster, T.: Conformal risk
   control. ICLR (2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.decision.batch_choice import BatchChoice

Codes = NDArray[np.int64]
Span = tuple[float, float, float]
"""A mean and its interval."""
RESAMPLED = 1000
"""Samples of applications behind the interval of a total, at least one for each draw."""


@dataclass(frozen=True)
class Change:
    """A total over jobs before and after, and the relative change with its interval."""

    before: float
    after: float
    change: Span


@dataclass(frozen=True)
class Summed:
    """Totals and missed limits of choices; ``by_users`` where a log tells the effect."""

    owners: Codes
    level: float
    by_users: bool

    def totals(self, chosen: BatchChoice) -> dict[str, Change]:
        """Sums by quantity; power is no sum."""
        summed = (q for q in chosen.quantities if q != "power_w")
        return {q: total(chosen, q, self.level, self.owners) for q in summed}

    def missed(self, chosen: BatchChoice, limits: Sequence[Any]) -> dict[str, Span | None]:
        """Shares of the advised jobs over the limits of runtime and of energy."""
        return {
            name: missed(
                chosen.over.get(q),
                self.level,
                self.owners,
                doubt_of(limits, q) if self.by_users else None,
            )
            for name, q in (("over_limit", "runtime_s"), ("more_energy", "energy_j"))
        }


def total(chosen: BatchChoice, quantity: str, level: float, owners: Codes) -> Change:
    """Sums over jobs; jobs without a prediction on both sides are left out.

    The interval is that of a two-way cluster bootstrap [Owen2012]_: each draw of the model adds up
    applications and users, both drawn with replacement, since an error about one is common to all
    of its jobs.  ``owners`` (clusters, kinds) has each cluster's application and user.
    """
    parts = chosen.sums[quantity]
    after, before = (p.sum(axis=1) for p in parts)
    if not chosen.compared.any():
        return Change(math.nan, math.nan, (math.nan,) * 3)
    low, high = np.quantile(_ratios(parts, owners) - 1.0, [(1 - level) / 2, (1 + level) / 2])
    change = float(after.mean() / before.mean() - 1.0), float(low), float(high)
    return Change(float(before.mean()), float(after.mean()), change)


def doubt_of(limits: Sequence[Any], quantity: str) -> float:
    """How often a job may miss the limits of a quantity that are relative, as the limits say."""
    relative = [c for c in limits if hasattr(c, "factor") and c.quantity == quantity]
    return float(max((1 - c.confidence for c in relative), default=0.0))


def missed(
    parts: tuple[Array, Array] | None, level: float, owners: Codes, doubt: float | None
) -> Span | None:
    """Share of the advised jobs that miss a limit, its interval as that of a total.

    What d draws never showed may still happen once in d + 1: the upper end is never less.  Where a
    log tells the effect, the forecast errs by application, and k applications promise no more than
    conformal risk control of k units does [Angelopoulos2024]_: one of k + 1 may miss in all its
    jobs.  Of that one the share ``doubt`` is expected to.  k counts applications by their jobs
    (Kish), since few may carry the advice; where it is less than two nothing is promised.
    """
    if parts is None or not parts[1].any():
        return None
    over, advised = (p.sum(axis=1) for p in parts)
    low, high = np.quantile(_ratios(parts, owners), [(1 - level) / 2, (1 + level) / 2])
    mean, d = float(over.mean() / advised.mean()), len(over)
    high = (d * high + 1) / (d + 1)
    if doubt is not None:
        jobs = np.bincount(owners[:, 0], parts[1].mean(axis=0), minlength=1)
        k = float(jobs.sum() ** 2 / (jobs**2).sum())
        mean = (k * mean + doubt) / (k + 1)
        high = (k * high + 1) / (k + 1) if k >= 2 else 1.0
    return mean, float(low), float(high)


def _ratios(parts: tuple[Array, Array], owners: Codes) -> Array:
    """Sums of the first over sums of the second, each (d, clusters), of resampled owners."""
    there = parts[1].any(axis=0)
    codes = [np.unique(c, return_inverse=True)[1] for c in owners[there].T]
    rng, ratios, draws = np.random.default_rng(0), [], len(parts[0])
    for _ in range(math.ceil(RESAMPLED / draws)):
        times = math.prod(_resampled(c, draws, rng) for c in codes)
        drawn, asked = ((times * p[:, there]).sum(axis=1) for p in parts)
        ratios.append(drawn[asked > 0] / asked[asked > 0])
    return np.concatenate(ratios)


def _resampled(code: Codes, samples: int, rng: np.random.Generator) -> Codes:
    """How often each row's owner was drawn in each sample, (samples, rows)."""
    k = int(code.max()) + 1
    return rng.multinomial(k, np.full(k, 1 / k), size=samples)[:, code]


def clusters(jobs: JobTable) -> tuple[Codes, Codes]:
    """Application and user, where known, of each cluster, (clusters, kinds); a job's cluster."""
    kinds = [
        jobs.frame[c].cast(pl.String).fill_null("").rank("dense").to_numpy()
        for c in ("app", "user")
        if c in jobs.columns
    ] or [np.zeros(len(jobs))]
    owners, cluster = np.unique(
        np.stack(kinds, axis=1).astype(np.int64), axis=0, return_inverse=True
    )
    return owners, cluster.reshape(-1)
