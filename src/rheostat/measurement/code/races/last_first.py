"""The last thread first: what hangs on which thread comes first comes out the other way.

The first thread of a team nearly always begins first and is first at a lock, so that a program that
takes of equal maxima that of whichever thread came first is right in 149 of 150 runs.  Here the
last begins first and is the first to take a lock or to put its sum to the others', on many inputs,
as they are and with data of few different values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rheostat.measurement.code.altered.coarse_data import PLAIN, coarse, picks
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.races.lock_sets import with_runtime
from rheostat.measurement.code.reference import QUICK_S
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.toolchain import BuildKind
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built, roomy

TURNS = BuildKind("turns", "clang", ("-no-pie",), "-O1")
WAYS = ((4, "static"), (8, "static,1"))
"""Threads and how loops are dealt out: to neighbours in parts, and in turn."""
SOME, SOME_EQUAL, SLOWER = 64, 24, 5.0
"""Of many inputs, how many are run so, as they are and coarse; what waiting adds to a run."""
EQUAL_S, EQUAL_RUN_S = 2.0, 1.0
"""CPU seconds of one thread on coarse data, where many a program never ends; of one run."""
LAST_FIRST = " where the last of {} threads comes first"
EQUALS = " and many values are equal"
Known = tuple[ProgramInput, str]


def last_first(case: Case, program: Program) -> list[Finding]:
    """What is wrong where threads come in the reverse order.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    program : Program
        What is built in its place, its loops dealt out as each run says.

    Returns
    -------
    list of Finding
        Empty also where the candidate does something else with coarse data on one thread: its text
        may take another way to the same numbers.
    """
    reference = case.reference
    every = (*reference.small, *reference.expected, *reference.edges, *case.own_edges)
    quick = [(e.given, e.output) for e in every if e.cpu_s < QUICK_S]
    made = case.bench.build(with_runtime(program), TURNS)
    for given, got, how in _apart(case, made, [*quick, *case.many[:SOME]]):
        if (known := reference.admitted(given)) and (
            findings := case.wrong("races", _printed(got), known, how)
        ):
            return findings
    if case.original.build or not picks(case.candidate):
        return []
    return _among_equals(case, program, [g for g, _ in quick])


def _among_equals(case: Case, program: Program, quick: Sequence[ProgramInput]) -> list[Finding]:
    """The same with data of few different values, where one thread does as the original."""
    ours = case.bench.build(coarse(case.original), PLAIN)
    theirs = case.bench.build(coarse(with_runtime(program)), TURNS)
    if not (ours.ok and theirs.ok):
        return []
    every = [*quick, *(g for g, _ in case.many[:SOME_EQUAL])]
    limits = replace(roomy(case.limits(case.reference.expected[0]), SLOWER), cpu_s=EQUAL_RUN_S)
    one, other = (case.bench.run_each(b, every, limits, most_cpu_s=EQUAL_S) for b in (ours, theirs))
    known = [
        (g, out) for g, out, got in zip(every, one, other, strict=False)
        if out is not None and got is not None
        and not differences(got, out, case.reference.agreed)
    ]  # fmt: skip
    for given, got, how in _apart(case, theirs, known):
        output = next(out for g, out in known if g is given)
        return case.wrong("races", _printed(got), Expected(given, output, 0, 0), how + EQUALS)
    return []


def _apart(
    case: Case, made: Built, known: Sequence[Known]
) -> Iterator[tuple[ProgramInput, str, str]]:
    """Inputs on which threads in the reverse order print something else, what, and how many."""
    each = [given for given, _ in known]
    for count, schedule in WAYS if made.ok and known else ():
        outputs = case.bench.run_each(
            made, each, roomy(case.limits(case.reference.expected[0], count), SLOWER),
            threads=count,
            environment={"RHEOSTAT_LAST_FIRST": "1", "OMP_SCHEDULE": schedule},
        )  # fmt: skip
        for (given, output), got in zip(known, outputs, strict=True):
            if got is not None and differences(got, output, case.reference.agreed):
                yield given, got, LAST_FIRST.format(count)


def _printed(text: str) -> SandboxRun:
    return SandboxRun(0, text, "", 0, 0, 0)
