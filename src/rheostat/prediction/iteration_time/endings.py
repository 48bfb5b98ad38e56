"""How low an iteration may come out because a neighbour ends before it, unannounced.

Nothing says when a neighbour ends.  One that has run for n iterations of ours ends within the next
h with probability h / (n + h): the share of all moments at which to look (Gott 1993, Nature 363).
Where that is more than the tail which an interval leaves out, its lower end reaches down to a time
in proportion to the traffic that would be left.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.iteration_time.forecast import Neighbour, Surroundings

MOST = 6
"""Neighbours, those with the most traffic, of which every subset may end."""


class NeighbourEndings:
    """Iterations for which each neighbour has run, and what follows from them."""

    def __init__(self) -> None:
        self.run: dict[str, int] = {}

    def observe(self, around: Surroundings) -> None:
        """An iteration that began in ``around`` is over."""
        for n in around.neighbours:
            if n.running:
                self.run[n.name] = self.run.get(n.name, 0) + 1

    def reach(self, around: Surroundings, horizon: int, tail: float) -> Array:
        """By how much log times may drop, (horizon,), 0 or less.

        Parameters
        ----------
        around
            What is known now.
        horizon
            Iterations ahead.
        tail
            Probability that the lower end of an interval leaves out.

        Examples
        --------
        >>> endings = NeighbourEndings()
        >>> now = Surroundings((Neighbour("b", 0.1, 1.0, True, 0.75),))
        >>> for _ in range(100):
        ...     endings.observe(now)
        >>> endings.reach(now, 6, 0.05).round(2).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, -1.39]
        """
        there = [n for n in around.neighbours if n.running and np.isfinite(n.traffic_share)]
        there = sorted(there, key=lambda n: -n.traffic_share)[:MOST]
        drops, chances = self._outcomes(there, np.arange(1.0, horizon + 1))
        order = np.argsort(drops)
        reached = np.cumsum(chances[order], axis=0) > tail
        return np.asarray(drops[order][np.argmax(reached, axis=0)])

    def _outcomes(self, there: list[Neighbour], ahead: Array) -> tuple[Array, Array]:
        """Log of the traffic left for each subset that ends, and its probability by steps ahead."""
        ends = [ahead / (self.run.get(n.name, 0) + ahead) for n in there]
        drops, chances = [], []
        for over in product((False, True), repeat=len(there)):
            left = 1.0 - sum(n.traffic_share for n, o in zip(there, over, strict=True) if o)
            drops.append(np.log(max(left, 0.01)))
            chance = np.ones(len(ahead))
            for p, o in zip(ends, over, strict=True):
                chance = chance * (p if o else 1.0 - p)
            chances.append(chance)
        return np.array(drops), np.array(chances)
