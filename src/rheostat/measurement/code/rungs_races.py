"""The rung of races: threads, fibres of CUDA, work items of OpenCL, iterations of simd loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.altered.coarse_data import among_equals, picks
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.diagnostics import (
    oclgrind_findings,
    race_findings,
    without_lines,
)
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.last_first import last_first
from rheostat.measurement.code.races.league_writes import league_writes
from rheostat.measurement.code.races.lock_sets import (
    excludes,
    in_another_order,
    without_common_lock,
)
from rheostat.measurement.code.races.raced_data import WHY as DATA
from rheostat.measurement.code.races.raced_data import raced_on_other_data
from rheostat.measurement.code.races.raced_text import SCHEDULES, dealt_unlike, spread_over_threads
from rheostat.measurement.code.races.simd_updates import lanes_update
from rheostat.measurement.code.races.split_updates import split_updates
from rheostat.measurement.code.races.task_memory import TASKS, UNKNOWN, with_task_memory
from rheostat.measurement.code.races.thread_writes import thread_writes
from rheostat.measurement.code.races.uninstrumented import uninstrumented
from rheostat.measurement.code.races.unordered_sums import unordered_sums
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.toolchain import LANES, MEMORY_MB, RACES
from rheostat.measurement.code.verdict import Evidence, Finding
from rheostat.measurement.code.workbench import Built, roomy

CHANCE = re.compile(PRAGMA + r"\b.*\b(?:task|taskloop|sections|single)\b")
TASK_REDUCTION = re.compile(
    PRAGMA + r"\b.*\b(?:taskloop\b.*\breduction|task_reduction|in_reduction)\b"
)
DOACROSS = re.compile(r"\bordered\b[^\n]*\bdepend\s*\(\s*(?:sink|source)\b|\bdoacross\s*\(")
BY_NUMBER = re.compile(
    r"\bomp_get_(?:thread_num|num_threads|max_threads)\b|\batomic\s+capture\b|\bfetch_add\b"
)
"""Also tickets, which threads draw in the place of numbers."""
ORDERED, ORDERS = 8, 2
"""Threads, where they are made to come in other orders, and how often on each input."""
MANY = (17, 129)
"""Threads, more than memory that a candidate divides by their numbers may have parts."""
LUCK = "ThreadSanitizer saw them in a lucky order, so that no race is not shown"
BY_COMPILER = "whether lanes then lose updates hangs on the compiler"
BY_LEAGUE = "ThreadSanitizer does not see several teams, which nothing keeps from each other"
BY_TEXT = "ThreadSanitizer does not see how threads put their parts together"
BY_SPLIT = "ThreadSanitizer takes an atomic access for no race"
BY_CHANCE = "a race is seen only where two threads come there in one run"
BY_THE_TEXT = (
    (unordered_sums, BY_TEXT), (league_writes, BY_LEAGUE), (split_updates, BY_SPLIT),
    (thread_writes, BY_CHANCE),
)  # fmt: skip
BY_BUILD = "ThreadSanitizer sees only what it is built into"
UNKNOWN_REDUCTION = "ThreadSanitizer does not know reductions of tasks, which may be right"
UNKNOWN_DOACROSS = "Archer does not know iterations that wait for others, which may be right"
TASK_RUNS = 3
"""Which thread takes a task is chance, so such programs are run again."""
RACE_EXIT = 66
TSAN_OPTIONS = f"exitcode={RACE_EXIT}:hard_rss_limit_mb={MEMORY_MB}:report_bugs=1:history_size=4"
RACE_SLOWER, MOST_RACE_S = 20.0, 2.0
CUDA_RACES = "races between CUDA threads are not looked for: compute-sanitizer needs a device"
ADDRESSES = "ThreadSanitizer cannot run under this kernel's layout of addresses"
FEW_EDGES = 4
"""Of inputs at the ends of ranges, how many oclgrind is run on."""
MOST_LANES = 16
SIMD = re.compile(
    PRAGMA + r"\b(?:(?!declare|ordered)[^\n\\\"]|\\\n)*?(?<!\()\bsimd\b(?!\s*:)"
    r"(?P<clauses>(?:[^\n\\\"]|\\\n)*)"
)
SAFELEN = re.compile(r"\b(?:safelen|simdlen)\s*\(\s*(\d+)\s*\)")
IVDEP = re.compile(r"#\s*pragma\s+(?:GCC\s+ivdep|clang\s+loop\b[^\n]*\bassume_safety\b[^\n]*)")


def races(case: Case) -> Evidence:
    """Archer with ThreadSanitizer for OpenMP, fibres for CUDA, oclgrind for OpenCL."""
    if case.candidate.language == "opencl":
        return _oclgrind(case)
    if case.on_host:
        return _fibres(case)
    case.need(CUDA_RACES if case.candidate.language == "cuda" else "")
    lanes = in_lanes(case.candidate)
    if not (case.is_parallel or case.starts_threads or lanes):
        return case.skipped("races", f"{case.candidate.language} code makes no threads")
    stopped: Evidence | None = None
    checked = []
    if case.is_parallel or case.starts_threads:
        stopped, how = _by_threads(case)
        if not stopped and (unseen := uninstrumented(case)):
            stopped = case.not_shown("races", unseen, BY_BUILD)
        checked.append(how)
    if lanes and not stopped:
        stopped = _by_lanes(case, lanes)
        checked.append("iterations of simd loops at once")
    return stopped or case.passed("races", "; ".join(checked))


def _by_lanes(case: Case, lanes: Program) -> Evidence | None:
    """What speaks against iterations of simd loops at once, or None."""
    findings = _lanes_race(case, case.build(LANES, lanes))
    if findings:
        return case.failed("races", findings)
    unnamed = lanes_update(case.candidate)
    if unnamed and not lanes_update(case.original):
        return case.not_shown("races", unnamed, BY_COMPILER)
    return None


def _by_threads(case: Case) -> tuple[Evidence | None, str]:
    """What speaks against threads, or None, and how that was looked for."""
    runs = _runs(case)
    findings = _threads_race(case, runs)
    how = f"Archer, 4 and {case.drawn_threads} threads" if case.is_parallel else "ThreadSanitizer"
    if findings:
        why = _may_be_right(case.candidate)
        failed = case.not_shown("races", findings, why) if why else case.failed("races", findings)
        return failed, how
    if case.candidate.build:
        return None, how
    spread = spread_over_threads(case.candidate)
    how = f"{how}, other orders of threads"
    reference = case.reference
    orders = [(e, ORDERED) for e in (*reference.small, *_quick(reference.expected))] * ORDERS
    orders += [(e, ORDERED) for e in _quick(reference.edges)]
    findings = in_another_order(case, spread, orders)
    if not findings and picks(case.candidate):
        findings = among_equals(case, spread)
    findings = findings or last_first(case, spread)
    if findings:
        return case.failed("races", findings), how
    if unshown := _by_text(case) or _on_other_data(case):
        return unshown, how
    if not (case.is_parallel and excludes(case.candidate)):
        return None, how
    findings = without_common_lock(case, spread, runs)
    return case.not_shown("races", findings, LUCK) if findings else None, f"{how}; lock sets"


def _on_other_data(case: Case) -> Evidence | None:
    """Races that data of few different values show."""
    findings = raced_on_other_data(case, _race_options(case))
    return case.not_shown("races", findings, DATA) if findings else None


def _by_text(case: Case) -> Evidence | None:
    """What the candidate's text shows, and the original's does not, where Archer is blind."""
    for named, why in BY_THE_TEXT:
        findings = named(case.candidate)
        if findings and not named(case.original):
            return case.not_shown("races", findings, why)
    return None


def _may_be_right(program: Program) -> str:
    """Why what ThreadSanitizer reports may be no race; empty if it is one."""
    if TASK_REDUCTION.search(program.text):
        return UNKNOWN_REDUCTION
    if DOACROSS.search(program.text):
        return UNKNOWN_DOACROSS
    return UNKNOWN if program.build and TASKS.search(program.text) else ""


def _runs(case: Case) -> list[tuple[Expected, int]]:
    """Inputs and numbers of threads with which races are looked for."""
    every = _for_races(case)
    if not case.is_parallel:
        return [(expected, 1) for expected in every]
    every *= TASK_RUNS if CHANCE.search(case.candidate.text) else 1
    runs = list(zip(every, islice(cycle((4, case.drawn_threads)), len(every)), strict=True))
    many = BY_NUMBER.search(case.candidate.text)
    runs += [(case.reference.small[-1], count) for count in MANY] if many else []
    own = _quick(case.own_edges) * (TASK_RUNS if CHANCE.search(case.candidate.text) else 1)
    return [*runs, *((e, 4) for e in (*own, *_quick(case.reference.edges)))]


def _quick(every: Sequence[Expected]) -> list[Expected]:
    """Inputs that a slow rung can be run on beside others."""
    return [e for e in every if e.cpu_s * RACE_SLOWER < MOST_RACE_S]


def _threads_race(case: Case, runs: Sequence[tuple[Expected, int]]) -> Sequence[Finding]:
    """ThreadSanitizer over threads, with Archer where OpenMP starts them."""
    options = _race_options(case)
    findings = _raced(case, lambda p: with_task_memory(spread_over_threads(p)), runs, options)
    if findings or dealt_unlike(case.candidate) is None:
        return findings
    return _raced(case, lambda p: with_task_memory(dealt_unlike(p) or p), runs, options)


def _race_options(case: Case) -> dict[str, str]:
    """What ThreadSanitizer is told by the environment, and Archer where OpenMP starts threads."""
    if not case.is_parallel:
        return {"TSAN_OPTIONS": TSAN_OPTIONS}
    case.need(toolchain.archer_absent())
    library = f"{toolchain.llvm_libraries()}/libarcher.so"
    return {"OMP_TOOL_LIBRARIES": library, "OMP_NUM_TEAMS": "1", "OMP_MAX_ACTIVE_LEVELS": "3",
            "TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:{TSAN_OPTIONS}"}  # fmt: skip


def _fibres(case: Case) -> Evidence:
    """ThreadSanitizer over the threads of a kernel, which are fibres to the host."""
    case.need(case.cannot_run or toolchain.absent("clang"))
    largest = max(case.inputs(), key=lambda e: e.cpu_s)  # of a small one there may be one block
    runs = [(e, 1) for e in (*case.reference.small, largest)]
    findings = _raced(case, _same, runs, {"TSAN_OPTIONS": TSAN_OPTIONS})
    if findings:
        return case.failed("races", findings)
    return case.passed("races", "ThreadSanitizer, CUDA's threads as fibres of the host")


def _same(program: Program) -> Program:
    return program


def _raced(
    case: Case, prepared: Callable[[Program], Program], runs: Sequence[tuple[Expected, int]],
    options: dict[str, str],
) -> Sequence[Finding]:  # fmt: skip
    """Races that the candidate has and the original has not, and outputs that come of them."""

    def reported(made: Built) -> Iterator[tuple[Expected, SandboxRun]]:
        for (expected, count), schedule in zip(runs, cycle(SCHEDULES), strict=False):
            yield expected, case.bench.run(
                made, expected.given, threads=count,
                environment={**options, "OMP_SCHEDULE": schedule},
                limits=roomy(case.limits(expected, count), 5.0),
            )  # fmt: skip

    text = prepared(case.candidate)
    spread = case.bench.build(text, RACES).ok
    for expected, run in reported(case.build(RACES, text if spread else case.candidate)):
        findings: Sequence[Finding] = race_findings(run.stderr)
        if findings:
            if case.original.language == case.candidate.language:
                made = case.bench.build(prepared(case.original), RACES)
                known = (race_findings(r.stderr) for _, r in reported(made) if made.ok)
                own = next((f for f in known if f), ())
                case.need(f"the original itself: {own[0].words}" if own else "")
            elif case.original.language == "cuda":
                findings = [*findings, *_in_cuda(case, expected)]
            return without_lines(findings, toolchain.symbolizer_absent())
        case.need(ADDRESSES if "unexpected memory mapping" in run.stderr else "")
        case.need("" if run.ok else f"the checked run {run.ending}")
        findings = case.wrong("races", run, expected, " under ThreadSanitizer")
        if findings and not case.on_host:
            return findings
    return ()


def _in_cuda(case: Case, expected: Expected) -> Sequence[Finding]:
    """Races of an original in CUDA, whose threads are fibres of the host; none where a GPU is."""
    made = case.bench.build(case.original, RACES) if not case.bench.gpu else None
    if made is None or not made.ok:
        return ()
    run = case.bench.run(made, expected.given, limits=roomy(expected.limits(), 5.0),
                         environment={"TSAN_OPTIONS": TSAN_OPTIONS})  # fmt: skip
    return [replace(f, message=f"so does the original: {f.message}; mend it there")
            for f in race_findings(run.stderr)[:1]]  # fmt: skip


def in_lanes(program: Program) -> Program | None:
    """The program with the iterations of simd loops at once, as many as they allow; None: no loop.

    >>> text = "#pragma omp parallel for simd safelen(8) reduction(+:s)"
    >>> in_lanes(Program({"a.c": text}, "openmp")).text
    '#pragma omp parallel for simd  reduction(+:s) simdlen(8)'
    >>> in_lanes(Program({"a.c": "#pragma GCC ivdep"})).text
    '#pragma clang loop vectorize(assume_safety) vectorize_width(16)'
    """

    def widened(m: re.Match[str]) -> str:
        allowed = [int(n) for n in SAFELEN.findall(m["clauses"])]
        lanes = 1 << (min([MOST_LANES, *allowed]).bit_length() - 1)
        clauses = f"{SAFELEN.sub('', m['clauses'])} simdlen({lanes})"
        return m[0].removesuffix(m["clauses"]) + clauses

    wide = f"#pragma clang loop vectorize(assume_safety) vectorize_width({MOST_LANES})"
    files = {n: IVDEP.sub(wide, SIMD.sub(widened, t)) for n, t in program.files.items()}
    return replace(program, files=files) if files != program.files else None


def _lanes_race(case: Case, made: Built) -> Sequence[Finding]:
    """What is wrong where the iterations of simd loops run at once."""
    for expected in _for_races(case):
        run = case.bench.run(made, expected.given, limits=roomy(expected.limits(), 2.0))
        findings = case.wrong("races", run, expected, " and iterations of simd loops at once")
        if findings:
            return findings
    return ()


def _for_races(case: Case) -> list[Expected]:
    """Small inputs, and the largest if it is quick: loops may be parallel from some size on."""
    largest = case.reference.expected[0]
    return [*case.reference.small, *([largest] if largest.cpu_s * RACE_SLOWER < 10.0 else [])]


def _oclgrind(case: Case) -> Evidence:
    """A small input, and the ends of ranges as far as the original is clean there."""
    case.need(toolchain.absent("oclgrind"))
    first = case.reference.small[0]
    edges = (
        case.reference.natively or case.reference
    ).edges  # a start by PoCL costs ten times that
    for expected in (first, *_quick(edges)[:FEW_EDGES]):
        run = _under_oclgrind(case, case.built, expected)
        findings = oclgrind_findings(run.stderr + run.stdout)
        if expected is not first and (findings or not run.ok):
            own = _under_oclgrind(case, case.reference.built, expected)
            if oclgrind_findings(own.stderr + own.stdout) or not run.ok:
                continue
        if findings:
            return case.failed("races", findings)
        case.need("" if run.ok else f"oclgrind {run.ending}: {run.stderr[:200]}")
    return case.passed("races", "oclgrind")


def _under_oclgrind(case: Case, built: Built, expected: Expected) -> SandboxRun:
    wrapper = ("oclgrind", "--data-races", "--uniform-writes")
    limits = replace(roomy(expected.limits()), wall_s=120.0, cpu_s=120.0)
    return case.bench.run(built, expected.given, limits=limits, wrapper=wrapper)
