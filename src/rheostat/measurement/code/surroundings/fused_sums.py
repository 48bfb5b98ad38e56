"""The same whole numbers where a product and a sum are rounded once, as ARM's processors do.

There `a * b - c * c < 0` is compiled to one operation, also where both products are equal, and
`a * b < c * c` is not.  Both programs are built so.  Numbers that rounding moves a little are left
alone: how far these may go is asked elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rheostat.measurement.code.case import FOR_DEVICES, Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.surroundings.another_library import known_inputs
from rheostat.measurement.code.verdict import Finding

WHY = (
    "compilers for ARM (and for x86 with -mfma) round a product and a sum once: compare the "
    "products themselves, or review the line"
)
FLAGS = ("-mfma", "-ffp-contract=fast")
REALS = re.compile(r"\b(?:double|float)\b")
MOST_CPU_S, MOST_APART = 0.2, 1e-6
"""CPU seconds of its runs; how far numbers may be apart for their rounding."""


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
    theirs = _apart(case, case.candidate)
    if not theirs or _apart(case, case.original):
        return []
    return [case.finding("output", theirs[0])]


def _apart(case: Case, program: Program) -> list[str]:
    """What a program prints otherwise so, in words."""
    made = case.bench.build(replace(program, flags=(*program.flags, *FLAGS)), case.kind)
    if not made.ok:
        return []
    known = known_inputs(case)
    agreed = replace(case.reference.agreed, relative=MOST_APART)
    limits = case.limits(case.reference.expected[0])
    outputs = case.bench.run_each(made, [g for g, _ in known], limits, most_cpu_s=MOST_CPU_S)
    both = zip(known, outputs, strict=False)
    return [
        f"with {given.words}, where a product and a sum are rounded once (-mfma), output line "
        f"{d.line}: expected {d.expected!r:.120}, got {d.got!r:.120}"
        for (given, output), got in both if got is not None
        for d in differences(got, output, agreed)[:1]
    ]  # fmt: skip
