"""How much more, or less, does a setting do to one job than to most jobs of its application?

Larger problems scale farther, fit into memory at other nodes and come in more blocks.  So the
forecast of a job's change is wider than what is known of its application's mean.  By how much a
trial rarely tells, and a constant stands for it there; runs of one problem at several settings do
tell: each problem is asked once, so that one that ran often does not answer for the others, and
the spread is what makes the usual share of them lie inside (conformal prediction over groups
[Dunn2022]_).

References
----------
.. [Dunn2022] Dunn, R., Wasserman, L., Ramdas, A.: Distribution-free prediction sets for two-layer
   hierarchical models. Journal of the American Statistical Association 118 (2022).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.hierarchy import NOISE_WORTH, Hierarchy, Ints
from rheostat.prediction.effects.plausible import Mask

UNLIKE, DIVIDED = 0.2, 0.3
"""Spread of the exponent between jobs of one application where more nodes gain nothing, and the
share of it where work divides perfectly: larger problems scale farther, and a log rarely tells
how large they are.  Few jobs of a trial do not tell the spread either."""
NEIGHBOUR = float(np.log(2.0))
"""Turn below which a job's own departure shrinks with the root of the turn.  Trials turn by factors
of four and say nothing of 39 nodes against 32: where work comes in blocks, half of such moves cost
nothing and others twice the time."""
HELD, FEWEST, MOST = 0.9, 20, 2.0
"""Share of the problems that intervals are to hold, problems that tell, and the widest spread."""
WARY = 2.0
"""By how much the bad half of a forecast of more nodes is widened.  That time falls faster than
the nodes grow, so that energy falls, happens on few sites.  Of many jobs and settings the advice
takes those that a log of few turned jobs flatters most: on sites where no job took less energy on
more nodes, 90 % intervals held .59 to .80 of the advised jobs, with this all."""


def room(change: Array, turned: Array, exponent: float) -> Array:
    """``turned`` (n,), log setting over log request, by how unlike jobs of one application are.

    Where ``change`` (n,) of log runtime is ``exponent`` times ``turned``, as where work divides
    perfectly, smaller and larger problems do the same; where it departs from that, they depart at
    other settings.  Where a knob divides work (``exponent`` is not 0), steps and kinks lie at
    settings of each job's own: turns smaller than `NEIGHBOUR` meet one less often and not less of
    it, so that variances shrink as the turn does.

    >>> room(np.array([1.0, 0.5, 0.0]), np.array([-1.0, -1.0, -1.0]), -1.0)
    array([-0.3 , -0.65, -1.  ])
    >>> small = room(np.array([0.0, 0.0]), np.array([-0.1, -0.4]), -1.0)
    >>> round(float(small[1] / small[0]), 9)
    2.0
    """
    departed = np.abs(change / np.where(turned == 0, 1.0, turned) - exponent)
    if exponent:
        turned = np.sign(turned) * np.sqrt(np.abs(turned) * np.maximum(np.abs(turned), NEIGHBOUR))
    return np.asarray(turned * (DIVIDED + (1 - DIVIDED) * np.minimum(departed, 1.0)))


def of_turned(hierarchy: Hierarchy, rows: Rows, away: Array, exponent: float) -> Array:
    """Spread (n,) of what the setting that ran did to each job, beside what it does to most.

    ``away`` (n, p) are the effect columns of the setting that ran less those of the one asked for.
    """
    weights = hierarchy.weights[:, :-1].mean(axis=0)[rows.app, : away.shape[1]]
    turned = (rows.log_run - rows.log_asked)[:, 0]
    change = np.einsum("np,np->n", away, weights) + turned * exponent
    return np.asarray(UNLIKE * np.abs(room(change, turned, exponent)))


def of_problems(
    y: Array, x: Array, weights: Array, effects: int, rows: Rows, exponent: float
) -> float:
    """Spread of the exponent between problems, from each one's runs at neighbouring settings.

    ``y`` (n,) is the log of a run time less perfect scaling, of which columns ``x`` (n, q) with
    ``weights`` (A, q) tell a part, the first ``effects`` of them by the setting.  At least
    `UNLIKE`, also where few problems ran at several settings.

    >>> from types import SimpleNamespace
    >>> rng, pair = np.random.default_rng(0), np.repeat(np.arange(400), 4)
    >>> at, app = np.tile([0.0, 0.0, 1.0, 1.0], 400), 0 * pair
    >>> y = at + 0.6 * rng.standard_normal(400)[pair] * at + 0.05 * rng.standard_normal(1600)
    >>> runs = SimpleNamespace(app=app, cell=app, problem=pair, log_run=at[:, None])
    >>> 0.5 < of_problems(y, at[:, None], np.ones((1, 1)), 1, runs, -1.0) < 0.7
    True
    """
    part = x * weights[rows.app]
    rest, effect = y - part.sum(axis=1), part[:, :effects].sum(axis=1)
    pairs, place, runs = np.unique(
        np.stack([rows.problem, rows.log_run[:, 0]]),
        axis=1,
        return_inverse=True,
        return_counts=True,
    )
    place = place.reshape(-1)
    level, made = (np.bincount(place, v) / runs for v in (rest, effect))
    of = np.zeros(len(runs), dtype=np.int64)
    of[place] = rows.cell
    chance = _variances(rest - level[place], rows.cell, place)[of] / runs
    first = np.flatnonzero(np.diff(pairs[0]) == 0)
    _, of_pair, many = np.unique(pairs[0][first], return_inverse=True, return_counts=True)
    if len(many) < FEWEST:
        return UNLIKE
    last = first + 1
    turned = pairs[1][last] - pairs[1][first]
    wide = room(made[last] - made[first] + turned * exponent, turned, exponent)
    needed = _needed(level[last] - level[first], wide, chance[first] + chance[last])
    order = np.argsort(needed)
    held = np.cumsum(1 / many[of_pair][order]) >= HELD * (len(many) + 1) - 1e-9
    least = needed[order][int(np.argmax(held))] if held.any() else needed.max()
    return float(np.clip(least, UNLIKE, MOST))


def own_change(
    change: Array, turned: Array, more: Mask, exponent: float, spread: float, normal: Array
) -> Array:
    """(B, n) to add to log changes (B, n) for what is each job's own.

    ``turned`` (n,) is log setting over log request, ``more`` (n,) where that takes more nodes;
    ``spread`` is of the exponent, ``normal`` (B, n) draws of each job.
    """
    apart = spread * room(change.mean(axis=0), turned, exponent) * normal
    return np.asarray(apart + more * wary(change + apart))


def wary(change: Array) -> Array:
    """(B, n) to add to forecasts of a log change (B, n): draws above the mean go farther.

    >>> wary(np.array([[-0.1], [0.1]])).tolist()
    [[0.0], [0.1]]
    """
    return np.asarray((WARY - 1) * np.maximum(change - change.mean(axis=0), 0.0))


def _variances(inside: Array, cell: Ints, group: Ints) -> Array:
    """Variance of runs less the mean of their ``group`` (n,), by cell (C,), pulled to all's."""
    _, at, runs = np.unique(group, return_index=True, return_counts=True)
    free = np.bincount(cell[at], runs - 1.0, minlength=int(cell.max()) + 1)
    square = np.bincount(cell, inside**2, minlength=len(free))
    common = square.sum() / max(free.sum(), 1.0)
    return np.asarray((square + NOISE_WORTH * common) / (free + NOISE_WORTH))


def _needed(gap: Array, room: Array, chance: Array) -> Array:
    """Spread of the exponent with which the `HELD` interval just holds each gap, beside chance."""
    beyond = (gap / NormalDist().inv_cdf((1 + HELD) / 2)) ** 2 - chance
    return np.asarray(np.sqrt(np.maximum(beyond, 0.0)) / np.maximum(np.abs(room), 1e-9))
