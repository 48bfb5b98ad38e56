"""How right was a prediction where the truth is known?

Median relative error says how far off a typical job is; coverage says how often the interval held
the truth, which for a 90 % interval should be 90 % of the time.  Runs that were cut off (timeout,
cancelled) are left out: their recorded runtime is only a lower bound.

Notation
--------
n  rows      d  draws      truth : (n,) measured values, NaN = unknown
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array, Outcome

FEWEST, FAR_BELOW = 30, 0.75
"""Rows from which coverage is judged, and the share of the level below which chance is no excuse:
of 30 independent rows 90 % intervals hold less than 67.5 % once in some thousand logs."""
SMALL_ERROR = 0.05
"""Relative error of a typical forecast that changes no advice, however narrow its interval."""
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Accuracy:
    """Of ``rows`` checked predictions: median |relative error|, coverage of the ``level`` interval.

    ``curve`` pairs each level with the share of truths inside the interval of that level.
    """

    rows: int
    error: float
    coverage: float
    level: float
    curve: tuple[tuple[float, float], ...]

    @property
    def far_below(self) -> bool:
        """Whether the intervals held clearly less than they claim: no promise rests on them.

        >>> Accuracy(400, 0.3, 0.53, 0.9, ()).far_below, Accuracy(400, 0.3, 0.8, 0.9, ()).far_below
        (True, False)
        """
        short = self.rows >= FEWEST and self.coverage < FAR_BELOW * self.level
        return short and self.error > SMALL_ERROR


def accuracy(
    outcome: Outcome, jobs: JobTable, names: Sequence[str], level: float = 0.9
) -> dict[str, Accuracy]:
    """`Accuracy` of each quantity in ``names`` that ``jobs`` has measured.

    >>> from rheostat import table
    >>> out = Outcome({"runtime_s": np.array([[9.0, 19.0], [11.0, 21.0]])})
    >>> found = accuracy(out, table({"runtime_s": [10.5, 40.0]}), ["runtime_s"])["runtime_s"]
    >>> found.rows, round(found.error, 3), found.coverage
    (2, 0.274, 0.5)
    """
    return {n: _one(outcome, n, measured(jobs, n), level) for n in names if n in jobs.columns}


def measured(jobs: JobTable, name: str) -> Array:
    """What was measured (n,); NaN of runs that were cut off."""
    values = jobs.numpy(name)
    if "censored" not in jobs.columns:
        return values
    cut = jobs.frame["censored"].fill_null(value=True).to_numpy()
    return np.where(cut, np.nan, values)


def _one(outcome: Outcome, name: str, truth: Array, level: float) -> Accuracy:
    mean = outcome.mean(name)
    here = np.isfinite(mean) & np.isfinite(truth)
    if not here.any():
        return Accuracy(0, float("nan"), float("nan"), level, ())
    draws, true = outcome[name][:, here], truth[here]
    error = float(np.median(np.abs(np.median(draws, axis=0) / true - 1.0)))
    curve = tuple((x, _covered(draws, true, x)) for x in LEVELS)
    return Accuracy(int(here.sum()), error, _covered(draws, true, level), level, curve)


def _covered(draws: Array, true: Array, level: float) -> float:
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return float(np.mean((low <= true) & (true <= high)))


def accuracy_facts(accuracies: Mapping[str, Accuracy]) -> dict[str, dict[str, float]]:
    """The same as plain data.

    >>> accuracy_facts({"runtime_s": Accuracy(2, 0.1, 0.9, 0.9, ())})["runtime_s"]["coverage"]
    0.9
    """
    return {
        q: {
            "rows": a.rows,
            "error": a.error,
            "coverage": a.coverage,
            "level": a.level,
            "far_below": a.far_below,
        }
        for q, a in accuracies.items()
    }
