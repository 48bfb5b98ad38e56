"""Does the simulation behave like the site?  Compare simulated waits with those the site logged.

A what-if answer about a machine is worth what a replay under the machine's own policy is worth.
Sites restrict queues, reserve nodes, drain for maintenance and change their rules; a replay that
knows nothing of this may wait far less or more than the log says.  Three figures judge it: how far
the two distributions of waits are apart, whether the same jobs wait long, and whether the queue is
deep at the same times.

    Symbol  Shape  Meaning
    a       (n,)   waits logged, s
    b       (n,)   waits simulated, s, of the same jobs
    D              Kolmogorov-Smirnov distance: the largest gap between the two distributions
    rho            Spearman's rank correlation of a and b
    q              correlation of the queue's depth, logged and simulated, over hours

References
----------
Massey, "The Kolmogorov-Smirnov test for goodness of fit", JASA 46, 1951.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.measurement.job_logs.log_usage import logged_waits as recorded
from rheostat.simulation.timeline import even_edges, mean_in, steps

Array = np.ndarray
FEWEST = 30
BIN_S = 3600.0
MOST_BINS = 20_000
CLOSE = {"ks": 0.1, "wait_rank_correlation": 0.6, "queue_correlation": 0.8}
ROUGH = {"ks": 0.25, "wait_rank_correlation": 0.3, "queue_correlation": 0.5}


@dataclass(frozen=True)
class Replay:
    """How near a run is to the log; ``verdict`` is "close", "rough" or "far"."""

    jobs: int
    ks: float
    wait_rank_correlation: float
    queue_correlation: float
    logged_mean_wait_s: float
    simulated_mean_wait_s: float
    logged_p95_wait_s: float
    simulated_p95_wait_s: float

    @property
    def verdict(self) -> str:
        """The better of two verdicts all of whose limits hold (`CLOSE`, `ROUGH`), else "far"."""
        for name, limits in (("close", CLOSE), ("rough", ROUGH)):
            rest = (getattr(self, k) >= v for k, v in limits.items() if k != "ks")
            if self.ks <= limits["ks"] and all(rest):
                return name
        return "far"

    @property
    def words(self) -> str:
        """What the verdict allows to be said."""
        return {
            "close": "close to the log: differences between policies may be believed.",
            "rough": "rough: believe which policy is better, not by how many minutes.",
            "far": "far from the log: a what-if on this trace is about a model of the site, "
            "not about the site.",
        }[self.verdict]

    def facts(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"verdict": self.verdict, "meaning": self.words}


def logged_waits(trace: JobTable, run: JobTable) -> Array | None:
    """(n,) wait that the log tells of each simulated job, NaN unknown; None: too few are known.

    ``run`` holds rows of ``trace`` in the same order, the rows left out missing.
    """
    if len(trace) < FEWEST:
        return None
    wait = recorded(trace)
    if np.isfinite(wait).sum() < FEWEST or not (wait > 0).any():
        return None
    result = wait if len(trace) == len(run) else _matched(trace, run, wait)
    return np.where(result >= 0, result, np.nan)


def _matched(trace: JobTable, run: JobTable, wait: Array) -> Array:
    """By job number, where there is one, and submission; the first of several that share both."""
    if "job_id" in trace.schema:
        ran = trace.frame["job_id"].is_in(run.frame["job_id"].implode()).fill_null(value=False)
        if ran.sum() == len(run):  # no other job has a number of these: a join takes ten times more
            same: Array = wait[ran.to_numpy()]
            return same
    keys = [k for k in ("job_id", "submit_s") if k in trace.schema]
    known = trace.frame.select(keys).with_columns(logged=pl.Series(wait))
    known = known.unique(keys, keep="first", maintain_order=True)
    result = run.frame.select(keys).join(known, on=keys, how="left", maintain_order="left")
    return result["logged"].fill_null(np.nan).to_numpy()


def replay(trace: JobTable, run: JobTable) -> Replay | None:
    """Compare a simulated ``run`` of ``trace`` with the waits logged in it; None: it has none."""
    logged = logged_waits(trace, run)
    if logged is None:
        return None
    known = np.isfinite(logged)
    a, b = logged[known], run.numpy("wait_s")[known]
    submit = run.numpy("submit_s")[known]
    return Replay(
        len(a),
        ks_distance(a, b),
        correlation(_ranks(a), _ranks(b)),
        correlation(*queues(submit, a, b)),
        float(a.mean()),
        float(b.mean()),
        float(np.percentile(a, 95)),
        float(np.percentile(b, 95)),
    )


def ks_distance(a: Array, b: Array) -> float:
    """Largest gap between the two empirical distributions.

    >>> ks_distance(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    1.0
    """
    a, b = np.sort(a), np.sort(b)
    return max(float(np.abs(_below(a, at) - _below(b, at)).max()) for at in (a, b))


def _below(ordered: Array, at: Array) -> Array:
    """Share of ``ordered`` that is at most ``at``."""
    share: Array = np.searchsorted(ordered, at, side="right") / len(ordered)
    return share


def queues(submit: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """(m,), (m,) mean numbers of waiting jobs in each hour, logged and simulated."""
    begin, end = float(submit.min()), float((submit + np.maximum(a, b)).max())
    bins = int(np.clip((end - begin) // BIN_S, 24, MOST_BINS))
    edges, one = even_edges(begin, end, bins), np.ones(len(submit))
    return tuple(mean_in(*steps(submit, submit + w, one), edges) for w in (a, b))  # type: ignore[return-value]


def correlation(a: Array, b: Array) -> float:
    """Pearson's; NaN where one of the two does not vary."""
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum() / size) if size > 0 else float("nan")


def _ranks(values: Array) -> Array:
    """Ranks, equal values sharing their mean rank."""
    return pl.Series(values).rank("average").to_numpy()
