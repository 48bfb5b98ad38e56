"""A thousand threads under the sanitizers, as a node may have: products with a thread's number.

``extent * omp_get_thread_num()`` in ``int`` is right with as many threads as most machines have.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.diagnostics import sanitizer_findings
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import SANITIZED, SANITIZER_OPTIONS, compiler_absent
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import roomy

COUNTS = (1024, 512)
"""The second where a machine starts no more."""
MOST_S = 2.0
"""CPU seconds of such a run: with many barriers it takes longer, which is no finding."""
BY_NUMBER = re.compile(r"\bomp_get_(?:thread_num|num_threads|max_threads|team_size)\b")
NOT_MADE = re.compile(
    r"(?i)thread creation failed|resource temporarily unavailable|cannot allocate|rss limit|"
    r"out[- ]of[- ]memory|allocation-size-too-big|requested allocation size"
)
"""What this machine's limits refuse, whatever the program."""
HOW = " and {} threads under the sanitizers"


def with_a_thousand(case: Case, expected: Expected) -> tuple[list[Finding], str]:
    """What is wrong with so many threads where the original is right, and what was tried.

    Parameters
    ----------
    case : Case
        A candidate in OpenMP.
    expected : Expected
        The input of large numbers on which it is run, once: each thread costs 0.4 CPU ms.

    Returns
    -------
    tuple
        Findings, and words for the evidence; empty where it asks for no thread's number.
    """
    if not (case.is_parallel and BY_NUMBER.search(case.candidate.text)):
        return [], ""
    if not case.reference.is_clean or compiler_absent(case.candidate, SANITIZED.family):
        return [], ""
    for count in COUNTS:
        findings = _findings(case, case.candidate, expected, count)
        if findings is None:
            continue
        if findings and _findings(case, case.original, expected, count):
            findings = []
        return findings, HOW.format(count)
    return [], "; a thousand have no room or time under the sanitizers here"


def _findings(case: Case, program: Program, expected: Expected, count: int) -> list[Finding] | None:
    """Reports, or another output; None where limits ended the run."""
    made = case.bench.build(program, SANITIZED)
    limits = replace(roomy(expected.limits(count)), cpu_s=MOST_S, wall_s=5 * MOST_S)
    run = made.ok and case.bench.run(made, expected.given, threads=count, limits=limits,
                                     environment=SANITIZER_OPTIONS)  # fmt: skip
    if not run or run.stopped or NOT_MADE.search(run.stderr):
        return None
    where = HOW.format(count)
    how = f", with {expected.given.words}{where}"
    reports = sanitizer_findings(run.stderr, "threads")
    return [replace(f, message=f.message + how) for f in reports] or case.wrong(
        "threads", run, expected, where)  # fmt: skip
