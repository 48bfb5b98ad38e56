"""A problem that has run before takes what it took, whatever else its user runs.

A level of `levels` is that of a user's application, whose problems may be of any size.  Runs of one
problem, where a log names it and is believed, tell where that problem lies beside them.

Notation
--------
n  rows      K  problems      r : (n,) log outcome less the level of the user's application
r = problem + noise,  variances ``between`` and w^2; a problem of k runs is pulled to none by
``between`` / (``between`` + w^2 / k)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.hierarchy import Ints


@dataclass(frozen=True)
class ProblemLevels:
    """Of K problems: request columns (K, s) of their runs, level and spread of a new run (K,)."""

    request: Array
    level: Array
    sd: Array

    def as_asked(self, columns: Array, seen: Ints, begin: int) -> Array:
        """``columns`` (n, q) with the request of the problem in place of this run's.

        What one run of a known problem asked for says nothing of its size.
        """
        known, there = seen >= 0, columns.copy()
        there[known, begin : begin + self.request.shape[1]] = self.request[seen[known]]
        return there

    def placed(self, seen: Ints, shared: Array, own: Array) -> tuple[Array, Array, Array]:
        """Level (n,) and the spreads that runs share and have alone, known problems as they ran."""
        known = seen >= 0
        return (
            np.where(known, self.level[seen], 0.0),
            np.where(known, 0.0, shared),
            np.where(known, self.sd[seen], own),
        )


def fit_problem_levels(
    rest: Array, request: Array, code: Ints, noise: Array, between: float
) -> ProblemLevels | None:
    """Levels of the problems ``code`` (n,), -1 of none, from ``rest`` (n,) as r in the notation.

    ``noise`` (n,) is w; None where no problem is known.

    >>> rest, code = np.array([1.0, 1.2, -2.0]), np.array([0, 0, 1])
    >>> found = fit_problem_levels(rest, np.zeros((3, 1)), code, np.full(3, 0.1), 1.0)
    >>> found.level.round(2).tolist(), found.sd.round(2).tolist()
    ([1.09, -1.98], [0.12, 0.14])
    """
    known = code >= 0
    if not known.any():
        return None
    code = code[known]
    count = np.bincount(code)
    mean, w, *asked = (np.bincount(code, v[known]) / count for v in (rest, noise, *request.T))
    own = between / (between + w**2 / count)
    return ProblemLevels(np.stack(asked, -1), own * mean, w * np.sqrt(1 + own / count))
