"""NSGA-II: breed the next settings from the best so far.  Needs no model, but many evaluations.

pymoo's algorithm asks a generation at a time and keeps a random state.  Here it is replayed from
its seed at every question, its generations answered from what was told: the settings of the first
generation that is not fully known are what to ask next.  So results may come in any order, and a
resumed search breeds the same children.

References
----------
Deb, Pratap, Agarwal, Meyarivan: A fast and elitist multiobjective genetic algorithm (2002).
Blank and Deb: pymoo (IEEE Access 2020).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np

from rheostat._optional import require
from rheostat.core.front import Objective
from rheostat.core.outcome import Array
from rheostat.core.space import Knob, Space
from rheostat.errors import DataError
from rheostat.tradeoff.propose.base import Searcher
from rheostat.tradeoff.propose.modelled import Shared
from rheostat.tradeoff.propose.observations import Key, keys
from rheostat.tradeoff.propose.spacefill import spread

_STALE = 30  # generations that bring nothing new before the rest is spread evenly
_WORST = 1e30  # stands for "no value": pymoo ranks finite numbers only


class NSGA2(Searcher):
    """pymoo's NSGA-II over the unit cube, its points snapped to the knob values.

    ``population`` is its size; evaluations are counted as settings, a repeated child costs nothing.

    Parameters
    ----------
    space, objectives, **shared
        As for `Searcher`.
    population : int
        Size of a generation, at least 2.

    Raises
    ------
    DataError
        A smaller population.
    """

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        objectives: Sequence[str | Objective] = ("runtime_s", "energy_j"),
        *,
        population: int = 10,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(space, objectives, **shared)
        if population < 2:
            raise DataError("NSGA2", [f"expected a population of at least 2, got {population}"])
        self.population = population

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Children of the current generation; evenly spread settings where breeding stalls."""
        free = self.free()
        if free is not None and len(free) <= n:
            return free
        children = self._replay()[:n]
        return children or spread(self, n)

    def _replay(self) -> list[dict[str, Any]]:
        """Settings of the first generation with unknown members, those pending left out."""
        known = self._known()
        breeder = self._breeder()
        seen: set[Key] = set()
        stale = 0
        while stale < _STALE:
            generation = breeder.ask()
            settings = [self._nearest(u) for u in generation.get("X")]
            fresh = {self.key(s): s for s in settings}
            missing = [s for k, s in fresh.items() if k not in known and self.space.allows(s)]
            if missing:
                return [s for s in missing if not self.taken(s)]
            stale = 0 if fresh.keys() - seen else stale + 1
            seen |= fresh.keys()
            rows = np.array([known.get(self.key(s), self._forbidden()) for s in settings])
            generation.set("F", rows[:, 1:])
            generation.set("G", rows[:, :1])
            breeder.tell(infills=generation)
        return []

    def _breeder(self) -> Any:
        """Pymoo's algorithm at its start."""
        knobs, wanted = len(self.space.knobs), len(self.objectives)
        problem = require("pymoo.core.problem", extra="search").Problem(
            n_var=knobs, n_obj=wanted, n_ieq_constr=1, xl=0.0, xu=1.0
        )
        algorithm = require("pymoo.algorithms.moo.nsga2", extra="search").NSGA2(self.population)
        endless = require("pymoo.core.termination", extra="search").NoTermination()
        return algorithm.setup(problem, termination=endless, seed=self.seed)

    def _forbidden(self) -> Array:
        return np.full(1 + len(self.objectives), _WORST)

    def _known(self) -> dict[Key, Array]:
        """By setting: its largest relative miss of a limit, then its objectives."""
        front = self.front
        miss = np.zeros(len(front))
        for limit in self.limits if len(front) else ():
            miss = np.maximum(miss, np.nan_to_num(limit.excess(front), nan=_WORST))
        values = np.where(np.isfinite(front.values), front.values, _WORST)
        rows = np.column_stack([miss, values])
        return dict(zip(keys(self.space, front.alternatives), rows, strict=True))

    def _nearest(self, u: Array) -> dict[str, Any]:
        return dict((k.name, k.unscale(float(x))) for k, x in zip(self.space.knobs, u, strict=True))
