"""A variant of a program and what came of it; proposers whose next question hangs on an answer.

A variant is a row: its identity (a hash of text and flags), who proposed it, what was changed and
the compiler's flags.  Its text lies in a store beside the journal, so that a search continues after
a kill with the same questions.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field

import polars as pl

from rheostat.core.front import Objective
from rheostat.core.jobs import Column, JobTable, Moment, Schema
from rheostat.core.outcome import Outcome

OBJECTIVES = ("runtime_s", "energy_j", "memory_byte", "diff_lines")
COLUMNS = (
    Column("variant", "", Moment.SUBMIT, "hash of text and flags"),
    Column("proposer", "", Moment.SUBMIT, "who proposed it"),
    Column("change", "", Moment.SUBMIT, "what was changed"),
    Column("flags", "", Moment.SUBMIT, "compiler flags"),
    Column("language", "", Moment.SUBMIT, "language of the text"),
)


@dataclass(frozen=True)
class Variant:
    """A program's text with the flags it is compiled with.

    Parameters
    ----------
    text : str
        The source.
    proposer : str
        Who proposed it.
    change : str
        What was changed, in a few words.
    flags : tuple of str
        Of the compiler.
    language : str
        serial, openmp, target, cuda or opencl.

    Examples
    --------
    >>> Variant("int main() {}", "flags", "-O3", ("-O3",)).identity
    'af413c05c7fdbaa0'
    """

    text: str
    proposer: str
    change: str
    flags: tuple[str, ...] = ("-O2",)
    language: str = "openmp"

    @property
    def identity(self) -> str:
        """The same for the same text, flags and language, whoever proposed it."""
        content = "\0".join((self.text, " ".join(self.flags), self.language))
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def row(self) -> JobTable:
        """As a table of one row."""
        values = (self.identity, self.proposer, self.change, " ".join(self.flags), self.language)
        frame = pl.DataFrame({c.name: [v] for c, v in zip(COLUMNS, values, strict=True)})
        return JobTable(frame, Schema(COLUMNS))


@dataclass(frozen=True)
class VariantResult:
    """What came of a variant: figures where it was accepted, the rung and findings where not.

    Ratios are to the original in the same paired runs, so that the load of the machine cancels;
    ``runtime_high`` is the upper end of the interval of the time's.  With ``no_gain`` nothing is
    wrong so far, and it was looked at no further.
    """

    accepted: bool
    runtime_ratio: float = math.nan
    runtime_high: float = math.nan
    energy_ratio: float = math.nan
    rung: str = ""
    findings: tuple[tuple[int, str], ...] = ()
    no_gain: bool = False


Steps = Generator[Variant, VariantResult, None]


def only(*variants: Variant) -> Steps:
    """A chain of these variants, whatever comes of them.

    Parameters
    ----------
    *variants : Variant
        What is asked.

    Yields
    ------
    Variant
        Each in turn.
    """
    for variant in variants:  # noqa: UP028 - answers are sent, which no iterator takes
        yield variant


@dataclass
class StepwiseProposer:
    """Proposers that wait for each answer, asked in turn; no variant is asked for twice.

    Parameters
    ----------
    chains : list of generator
        Each yields a variant and is sent its `VariantResult`.
    keep : callable(Variant)
        Called with each variant before it is asked, to keep its text.
    trial_of : callable(str) -> VariantResult
        What came of a variant that was told, findings included.
    objectives : tuple of Objective
        Minimised.
    may_ask : callable
        Whether the budget allows another variant.
    """

    chains: list[Steps]
    keep: Callable[[Variant], None]
    trial_of: Callable[[str], VariantResult]
    objectives: tuple[Objective, ...] = tuple(Objective.of(o) for o in OBJECTIVES)
    may_ask: Callable[[], bool] = lambda: True
    duplicates: int = 0
    _answers: dict[str, VariantResult] = field(default_factory=dict)
    _waiting: dict[int, Variant | None] = field(default_factory=dict)
    _proposed: set[str] = field(default_factory=set)
    _turn: int = 0

    def tell(self, jobs: JobTable, outcome: Outcome) -> None:
        """Take in results; their trials are looked up by identity."""
        for name in jobs.frame["variant"]:
            self._answers[name] = self.trial_of(name)

    def ask(self, n: int = 1) -> JobTable:
        """The next variant of each chain in turn, at most ``n``."""
        asked: dict[str, Variant] = {}
        idle = 0
        may_ask = self.may_ask()
        while may_ask and self.chains and len(asked) < n and idle < len(self.chains):
            place = self._turn % len(self.chains)
            self._turn += 1
            variant = self._next(place)
            if variant is None or variant.identity in asked:
                idle += 1
                continue
            asked[variant.identity] = variant
            self.keep(variant)
        return _table(asked.values())

    def _next(self, place: int) -> Variant | None:
        """What a chain asks now, answered from what was told while that is possible."""
        chain = self.chains[place]
        if place not in self._waiting:
            self._waiting[place] = next(chain, None)
            self._count(self._waiting[place])
        waiting = self._waiting[place]
        while waiting is not None and waiting.identity in self._answers:
            try:
                waiting = chain.send(self._answers[waiting.identity])
                self._count(waiting)
            except StopIteration:
                waiting = None
            self._waiting[place] = waiting
        return waiting

    def _count(self, variant: Variant | None) -> None:
        if variant is not None:
            self.duplicates += variant.identity in self._proposed
            self._proposed.add(variant.identity)


def _table(variants: Iterable[Variant]) -> JobTable:
    frames = [v.row.frame for v in variants]
    empty = pl.DataFrame(schema={c.name: pl.String for c in COLUMNS})
    return JobTable(pl.concat([empty, *frames]), Schema(COLUMNS))


def diff_lines(original: str, text: str) -> int:
    r"""Lines added and removed.

    Parameters
    ----------
    original, text : str
        Sources.

    Returns
    -------
    int
        Additions plus removals.

    Examples
    --------
    >>> diff_lines("a\nb\n", "a\nc\nb\n")
    1
    """
    lines = difflib.unified_diff(original.splitlines(), text.splitlines(), lineterm="", n=0)
    return sum(x[:1] in "+-" for x in list(lines)[2:])  # after the names of both
