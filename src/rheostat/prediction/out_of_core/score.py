"""How good is a model on rows it has not seen, counted in one pass over any number of them?

Every figure here is a sum or a histogram, so parts can be marked in any order, by any process, and
the scores add up.  Power is also scored per node: a job's power is nearly its node count times a
constant, so total power alone flatters every model.

Notation
--------
y, p  truth and median prediction, SI units       e = |log p - log y|
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.prediction.features.model_columns import target_values
from rheostat.prediction.out_of_core.outofcore import ScaleModel
from rheostat.prediction.out_of_core.partitions import Part, Progress, silent

STEP, WIDEST = 1e-4, 10.0
"""Width of a bin of e (so the median is exact to 0.0001) and the largest value kept apart."""
SUMS = ("n", "inside", "ape", "y", "yy", "se", "log", "loglog", "logse")


@dataclass(frozen=True)
class ScoreSums:
    """Sums over marked rows of each quantity, (q, sums), and histograms of e, (q, bins)."""

    quantities: tuple[str, ...]
    sums: Array
    histogram: NDArray[np.int64]
    rows: int
    abstained: int
    level: float

    def __add__(self, other: ScoreSums) -> ScoreSums:
        return ScoreSums(
            self.quantities,
            self.sums + other.sums,
            self.histogram + other.histogram,
            self.rows + other.rows,
            self.abstained + other.abstained,
            self.level,
        )

    def facts(self) -> dict[str, Any]:
        """The figures by quantity."""
        figures = [_figures(s, h) for s, h in zip(self.sums, self.histogram, strict=True)]
        named = dict(zip(self.quantities, figures, strict=True))
        return {"rows": self.rows, "abstained": self.abstained, "level": self.level} | named


def score(
    model: ScaleModel,
    batches: JobTable | Iterable[JobTable] | Sequence[Part],
    *,
    level: float = 0.9,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Score ``model`` on ``batches`` in one stream.

    For each target, and power per node where nodes are known: ``mape`` (mean |p - y| / y),
    ``median_abs_log_error``, ``r2`` (of the values), ``r2_log``, ``coverage`` of the central
    interval at ``level``, and ``rows`` with a positive truth that ran to their end.  Rows the model
    abstains on are counted and not marked.
    """
    sources: Iterable[JobTable | Part] = [batches] if isinstance(batches, JobTable) else batches
    total: ScoreSums | None = None
    for done, source in enumerate(sources):
        progress("score", done, len(sources) if isinstance(sources, Sequence) else 0)
        one = score_part(model, source if isinstance(source, Part) else Part(table=source), level)
        total = one if total is None else total + one
    if total is None:
        raise DataError("score", ["no batches to score"])
    return total.facts()


def score_part(model: ScaleModel, part: Part, level: float = 0.9) -> ScoreSums:
    """The scores of one part."""
    plan = model.coding.plan
    per_node = "power_w" in plan.targets and "nodes" in plan.features
    quantities = (*plan.targets, "power_per_node_w") if per_node else plan.targets
    bins = np.zeros((len(quantities), int(WIDEST / STEP) + 1), dtype=np.int64)
    scores = ScoreSums(quantities, np.zeros((len(quantities), len(SUMS))), bins, 0, 0, level)
    for batch in part.batches(plan.columns):
        scores = scores + _score_batch(model, batch, scores)
    return scores


def _score_batch(model: ScaleModel, jobs: JobTable, empty: ScoreSums) -> ScoreSums:
    targets = model.targets
    truth, p = target_values(jobs, targets), model.predict_log(jobs)
    truth[jobs.cut_off] = np.nan
    outside = model.coding.outside(jobs)
    truth[outside] = np.nan
    low, high = (np.log(b) for b in model.bounds(empty.level))
    if len(empty.quantities) > len(targets):
        power, nodes = targets.index("power_w"), jobs.numpy("nodes")
        truth = np.column_stack([truth, truth[:, power] / nodes])
        p = np.column_stack([p, p[:, power] - np.log(nodes)])
        low, high = np.append(low, low[power]), np.append(high, high[power])
    sums, bins = zip(*map(_sums, truth.T, p.T, low, high), strict=True)
    return ScoreSums(
        empty.quantities, np.array(sums), np.array(bins), len(jobs), int(outside.sum()), empty.level
    )


def _sums(y: Array, p: Array, low: float, high: float) -> tuple[Array, NDArray[np.int64]]:
    there = (y > 0) & np.isfinite(y) & np.isfinite(p)
    y, p = y[there], p[there]
    log, e = np.log(y), np.log(y) - p
    inside = ((e >= low) & (e <= high)).sum()
    value = np.exp(p)
    sums = [len(y), inside, (np.abs(value - y) / y).sum(), y.sum(), (y * y).sum()]
    sums += [((value - y) ** 2).sum(), log.sum(), (log * log).sum(), (e * e).sum()]
    place = np.minimum(np.abs(e), WIDEST) / STEP
    histogram = np.bincount(place.astype(np.int64), minlength=int(WIDEST / STEP) + 1)
    return np.array(sums, dtype=float), histogram


def _figures(sums: Array, histogram: NDArray[np.int64]) -> dict[str, float]:
    s = dict(zip(SUMS, sums.tolist(), strict=True))
    n = s["n"]
    if not n:
        return {"rows": 0}
    middle = int(np.searchsorted(np.cumsum(histogram), n / 2))
    return {
        "rows": int(n),
        "mape": s["ape"] / n,
        "median_abs_log_error": (middle + 0.5) * STEP,
        "r2": _r2(s["se"], s["y"], s["yy"], n),
        "r2_log": _r2(s["logse"], s["log"], s["loglog"], n),
        "coverage": s["inside"] / n,
    }


def _r2(error: float, total: float, squares: float, n: float) -> float:
    spread = squares - total * total / n
    return 1.0 - error / spread if spread > 0 else float("nan")
