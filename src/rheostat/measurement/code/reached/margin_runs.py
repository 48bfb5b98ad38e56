"""Constants of the candidate's own that are margins: right as they are, and nobody knows how near.

A constant that is right is needed (a little more or less of it changes an output) or free (so is
far more and far less none).  Where far off another output comes and near by none, it is large
enough for the inputs that were tried, and no run has shown that it is for the others.  Where the
other output only comes of memory that is not the program's, it is room, and sanitizers look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.measurement.code.reached.mutant_text import Site

SAID = (
    "the output is the same with {near} in the place of {constant}, and another one with {far}:"
    " nothing shows where it has to be"
)
FAR_INPUTS, LEAST_REACHED = 8, 4
"""Inputs on which far ones are run; constants that fewer inputs reach are not asked."""
NEAR_TURNS = ((0, 2), (2, 24), (24, 192))
"""Inputs on which near ones are run, before far ones and after them."""
Differ = Callable[[Sequence[tuple[Site, float, int]]], list[bool]]
"""Which mutants, each with an input's number, give another output; fewer where time is over.
Also which ones end with an error of memory."""


@dataclass
class Margin:
    """A constant's place, its inputs, and what in its place changes the output of which input."""

    site: Site
    inputs: Sequence[int]
    shown: list[tuple[float, int]]

    @property
    def far(self) -> list[float]:
        """Values in its place that change an output."""
        return list(dict.fromkeys(x for x, _ in self.shown))

    @property
    def said(self) -> str:
        """What was tried."""
        c = self.site.constant
        assert c
        words = (" or ".join(f"{x:,g}" for x in some) for some in (c.near(), self.far))
        near, far = words
        return SAID.format(near=near, constant=f"{c.value:,g}", far=far)


def margins(
    sites: Sequence[Site], reached: np.ndarray, differ: Differ, fail: Differ
) -> list[Margin]:
    """Constants that are margins, in the order of their lines.

    Parameters
    ----------
    sites : sequence of Site
        Those of the text; without a constant they are not looked at.
    reached : array
        How often each site was reached, by input; 0 where an input's run failed.
    differ, fail : callable
        Run mutants; the latter with addresses checked.
    """
    open_ = []
    for site in (*wherever(sites), *sites):
        times = reached[:, site.number]
        if site.constant and np.count_nonzero(times) >= LEAST_REACHED:
            most_first = np.argsort(-times, kind="stable")[: np.count_nonzero(times)]
            open_.append(Margin(site, most_first.tolist(), []))
    first, *rest = NEAR_TURNS
    open_ = _not_needed(open_, first, differ)
    open_ = _not_free(open_, differ)
    for turn in rest:
        open_ = _not_needed(open_, turn, differ)
    return sorted(_no_room(open_, fail), key=lambda m: m.site.at)


def wherever(sites: Sequence[Site]) -> list[Site]:
    """Constants that stand on several lines, each as one: all of a capacity is changed at once.

    Six elements of each part, asked for where one is put in and where the next part begins, are
    needed at each place alone, and still nothing shows that six are enough.
    """
    every: dict[float, list[Site]] = {}
    for site in sites:
        if site.constant and not site.constant.is_real:
            every.setdefault(site.constant.value, []).append(site)
    return [replace(some[0], in_loop=True, wherever=True) for some in every.values()
            if len({s.at[:2] for s in some}) > 1]  # fmt: skip


def _not_needed(some: Sequence[Margin], turn: tuple[int, int], differ: Differ) -> list[Margin]:
    """Those of which nothing near by gives another output on these of their inputs."""
    asked = [(m, x, i) for m in some if m.site.constant
             for i in m.inputs[slice(*turn)] for x in m.site.constant.near()]  # fmt: skip
    shown = differ([(m.site, x, i) for m, x, i in asked])
    dropped = {id(m) for (m, *_), other in zip(asked, shown, strict=False) if other}
    dropped |= {id(m) for m, *_ in asked[len(shown) :]}
    return [m for m in some if id(m) not in dropped]


def _not_free(some: Sequence[Margin], differ: Differ) -> list[Margin]:
    """Those of which something far off gives another output."""
    asked = [(m, x, i) for m in some if m.site.constant
             for x in m.site.constant.far(loop=m.site.in_loop)
             for i in m.inputs[:FAR_INPUTS]]  # fmt: skip
    shown = differ([(m.site, x, i) for m, x, i in asked])
    for (m, x, i), other in zip(asked, shown, strict=False):
        if other:
            m.shown.append((x, i))
    return [m for m in some if m.shown]


def _no_room(some: Sequence[Margin], fail: Differ) -> list[Margin]:
    """Those of which something far off gives another output without an error of memory."""
    asked = [(m, x, i) for m in some for x, i in m.shown]
    failed = fail([(m.site, x, i) for m, x, i in asked]) if asked else []
    ends = {id(m) for (m, *_), ended in zip(asked, failed, strict=False) if not ended}
    ends |= {id(m) for m, *_ in asked[len(failed) :]}
    return [m for m in some if id(m) in ends]
