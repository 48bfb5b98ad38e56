"""The network: a score per waiting job, the smallest goes first.

A job is judged by its own features and by sums over the queue it stands in (deep sets): the hidden
units may so weigh size or wait otherwise when the queue is deep.  Without hidden units the score is
a weighted sum of logarithms, that is a product of powers, of which shortest, smallest area and
largest expansion first are special cases.

    Symbol   Shape   Meaning
    x        (m, F)  features; z = (x - CENTRE) / SPREAD
    w        (F,)    linear part
    a, b, v  (h, F), (h,), (h,)   hidden units: a . z + b, through g, times v
    g(u)             u / (1 + |u|), which costs no exponential

    score = w . z + sum over units of v g(a . z + b)

Weights are one array: w, then a, b, v of the first unit, of the second, ...

References
----------
Zaheer et al., "Deep sets", NeurIPS 2017.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from rheostat.simulation.learned_priority.queue_features import FEATURES, NAMES, F

# what is usual, and how far jobs differ, on logs of clusters; of no importance but for the search
USUAL = {
    "ask": (9.0, 1.5), "share": (-3.5, 1.5), "predicted": (7.5, 2.0), "brief": (5.5, 2.0),
    "last": (7.0, 2.5), "known": (4.0, 2.0), "wait": (4.5, 2.0), "grown": (1.0, 1.0),
    "slowed": (3.5, 2.0), "fits": (0.5, 0.5), "hold": (3.0, 2.5), "mine": (2.0, 1.0),
    "older": (0.5, 0.3), "area": (0.0, 2.0), "brevity": (0.0, 2.0), "free": (0.2, 0.2),
    "queue": (3.0, 1.0), "load": (2.0, 1.0), "delay": (4.5, 2.0),
}  # fmt: skip
CENTRE = np.array([USUAL[n][0] for n in NAMES])
SPREAD = np.array([USUAL[n][1] for n in NAMES])
# what orders jobs without hidden units: the rest is the same for all jobs, or a sum of others
LINEAR = np.array([not f.queue and f.name not in ("older", "area", "brevity") for f in FEATURES])


def length(hidden: int) -> int:
    """How many weights a network has.

    >>> length(0) == F, length(2) - length(0) == 2 * (F + 2)
    (True, True)
    """
    return F + hidden * (F + 2)


def network() -> Any:
    """The network as a function that the engine can call: (x, weights, scores to be written)."""
    if not _MADE:
        _MADE.append(numba.cfunc(_SIGNATURE, error_model="numpy")(_score))
    return _MADE[0]


_SIGNATURE = "void(float64[:, ::1], float64[::1], float64[::1])"
_MADE: list[Any] = []


def _score(x: Any, weights: Any, scores: Any) -> None:
    hidden = (len(weights) - F) // (F + 2)
    for k in range(len(x)):
        total = 0.0
        for c in range(F):
            total += weights[c] * (x[k, c] - CENTRE[c]) / SPREAD[c]
        for h in range(hidden):
            at = F + h * (F + 2)
            u = weights[at + F]
            for c in range(F):
                u += weights[at + c] * (x[k, c] - CENTRE[c]) / SPREAD[c]
            total += weights[at + F + 1] * u / (1.0 + abs(u))
        scores[k] = total
