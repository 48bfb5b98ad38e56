"""`Proposer`: what may be asked next.  One loop, `rheostat.tradeoff.search`, serves them all.

A proposer is asked for settings and told what they cost, in any order and any batch.  It never asks
for a setting of a finite space twice (unless repeats have shown how runs differ, and another one is
worth more than a new setting), asks nothing when the space is used up, and with the same seed asks
the same after being told the same.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rheostat._threads import one_thread
from rheostat.core.front import Front, Objective
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Array, Outcome
from rheostat.core.space import Knob, Setting, Space
from rheostat.errors import DataError
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.failures import failing
from rheostat.tradeoff.propose.observations import Key, Observations, keys
from rheostat.tradeoff.propose.past_applications import coordinates

LISTED = 50_000  # a finite space of at most this many settings is listed, a larger one sampled


@runtime_checkable
class Proposer(Protocol):
    """Asks for settings, is told what they cost."""

    objectives: tuple[Objective, ...]

    def ask(self, n: int = 1) -> JobTable:
        """Settings to measure next.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        JobTable
            At most ``n`` rows; none when nothing is left.
        """
        ...

    def tell(self, jobs: JobTable, outcome: Outcome) -> None:
        """Take results in, also those that were never asked for.

        Parameters
        ----------
        jobs : JobTable
            n settings.
        outcome : Outcome
            Draws (d, n), one per repetition; NaN where a run gave no value.
        """
        ...


class Searcher(ABC):
    """What all proposers here share: a space, what was told, what is pending.

    Parameters
    ----------
    space : Space, Knob or several Knobs
        What may be turned.
    objectives : sequence of str or Objective
        Quantities to minimise.
    job : JobTable, optional
        One row: its submit-time columns accompany every setting asked.
    limits : iterable of Limit
        Limits on outcomes (`Deadline`, `PowerCap`, ...): rows that miss one do not count.
    seed : int
        Of everything that is drawn.
    """

    def __init__(
        self,
        space: Space | Knob | Iterable[Knob],
        objectives: Sequence[str | Objective] = ("runtime_s", "energy_j"),
        *,
        job: JobTable | None = None,
        limits: Iterable[Limit] = (),
        seed: int = 0,
    ) -> None:
        self.space = Space.of(space)
        self.objectives = tuple(Objective.of(o) for o in objectives)
        self.job = job
        self.limits = tuple(limits)
        self.seed = seed
        self.history = Observations(self.space, self.objectives)
        self._observed: set[Key] = set()
        self._pending: dict[Key, dict[str, Any]] = {}
        self._listed: list[dict[str, Any]] | None = None

    @abstractmethod
    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """At most ``n`` allowed settings that are not `taken`."""

    @one_thread()
    def ask(self, n: int = 1) -> JobTable:
        """At most ``n`` settings, fewer or none when a finite space is used up."""
        if n < 1:
            raise DataError("ask", [f"expected n >= 1, got {n}"])
        rng = np.random.default_rng([self.seed, len(self.history) + len(self._pending)])
        settings = self.propose(n, rng)
        self._pending |= {self.key(s): s for s in settings}
        return self.space.alternatives(self.job, settings)

    def tell(self, jobs: JobTable, outcome: Outcome) -> None:
        """Remember results; NaN results count as told, so that they are not asked again."""
        self.history.add(jobs, outcome)
        for key in keys(self.space, jobs):
            self._observed.add(key)
            self._pending.pop(key, None)

    def forecast(self, settings: Sequence[Setting]) -> Outcome | None:
        """What the method expects settings to cost; None where it has no model (yet)."""
        return None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know of the method on this space."""
        return ()

    @property
    def front(self) -> Front:
        """What was told, as a `Front`."""
        return self.history.front

    @property
    def pending(self) -> list[dict[str, Any]]:
        """Settings asked and not yet told, sorted so that their order of asking is forgotten."""
        return [self._pending[k] for k in sorted(self._pending, key=repr)]

    def measured(self, setting: Setting) -> bool:
        """Whether the setting has results."""
        return self.key(setting) in self._observed

    def failing(self, settings: Sequence[Setting]) -> Array:
        """Probability that each setting fails, (n,), after those that were told as failed."""
        ran = self.front
        failed = np.asarray(~np.isfinite(ran.values).all(axis=1))
        if not failed.any():
            return np.zeros(len(settings))
        rows = ran.alternatives.select(self.space.names).frame.rows(named=True)
        units = coordinates(self.space, [*settings, *rows])
        return failing(units[: len(settings)], units[len(settings) :], failed)

    def key(self, setting: Setting) -> Key:
        """The setting's values, hashable."""
        return tuple(setting[n] for n in self.space.names)

    def taken(self, setting: Setting) -> bool:
        """Whether the setting was told or is pending."""
        key = self.key(setting)
        return key in self._observed or key in self._pending

    def listed(self) -> list[dict[str, Any]] | None:
        """All settings of a finite space that is not too large to list, else None."""
        if self._listed is None and self.space.finite:
            size = math.prod(len(k.values) for k in self.space.knobs)
            self._listed = self.space.settings() if size <= LISTED else None
        return self._listed

    def considered(self) -> list[dict[str, Any]] | None:
        """Listed settings that are worth a forecast; None where the space is not listed."""
        return self.listed()

    def free(self) -> list[dict[str, Any]] | None:
        """Listed settings that are not taken; None where the space is not listed."""
        listed = self.listed()
        return None if listed is None else [s for s in listed if not self.taken(s)]
