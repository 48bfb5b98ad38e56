"""Is a new model at least as right as the one in use, on jobs that it has not learned from?

Both forecast the same jobs.  A forecast is scored by the continuous ranked probability score of the
logarithm, which is lower for what is nearer and for intervals that are as wide as they should be.
Jobs of one user's application err together, so they are one witness of the difference.

Notation
--------
n  jobs      d  draws      true : (n,) measured values

References
----------
Gneiting, T., Raftery, A. E.: Strictly proper scoring rules, prediction, and estimation.  Journal of
the American Statistical Association 102, 359-378 (2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.placebo import clustered

FEWEST_JOBS, FEWEST_GROUPS = 30, 5
"""Jobs, and users' applications, from which anything can be told."""
MARGIN = 0.05
"""Share by which a score may be higher where chance can explain the difference."""
NEGLIGIBLE = 0.01
"""Of the logarithm: less than one per cent of a value is no difference that a meter tells.  Watts
that are the same in every run are forecast to their last digit by any model."""


@dataclass(frozen=True)
class ModelComparison:
    """Scores of the model in use and of a new one on the same ``jobs`` of ``groups``.

    ``known_current`` and ``known_new`` are shares of jobs for which they have a forecast;
    ``standard_error`` is that of the mean difference of the scores, NaN of fewer than two groups.
    """

    quantity: str
    jobs: int
    groups: int
    score_current: float
    score_new: float
    standard_error: float
    known_current: float
    known_new: float

    @property
    def enough(self) -> bool:
        """Whether the jobs can tell anything."""
        return self.jobs >= FEWEST_JOBS and self.groups >= FEWEST_GROUPS

    @property
    def not_worse(self) -> bool:
        """Whether the new model may replace the one in use.

        Its score is not higher by more than one standard error, nor by more than 5 %, and it has a
        forecast for as many jobs.  Scores that are within one per cent of the values are alike.

        >>> ModelComparison("runtime_s", 90, 9, 0.20, 0.205, 0.006, 1.0, 1.0).not_worse
        True
        >>> ModelComparison("runtime_s", 90, 9, 0.20, 0.220, 0.030, 1.0, 1.0).not_worse
        False
        """
        most = max(min(self.standard_error, MARGIN * self.score_current), NEGLIGIBLE)
        higher = self.score_new - self.score_current
        return self.enough and higher <= most and self.known_new >= self.known_current

    @property
    def better(self) -> bool:
        """Whether the new model is clearly nearer: by two standard errors and by 5 %.

        >>> ModelComparison("runtime_s", 90, 9, 0.20, 0.10, 0.030, 1.0, 1.0).better
        True
        """
        lower = self.score_current - self.score_new
        return self.enough and lower > max(2 * self.standard_error, MARGIN * self.score_current)


def compared(
    quantity: str, current: Array, new: Array, true: Array, groups: Array
) -> ModelComparison:
    """`ModelComparison` of two models' draws for the same jobs.

    Parameters
    ----------
    quantity : str
        What is forecast.
    current, new : (d, n) array
        Positive draws; NaN where a model has no forecast.
    true : (n,) array
        Measured, positive or NaN.
    groups : (n,) array of int
        Jobs that err together have one number.

    Examples
    --------
    >>> true = np.full(40, 10.0)
    >>> found = compared("runtime_s", np.full((3, 40), 20.0), np.full((3, 40), 10.0), true,
    ...                  np.arange(40))
    >>> round(found.score_current, 3), found.score_new, found.not_worse
    (0.693, 0.0, True)
    """
    measured = np.isfinite(true) & (true > 0)
    known = [measured & np.isfinite(draws).all(axis=0) for draws in (current, new)]
    both = known[0] & known[1]
    scores = [log_crps(draws[:, both], true[both]) for draws in (current, new)]
    shares = [float(k.sum()) / max(1, int(measured.sum())) for k in known]
    return ModelComparison(
        quantity, int(both.sum()), len(np.unique(groups[both])), _mean(scores[0]), _mean(scores[1]),
        _standard_error(scores[1] - scores[0], groups[both]), *shares,
    )  # fmt: skip


def log_crps(draws: Array, true: Array) -> Array:
    """Continuous ranked probability score of the logarithm of each job, (n,).

    A single draw has the absolute error of its logarithm.

    >>> log_crps(np.array([[1.0, 1.0], [1.0, np.e]]), np.array([np.e, 1.0])).round(3).tolist()
    [1.0, 0.25]
    """
    x = np.sort(np.log(np.maximum(draws, np.finfo(float).tiny)), axis=0)
    count = len(x)
    apart = (2 * np.arange(1, count + 1) - count - 1) @ x / count**2
    far: Array = np.abs(x - np.log(true)).mean(axis=0) - apart
    return far


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else math.nan


def _standard_error(differences: Array, groups: Array) -> float:
    """Of the mean, where the jobs of one group err together."""
    if len(np.unique(groups)) < 2:
        return math.nan
    return clustered(np.ones(len(groups)), differences, groups.astype(np.int64))[1]
