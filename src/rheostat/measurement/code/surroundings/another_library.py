"""The same output with another C library, clock, number of processors, or edition of C and C++.

Two builds of one program on one machine sort equal elements alike, read one clock and are told the
same number, so that what hangs on them shows only where they are others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rheostat.measurement.code.bundled import with_included
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

LIBRARY, HEADER, CONTAINERS = "another_library", "another_library.h", "another_containers.h"
TASKS = "another_tasks.h"
OTHER_LIBRARY = {"RHEOSTAT_LIBRARY": "1"}
"""What lets the library answer otherwise."""
ASKS = re.compile(
    r"omp_get_num_procs|sysconf|get_nprocs(?:_conf)?|std::thread::hardware_concurrency"
)
COUNTS = (1, 3, 64, 0)
"""With 0 as where nobody can tell."""
ASKS_GROUP = re.compile(r"\bCL_(?:DEVICE_MAX_WORK_(?:GROUP|ITEM)_SIZES?|KERNEL_WORK_GROUP_SIZE)\b")
GROUPS = (1, 8, 256)
"""Work-items that a device's group may hold, as OpenCL's library says where a candidate asks."""
SMALL_GROUP = "RHEOSTAT_GROUP"
LEFT_OPEN = re.compile(
    r"qsort|s?rand(?:om)?|clock(?:_gettime)?|gettimeofday|time|omp_get_wtime|std::chrono::\w+"
)
BY_OPENCL = {"clGetDeviceInfo": "sysconf", "clGetEventProfilingInfo": "clock_gettime"}
"""By what OpenCL's library answers where kernels are compiled beforehand."""
SORTS = re.compile(
    r"\b(?:sort|partial_sort|nth_element|partition|(?:make|push|pop)_heap|unique|remove_if)\s*\("
)
CONTAINS = re.compile(r"\b(?:unordered_(?:multi)?(?:map|set)|multi(?:map|set)|priority_queue)\b")
STARTS = re.compile(r"\basync\s*\(")
SOME = 128
"""Of many inputs, how many are run so."""
NAMED, ANOTHER_PLACE = "__FILE__", "/home/somebody_else/a_longer_path/program2.cc"
CHARACTERS = re.compile(
    r"(?<!signed )\bchar\b(?!\s*(?:const\s*)?\*\s*(?:\*|argv|const\s+argv))|\bstd::string\b"
)
UNSIGNED = " and char without a sign (as on ARM, -funsigned-char)"
ASSERTS = re.compile(r"assert|NDEBUG")
WITHOUT_ASSERTS = " and without assertions (-DNDEBUG)"
EDITIONS = {
    "c": (("gnu23", "gnu2x"), ("gnu89", "gnu99")),
    "c++": (("gnu++26", "gnu++23", "gnu++20"), ("gnu++98", "gnu++11", "gnu++14")),
}
"""From the newest down and from the oldest up: of each the first that a program builds as."""
FIRST_ERROR = "-Wfatal-errors"
"""In C++ an edition that is too old has hundreds of them in headers."""
EDITION = " and as another edition of the language (-std={})"
PLACED = " and built elsewhere (__FILE__)"
OTHERWISE = " and what C leaves open done otherwise (order of equal elements, rand, clock)"
TASKS_TOO = ", and tasks of std::async run when their results are asked for"


def elsewhere(case: Case) -> list[Finding]:
    """What is wrong where equal elements, the clock, or the number of processors are others.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where it asks for none of them, or the original prints something else then.
    """
    known = known_inputs(case)
    for how, environment, threads, flags in _ways(case):

        def printed(
            program: Program, inputs: Sequence[ProgramInput],
            environment: dict[str, str] = environment, threads: int = threads,
            flags: tuple[str, ...] = flags, how: str = how,
        ) -> list[str | None]:  # fmt: skip
            program = replace(program, flags=(*flags, *program.flags))
            for one in _reordered(program) if environment == OTHER_LIBRARY else (program,):
                made = case.bench.build(one, case.kind)
                if made.ok:
                    break
            limits = case.limits(case.reference.expected[0], threads)
            return case.bench.run_each(made, inputs, limits, environment=environment,
                                       threads=threads, beside=(LIBRARY,))  # fmt: skip

        outputs = printed(case.candidate, [given for given, _ in known])
        apart = [
            (given, output, got) for (given, output), got in zip(known, outputs, strict=True)
            if got is not None and differences(got, output, case.reference.agreed)
        ]  # fmt: skip
        ours = printed(case.original, [given for given, *_ in apart]) if apart else []
        for (given, output, got), own in zip(apart, ours, strict=True):
            refused = own is None and SMALL_GROUP in environment  # groups of a fixed size are
            if refused or (own is not None and not differences(own, output, case.reference.agreed)):
                run, expected = SandboxRun(0, got, "", 0, 0, 0), Expected(given, output, 0, 0)
                return case.wrong("output", run, expected, how)
    return []


