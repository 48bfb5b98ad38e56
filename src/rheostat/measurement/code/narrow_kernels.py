"""Counters in kernels for devices that hold less than the original's: bytes, parts of a word.

Kernels are not marked, so that how near such counters come to their end is not known.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.program import Program
from rheostat.measurement.code.same_text import without_blanks
from rheostat.measurement.code.verdict import Finding

LANGUAGES = ("opencl", "cuda")
TYPE = r"(?:u?char|u?short|unsigned\s+(?:char|short)|u?int(?:8|16)_t|half)"
DECLARED = re.compile(rf"\b{TYPE}\s+(?P<name>\w+)\s*(?:\[|=|;|,)")
PACKED = re.compile(r"(?:[+|]=|atomic\w*\s*\([^;,]*,)\s*\(?\s*1[uUlL]*\s*<<")
KEPT = "is counted in a narrow type, which what it counts may leave"
PACKED_WORD = "several counts share a word, and one may run into the next"


def narrow_counters(case: Case) -> list[Finding]:
    """Narrow counters in kernels of a candidate, on lines that the original has not.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    if case.candidate.language not in LANGUAGES:
        return []
    known = {without_blanks(row) for row in case.original.text.splitlines()}
    return [f for f in _narrow(case.candidate)
            if without_blanks(case.candidate.row(f.file, f.line)) not in known]  # fmt: skip


def _narrow(program: Program) -> list[Finding]:
    made = []
    for file, text in program.files.items():
        for m in DECLARED.finditer(text):
            name = re.escape(m["name"])
            counted = rf"\b{name}\s*(?:\[[^;=]*?\]\s*)?(?:[-+*|]=|\+\+)|\+\+\s*{name}\b"
            if re.search(counted, text):
                made.append((file, text, m.start(), f"{m['name']}: {KEPT}"))
        made += [(file, text, m.start(), PACKED_WORD) for m in PACKED.finditer(text)]
    return [Finding("calls", file, text.count("\n", 0, at) + 1, said)
            for file, text, at, said in made]  # fmt: skip
