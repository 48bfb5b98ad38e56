"""Rungs that run the candidate: sanitizers, output, threads, races, mapping."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.cuda_on_host import ORDERS
from rheostat.measurement.code.diagnostics import (
    oclgrind_findings,
    race_findings,
    sanitizer_findings,
)
from rheostat.measurement.code.program import PRAGMA, Program
from rheostat.measurement.code.program_inputs import ProgramInput
from rheostat.measurement.code.reference import MEMORY_MB, SANITIZER_OPTIONS, Expected
from rheostat.measurement.code.toolchain import DEVICE, RACES, SANITIZED
from rheostat.measurement.code.verdict import Evidence, Finding
from rheostat.measurement.code.workbench import Built, roomy

DEALT = re.compile(r"\bschedule\s*\(\s*(?:\w+\s*:\s*)?(?:dynamic|guided|auto|runtime)\b[^)]*\)")
LEAGUE = re.compile(r"(?<=\s)distribute\b(?!\s+parallel\b)(?=[\s(]|$)")
TASKS = re.compile(PRAGMA + r"\b.*\b(?:task|taskloop|sections|single)\b")
TASK_RUNS = 3
"""Which thread takes a task is chance, so such programs are run again."""
RACE_EXIT = 66
TSAN_OPTIONS = f"exitcode={RACE_EXIT}:hard_rss_limit_mb={MEMORY_MB}:report_bugs=1:history_size=4"
RACE_SLOWER = 20.0
CUDA_RACES = "races between CUDA threads are not looked for: compute-sanitizer needs a device"
ON_DEVICE = {"OMP_TARGET_OFFLOAD": "MANDATORY"}
PROBE = """int main(void) {
  int changed = 0;
#pragma omp target map(to : changed)
  changed = 1;
  return changed;
}
"""
"""Ends with 0 where the device has memory of its own."""
ADDRESSES = "ThreadSanitizer cannot run under this kernel's layout of addresses"


def sanitizers(case: Case) -> Evidence:
    """AddressSanitizer and UndefinedBehaviorSanitizer on a small and the largest input.

    A run that fails without a report is the business of the next rung.
    """
    case.need(case.cannot_run)
    if case.candidate.language == "cuda" and not case.on_host:
        return case.skipped("sanitizers", "the device's code has no sanitizer here")
    made = case.build(SANITIZED)
    case.need("" if case.reference.clean else "the original itself does not pass them")
    count = 2 if case.is_parallel else 1
    first = case.reference.small[0]
    plain = case.bench.run(case.built, first.given, threads=count, limits=case.limits(first, count))
    if plain.stopped:
        return case.skipped("sanitizers", f"without them it was {plain.stopped}: see output")
    checked = case.inputs()
    for expected in (checked[0], *case.reference.expected[:1] * (not case.on_host)):
        run = case.bench.run(made, expected.given, threads=count, environment=SANITIZER_OPTIONS,
                             limits=roomy(case.limits(expected, count), 3.0))  # fmt: skip
        findings = sanitizer_findings(run.stderr)
        if findings:
            return case.failed("sanitizers", findings)
        if not run.ok:
            return case.passed("sanitizers", f"no report, but {run.ending}")
    return case.passed("sanitizers", "address, undefined behaviour")


def output(case: Case) -> Evidence:
    """The original's output on every hidden input, and on none where the original takes none."""
    case.need(case.cannot_run)
    every = case.inputs()
    known = () if case.on_host else case.reference.without_arguments
    for expected in (*every, *known):
        run = case.bench.run(case.built, expected.given, limits=case.limits(expected))
        findings = case.wrong("output", run, expected, "")
        if findings:
            return case.failed("output", findings)
    said = f"{len(every)} inputs" if case.original.inputs.ranges else "the one input there is"
    said += ", and none at all" if known else ""
    return case.passed("output", said, inputs=len(every),
                       relative_tolerance=case.reference.agreed.relative)  # fmt: skip


def threads(case: Case) -> Evidence:
    """The same output with each number of threads."""
    if case.on_host:
        return _orders(case)
    if not case.is_parallel:
        return case.skipped("threads", f"{case.candidate.language} code makes no OpenMP threads")
    counts = [t for t in case.options.threads if t > 1]
    for expected in (case.reference.expected[0], case.reference.small[-1]):
        for count in counts:
            run = case.bench.run(
                case.built, expected.given, threads=count, limits=expected.limits(count)
            )
            findings = case.wrong("threads", run, expected, f" and {count} threads")
            if findings:
                return case.failed("threads", findings)
    return case.passed("threads", f"{', '.join(map(str, counts))} threads")


