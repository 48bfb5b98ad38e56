"""Waits for tasks, or for a team, that only some sizes reach: ``if (n < most) taskwait``.

Races are looked for on small inputs.  A wait behind a condition that the tasks do not stand behind
may be left out on larger ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.blocks import closed, opened
from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.verdict import Finding

WAIT = re.compile(PRAGMA + r"\s+(?:taskwait|barrier)\b")
TASK = re.compile(PRAGMA + r"\s+task(?:loop)?\b")
CONDITION = re.compile(
    r"(?:\belse|\bif\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|&&|\|\||\?)\s*(?:\(void\)\s*)?$"
)
NAMED = re.compile(
    r"\b(?!if\b|for\b|while\b|switch\b)(\w+)\s*"
    r"(?:=\s*\[[^\]]*\]\s*(?:\([^()]*\))?|\((?:[^(){};#]|\([^(){};#]*\))*\))"
    r"(?:const|noexcept|mutable|\s)*$"
)
"""What stands before the block of a function, or of a lambda with a name."""
MOST_BEFORE = 400
"""Characters before a statement in which its condition begins."""
SAID = "it is waited for only where a condition holds, and races are looked for on small inputs"


def conditional_waits(program: Program) -> list[Finding]:
    r"""Each of them, by its line.

    Examples
    --------
    >>> text = "if (n < most) {{\n{0}#pragma omp taskwait\n}}\n"
    >>> [f.line for f in conditional_waits(Program({"a.c": text.format("")}))]
    [2]
    >>> conditional_waits(Program({"a.c": text.format("#pragma omp task\nf(n);\n")}))
    []
    >>> [f.line for f in conditional_waits(Program({"a.c": "if (n)\n#pragma omp barrier\n"}))]
    [2]
    >>> waits = "void settle(void) {\n#pragma omp taskwait\n}\n"
    >>> [f.line for f in conditional_waits(Program({"a.c": waits + "if (open) settle();\n"}))]
    [4]
    >>> conditional_waits(Program({"a.c": waits + "f(); settle();\n"}))
    []
    """
    return [
        Finding("calls", name, text.count("\n", 0, at) + 1, SAID)
        for name, text in program.files.items()
        for at in _waits(without_comments(text))
    ]


def _waits(text: str) -> Iterator[int]:
    names = {_waiting(text, m.start()) for m in WAIT.finditer(text)} - {""}
    calls = rf"|\b(?:{'|'.join(sorted(names))})\s*\(" if names else ""
    for m in re.finditer(WAIT.pattern + calls, text):
        at = m.start()
        begin = opened(text, at)
        behind = text[max(0, begin - MOST_BEFORE) : begin] if begin >= 0 else ""
        alone = CONDITION.search(behind) and not TASK.search(text, begin, closed(text, begin))
        if alone or CONDITION.search(text[max(0, at - MOST_BEFORE) : at]):
            yield at


def _waiting(text: str, at: int) -> str:
    """The function that waits for what others have begun: it makes no tasks itself."""
    while (at := opened(text, at)) >= 0:
        m = NAMED.search(text, max(0, at - MOST_BEFORE), at)
        if m and "#" not in text[text.rfind("\n", 0, m.start()) + 1 : m.start()]:
            return "" if TASK.search(text, at, closed(text, at)) else m[1]
    return ""
