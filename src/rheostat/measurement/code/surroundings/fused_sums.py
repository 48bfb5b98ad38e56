"""The same whole numbers where a product and a sum are rounded once, as ARM's processors do.

There `a * b - c * c < 0` is compiled to one operation, also where both products are equal, and
`a * b < c * c` is not.  Both programs are built so.  Numbers that rounding moves a little are left
alone: how far these may go is asked elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rheostat.measurement.code.case import FOR_DEVICES, Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.surroundings.another_library import known_inputs
from rheostat.measurement.code.verdict import Finding

WHY = (
    "compilers for ARM (and for x86 with -mfma) round a product and a sum once: compare the "
    "products themselves, or review the line"
)
FUSED = "where a product and a sum are rounded once (-mfma)"
FLAGS = ("-mfma", "-ffp-contract=fast")
REALS = re.compile(r"\b(?:double|float)\b")
NUMBER = re.compile(r"-?\d+\.(?P<digits>\d+)(?:[eE](?P<power>[-+]?\d+))?")
Known = tuple[ProgramInput, str]
"""An input and what the original prints on it."""
MOST_CPU_S, MOST_APART = 0.2, 1e-6
"""CPU seconds of its runs; how far numbers may be apart for their rounding."""
SOME = 8
"""Inputs on which it prints something else that the original is asked about."""


def fused_sums(case: Case) -> list[Finding]:
    """Where the candidate prints another whole number or word when sums are fused with products.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where the original does so, and where this processor cannot.
    """
    language = case.candidate.language
    if not REALS.search(case.candidate.text) or case.only_pragmas or language in FOR_DEVICES:
        return []
    theirs = _apart(case, case.candidate, known_inputs(case))[:SOME]
    ours = _apart(case, case.original, [known for known, _ in theirs]) if theirs else []
    moved = [given for (given, _), _ in ours]
    steady = [words for (given, _), words in theirs if given not in moved]
    return [case.finding("output", words) for words in steady[:1]]


def _apart(case: Case, program: Program, known: Sequence[Known]) -> list[tuple[Known, str]]:
    """Inputs on which a program prints something else so, and what, in words."""
    made = case.bench.build(replace(program, flags=(*program.flags, *FLAGS)), case.kind)
    if not made.ok:
        return []
    agreed = replace(case.reference.agreed, relative=MOST_APART)
    limits = case.limits(case.reference.expected[0])
    outputs = case.bench.run_each(made, [g for g, _ in known], limits, most_cpu_s=MOST_CPU_S)
    both = zip(known, outputs, strict=False)
    return [
        (one, f"with {one[0].words}, {FUSED}, output line {d.line}: expected {d.expected!r:.120}, "
              f"got {d.got!r:.120}")
        for one, got in both if got is not None
        for d in differences(to_last_digits(got, one[1]), one[1], agreed)[:1]
    ]  # fmt: skip


def to_last_digits(got: str, expected: str) -> str:
    """An output, its numbers as expected where they are one unit of their last digit apart.

    Parameters
    ----------
    got, expected : str
        Outputs.

    Examples
    --------
    >>> to_last_digits("n 4, mean 7.761 1.02e-05", "n 5, mean 7.760 1.00e-05")
    'n 4, mean 7.760 1.02e-05'
    """
    ours, theirs = list(NUMBER.finditer(got)), list(NUMBER.finditer(expected))
    if len(ours) != len(theirs):
        return got
    usual = iter(
        [m[0] if _is_near(one, m) else one[0] for one, m in zip(ours, theirs, strict=True)]
    )
    return NUMBER.sub(lambda _: next(usual), got)


def _is_near(one: re.Match[str], other: re.Match[str]) -> bool:
    if one["power"] != other["power"]:
        return False
    unit = float(f"1e{int(one['power'] or 0) - len(one['digits'])}")
    return abs(float(one[0]) - float(other[0])) < 1.5 * unit
