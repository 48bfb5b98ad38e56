"""Which settings should be measured with the evaluations that are left, and which one first?

A draw of the model is one way the job might be.  In each, the front that a set of settings would
show has a hypervolume; the set worth measuring is the one with the largest mean over the draws,
found by adding settings one by one and exchanging them until nothing improves.  Planning the whole
remaining budget matters: the best single setting lies in the middle of the front, the best pair
does not contain it.  The reference is 10 % beyond the worst of the space, in every draw its own, so
that nothing about the true front needs to be known.

Notation
--------
d  draws     N  settings     k  evaluations left
y : (d, N, m) log objectives, minimised; scaled to [0, 1] within each draw     r = 1.1

References
----------
Emmerich, Deutz, Klinkenberg: Hypervolume-based expected improvement (CEC 2011).
Guerreiro, Fonseca, Paquete: Greedy hypervolume subset selection (2016).
.. [Frazier2009] Frazier, Powell, Dayanik: The knowledge-gradient policy for correlated normal
   beliefs. INFORMS J. Computing 21 (2009).
.. [Hansen1998] Hansen, Jaszkiewicz: Evaluating the quality of approximations to the non-dominated
   set. IMM-REP-1998-7 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from rheostat.core.outcome import Array
from rheostat.tradeoff.propose.acquisition import hypervolume_improvement

REFERENCE = np.array([1.1, 1.1])
WEIGHTS = 32
"""Directions in which fronts of one, or of more than two objectives are judged."""


def scaled(y: Array) -> Array:
    """Each draw of ``y`` (d, N, m) scaled so that its own settings span [0, 1]; flat ones give 0.

    >>> scaled(np.array([[[1.0], [3.0], [2.0]]])).ravel()
    array([0. , 1. , 0.5])
    """
    low = y.min(axis=1, keepdims=True)
    span = y.max(axis=1, keepdims=True) - low
    return np.where(span > 0, (y - low) / np.where(span > 0, span, 1.0), 0.0)


def plan(y: Array, measured: Sequence[int], count: int, *, passes: int = 2) -> list[int]:
    """Up to ``count`` further settings that together give the largest mean hypervolume.

    ``y`` (d, N, 2) scaled.  The order is that of adding: the first is worth most alone.
    """
    free = np.setdiff1d(np.arange(y.shape[1]), np.asarray(measured, dtype=np.int64))
    base, chosen = list(measured), list[int]()
    for _ in range(min(count, len(free))):
        gain = _gain(y, free, base + chosen)
        chosen.append(int(free[gain.argmax()]))
    for _ in range(passes if len(chosen) > 1 else 0):
        before = list(chosen)
        for j in range(len(chosen)):
            gain = _gain(y, free, base + chosen[:j] + chosen[j + 1 :])
            if gain.max() > gain[free == chosen[j]].max() + 1e-12:
                chosen[j] = int(free[gain.argmax()])
        if chosen == before:
            break
    return chosen


def value_of_a_run(logs: Array, noise: Array, measured: Sequence[int]) -> Array:
    """What one more run of each setting is expected to add to the front of expected values, (N,).

    Expected hypervolume of the front after the run, less now: the knowledge gradient
    [Frazier2009]_.  A run of a setting that was not measured adds a point; one of a ``measured``
    setting moves its point, the less the surer it is already.

    Parameters
    ----------
    logs : array
        (d, N, 2) draws of two log objectives, minimised.
    noise : array
        (2,) variance of one run's logs.
    measured : sequence of int
        Settings that were run.

    Examples
    --------
    >>> certain = [[0.0, 1.0], [0.4, 0.3], [1.0, 0.0]]
    >>> logs = np.array([certain, certain])
    >>> value_of_a_run(logs, np.array([0.01, 0.01]), [0, 1]).round(3)
    array([0.  , 0.  , 0.03])
    """
    mean = logs.mean(axis=0)
    low, span = mean.min(axis=0), np.maximum(np.ptp(mean, axis=0), 1e-12)
    variance = logs.var(axis=0)
    surer = variance / np.maximum(variance + noise, 1e-300)
    place = (mean - low) / span
    moved = place + (logs - mean) * np.sqrt(surer) / span
    value = hypervolume_improvement(moved, place[list(measured)], REFERENCE).mean(axis=0)
    for i in measured:
        others = place[[j for j in measured if j != i]]
        both = np.concatenate([moved[:, [i]], np.broadcast_to(place[i], (len(logs), 1, 2))], axis=1)
        after, before = hypervolume_improvement(both, others, REFERENCE).mean(axis=0)
        value[i] = after - before
    return np.asarray(value)


def _gain(y: Array, free: NDArray[np.int64], given: list[int]) -> Array:
    """What each free setting adds to ``given`` on average; -1 where it is given already.

    Hypervolume of two objectives, else `scalarised_gain`.
    """
    if y.shape[2] == 2:
        gain = hypervolume_improvement(y[:, free], y[:, given], REFERENCE).mean(axis=0)
    else:
        gain = scalarised_gain(y[:, free], y[:, given])
    return np.where(np.isin(free, given), -1.0, gain)


def scalarised_gain(y: Array, given: Array) -> Array:
    """Mean fall of the least weighted maximum that each candidate brings, (n,): the R2 indicator.

    Parameters
    ----------
    y : array
        (d, n, m) draws of the candidates, scaled, minimised.
    given : array
        (d, f, m) draws of what will be known.

    Returns
    -------
    array
        (n,) means over draws and `WEIGHTS` even directions [Hansen1998]_.

    Examples
    --------
    >>> scalarised_gain(np.array([[[0.2], [0.9]]]), np.array([[[0.7]]])).round(2)
    array([0.5, 0. ])
    """
    gain = np.zeros(y.shape[1])
    for weights in _directions(y.shape[2]):
        best = weights * np.append(given, np.full((len(y), 1, y.shape[2]), REFERENCE[0]), axis=1)
        fall = best.max(axis=2).min(axis=1)[:, None] - (weights * y).max(axis=2)
        gain += np.clip(fall, 0.0, None).mean(axis=0)
    return np.asarray(gain / WEIGHTS)


def _directions(m: int) -> Array:
    """Even weights (WEIGHTS, m) on the simplex, the largest of each scaled to 1."""
    points = qmc.Halton(m, scramble=False).random(WEIGHTS + 1)[1:]
    return np.asarray(np.log(points) / np.log(points).min(axis=1, keepdims=True))


def least_regret(objective: Array, limited: Array, limit: float) -> int:
    """The setting with the least expected regret under a limit, (d, N) log draws of both.

    Regret is the excess over the best setting that meets the limit in that draw (if none does: the
    one nearest to it), plus the excess over the limit.

    >>> least_regret(np.log([[1.0, 2.0, 4.0]]), np.log([[9.0, 4.0, 1.0]]), np.log(5.0))
    1
    """
    excess = np.maximum(limited - limit, 0.0)
    nearest = excess.min(axis=1, keepdims=True)
    best = np.where(excess <= nearest, objective, np.inf).min(axis=1, keepdims=True)
    loss = np.maximum(objective - best, 0.0) + excess
    return int(loss.mean(axis=0).argmin())
