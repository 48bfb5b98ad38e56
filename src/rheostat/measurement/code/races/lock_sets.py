"""A second opinion on races that does not hang on timing: lock sets of OpenMP programs.

ThreadSanitizer takes what happened one after the other by a lock for ordered, so that two names of
`critical` on one variable pass when the threads come in a lucky order.  Here every access between
two barriers is kept with the locks that its thread holds: two threads, one of them writing, and no
lock in common are reported in whatever order they came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.task_memory import with_task_memory
from rheostat.measurement.code.sandboxed.sandbox import INSIDE
from rheostat.measurement.code.toolchain import BuildKind, absent
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built, roomy

RUNTIME = "lock_sets"
LOCKS = BuildKind(
    "locks", "clang", ("-gline-tables-only", "-no-pie", "-Xclang", "-fsanitize=thread"), "-O0"
)
EXCLUDES = re.compile(r"\bcritical\b|\batomic\b|\bomp_(?:un)?set_(?:nest_)?lock\b")
OTHERWISE = re.compile(
    r"\b(?:task\w*|ordered|depend|flush|doacross|acquire|release|acq_rel|seq_cst)\b|"
    r"\batomic\s+(?:read|write|capture)\b|\bomp_set_(?:nest_)?lock\b"
)
"""What may order threads besides barriers: then only accesses that both hold a lock count."""
WAITING = " and threads that wait for each other at random"
FLUSHES = re.compile(r"\bomp\s+flush\b")
REPORT = re.compile(r"^lock sets: (0x[0-9a-f]+) (0x[0-9a-f]+)$", re.MULTILINE)


def excludes(program: Program) -> bool:
    """Whether threads of the program exclude each other somewhere, and it is built by one command.

    >>> excludes(Program({"a.c": "#pragma omp critical(sum)"}))
    True
    """
    return bool(EXCLUDES.search(program.text)) and not program.build


def without_common_lock(
    case: Case, program: Program, runs: Sequence[tuple[Expected, int]]
) -> tuple[Finding, ...]:
    """Accesses to the same memory by two threads that no common lock and no barrier keeps apart.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    program : Program
        What is built in its place, its loops dealt out in turn.
    runs : sequence of (Expected, int)
        Inputs and numbers of threads.

    Returns
    -------
    tuple of Finding
        By the lines of both accesses; empty also where the checked program cannot be built.
    """
    matched = _reported(case, program, runs)
    own = case.original
    if matched and own.language == case.candidate.language and excludes(own):
        known = _reported(case, own, runs)
        case.need(f"the original itself: {known[0].words}" if known else "")
    return matched


def in_another_order(
    case: Case, program: Program, runs: Sequence[tuple[Expected, int]]
) -> list[Finding]:
    """What is wrong where threads wait before some of their accesses, drawn at random.

    It shows what no race is: equal maxima of which any thread's is taken, a compare and exchange
    that is not tried again where it fails, a store that has to be seen before what its thread reads
    next, though its order does not say so.
    """
    made = _built(case, program)
    for seed, (expected, count) in enumerate(runs if made.ok else (), 1):
        run = case.bench.run(
            made, expected.given, threads=count,
            environment=gives_way(program, seed),
            limits=roomy(case.limits(expected, count), 5.0),
        )  # fmt: skip
        findings = [] if run.stopped else case.wrong("races", run, expected, WAITING)
        if findings:
            return findings
    return []


def gives_way(program: Program, seed: int) -> dict[str, str]:
    """What lets threads wait in a way, where its stores may be late but for its own flushes."""
    own = {"RHEOSTAT_FLUSHES": "1"} if FLUSHES.search(program.text) else {}
    return {"RHEOSTAT_GIVES_WAY": str(seed), "OMP_SCHEDULE": "static,1", **own}


def with_runtime(program: Program) -> Program:
    """The program with the runtime that notes locks, or lets threads wait."""
    return replace(with_task_memory(program), objects=(RUNTIME,))


def _built(case: Case, program: Program) -> Built:
    return case.bench.build(with_runtime(program), LOCKS)


def _reported(
    case: Case, program: Program, runs: Sequence[tuple[Expected, int]]
) -> tuple[Finding, ...]:
    made = _built(case, program)
    only = {"OMP_SCHEDULE": "static,1"}
    only |= {"RHEOSTAT_LOCKS": "1"} if OTHERWISE.search(program.text) else {}
    for expected, count in runs if made.ok else ():
        run = case.bench.run(made, expected.given, threads=count, environment=only,
                             limits=roomy(case.limits(expected, count), 5.0))  # fmt: skip
        pairs = REPORT.findall(run.stderr)
        if pairs:
            return tuple(_finding(case, made, *pair) for pair in pairs[:3])
    return ()


def _finding(case: Case, made: Built, one: str, other: str) -> Finding:
    (file, line), (_, second) = _place(case, made, one), _place(case, made, other)
    also = f"the one in line {second}" if second and second != line else "itself in another thread"
    return Finding("races", file, line, f"this access and {also} have no lock in common, and no "
                   "barrier is between them")  # fmt: skip


def _place(case: Case, made: Built, address: str) -> tuple[str, int]:
    """File and line of a call's return address."""
    if absent("addr2line"):
        return case.file, 0
    asked = ["addr2line", "-e", made.binary, hex(int(address, 16) - 1)]
    m = re.match(r"(\S+):(\d+)", case.bench.sandbox.run(asked, made.folder).stdout)
    return (m[1].removeprefix(f"{INSIDE}/"), int(m[2])) if m else (case.file, 0)
