"""Is one policy better than another, by how much, and for whom?

Two policies are run over the same jobs, so they are compared job by job.  Neighbouring jobs share
one queue and are not independent: the interval of a mean difference comes from drawing *blocks of
time* with replacement, each with all its jobs under both policies.  A backlog that lasts longer
than a block still ties blocks together, which makes the interval too narrow on a machine that
never catches up.

    Symbol  Shape   Meaning
    b       (n,)    time block of each job, by its submission
    N       (B,)    jobs of each block
    S       (B, k)  sums of k quantities over the jobs of each block
    W       (m, B)  how often each of m drawings holds each block
    d               mean difference, policy less base; below zero is better

References
----------
Kuensch, "The jackknife and the bootstrap for general stationary observations", Annals of Statistics
17, 1989.  Student, "The probable error of a mean", Biometrika 6, 1908.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.schedule_metrics import bounded_slowdown

Array = np.ndarray
BLOCK_S = 7 * 86_400.0
FEWEST_BLOCKS = 20
DRAWS = 1000
LEVEL = 0.95
SAME_S = 1.0
BLOCK_JOBS = 10_000
QUANTITIES = ("wait_s", "bounded_slowdown", "response_s")


def blocks(submit_s: Array, length_s: float | None = None) -> tuple[Array, float]:
    """(b, block length in s): weeks, or a twentieth of the trace where that is shorter.

    >>> block, length = blocks(np.array([0.0, 5.0, 100.0]))
    >>> block.tolist(), length
    ([0, 1, 19], 5.0)
    """
    begin, end = float(submit_s.min()), float(submit_s.max())
    length = length_s or max(min(BLOCK_S, (end - begin) / FEWEST_BLOCKS), 1.0)
    last = max(0, int(np.ceil((end - begin) / length)) - 1)
    return np.minimum((submit_s - begin) // length, last).astype(np.int64), length


def block_sums(block: Array, *values: Array) -> tuple[Array, Array]:
    """(N, S) of the blocks that have jobs."""
    _, index = np.unique(block, return_inverse=True)
    count = np.bincount(index).astype(float)
    return count, np.stack([np.bincount(index, v) for v in values], axis=1)


def drawn_means(count: Array, sums: Array, *, seed: int, draws: int = DRAWS) -> Array:
    """(m, k) means over drawn blocks."""
    n = len(count)
    weight = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws)
    result: Array = (weight @ sums) / (weight @ count)[:, None]
    return result


def interval(values: Array, level: float = LEVEL) -> tuple[float, float]:
    """The middle ``level`` of drawn values; NaN if any is none."""
    low, high = np.quantile(values, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def over_traces(log_ratios: Array, level: float = LEVEL) -> tuple[float, float, float]:
    """(geometric mean, low, high) of ratios of independent traces: Student's t on their logarithms.

    What the ratio would be on other such traces.  One trace tells nothing of that: low is 0 and
    high is infinite.

    >>> [round(float(x), 3) for x in over_traces(np.log([0.5, 1.0, 2.0]))]
    [1.0, 0.179, 5.595]
    """
    ratio, low, high = np.exp(mean_interval(log_ratios, level))
    return float(ratio), float(low), float(high)


def mean_interval(values: Array, level: float = LEVEL) -> tuple[float, float, float]:
    """(mean, low, high) by Student's t; one value tells nothing of the spread: infinite.

    >>> mean_interval(np.array([3.0]))
    (3.0, -inf, inf)
    """
    from scipy.stats import t

    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, -float("inf"), float("inf")
    half = float(t.ppf((1 + level) / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def longest_by_block(wait_s: Array, size: int = BLOCK_JOBS) -> Array:
    """(B,) the longest wait, s, in each of about equal blocks of ``size`` jobs that follow on.

    ``wait_s`` (n,) is in order of submission.  The longest wait of a whole trace is that of one bad
    week, behind which everything else may hide.

    >>> longest_by_block(np.array([1.0, 5.0, 2.0, 3.0]), 2).tolist()
    [5.0, 3.0]
    """
    parts = np.array_split(wait_s, max(1, round(len(wait_s) / size)))
    return np.array([part.max() for part in parts])


def paired(jobs: JobTable, base: JobTable, *, seed: int = 0) -> dict[str, Any]:
    """Differences of ``jobs`` from ``base``, the same jobs row by row, with intervals.

    For each of wait, bounded slowdown and response: ``difference`` of the means and ``change``
    (relative to the base's mean), each with ``_low`` and ``_high``; differences of p95, p99 and
    max without; and how many jobs start sooner or later by more than a second.
    """
    _same(jobs, base)
    new, old = _values(jobs), _values(base)
    block, length = blocks(base.numpy("submit_s"))
    count, sums = block_sums(block, *new, *old)
    means = drawn_means(count, sums, seed=seed, draws=DRAWS)
    k = len(QUANTITIES)
    result: dict[str, Any] = {"level": LEVEL, "blocks": len(count), "block_s": length, "seed": seed}
    for i, name in enumerate(QUANTITIES):
        pair = means[:, i], means[:, k + i]
        result[name] = _difference(new[i], old[i], pair, LEVEL)
    moved = new[0] - old[0]
    sooner, later = moved < -SAME_S, moved > SAME_S
    return result | {"jobs_sooner": float(sooner.mean()), "jobs_later": float(later.mean())}


def _difference(new: Array, old: Array, means: tuple[Array, Array], level: float) -> dict[str, Any]:
    low, high = interval(means[0] - means[1], level)
    result = {"difference": float(new.mean() - old.mean()), "low": low, "high": high}
    if (means[1] > 0).all() and old.mean() > 0:
        less, more = interval(means[0] / means[1] - 1, level)
        change = float(new.mean() / old.mean() - 1)
        result |= {"change": change, "change_low": less, "change_high": more}
    at = np.percentile(new, (95, 99, 100)) - np.percentile(old, (95, 99, 100))
    return result | dict(zip(("p95", "p99", "max"), map(float, at), strict=True))


def _values(jobs: JobTable) -> tuple[Array, Array, Array]:
    wait, run = jobs.numpy("wait_s"), jobs.numpy("runtime_s")
    return wait, bounded_slowdown(wait, run), wait + run


def gains(jobs: JobTable, base: JobTable, *, most: int = 10) -> dict[str, Any]:
    """Who gains and who loses against ``base``: jobs, users (by mean wait), the biggest losers.

    A user gains or loses where the mean wait of the user's jobs moves by more than a minute.
    """
    _same(jobs, base)
    wait, before = jobs.numpy("wait_s"), base.numpy("wait_s")
    frame = pl.DataFrame({"wait_s": wait, "base_wait_s": before, "change_s": wait - before})
    frame = frame.with_columns(jobs.frame["job_id"], jobs.frame["procs"], jobs.frame["runtime_s"])
    moved = frame["change_s"].to_numpy()
    result: dict[str, Any] = {
        "jobs_gain": float((moved < -SAME_S).mean()),
        "jobs_lose": float((moved > SAME_S).mean()),
        "biggest_losers": _extreme(frame, most, losing=True),
        "biggest_gainers": _extreme(frame, most, losing=False),
    }
    if "user" not in jobs.schema or jobs.frame["user"].null_count() == len(jobs):
        return result
    users = _by_user(frame.with_columns(jobs.frame["user"]))
    change = users["change_s"].to_numpy()
    return result | {
        "users": len(users),
        "users_gain": float((change < -60).mean()),
        "users_lose": float((change > 60).mean()),
        "biggest_losing_users": _extreme(users, most, losing=True),
        "biggest_gaining_users": _extreme(users, most, losing=False),
    }


def _by_user(frame: pl.DataFrame) -> pl.DataFrame:
    known = frame.filter(pl.col("user").is_not_null())
    means = [pl.col(c).mean() for c in ("wait_s", "base_wait_s", "change_s")]
    return known.group_by("user").agg(pl.len().alias("jobs"), *means).sort("user")


def _extreme(frame: pl.DataFrame, most: int, *, losing: bool) -> list[dict[str, Any]]:
    hit = frame.filter(pl.col("change_s") > 0 if losing else pl.col("change_s") < 0)
    return hit.sort("change_s", descending=losing, maintain_order=True).head(most).to_dicts()


def _same(jobs: JobTable, base: JobTable) -> None:
    """Row i of both must be the same job."""
    if len(jobs) != len(base) or not jobs.frame["job_id"].equals(base.frame["job_id"]):
        raise DataError(
            "paired difference",
            [f"expected the same jobs in the same order, got {len(jobs)} and {len(base)} rows"],
        )
