"""Less time or energy without a model: flags of the compiler and rewritings of the loops.

All rewritings with the fastest flags come first.  Where that is rejected, flags alone, and then
each rewriting is tried on the best so far; where it is accepted, what does not help is taken back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable
from pathlib import Path

from rheostat.tradeoff.variants.islands import Choices, Islands
from rheostat.tradeoff.variants.refactorings import REFACTORINGS
from rheostat.tradeoff.variants.variant import Steps, Variant, VariantResult

GAIN = 0.99
FLAGS = "flags"
ENERGY, RUNTIME = "energy_j", "runtime_s"
VECTORS = ("avx2", "fma")
"""Instructions that are used where the machine has them; wider ones cannot be counted here."""


def fast_flags(flags: Iterable[str], *, exact: bool) -> tuple[str, ...]:
    """The flags with the highest level and this machine's vectors.

    Parameters
    ----------
    flags : iterable of str
        Those of the original.
    exact : bool
        Leave sums in their order.

    Returns
    -------
    tuple of str
        Flags of gcc and clang.

    Examples
    --------
    >>> fast_flags(("-O2", "-lm"), exact=True)[0]
    '-O3'
    """
    kept = [f for f in flags if not re.fullmatch(r"-O\w?|-m\S+|-ffast-math", f)]
    vectors = [f"-m{v}" for v in VECTORS if v in _instructions()]
    return ("-O3", *vectors, *(() if exact else ("-ffast-math",)), *kept)


def _instructions() -> set[str]:
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.exists() else ""
    line = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return set(line[1].split()) if line else set()


class Tuning:
    """A chain of variants of a program in the language it is in; iterate over ``steps()``.

    Parameters
    ----------
    text : str
        The original.
    flags : tuple of str
        Its compiler flags.
    language : str
        Of the original and all variants.
    objective : str
        "energy_j" or "runtime_s"; the time decides where no energy is known.
    """

    name = "search"

    def __init__(
        self, text: str, flags: tuple[str, ...] = ("-O2",), language: str = "serial",
        objective: str = ENERGY,
    ) -> None:  # fmt: skip
        self.text, self.flags, self.language = text, flags, language
        self.objective = objective
        self.accepted: list[tuple[Choices, VariantResult]] = []

    def islands(self, seed: int = 0) -> Islands:
        """Mutations of what was accepted: rewritings more or fewer, other flags."""
        options: dict[Hashable, tuple[str, ...]] = {name: ("made",) for name in REFACTORINGS}
        options[FLAGS] = tuple(" ".join(f) for f in self._flag_sets())

        def made(choices: Choices) -> Variant | None:
            chosen = dict(choices)
            flags = tuple(chosen.get(FLAGS, " ".join(self.flags)).split(" "))
            names = tuple(n for n in REFACTORINGS if n in chosen)
            variant = self._variant(names, flags)
            return None if variant.text == self.text and flags == self.flags else variant

        return Islands(options, made, self.text, self.accepted, seed)

    def _flag_sets(self) -> list[tuple[str, ...]]:
        fast, exact = (fast_flags(self.flags, exact=e) for e in (False, True))
        rest = tuple(f for f in self.flags if not re.fullmatch(r"-O\w?", f))
        return [fast, exact, (*fast, "-funroll-loops"), (*exact, "-funroll-loops"), ("-Os", *rest)]

    def _accepted(
        self, names: tuple[str, ...], flags: tuple[str, ...], trial: VariantResult
    ) -> None:
        if trial.accepted:
            made = self._applied(names)[1]
            chosen = {(n, "made") for n in made} | {(FLAGS, " ".join(flags))}
            self.accepted.append((frozenset(chosen), trial))

    def steps(self) -> Steps:
        """Variants; each is sent what came of it."""
        every = tuple(REFACTORINGS)
        fast, exact = (fast_flags(self.flags, exact=e) for e in (False, True))
        best: tuple[tuple[str, ...], tuple[str, ...]] = ((), self.flags)
        least = 1.0
        for names, flags in ((every, fast), (every, exact), ((), fast), ((), exact)):
            if names and self._applied(names)[0] == self.text:
                continue
            trial = yield self._variant(names, flags)
            self._accepted(names, flags, trial)
            cost = self._cost(trial)
            if trial.accepted and cost < GAIN * least:
                best, least = (names, flags), cost
                break
        tested = self._tested(best[0])
        for names in tested:
            if self._applied(names)[0] == self._applied(best[0])[0]:
                continue
            trial = yield self._variant(names, best[1])
            self._accepted(names, best[1], trial)
            cost = self._cost(trial)
            gained = cost < GAIN * least if len(names) > len(best[0]) else cost <= least / GAIN
            if trial.accepted and gained:
                best, least = (names, best[1]), min(cost, least)

    def _tested(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """What is tried next: each rewriting added, or the rewritings taken back."""
        made = self._applied(names)[1]
        if made:
            return [(), *(tuple(n for n in made if n != one) for one in made if len(made) > 1)]
        singles = [(n,) for n in REFACTORINGS if self._applied((n,))[0] != self.text]
        return [*singles]

    def _applied(self, names: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The text after rewritings, and those that changed anything."""
        text, made = self.text, []
        for name in names:
            changed = REFACTORINGS[name](text)
            if changed is not None and changed != text:
                text = changed
                made.append(name)
        return text, tuple(made)

    def _variant(self, names: tuple[str, ...], flags: tuple[str, ...]) -> Variant:
        text, made = self._applied(names)
        added = [f for f in flags if f not in self.flags]
        change = ", ".join([*made, *([f"flags {' '.join(added)}"] if added else [])])
        return Variant(text, self.name, change, flags, self.language)

    def _cost(self, trial: VariantResult) -> float:
        energy, runtime = trial.energy_ratio, trial.runtime_ratio
        first = energy if self.objective == ENERGY else runtime
        return runtime if math.isnan(first) else first
