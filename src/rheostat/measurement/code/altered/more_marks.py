"""Marks that a candidate sets on thousands of inputs more, and on other data than it draws.

Runs for marks are a few hundred, as marks make loops slow.  What these leave open is asked again
without the marks that are set: on all the inputs whose output is known, and where two keys are
equal, a value is the greatest, a list comes in order, which seeds that are drawn may never make.
A way that is taken there was tried, as the output is the original's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rheostat.measurement.code.altered.other_data import (
    HELPERS,
    known_on,
    original_on_other_data,
    printed_on,
    replaced,
    shared_draws,
)
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.marked_builds import LINKED, bytes_left, with_marks
from rheostat.measurement.code.reached.marks import Marked
from rheostat.measurement.code.reached.open_marks import Left, left_by

KINDS = (1, 2, 4, 6, 7, 8, 9)
"""Of other data, not all equal or mostly 0: what is wrong there may change nothing."""
MANY_S = 2.0
"""CPU seconds of many inputs."""
Known = Sequence[tuple[ProgramInput, str]]
Run = Callable[[list[ProgramInput], Path], list[str | None]]


def without_many(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """What runs leave open, without what is reached on one of the many inputs.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    whole : sequence of Marked
        Its sources.
    left : Left
        What its runs left.
    """
    built = case.bench.build(with_marks(case.candidate, whole, left.seen, ()), LINKED)
    limits = case.limits(case.reference.expected[0])
    known = list(case.many) if built.ok and not case.reference.starts_dearly else []
    random.Random(case.reference.seed).shuffle(known)
    seen = taken_up(case, left.seen, known, lambda inputs, place: case.bench.run_many(
        built, inputs, limits, MANY_S, kept=place))  # fmt: skip
    return left_by(whole, seen, left, case.candidate)


def without_other_data(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """The same without what is reached on other data, where both programs draw them alike."""
    draws = shared_draws(case)
    if case.reference.starts_dearly or draws.more or not draws.lines:
        return left
    texts = replaced(([m.text for m in whole], draws.theirs[1]), draws.lines)
    made = [replace(m, text=text) for m, text in zip(whole, texts, strict=True)]
    program = replace(case.candidate, objects=(HELPERS,))
    candidate = case.bench.build(with_marks(program, made, left.seen, ()), LINKED)
    original, seen = original_on_other_data(case, draws), left.seen

    def run_on(kind: int) -> Run:
        return lambda inputs, place: printed_on(case, candidate, inputs, kind, kept=place)

    for kind in KINDS if original.ok and candidate.ok else ():
        seen = taken_up(case, seen, known_on(case, original, kind), run_on(kind))
    return left_by(whole, seen, left, case.candidate)


def taken_up(case: Case, seen: bytes, known: Known, run: Run) -> bytes:
    """Marks with those of more runs, if each of these prints what is known.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    seen : bytes
        The marks that are set.
    known : sequence of tuple
        Inputs and what is to be printed.
    run : callable
        Runs a program on inputs so that it leaves its marks in a folder.
    """
    with case.bench.run_folder("more") as place:
        outputs = run([given for given, _ in known], place) if known else []
        alike = all(got is not None and not differences(got, wanted, case.reference.agreed)
                    for got, (_, wanted) in zip(outputs, known, strict=False))  # fmt: skip
        more = bytes_left(place / "reached", len(seen)) if outputs and alike else b""
        return bytes(a | b for a, b in zip(seen, more.ljust(len(seen), b"\0"), strict=True))