def _ways(case: Case) -> Iterator[tuple[str, dict[str, str], int, tuple[str, ...]]]:
    """What is done otherwise: in words, in the environment, with how many threads and flags."""
    if NAMED in case.candidate.text and NAMED not in case.original.text:
        yield PLACED, {}, 1, (f'-D{NAMED}="{ANOTHER_PLACE}"', "-Wno-builtin-macro-redefined")
    yield from _built_otherwise(case)
    names = _calls(case)
    if any(ASKS.fullmatch(n) for n in names):
        for count in COUNTS:
            yield f" and {count} processors", {"RHEOSTAT_PROCESSORS": str(count)}, 2, ()
    if asks_group(case.candidate):
        for count in GROUPS:
            yield f" and {count} work-items in a group at most", {SMALL_GROUP: str(count)}, 1, ()
    if any(LEFT_OPEN.fullmatch(n) for n in names) or _order_open(case.candidate):
        tasks = TASKS_TOO if _order_open(case.candidate) and _has_tasks(case.candidate) else ""
        yield OTHERWISE + tasks, OTHER_LIBRARY, 1, ()


def asks_group(program: Program) -> bool:
    """Whether it asks OpenCL how many work-items a group may hold.

    Parameters
    ----------
    program : Program
        Whose text is looked at.
    """
    return program.holds_kernels and bool(ASKS_GROUP.search(program.text))


def _calls(case: Case) -> frozenset[str]:
    """What the candidate calls, but not what OpenCL's library in it calls for itself."""
    names = case.bench.imports(case.plain or case.built) or frozenset()
    return names | {BY_OPENCL[n] for n in names & BY_OPENCL.keys() if case.plain}


def _built_otherwise(case: Case) -> Iterator[tuple[str, dict[str, str], int, tuple[str, ...]]]:
    """Flags that people add to a build, where they make another program of the candidate."""
    candidate = case.candidate
    if candidate.build or candidate.holds_kernels or case.on_host:
        return
    if not (plain := _bytes(case.built)):
        return
    editions = ([(EDITION.format(e), [f"-std={e}", FIRST_ERROR]) for e in some]
                for some in _editions(candidate))  # fmt: skip
    every = [
        [(UNSIGNED, ["-funsigned-char"])] if CHARACTERS.search(candidate.text) else [],
        [(WITHOUT_ASSERTS, ["-DNDEBUG"])] if ASSERTS.search(candidate.text) else [],
        *editions,
    ]
    for ways in every:
        for how, flags in ways:
            other = replace(candidate, flags=(*flags, *candidate.flags))
            if made := _bytes(case.bench.build(other, case.kind)):
                if made != plain:
                    yield how, {}, 1, tuple(flags)
                break


def _editions(program: Program) -> tuple[tuple[str, ...], ...]:
    """Of its language, unless its build names one."""
    named = any(f.startswith("-std=") or f == "-ansi" for f in program.flags)
    return () if named else EDITIONS["c++" if program.is_cxx else "c"]


def _bytes(built: Built) -> bytes:
    """What was built; empty where nothing was."""
    path = built.folder / built.binary
    return path.read_bytes() if built.ok and path.is_file() else b""


def known_inputs(case: Case) -> list[tuple[ProgramInput, str]]:
    """Inputs with the original's output: the largest, and those that are quick.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    reference = case.reference
    every = [*reference.small, *reference.expected[:1]]
    many = case.many[:: len(case.many) // SOME + 1]
    return [*((e.given, e.output) for e in every), *many]


def _order_open(program: Program) -> bool:
    """Whether C++'s library decides in it which of equal elements comes first, or who runs what."""
    text = program.text
    own = program.is_cxx and program.language != "cuda"
    return own and any(asked.search(text) for asked in (SORTS, CONTAINS, STARTS))


def _has_tasks(program: Program) -> bool:
    return bool(STARTS.search(program.text))


def _reordered(program: Program) -> tuple[Program, ...]:
    """The program with another std::sort, containers and tasks; as it is where that is no C++.

    The first that builds is meant; by its own build it is left as it is.
    """
    if program.build or not _order_open(program):
        return (program,)
    orders = (CONTAINERS, HEADER) if CONTAINS.search(program.text) else (HEADER,)
    tasks = (TASKS,) if _has_tasks(program) else ()
    some = [(*tasks, order) for order in orders] + [tasks] * bool(tasks)
    return *(_with(program, headers) for headers in some), program


def _with(program: Program, headers: Sequence[str]) -> Program:
    files = dict(program.files)
    for header in headers:
        files |= with_included(header)
    flags = [word for header in headers for word in ("-include", header)]
    return replace(program, files=files, flags=(*flags, *program.flags))
