"""All combinations that are worth their watts, row by row, where watts have no common step.

After each row only those sums are kept that no cheaper one matches.  Of measured watts these are
few: 45 to 100 for a rack of 8 nodes with 17 options each.  Where a price of a watt is known, and
how far an answer may be from the best at that price, sums that are further behind go as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheostat.core.outcome import Array

Ints = NDArray[np.int64]
_SAME_W, _EVEN = 1e-6, 1e-12
_DIGITS = 9
_SORTING = 15  # additions in the time of which one sum is made and put in order

Merge = tuple[int, Ints, Ints, Ints]
"""Row, its options, and of each sum kept the option and the place of the sum before."""


@dataclass(frozen=True)
class Price:
    """``watt``: value of one; ``behind``: how far from the best at it a better answer can be."""

    watt: float
    behind: float


@dataclass(frozen=True)
class Sums:
    """``watts`` and ``values`` rise together; ``record`` tells what each sum is made of."""

    watts: Array
    values: Array
    record: list[Merge]

    def options(self, point: int, cheapest: Ints) -> Ints:
        """The option of each row at a point; rows without a choice have their cheapest."""
        choice = cheapest.copy()
        for row, kept, which, before in reversed(self.record):
            choice[row] = kept[which[point]]
            point = int(before[point])
        return choice


def sums(
    watts: Array, value: Array, kept: Sequence[Ints], limit: float, most: float, price: Price | None
) -> Sums | None:
    """The best value of every number of watts up to ``limit``; None beyond ``most`` additions.

    ``kept`` are the options of each row, the cheapest first.

    >>> w, v = np.array([[0.0, 10.1], [0.0, 20.2]]), np.array([[0.0, 1.0], [0.0, 5.0]])
    >>> found = sums(w, v, [np.array([0, 1])] * 2, 25.0, 1e6, None)
    >>> found.watts, found.values, found.options(2, np.array([0, 0]))
    (array([ 0. , 10.1, 20.2]), array([0., 1., 5.]), array([0, 1]))
    """
    rows = np.arange(len(watts))
    first = np.array([options[0] for options in kept], dtype=np.int64)
    w, v = watts[rows, first].sum(keepdims=True), value[rows, first].sum(keepdims=True)
    record: list[Merge] = []
    for row, options in enumerate(kept):
        if len(options) < 2:
            continue
        most -= _SORTING * len(w) * len(options)
        if most < 0:
            return None
        more_w = np.add.outer(w, watts[row, options] - watts[row, options[0]]).ravel()
        more = np.add.outer(v, value[row, options] - value[row, options[0]]).ravel()
        useful = _useful(more_w, more, limit, price)
        record.append((row, options, useful % len(options), useful // len(options)))
        w, v = more_w[useful], more[useful]
    return Sums(w, v, record)


def _useful(watts: Array, value: Array, limit: float, price: Price | None) -> Ints:
    """Places of the sums to go on with, by watts."""
    near = watts <= limit + _SAME_W
    if price is not None:
        reduced = value - price.watt * watts
        near &= reduced >= reduced.max() - price.behind
    places = np.flatnonzero(near)
    places = places[np.lexsort((-value[places], watts[places].round(_DIGITS)))]
    above = np.concatenate([[-np.inf], np.maximum.accumulate(value[places])[:-1]])
    return np.asarray(places[value[places] > above + _EVEN])
