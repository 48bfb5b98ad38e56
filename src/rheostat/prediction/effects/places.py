"""Where jobs ran: may runs of one application on other partitions be compared with each other?

Partitions are other machines until the log shows that they are not.  Where the setting goes with
the partition, what the machine does to the time looks like what the setting does; then runs are
compared within a partition alone.

Notation
--------
n  rows      log t = level(problem, setting) + effect(partition) + noise
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from rheostat.core.outcome import Array
from rheostat.prediction.effects.doubts import FEWEST_TURNED, MOST_NOISE, Ints
from rheostat.prediction.effects.effect_coding import EffectCoding, Rows
from rheostat.prediction.features.encode import joined

PLACES = re.compile(
    r"cluster|machine|partition|queue|constraint|arch(itecture)?"
    r"|(node|host|cpu|gpu|instance|server)_?(type|model|kind|arch)",
    re.IGNORECASE,
)
"""Columns that say on which machines a job runs, where it is known before."""
LEAST_SHARE = 0.1
"""Of the variance of the setting among runs of one problem, below which a place cannot mislead."""
FEWEST_SHARED = 8
"""Runs beyond the first of one problem and setting with which places are compared."""


def kept_apart(
    frame: pl.DataFrame, rows: Rows, y: Array, coding: EffectCoding
) -> tuple[tuple[str, ...], list[str]]:
    """Places within which alone runs are compared, and what is said of them.

    Chance that turned a setting is no reason to choose a machine: in a trial none is kept apart.

    Parameters
    ----------
    frame : DataFrame
        A log in order, (n,).
    rows, coding : Rows, EffectCoding
        The log as numbers, and how it became that.
    y : ndarray, (n,)
        Logarithm of the run time.
    """
    named = [c for c in (*coding.within, coding.problem) if c]
    places = [c for c in frame.columns if PLACES.fullmatch(c) and c not in (*named, *coding.knobs)]
    if not places or rows.turned.sum() >= FEWEST_TURNED:
        return (), []
    setting, group = rows.log_asked[:, 0], _codes(frame, named)
    apart: list[str] = []
    for column in places:
        place = _codes(frame, [column])
        if misleads(setting, group, place) and not alike(setting, y, group, place):
            apart.append(column)
    return tuple(apart), [
        f"settings go with {c}, and the log does not show that a run takes as long on one as on "
        f"another: runs are compared, and jobs are advised, within one {c} alone (leave the column "
        "out if all are the same machines)"
        for c in apart
    ]


def misleads(setting: Array, group: Ints, place: Ints) -> bool:
    """Whether the place tells the setting among runs of one problem; all are (n,).

    >>> nodes, one = np.log([1, 2, 4, 8, 1, 2, 4, 8]), np.zeros(8, dtype=int)
    >>> misleads(nodes, one, np.tile([0, 0, 1, 1], 2)), misleads(nodes, one, np.repeat([0, 1], 4))
    (True, False)
    """
    return variance(setting, pairs(group, place)) < (1 - LEAST_SHARE) * variance(setting, group)


def alike(setting: Array, y: Array, group: Ints, place: Ints) -> bool:
    """Whether runs of one problem at one setting take as long on one place as on another.

    >>> nodes = np.log(np.tile([1, 2, 4, 8], 6))
    >>> one, place = np.zeros(24, dtype=int), np.repeat([0, 1], 12)
    >>> alike(nodes, -nodes, one, place), alike(nodes, -nodes + 0.5 * place, one, place)
    (True, False)
    >>> alike(nodes, -nodes, one, (nodes > 1).astype(int))  # no setting ran on both
    False
    """
    same = pairs(group, np.unique(setting, return_inverse=True)[1])
    held = pairs(same, place)
    places = np.bincount(np.unique(np.stack([same, held]), axis=1)[0], minlength=same.max() + 1)
    here = places[same] > 1
    if here.sum() - len(np.unique(same[here])) < FEWEST_SHARED:
        return False
    whose = np.eye(int(place.max()) + 1)[place[here]]
    flat = np.column_stack([less_means(c, same[here]) for c in whose.T])
    effect = np.linalg.lstsq(flat, less_means(y[here], same[here]), rcond=None)[0]
    seen = np.unique(place)
    return bool(len(np.unique(place[here])) == len(seen) and np.ptp(effect) < MOST_NOISE)


def variance(values: Array, group: Ints) -> float:
    """Of values within groups (n,), as if there were many runs of each."""
    left = less_means(values, group)
    free = len(values) - int(np.count_nonzero(np.bincount(group)))
    return float(left @ left) / max(free, 1)


def less_means(values: Array, group: Ints) -> Array:
    """Values (n,) less the mean of their group."""
    count = np.maximum(np.bincount(group), 1)
    return np.asarray(values - (np.bincount(group, values) / count)[group])


def pairs(one: Ints, other: Ints) -> Ints:
    """A number for rows (n,) that are equal in both."""
    both = one * (int(other.max(initial=0)) + 1) + other
    return np.asarray(np.unique(both, return_inverse=True)[1].reshape(-1))


def _codes(frame: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """A number for rows with equal names."""
    names = joined(frame, columns).fill_null("").rank("dense")
    return names.cast(pl.Int64).to_numpy() - 1
