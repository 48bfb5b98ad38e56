"""Numbers with all their digits: what a format rounds away is compared, too.

A value that is a millionth off is printed alike until it comes near the half of a last digit, in
one of thousands of inputs.  Both programs are run with a library that prints every digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import Tolerance, output_lines
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.surroundings.another_library import LIBRARY, known_inputs
from rheostat.measurement.code.toolchain import EXTENDED, BuildKind
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

WHY = "the digits that are printed hide it"
PRECISE = {"RHEOSTAT_PRECISE": "1"}
PRINTED = re.compile(r"[-+]?\d*\.(?P<digits>\d+)(?:[eE](?P<power>[-+]?\d+))?")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
LAST_DIGIT, OF_TOLERANCE = 1e-6, 1000.0
"""Part of a number's last digit up to which noise is left alone: a difference of two large ones.

At least so many times the relative tolerance, which is larger in single precision."""
FACTOR, FEW = 10.0, 6
OTHERWISE = ((("-O3", "-ffast-math"), None), ((), EXTENDED))
"""Builds of the original whose sums are in another order, and are rounded less often."""
Apart = tuple[int, int, float, str, str]
"""The line, the number's place in it, by how much, and both lines."""


def hidden_digits(case: Case) -> list[Finding]:
    """Where a number of the candidate's is another one than the original's, and printed alike.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where the original's own numbers differ so when its sums are rounded otherwise,
        or taken in another order.
    """
    known = [(g, out) for g, out in known_inputs(case) if PRINTED.search(out)]
    if not known or case.original.language == "opencl":
        return []
    inputs = [given for given, _ in known]
    theirs, ours = (_printed(case, p, inputs) for p in (case.candidate, case.original))
    suspect = [
        (given, plain, own) for (given, plain), own, got in zip(known, ours, theirs, strict=True)
        if own is not None and got is not None
        and next(_apart(plain, own, got, case.reference.agreed), None)
    ][:FEW]  # fmt: skip
    if not suspect:
        return []
    every = [given for given, *_ in suspect]
    others = [_rounded(case, every, flags, kind) for flags, kind in OTHERWISE]
    for (given, plain, own), *noise in zip(suspect, *others, strict=True):
        got = theirs[inputs.index(given)] or ""
        for line, at, by, expected, came in _apart(plain, own, got, case.reference.agreed):
            numbers = [_number(x, line, at, case.reference.agreed)
                       for x in (own, *noise) if x is not None]  # fmt: skip
            if by > FACTOR * max(abs(x - numbers[0]) for x in numbers):
                said = (f"with {given.words}, with all digits, output line {line}: expected "
                        f"{expected!r:.120}, got {came!r:.120}")  # fmt: skip
                return [case.finding("output", said)]
    return []


def _printed(case: Case, program: Program, inputs: Sequence[ProgramInput]) -> list[str | None]:
    return _run(case, case.bench.build(program, case.kind), inputs)


def _rounded(
    case: Case, inputs: Sequence[ProgramInput], flags: tuple[str, ...], kind: BuildKind | None
) -> list[str | None]:
    """What the original prints where its sums are rounded, or taken, in another way."""
    program = replace(case.original, flags=(*case.original.flags, *flags))
    return _run(case, case.bench.build(program, kind or case.kind), inputs)


def _run(case: Case, built: Built, inputs: Sequence[ProgramInput]) -> list[str | None]:
    if not built.ok:
        return [None] * len(inputs)
    limits = case.limits(case.reference.expected[0])
    return case.bench.run_each(built, inputs, limits, environment=PRECISE, beside=(LIBRARY,))


def _apart(plain: str, own: str, got: str, agreed: Tolerance) -> Iterator[Apart]:
    """Numbers that differ by more than the tolerance and a part of the last digit printed.

    >>> list(_apart("x 1.50", "x 1.5", "x 1.500000007", Tolerance(relative=1e-9)))
    []
    >>> [one[:2] for one in _apart("x 1.50", "x 1.5", "x 1.50000002", Tolerance(relative=1e-9))]
    [(1, 1)]
    """
    lines = [output_lines(text, agreed) for text in (plain, own, got)]
    for short, one, other in zip(*lines, strict=False):
        if not len(short.tokens) == len(one.tokens) == len(other.tokens):
            continue
        for at, (printed, a, b) in enumerate(
            zip(short.tokens, one.tokens, other.tokens, strict=True)
        ):
            m = PRINTED.fullmatch(printed)
            if not (m and NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
                continue
            unit = float(f"1e{int(m['power'] or 0) - len(m['digits'])}")
            by = abs(float(a) - float(b))
            relative = agreed.relative or 0.0
            hidden = max(LAST_DIGIT, OF_TOLERANCE * relative) * unit
            if by > max(relative * max(abs(float(a)), abs(float(b))), hidden, agreed.absolute):
                yield one.line, at, by, one.text, other.text


def _number(text: str, line: int, at: int, agreed: Tolerance) -> float:
    """The number at a place of a line; infinite where there is none."""
    for one in output_lines(text, agreed):
        if one.line == line and at < len(one.tokens) and NUMBER.fullmatch(one.tokens[at]):
            return float(one.tokens[at])
    return float("inf")
