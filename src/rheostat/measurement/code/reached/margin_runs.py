"""Constants of the candidate's own that are margins: right as they are, and nobody knows how near.

A constant that is right is needed (a little more or less of it changes an output) or free (so is
far more and far less none).  Where far off another output comes and near by none, it is large
enough for the inputs that were tried, and no run has shown that it is for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
"""Which mutants, each with an input's number, give another output; fewer where time is over."""


@dataclass
class Margin:
    """A constant's place, values in its place that change nothing, and those that do."""

    site: Site
    inputs: Sequence[int]
    far: list[float]

    @property
    def said(self) -> str:
        """What was tried."""
        c = self.site.constant
        assert c
        words = (" or ".join(f"{x:,g}" for x in some) for some in (c.near(), self.far))
        near, far = words
        return SAID.format(near=near, constant=f"{c.value:,g}", far=far)


def margins(sites: Sequence[Site], reached: np.ndarray, differ: Differ) -> list[Margin]:
    """Constants that are margins, in the order of their lines.

    Parameters
    ----------
    sites : sequence of Site
        Those of the text; without a constant they are not looked at.
    reached : array
        How often each site was reached, by input; 0 where an input's run failed.
    differ : callable
        Runs mutants.
    """
    open_ = []
    for site in sites:
        times = reached[:, site.number]
        if site.constant and np.count_nonzero(times) >= LEAST_REACHED:
            most_first = np.argsort(-times, kind="stable")[: np.count_nonzero(times)]
            open_.append(Margin(site, most_first.tolist(), []))
    first, *rest = NEAR_TURNS
    open_ = _not_needed(open_, first, differ)
    open_ = _not_free(open_, differ)
    for turn in rest:
        open_ = _not_needed(open_, turn, differ)
    return sorted(open_, key=lambda m: m.site.at)


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
    for (m, x, _), other in zip(asked, shown, strict=False):
        if other and x not in m.far:
            m.far.append(x)
    return [m for m in some if m.far]