def races(case: Case) -> Evidence:
    """Archer with ThreadSanitizer for OpenMP, fibres for CUDA, oclgrind for OpenCL."""
    if case.candidate.language == "opencl":
        return _oclgrind(case)
    if case.on_host:
        return _fibres(case)
    case.need(CUDA_RACES if case.candidate.language == "cuda" else "")
    if not case.is_parallel:
        return case.skipped("races", f"{case.candidate.language} code makes no OpenMP threads")
    case.need(toolchain.archer_absent())
    made = case.build(RACES, spread_over_threads(case.candidate))
    library = f"{toolchain.llvm_libraries()}/libarcher.so"
    options = {"OMP_TOOL_LIBRARIES": library, "OMP_NUM_TEAMS": "1", "TSAN_OPTIONS":
               f"ignore_noninstrumented_modules=1:{TSAN_OPTIONS}"}  # fmt: skip
    repeats = TASK_RUNS if TASKS.search(case.candidate.text) else 1
    for expected in _for_races(case) * repeats:
        run = case.bench.run(made, expected.given, threads=4, environment=options,
                             limits=roomy(expected.limits(4), 5.0))  # fmt: skip
        findings = race_findings(run.stderr)
        if findings:
            return case.failed("races", findings)
        case.need(ADDRESSES if "unexpected memory mapping" in run.stderr else "")
        case.need("" if run.ok else f"the checked run {run.ending}")
    return case.passed("races", "Archer, 4 threads")


def _fibres(case: Case) -> Evidence:
    """ThreadSanitizer over the threads of a kernel, which are fibres to the host."""
    case.need(case.cannot_run or toolchain.absent("clang"))
    largest = max(case.inputs(), key=lambda e: e.cpu_s)  # of a small one there may be one block
    every = (*case.reference.small, largest)
    findings = _raced(case, case.build(RACES), every)
    if not findings:
        return case.passed("races", "ThreadSanitizer, CUDA's threads as fibres of the host")
    if case.original.language == "cuda":
        known = _raced(case, case.bench.build(case.original, RACES), every)
        case.need(f"the original itself: {known[0].words}" if known else "")
    return case.failed("races", findings)


def _raced(case: Case, made: Built, every: Sequence[Expected]) -> tuple[Finding, ...]:
    options = {"TSAN_OPTIONS": TSAN_OPTIONS}
    for expected in every:
        run = case.bench.run(made, expected.given, environment=options,
                             limits=roomy(case.limits(expected), 5.0))  # fmt: skip
        findings = race_findings(run.stderr)
        if findings:
            return findings
        case.need(ADDRESSES if "unexpected memory mapping" in run.stderr else "")
        case.need("" if run.ok else f"the checked run {run.ending}")
    return ()


def _orders(case: Case) -> Evidence:
    """The same output whatever order CUDA's threads and blocks run in."""
    case.need(case.cannot_run)
    for how, number in ORDERS.items():
        for expected in case.reference.small:
            run = case.bench.run(case.built, expected.given, limits=case.limits(expected),
                                 environment={"CUDA_ORDER": str(number)})  # fmt: skip
            findings = case.wrong("threads", run, expected, f" and threads {how}")
            if findings:
                return case.failed("threads", findings)
    return case.passed("threads", f"threads {', '.join(ORDERS)}, on the host")


def spread_over_threads(program: Program) -> Program:
    """The program with loops dealt out in turn: a race needs two threads that get iterations.

    On a busy machine one thread may run all of a dynamic loop before another wakes up.  Teams
    become threads of one team: Archer does not see that a league waits for its teams.

    >>> text = "#pragma omp for schedule(dynamic, 8) nowait"
    >>> spread_over_threads(Program({"a.c": text}, "openmp")).text
    '#pragma omp for schedule(static, 1) nowait'
    """
    files = {
        name: LEAGUE.sub("distribute parallel for", DEALT.sub("schedule(static, 1)", text))
        for name, text in program.files.items()
    }
    return replace(program, files=files)


def _for_races(case: Case) -> list[Expected]:
    """Small inputs, and the largest if it is quick: loops may be parallel from some size on."""
    largest = case.reference.expected[0]
    return [*case.reference.small, *([largest] if largest.cpu_s * RACE_SLOWER < 10.0 else [])]


def _oclgrind(case: Case) -> Evidence:
    case.need(toolchain.absent("oclgrind"))
    wrapper = ("oclgrind", "--data-races", "--uniform-writes")
    expected = case.reference.small[0]
    limits = replace(roomy(expected.limits()), wall_s=120.0, cpu_s=120.0)
    run = case.bench.run(case.built, expected.given, limits=limits, wrapper=wrapper)
    findings = oclgrind_findings(run.stderr + run.stdout)
    if findings:
        return case.failed("races", findings)
    case.need("" if run.ok else f"oclgrind {run.ending}: {run.stderr[:200]}")
    return case.passed("races", "oclgrind")


def mapping(case: Case) -> Evidence:
    """The same output from a device with memory of its own: what is not mapped is not there."""
    if case.candidate.language != "target":
        return case.skipped("mapping", f"{case.candidate.language} code has no target regions")
    case.need(toolchain.offload_absent())
    probe = case.bench.build(Program({"probe.c": PROBE}, "target"), DEVICE)
    works = probe.ok and case.bench.run(probe, ProgramInput(), environment=ON_DEVICE).ok
    case.need("" if works else "no device with memory of its own takes a target region here")
    made = case.build(DEVICE)
    return _on_device(case, made)


def _on_device(case: Case, made: Built) -> Evidence:
    for expected in case.reference.small:
        run = case.bench.run(made, expected.given, threads=2, limits=roomy(expected.limits(2), 5.0),
                             environment=ON_DEVICE)  # fmt: skip
        findings = case.wrong("mapping", run, expected, " on a device with memory of its own")
        if findings:
            return case.failed("mapping", findings)
    return case.passed("mapping", "x86_64 device with separate memory")
