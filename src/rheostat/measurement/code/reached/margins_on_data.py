"""Numbers that other data show to be needed, though data as they are drawn do not.

A number of which one more or less changes nothing may be right where its limit is never met: what
is drawn hardly ever comes so near.  Data of few values, great ones or such in order do, where both
programs draw them alike.  What is needed there is so where the number as it is gives the original's
output and a near one another: whoever writes a wrong one has to be wrong on neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rheostat.measurement.code.altered.other_data import (
    HELPERS,
    KINDS,
    SharedDraws,
    known_on,
    original_on_other_data,
    printed_on,
    replaced,
    shared_draws,
)
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.margin_runs import Margin
from rheostat.measurement.code.reached.marked_builds import LINKED, linked
from rheostat.measurement.code.workbench import Built

MOST_INPUTS = 24
"""Inputs of a kind of data on which each near number is run."""
ROWS = "mutants"
"""By what name a run finds which number is another one in it."""
Known = Sequence[tuple[ProgramInput, str]]


@dataclass(frozen=True)
class Mutated:
    """A candidate's texts in which numbers can be others, and what is linked to them.

    ``row`` is what a run reads: the program as it is without a margin, else that near number.
    """

    texts: Mapping[str, str]
    codes: Sequence[str]
    runtime: str
    row: Callable[[Margin | None, float], bytes]


def without_needed(case: Case, made: Mutated, margins: Sequence[Margin]) -> list[Margin]:
    """Margins of which no near number changes an output on other data either.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    made : Mutated
        Its texts.
    margins : sequence of Margin
        Those that its runs left.  What is wrong where a number is small is left as it is.
    """
    left = list(margins)
    draws = shared_draws(case) if any(not m.run for m in left) else SharedDraws()
    if draws.more or not draws.lines or case.reference.starts_dearly:
        return left
    original, candidate = original_on_other_data(case, draws), _built(case, made, draws)
    for kind in KINDS if original.ok and candidate.ok else ():
        open_ = [m for m in left if not m.run]
        known = known_on(case, original, kind) if open_ else []
        some = known[:: len(known) // MOST_INPUTS + 1]
        needed = _needed(case, made, candidate, open_, some, kind)
        left = [m for m in left if id(m) not in needed]
    return left


def _built(case: Case, made: Mutated, draws: SharedDraws) -> Built:
    """The candidate with what draws its data replaced, too."""
    texts = replaced(([made.texts[c] for c in made.codes], draws.theirs[1]), draws.lines)
    whole = {**made.texts, **dict(zip(made.codes, texts, strict=True))}
    program = replace(case.candidate, objects=(HELPERS,))
    return case.bench.build(linked(program, whole, runtime=made.runtime), LINKED)


def _needed(
    case: Case, made: Mutated, built: Built, margins: Sequence[Margin], known: Known, kind: int
) -> set[int]:  # fmt: skip
    """Those of which a near number gives another output where the number itself gives the right."""
    every = [(None, 0.0), *_asked(margins)]
    rows = [(m, x, given, wanted) for given, wanted in known for m, x in every]
    with case.bench.run_folder("margins") as place:
        (place / ROWS).write_bytes(b"".join(made.row(m, x) for m, x, *_ in rows))
        outputs = printed_on(case, built, [given for *_, given, _ in rows], kind, kept=place)
    needed, right = set[int](), False
    for (m, _, _, wanted), got in zip(rows, outputs, strict=False):
        other = got is not None and bool(differences(got, wanted, case.reference.agreed))
        if m is None:
            right = got is not None and not other
        elif right and other:
            needed.add(id(m))
    return needed


def _asked(margins: Sequence[Margin]) -> Iterator[tuple[Margin, float]]:
    for m in margins:
        assert m.site.constant
        yield from ((m, x) for x in m.site.constant.near())
