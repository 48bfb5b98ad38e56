"""Choices in kernels of OpenCL by an argument that the original's kernels have not.

Kernels are not marked, so that no run shows whether both ways of such a choice were taken; what the
host hands over may be a number that hardly any input gives.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.verdict import Finding

HEAD = re.compile(r"\b(?:__)?kernel\s+void\s+\w+\s*\((?P<arguments>[^{;]*)\)")
SCALAR = re.compile(r"\b(?:u?char|u?short|u?int|u?long|unsigned|float|double)\s+(?P<name>\w+)\s*$")
CHOICE = r"[(&|!?:{{;=]\s*{0}\s*(?:[%&^]\s*\w+\s*)?[!=]=\s*\d"
SAID = "chooses in a kernel, and no run shows whether both ways were taken"


def kernel_choices(case: Case) -> list[Finding]:
    """Arguments of the candidate's kernels by which they choose, and the original's have not.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    if case.candidate.language != "opencl":
        return []
    known = set(_arguments(case.original.text))
    made = []
    for file, text in case.candidate.files.items():
        for name in dict.fromkeys(n for n in _arguments(text) if n not in known):
            if m := re.search(CHOICE.format(name), text):
                line = text.count("\n", 0, m.start()) + 1
                made.append(Finding("calls", file, line, f"{name}: {SAID}"))
    return made


def _arguments(text: str) -> list[str]:
    r"""Names of the scalars that kernels are given, also where they stand in strings of C.

    >>> _arguments('"__kernel void f(__global int *a,\\n"\n"  int n, const uint w)\\n{"')
    ['n', 'w']
    """
    heads = (re.sub(r'\\n|"', " ", m["arguments"]) for m in HEAD.finditer(text))
    return [m["name"] for h in heads for a in h.split(",") if (m := SCALAR.search(a))]
