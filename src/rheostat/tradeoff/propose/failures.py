"""Where runs failed, others beside them are likely to fail, too: there a result is not counted on.

A setting is out of memory, or crashes, together with its surroundings.  Runs that ended well and
runs that failed vote by nearness, with a quarter of a vote for success before any run.  Behind a
run that failed, as seen from one that ended well, the first counts in full and the second not at
all: what is too large is too large beyond, too.  What is likely to fail is left alone, and tried
all the same where much is to be gained.

Notation
--------
n  settings     d  draws     r  runs told     D  coordinates, each in [-1, 1]
"""

from __future__ import annotations

import numpy as np

from rheostat.core.dominance import Mask
from rheostat.core.outcome import Array
from rheostat.prediction.scaling_law.left_out import NEAR, SAME

BEFORE = 0.25
"""Votes for success before any run."""


def failing(asked: Array, ran: Array, failed: Mask) -> Array:
    """Probability that each setting ``asked`` (n, D) fails, (n,), after runs at ``ran`` (r, D).

    Where a run failed it is 1, where all ended well 0.

    >>> x = np.array([[-1.0], [-0.2], [0.2], [0.6], [1.0]])
    >>> failing(x, x[[0, 3]], np.array([False, True])).round(2)
    array([0.  , 0.31, 0.57, 1.  , 0.8 ])
    >>> failing(x, x[[0, 3]], np.array([False, False]))
    array([0., 0., 0., 0., 0.])
    """
    if not failed.any():
        return np.zeros(len(asked))
    vote = np.exp(-np.sqrt(((asked[:, None] - ran[None]) ** 2).sum(axis=2)) / NEAR)
    between = _between(asked, ran[~failed], ran[failed])
    good = np.where(between.any(axis=2), 0.0, vote[:, ~failed]).sum(axis=1)
    bad = np.where(between.any(axis=1), 1.0, vote[:, failed]).sum(axis=1)
    share = bad / (BEFORE + bad + good)
    here = np.asarray((np.abs(asked[:, None] - ran[None]) < SAME).all(axis=2))
    share = np.where(here[:, ~failed].any(axis=1), 0.0, share)
    return np.asarray(np.where(here[:, failed].any(axis=1), 1.0, share))


def _between(asked: Array, good: Array, bad: Array) -> Mask:
    """Whether each failed run lies between a setting and a run that ended well, (n, good, bad)."""
    low = np.minimum(asked[:, None], good[None])[:, :, None]
    high = np.maximum(asked[:, None], good[None])[:, :, None]
    return np.asarray(((bad >= low - SAME) & (bad <= high + SAME)).all(axis=3))


def fails(probability: Array, draws: int) -> Mask:
    """Draws (d, n) in which each setting fails: in each those that are likelier than a level.

    >>> fails(np.array([0.0, 0.5, 1.0]), 4).mean(axis=0)
    array([0. , 0.5, 1. ])
    """
    level = (np.argsort(np.argsort(np.arange(draws) * 0.6180339887498949 % 1.0)) + 0.5) / draws
    return np.asarray(probability[None] > level[:, None])
