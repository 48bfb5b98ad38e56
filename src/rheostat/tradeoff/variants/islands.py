"""Mutation of the best variants that are known: islands, each with what it is after.

What a variant is made from is a set of choices, as (loop, option) or (rewriting, yes).  An island
keeps the best choices by one objective, changes some of them at random, and now and then takes over
its neighbour's best.  A child that was tried before is not asked again: more choices are changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rheostat.tradeoff.variants.variant import Steps, Variant, VariantResult, diff_lines

Choices = frozenset[tuple[Hashable, str]]
"""What is chosen of each thing that has options; a thing left out stays as it was."""
MIGRATION = 5
"""An island takes over its neighbour's best every so many of its turns."""
PATIENCE = 8
"""Variants without a gain on any island, after which the search ends."""
MOST_REPEATS = 40
AFTER = ("runtime_s", "energy_j", "diff_lines")


@dataclass
class Islands:
    """A chain of mutated variants; iterate over ``steps()``.

    Parameters
    ----------
    options : mapping
        Things that can be chosen, with the options of each.
    made : callable(Choices) -> Variant or None
        The variant of some choices; None where they do not go together.
    original : str
        Text that the size of a diff is counted from.
    known : list of (Choices, VariantResult)
        The archive: what was accepted before, and every variant that is accepted here.
    seed : int
        Draws the changes.
    """

    options: Mapping[Hashable, Sequence[str]]
    made: Callable[[Choices], Variant | None]
    original: str
    known: list[tuple[Choices, VariantResult]] = field(default_factory=list)
    seed: int = 0

    def steps(self) -> Steps:
        """Variants; each is sent what came of it."""
        rng = np.random.default_rng(self.seed)
        tried = {v.identity for c, _ in self.known if (v := self.made(c)) is not None}
        idle = turn = 0
        while self.known and idle < PATIENCE:
            after = AFTER[turn % len(AFTER)]
            migrates = turn // len(AFTER) % MIGRATION == MIGRATION - 1
            parent = self._best(AFTER[(turn + migrates) % len(AFTER)])
            child = self._child(parent, rng, tried)
            if child is None:
                return
            choices, variant = child
            least = {a: self._cost(self._best(a), a) for a in AFTER}
            tried.add(variant.identity)
            trial = yield variant
            turn += 1
            idle += 1
            if trial.accepted:
                self.known.append((choices, trial))
                idle = 0 if self._cost(choices, after) < least[after] else idle

    def _child(
        self, parent: Choices, rng: np.random.Generator, tried: set[str]
    ) -> tuple[Choices, Variant] | None:
        """A changed variant that is new: the more repeats came up, the more is changed at once."""
        for repeat in range(MOST_REPEATS):
            choices = parent
            for _ in range(1 + repeat // 4):
                choices = self._changed(choices, rng)
            variant = self.made(choices)
            if variant is not None and variant.identity not in tried:
                return choices, variant
        return None

    def _changed(self, choices: Choices, rng: np.random.Generator) -> Choices:
        """One thing chosen otherwise, or left as it was."""
        things = list(self.options)
        thing = things[int(rng.integers(len(things)))]
        rest = frozenset(c for c in choices if c[0] != thing)
        now = next((o for t, o in choices if t == thing), "")
        others = [o for o in ("", *self.options[thing]) if o != now]
        chosen = others[int(rng.integers(len(others)))]
        return rest | {(thing, chosen)} if chosen else rest

    def _best(self, after: str) -> Choices:
        return min(self.known, key=lambda k: self._figure(k[0], k[1], after))[0]

    def _cost(self, choices: Choices, after: str) -> float:
        return min(self._figure(c, t, after) for c, t in self.known if c == choices)

    def _figure(self, choices: Choices, trial: VariantResult, after: str) -> float:
        """What an island minimises; the time where no energy is known."""
        if after == "diff_lines":
            variant = self.made(choices)
            better = trial.runtime_ratio < 1 or trial.energy_ratio < 1
            lines = math.inf if variant is None else diff_lines(self.original, variant.text)
            return float(lines) if better else math.inf
        figure = trial.energy_ratio if after == "energy_j" else trial.runtime_ratio
        figure = trial.runtime_ratio if math.isnan(figure) else figure
        return math.inf if math.isnan(figure) else figure


def one_after_another(*chains: Callable[[], Steps]) -> Steps:
    """Chains of which each begins where the one before has ended, as one chain.

    Parameters
    ----------
    *chains : callable
        Each makes a chain, when it is its turn.

    Yields
    ------
    Variant
        Of each in turn; what is sent goes to the chain that asked.
    """
    for chain in chains:
        yield from chain()


def until_accepted(first: Steps, then: Callable[[], Steps], most: int) -> Steps:
    """A chain, and another in its place where its first variants are all rejected.

    Parameters
    ----------
    first : generator
        The cheaper one.
    then : callable
        Makes the other, when it is its turn.
    most : int
        Variants of the first without an accepted one.

    Yields
    ------
    Variant
        Of one and then the other.
    """
    accepted, asked = False, 0
    variant = next(first, None)
    while variant is not None and (accepted or asked < most):
        result = yield variant
        accepted, asked = accepted or result.accepted, asked + 1
        try:
            variant = first.send(result)
        except StopIteration:
            variant = None
    if not accepted:
        yield from then()
