"""OpenCL's work-items in other orders, and its copies as late as the standard allows.

Whoever runs kernels here starts work-items one after the other from the first, and makes a copy at
once that nobody waits for.  A device need do neither.  Work-items may also get between what another
reads and its atomic.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.opencl_on_host import UNKNOWN
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.surroundings.another_library import LIBRARY
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

BACKWARD, LATE = "RHEOSTAT_BACKWARD", "RHEOSTAT_LATE"
TURNS = "RHEOSTAT_TURNS"
HOW = " and work-items from the last to the first, copies that nobody waits for made late"
IN_TURNS = " and work-items that take turns before atomics, in a drawn order"
OTHER_NUMBERS = re.compile(r"\bsub_group\w*|\bget_\w*linear_id\b|\bget_enqueued_local_size\b")
"""Of work-items, which the library does not turn round with the others."""
OTHER_WAITS = re.compile(r"\bclEnqueue(?:(?:Read|Write)(?!Buffer\b)|MapImage|SVM)\w*")
"""Functions that wait and that the library does not know."""
FEW, MORE = 3, 12
"""Inputs; more where a start takes little."""


def in_another_order(case: Case) -> list[Finding]:
    """What is wrong where work-items come otherwise or copies late, and the original is right.

    Parameters
    ----------
    case : Case
        A candidate in OpenCL.
    """
    turns = (({TURNS: "1"}, IN_TURNS),) if case.candidate.holds_kernels else ()
    ways = ((_environment(case), HOW), *turns)
    return next((wrong for way in ways if (wrong := _wrong_in(case, *way))), [])


def _wrong_in(case: Case, environment: dict[str, str], how: str) -> list[Finding]:
    """The same in one environment, in words."""
    reference = case.reference
    few = MORE if case.candidate.holds_kernels else FEW
    known = [*reference.small, *reference.expected[:1], *reference.edges][:few]

    def printed(built: Built, some: list[Expected]) -> list[str | None]:
        every = [e.given for e in some]
        return case.bench.run_each(built, every, case.limits(known[-1]), environment=environment,
                                   beside=(LIBRARY,))  # fmt: skip

    def wrong(got: str | None, e: Expected) -> bool:
        return got is None or bool(differences(got, e.output, reference.agreed))

    apart = [(e, got) for e, got in zip(known, printed(case.built, known), strict=True)
             if wrong(got, e)]  # fmt: skip
    if not apart:
        return []
    ours = [e for e, _ in apart]
    if case.original.language == "opencl" or case.original.holds_kernels:
        made = case.bench.build(case.original, case.kind)
        apart = [(e, got) for (e, got), own in zip(apart, printed(made, ours), strict=True)
                 if not wrong(own, e)]  # fmt: skip
    for expected, got in apart:
        if got is None and _is_unknown(case, expected, environment):
            continue
        run = SandboxRun(0 if got is not None else 1, got or "", "", 0, 0, 0)
        return case.wrong("threads", run, expected, how)
    return []


def _is_unknown(case: Case, expected: Expected, environment: dict[str, str]) -> bool:
    """Whether it was this package's own library that ended a run, for what it does not know."""
    if not case.candidate.holds_kernels:
        return False
    run = case.bench.run(case.built, expected.given, limits=case.limits(expected),
                         environment=environment)  # fmt: skip
    return UNKNOWN in run.stderr


def _environment(case: Case) -> dict[str, str]:
    if case.candidate.holds_kernels:
        return {BACKWARD: "1", LATE: "1"}
    texts = (case.candidate.text, case.original.text)
    ways = {BACKWARD: OTHER_NUMBERS, LATE: OTHER_WAITS}
    return {name: "1" for name, unknown in ways.items() if not any(map(unknown.search, texts))}
