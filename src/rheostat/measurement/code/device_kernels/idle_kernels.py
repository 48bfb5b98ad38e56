"""Whether kernels decide anything that a program prints: the same runs, without any of them.

A host that computes every result itself prints the same where no kernel runs.
"""

from __future__ import annotations

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.surroundings.another_library import LIBRARY
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

WITHOUT = {"RHEOSTAT_WITHOUT_KERNELS": "1"}
SOME = 16
WHY = "what a device computes has to reach the output"
IDLE = "its kernels decide nothing: where none of them runs it prints the same"


def idle_kernels(case: Case) -> list[Finding]:
    """What is to be said of a candidate in OpenCL or CUDA that prints the same without kernels.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty where some output changes, and where the original's does not change either.
    """
    if not _has_kernels(case, case.candidate) or not _prints_the_same(case, case.built):
        return []
    if _has_kernels(case, case.original):
        built = case.bench.build(case.original, case.kind)
        if built.ok and _prints_the_same(case, built):
            return []
    return [case.finding("output", IDLE)]


def _has_kernels(case: Case, program: Program) -> bool:
    """Whether it has kernels that can be left out here."""
    return (
        program.language == "opencl"
        or program.holds_kernels
        or (program.language == "cuda" and case.on_host)
    )


def _prints_the_same(case: Case, built: Built) -> bool:
    reference = case.reference
    known = [*((e.given, e.output) for e in reference.small), *case.many[:SOME]]
    limits = case.limits(reference.expected[0], 1)
    got = case.bench.run_each(built, [given for given, _ in known], limits, environment=WITHOUT,
                              beside=(LIBRARY,))  # fmt: skip
    return bool(known) and all(
        one is not None and not differences(one, output, reference.agreed)
        for one, (_, output) in zip(got, known, strict=True)
    )
