"""Proposers that do not look at results: everything in order, or evenly spread points.

They are the control of every comparison, and the first questions of every model-based search.

References
----------
Sobol', I. M.: On the distribution of points in a cube (1967); scrambling after Owen (1998).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.errors import DataError
from rheostat.tradeoff.propose.base import Searcher

_ATTEMPTS = 2**14  # points looked at before a constraint counts as leaving nothing


class Exhaustive(Searcher):
    """Every setting once, in the order of the space.

    >>> from rheostat import Knob
    >>> Exhaustive(Knob("nodes", [1, 2, 4])).ask(2).frame["nodes"].to_list()
    [1, 2]
    """

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """The next ``n`` in order."""
        free = self.free()
        if free is None:
            raise DataError("Exhaustive", ["the space is endless or too large to list: use Sobol"])
        return free[:n]


class Sobol(Searcher):
    """Points spread evenly (scrambled Sobol sequence), snapped to the knob values."""

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """The next ``n`` points of the sequence that are not taken."""
        return spread(self, n)


def spread(searcher: Searcher, n: int) -> list[dict[str, Any]]:
    """The first ``n`` settings of the seed's Sobol sequence that are allowed and not taken.

    The sequence starts anew at each call and taken points are passed over, so that a resumed
    search continues where it stopped.  In a listed space, rare leftovers come in random order.
    """
    free = searcher.free()
    if free is not None and len(free) <= n:
        return free
    settings: dict[Any, dict[str, Any]] = {}
    points = require("scipy.stats.qmc", extra="core").Sobol(
        len(searcher.space.knobs), scramble=True, rng=searcher.seed
    )
    looked = 0
    while len(settings) < n and looked < _ATTEMPTS:
        block = 64 if looked == 0 else looked  # doubles: Sobol blocks are balanced at powers of two
        for setting in searcher.space.sample(points.random(block)):
            if len(settings) < n and not searcher.taken(setting):
                settings.setdefault(searcher.key(setting), setting)
        looked += block
    if free is None and not settings:
        raise DataError(
            "Space", [f"the constraints allowed none of {looked} points: widen them or the knobs"]
        )
    rest = [s for s in free or () if searcher.key(s) not in settings]
    order = np.random.default_rng(searcher.seed).permutation(len(rest))
    return [*settings.values(), *(rest[i] for i in order)][:n]
