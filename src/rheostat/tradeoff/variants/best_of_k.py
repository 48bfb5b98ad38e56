"""What the best of k candidates saves, expected over all choices of k of the n that were made."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from rheostat.errors import DataError


def reduction_at_k(
    reductions: Sequence[float | None], k: int, *, keeps_original: bool = False
) -> float:
    """energy-reduction@k: the mean over all k-subsets of the largest reduction in each.

    With the reductions e(1) <= ... <= e(n) in order, e(i) is the largest of C(i-1, k-1) subsets, so
    the mean is the sum of e(i) C(i-1, k-1) / C(n, k): unbiased, and without drawing.

    Parameters
    ----------
    reductions : sequence of float or None
        Share of the original's energy that each candidate saves, below 0 where it takes more; None
        for one that failed, which counts as 0.
    k : int
        Candidates among which the best is taken.
    keeps_original : bool
        Candidates that take more energy count as 0 too, because the user keeps the original.

    Returns
    -------
    float
        The expected reduction.

    Raises
    ------
    DataError
        k is not between 1 and n.

    Examples
    --------
    >>> round(reduction_at_k([0.5, None, 0.2], 1), 4), reduction_at_k([0.5, None, 0.2], 3)
    (0.2333, 0.5)
    >>> reduction_at_k([-0.4, 0.2], 1), reduction_at_k([-0.4, 0.2], 1, keeps_original=True)
    (-0.1, 0.1)
    """
    n = len(reductions)
    if not 1 <= k <= n:
        raise DataError("reduction_at_k", [f"k: expected 1 to {n} (the candidates), got {k}"])
    values = np.array([0.0 if e is None else float(e) for e in reductions])
    if keeps_original:
        values = np.maximum(values, 0.0)
    shares = np.array([comb(i, k - 1) / comb(n, k) for i in range(n)])
    return float(np.sum(np.sort(values) * shares))
