"""Marks that a candidate sets on thousands of inputs more, on other data, and on other sizes.

Runs for marks are a few hundred, as marks make loops slow.  What these leave open is asked again
without the marks that are set: on all the inputs whose output is known; where two keys are equal,
a value is the greatest, a list comes in order or is empty, which seeds that are drawn may never
make; where elements come to `qsort` in another order, which else sees equal ones as they were; and
where a size is less or greater than a person has stated, if the original bears it.
A way that is taken there was tried, as the output is the original's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from rheostat.measurement.code.altered.data_bases import LESS, without_bases
from rheostat.measurement.code.altered.other_data import (
    HELPERS,
    SharedDraws,
    known_on,
    original_on_other_data,
    printed_on,
    replaced,
    shared_draws,
)
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInput
from rheostat.measurement.code.reached.marked_builds import LINKED, bytes_left, with_marks
from rheostat.measurement.code.reached.marks import Marked
from rheostat.measurement.code.reached.open_marks import Left, left_by
from rheostat.measurement.code.surroundings.another_library import (
    LIBRARY,
    OTHER_LIBRARY,
    known_inputs,
)
from rheostat.measurement.code.workbench import Built

KINDS, LESS_KINDS = (1, 2, 4, 6, 7, 8, 9, 10), (LESS, LESS + 1)
"""Of other data, not all equal or mostly 0: what is wrong there may change nothing.  And as drawn,
or of few values, without what both programs add to it."""
MANY_S, SIZED, SIZED_S, TIMES = 2.0, 32, 0.2, (1.5, 4.0)
"""CPU seconds of many inputs; how many have each other size, their CPU seconds, and how many times
the greatest size the greater ones come to."""
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


def without_other_order(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """The same without what is reached where `qsort` is given its elements in another order."""
    built = case.bench.build(with_marks(case.candidate, whole, left.seen, ()), LINKED)
    sorts = built.ok and "qsort" in (case.bench.imports(built) or ())
    if not sorts or case.reference.starts_dearly:
        return left
    limits = case.limits(case.reference.expected[0])
    known = [*((e.given, e.output) for e in case.inputs()), *known_inputs(case)]
    seen = taken_up(case, left.seen, known, lambda inputs, place: case.bench.run_each(
        built, inputs, limits, environment=OTHER_LIBRARY, beside=(LIBRARY,), kept=place
    ))  # fmt: skip
    return left_by(whole, seen, left, case.candidate)


def without_other_data(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """The same without what is reached on other data, where both programs draw them alike."""
    draws = shared_draws(case)
    if case.reference.starts_dearly or draws.more or not draws.lines:
        return left
    both = replace(draws, theirs=([m.text for m in whole], draws.theirs[1]))
    seen = _on_kinds(case, whole, both, left.seen, KINDS)
    less = replace(both, ours=without_bases(draws.ours), theirs=without_bases(both.theirs))
    seen = _on_kinds(case, whole, less, seen, LESS_KINDS)
    return left_by(whole, seen, left, case.candidate)


def _on_kinds(
    case: Case, whole: Sequence[Marked], draws: SharedDraws, seen: bytes, kinds: Sequence[int]
) -> bytes:
    """Marks with those of runs on kinds of other data."""
    texts = replaced(draws.theirs, draws.lines)
    made = [replace(m, text=text) for m, text in zip(whole, texts, strict=True)]
    program = replace(case.candidate, objects=(HELPERS,))
    candidate = case.bench.build(with_marks(program, made, seen, ()), LINKED)
    original = original_on_other_data(case, draws)

    def run_on(kind: int) -> Run:
        return lambda inputs, place: printed_on(case, candidate, inputs, kind, kept=place)

    for kind in kinds if original.ok and candidate.ok else ():
        seen = taken_up(case, seen, known_on(case, original, kind), run_on(kind))
    return seen


def without_other_sizes(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """The same without what is reached where a size is less than its range, or greater."""
    built = case.bench.build(with_marks(case.candidate, whole, left.seen, ()), LINKED)
    limits = case.limits(case.reference.expected[0])

    def run(program: Built, inputs: list[ProgramInput], place: Path | None) -> list[str | None]:
        return case.bench.run_many(program, inputs, limits, SIZED_S, kept=place)

    seen, inputs = left.seen, case.original.inputs
    rng = np.random.default_rng([case.reference.seed, 57])
    if not built.ok or case.reference.starts_dearly:
        return left
    for ranges in (*smaller(inputs.ranges), *greater(inputs.ranges)):
        some = [replace(inputs, ranges=ranges).draw(rng) for _ in range(SIZED)]
        outputs = run(case.reference.built, some, None)
        known = [(g, o) for g, o in zip(some, outputs, strict=False) if o is not None]
        seen = taken_up(case, seen, known, partial(run, built))
    return left_by(whole, seen, left, case.candidate)


def smaller(ranges: Mapping[str, InputRange]) -> Iterator[dict[str, InputRange]]:
    """Ranges of which one size is from 1 to 3 steps, or from half its least up to it.

    >>> ranges = {"n": InputRange(20, 90), "m": InputRange(1, 9)}
    >>> [(int(r["n"].low), int(r["n"].high)) for r in smaller(ranges)]
    [(1, 3), (10, 19)]
    """
    for name, r in ranges.items():
        step, least = r.multiple_of, math.ceil(r.low / r.multiple_of)
        if r.kind == "size" and not r.values and least > 1:
            for low, high in ((1, min(3, least - 1)), (least // 2, least - 1)):
                yield {**ranges, name: replace(r, low=low * step, high=high * step)}


def greater(ranges: Mapping[str, InputRange]) -> Iterator[dict[str, InputRange]]:
    """Ranges of which one size is from behind its greatest up to a multiple of it.

    >>> [(r["n"].low, r["n"].high) for r in greater({"n": InputRange(20, 90)})]
    [(91, 135.0), (91, 360.0)]
    """
    for name, r in ranges.items():
        low = math.floor(r.high / r.multiple_of + 1) * r.multiple_of
        for times in TIMES if r.kind == "size" and not r.values else ():
            yield {**ranges, name: replace(r, low=low, high=max(low, times * r.high))}


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
