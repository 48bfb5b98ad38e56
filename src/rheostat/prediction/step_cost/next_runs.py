"""Which runs to measure next: those that leave the least error in the predictions that are wanted.

Given the covariance of what is predicted, one more run lowers the variance of every wanted
prediction by the square of its covariance with that run, over the run's own variance [Cohn1996]_.
The best run is taken, the covariance updated, and so on; nothing is refitted, as the variance of a
Gaussian does not depend on what will be measured.

References
----------
.. [Cohn1996] Cohn, Ghahramani, Jordan: Active learning with statistical models. JAIR 4, 1996.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.step_cost.additive import Array


def next_runs(
    covariance: Array,
    wanted: NDArray[np.bool_],
    noise: float,
    count: int,
    may: NDArray[np.bool_] | None = None,
) -> tuple[list[int], Array]:
    """Choose runs one after the other.

    Parameters
    ----------
    covariance : array, (m, m)
        Of all configurations, in the logarithm.
    wanted : array of bool, (m,)
        Those whose predictions matter.
    noise : float
        Standard deviation of one measurement, in the logarithm.
    count : int
        How many to choose, at most all that may be.
    may : array of bool, (m,), optional
        Those that may be measured; all by default.

    Returns
    -------
    chosen : list of int
        Configurations in the order in which to measure them, none twice.
    error : array, (len(chosen) + 1,)
        Root mean variance of the wanted predictions before, and after each run.

    Examples
    --------
    >>> c = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 2.0]])
    >>> next_runs(c, np.array([True, True, False]), 0.1, 2)[0]
    [0, 1]
    """
    left, chosen = covariance.copy(), list[int]()
    error = [np.sqrt(np.diag(left)[wanted].mean())]
    free = np.ones(len(left), dtype=bool) if may is None else may.copy()
    for _ in range(min(count, int(free.sum()))):
        own = np.diag(left) + noise**2
        gain = (left[wanted] ** 2).sum(axis=0) / own
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        free[best] = False
        left = left - np.outer(left[:, best], left[best]) / own[best]
        chosen.append(best)
        error.append(np.sqrt(np.maximum(np.diag(left)[wanted], 0.0).mean()))
    return chosen, np.array(error)
