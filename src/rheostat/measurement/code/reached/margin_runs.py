"""Constants of the candidate's own that are margins: right as they are, and nobody knows how near.

A constant that is right is needed (a little more or less of it changes an output) or free (so is
far more and far less none).  Where far off another output comes and near by none, it is large
enough for the inputs that were tried, and no run has shown that it is for the others.  Where the
other output only comes of memory that is not the program's, it is room, and sanitizers look at it.

A free one that is large makes rare what is done at its multiples: a table grows once, two tiles
meet seldom.  It is made small, so that this is done often.  Where few inputs then give another
output, that is wrong at times; where most do, it has to be large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.measurement.code.reached.mutant_text import Site

SAID = (
    "the output is the same with {near} in the place of {constant}, and another one with {far}:"
    " nothing shows where it has to be"
)
OFTEN = (
    "the output is the same with {near} or {far} in the place of {constant}, and another one with "
    "{small} on {shown} of {run} inputs: what is done where so many are reached is wrong at times"
)
LARGE, SMALL_BITS, LEAST_RUN, MOST_SHARE = 16, 2, 24, 1 / 3
"""Free numbers that are made small, to one of so many bits; inputs that tell, what share of them
may give another output."""
FAR_INPUTS, LEAST_REACHED = 8, 4
"""Inputs on which far ones are run; constants that fewer inputs reach are not asked."""
NEAR_TURNS = ((0, 2), (2, 24), (24, 192))
"""Inputs on which near ones are run, before far ones and after them."""
Differ = Callable[[Sequence[tuple[Site, float, int]]], Sequence[bool | None]]
"""Which mutants, each with an input's number, give another output, None: they fail; fewer where
time is over.  Also which ones end with an error of memory."""


@dataclass
class Margin:
    """A constant's place, its inputs, and what in its place changes the output of which input."""

    site: Site
    inputs: Sequence[int]
    shown: list[tuple[float, int]]
    run: int = 0
    """Inputs on which it was made small, where that showed something."""

    @property
    def far(self) -> list[float]:
        """Values in its place that change an output."""
        return list(dict.fromkeys(x for x, _ in self.shown))

    @property
    def said(self) -> str:
        """What was tried."""
        c = self.site.constant
        assert c
        tried = (c.near(), self.far, c.far(loop=self.site.in_loop))
        near, far, free = (" or ".join(f"{x:,g}" for x in some) for some in tried)
        if not self.run:
            return SAID.format(near=near, constant=f"{c.value:,g}", far=far)
        return OFTEN.format(near=near, far=free, constant=f"{c.value:,g}", small=far,
                            shown=len(self.shown), run=self.run)  # fmt: skip


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
    far = _not_free(open_, differ)
    often = _wrong_often([m for m in open_ if not m.shown], sites, differ)
    for turn in rest:
        far = _not_needed(far, turn, differ)
    return sorted(_no_room([*far, *often], fail), key=lambda m: m.site.at)


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


def _wrong_often(free: Sequence[Margin], sites: Sequence[Site], differ: Differ) -> list[Margin]:
    """Large ones of which a small one gives another output on few of many inputs."""
    some = [(m, x) for m in free if (x := small_of(m.site)) and _stands_alone(m.site, sites)]
    most = max((len(m.inputs) for m, _ in some), default=0)
    asked = [(m, x, m.inputs[n]) for n in range(most) for m, x in some if n < len(m.inputs)]
    failed, runs = set[int](), Counter[int]()
    for (m, x, i), other in zip(asked, differ([(m.site, x, i) for m, x, i in asked]), strict=False):
        runs[id(m)] += 1
        if other:
            m.shown.append((x, i))
        elif other is None:
            failed.add(id(m))
    for m, _ in some:
        m.run = runs[id(m)]
    return [m for m, _ in some if id(m) not in failed and m.run >= LEAST_RUN
            and 0 < len(m.shown) <= MOST_SHARE * m.run]  # fmt: skip


def _stands_alone(site: Site, sites: Sequence[Site]) -> bool:
    """Whether a number can be another one by itself: no line has it, too, or one made of it."""
    assert site.constant
    value = site.constant.value
    others = [s.constant.value for s in sites
              if s.constant and not s.constant.is_real and s.at[:2] != site.at[:2]]  # fmt: skip
    if value in others and not site.wherever:
        return False
    return not any(is_made_of(value, n) or is_made_of(n, value) for n in others if n != value)


def is_made_of(value: float, other: float) -> bool:
    """Whether a number is another one's power, one more or less, or a power of two by it.

    >>> [is_made_of(4096, n) for n in (64, 4095, 4097, 12, 32, 2048, 1, -3)]
    [True, True, True, True, False, False, False, False]
    """
    if other < 2 or value < 2:
        return False
    powers = (other**k for k in range(2, 9))
    return abs(value - other) == 1 or value in powers or (other < 64 and value == 2**other)


def small_of(site: Site) -> int:
    """A small number of the same kind: a power of two, or one less than that; 0 for none.

    >>> from rheostat.measurement.code.reached.mutant_constants import UsedNumber
    >>> [small_of(Site(("a.c", 1, 1), 0, constant=UsedNumber("i32", n)))
    ...  for n in ("2048", "1023", "48", "12", "-64")]
    [4, 3, 4, 0, 0]
    """
    c = site.constant
    if c is None or c.is_real or c.value < LARGE - 1:
        return 0
    value = int(c.value)
    return (1 << SMALL_BITS) - (value & (value + 1) == 0)


def _no_room(some: Sequence[Margin], fail: Differ) -> list[Margin]:
    """Those of which something far off gives another output without an error of memory."""
    asked = [(m, x, i) for m in some for x, i in m.shown]
    failed = fail([(m.site, x, i) for m, x, i in asked]) if asked else []
    ends = {id(m) for (m, *_), ended in zip(asked, failed, strict=False) if not ended}
    ends |= {id(m) for m, *_ in asked[len(failed) :]}
    return [m for m in some if id(m) in ends]
