"""Work of OpenCL's kernels: instructions that oclgrind executes, without the library's start.

PoCL compiles kernels by LLVM as the program runs: 300 million instructions, beside which those of a
kernel are not seen, and eight CPU seconds under valgrind.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.toolchain import absent
from rheostat.measurement.code.verdict import Evidence
from rheostat.measurement.code.workbench import Built, roomy

WRAPPER = ("oclgrind", "--inst-counts")
MOST_S = 120.0
LEAST_INSTRUCTIONS = 100
COUNTED = re.compile(r"(?m)^\s+(\d+) - [a-z]\w*(?: |$|\()")
HEAD = re.compile(r"(?m)^Instructions executed for kernel '")
BY_HOST = "what the host does in a kernel's place is not counted"


def kernel_work(case: Case) -> Evidence:
    """Instructions of the candidate's kernels as a share of the original's.

    Parameters
    ----------
    case : Case
        Both in OpenCL.

    Returns
    -------
    Evidence
        Not shown where kernels leave work out: the host may do it.
    """
    case.need(absent("oclgrind"))
    ours, theirs = (_instructions(case, b) for b in (case.reference.built, case.built))
    case.need(f"{ours} instructions of kernels are too few to compare"
              if ours < LEAST_INSTRUCTIONS else "")  # fmt: skip
    share = theirs / ours
    numbers = {"instructions": theirs, "original_instructions": ours, "instruction_ratio": share}
    said = f"kernels execute {share:.3g} times the original's instructions"
    if share < case.options.least_work:
        return replace(case.not_shown("work", [case.finding("work", said)], BY_HOST),
                       numbers=numbers)  # fmt: skip
    return case.passed("work", said, **numbers)


def _instructions(case: Case, built: Built) -> int:
    expected = case.reference.small[0]
    limits = replace(roomy(expected.limits()), wall_s=MOST_S, cpu_s=MOST_S)
    run = case.bench.run(built, expected.given, limits=limits, wrapper=WRAPPER)
    case.need("" if run.ok else f"oclgrind {run.ending}: {run.stderr[:200]}")
    return instructions_in(run.stdout)


def instructions_in(text: str) -> int:
    r"""The sum of what oclgrind prints for each kernel behind the program's own output.

    >>> instructions_in("7 - a\nInstructions executed for kernel 'f':\n   612 - br\n"
    ...                 "   8 - call _Z7barrierj()\n")
    620
    """
    head = HEAD.search(text)
    return sum(int(m[1]) for m in COUNTED.finditer(text, head.start())) if head else 0
