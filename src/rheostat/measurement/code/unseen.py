"""What a program may go by and no run here shows: the time, the processor, where memory lies.

A run that is right says nothing of the next one where the program asks such things.  What the
original asks, too, is no finding.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.program import Program
from rheostat.measurement.code.toolchain import BuildKind, compiler_absent
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

WHY = "what a program does may hang on it, and the runs here do not show that"
BY_DEVICE = "is read otherwise by the compiler for a device, which does not run here"
CLOCKS = re.compile(
    r"time|times|clock|clock_gettime|gettimeofday|ftime|timespec_get|omp_get_wt(?:ime|ick)|"
    r"std::chrono"
)
WORDS = {
    "code in assembler, which no checker reads": re.compile(
        r"\b(?:__)?asm(?:__)?\s*(?:(?:__)?(?:volatile|goto)(?:__)?\s*)*\("
    ),
    "asks which processor this is": re.compile(
        r"__builtin_cpu_\w+|__(?:get_)?cpuid\w*|_xgetbv|\btarget_clones\b|\bifunc\b"
    ),
    "asks which device this is": re.compile(
        r"\bCL_(?:DEVICE_(?:MAX_COMPUTE_UNITS|MAX_CLOCK_FREQUENCY|NAME|VENDOR\w*|(?:OPENCL_C_)?VERSION|"
        r"EXTENSIONS|(?:GLOBAL|LOCAL)_MEM_\w+)|DRIVER_VERSION|PLATFORM_(?:NAME|VENDOR|VERSION))\b"
    ),
    "asks how many devices there are, or whether it runs on one": re.compile(
        r"\bomp_(?:get_num_devices|is_initial_device)\b"
    ),
    "the number of a thread is cut, so that two threads may share what belongs to one": re.compile(
        r"\bomp_get_thread_num\s*\(\s*\)\s*[&%]"
    ),
    "hangs on when it is built": re.compile(r"\b__(?:DATE|TIME|TIMESTAMP)__(?!\w)"),
    "asks the time": re.compile(r"\b__(?:builtin_ia32_)?rdtscp?\b"),
    "takes an address for a number": re.compile(r"\bu?intptr_t\b"),
    "prints an address, whose digits can be read as a number": re.compile(
        r'"(?:[^"\n\\]|\\.)*?(?<!%)(?:%%)*%[-+ #0-9*]*p'
    ),
    "a condition inside a kernel's text is decided by the compiler of the device": re.compile(
        r'"(?:[^"\n\\]|\\.)*?#\s*(?:el)?if(?:n?def)?\b'
    ),
    "a device with memory of its own copies it only where it is mapped or read": re.compile(
        r"\bCL_MEM_USE_HOST_PTR\b(?![\s\S]*\bclEnqueue(?:Map|Read)Buffer\b)"
    ),
    "asks how large a type is that compilers make differently": re.compile(
        r"sizeof\s*\(\s*omp_\w+\s*\)\s*(?:[=!<>]=|[<>%&?])|(?:[=!<>]=|[<>])\s*sizeof\s*\(\s*omp_"
    ),
}
FOR_DEVICE = re.compile(
    r"__CUDA_ARCH\w*|\bNV_(?:IF|IS|PROVIDES)_\w+|"
    r"(?m:^[^\S\n]*#[^\S\n]*(?:el)?ifn?(?:def)?\b[^\n]*\b(?:__(?:NVCC|NVCOMPILER|GNUC|clang)\w*|_OPENMP)\b)"
)
"""What the compiler for a device reads otherwise than the one that takes its place."""
PROCESSORS = re.compile(
    r"\b(?:omp_get_num_procs|get_nprocs(?:_conf)?|_SC_NPROCESSORS_\w+|hardware_concurrency)\b"
)
BY_PROCESSORS = "asks how many processors there are, and its own build lets no other number be told"
TEAMS = re.compile(r"\bomp_get_(?:num_teams|team_num|max_teams)\b")
BY_TEAMS = "goes by the number of teams, which is another one on a device"
READ = BuildKind(
    "read", "clang",
    ("-g", "-w", "-fopenmp-simd", "-D_OPENMP=201811", "-Xclang", "-disable-llvm-passes"), "-O1",
)  # fmt: skip
"""OpenMP's pragmas but for those of lanes, which its header needs, are left out: their own code
turns addresses into numbers."""
CAST = re.compile(r"(?m)^\s*(?:(%\S+) = )?(?:ptrtoint \S|.*\bptrtoint \().*?!dbg !(\d+)$")
DIFFERENCE = re.compile(r"(?m)^\s*%\S+ = sub \S+ (%\S+), (%\S+?)(?:,|$)")
LOCATION = re.compile(r"(?m)^!(\d+) = !DILocation\(line: (\d+), .*?scope: !(\d+)")
SCOPE = re.compile(r"(?m)^!(\d+) = (?:distinct )?!DI\w+\(.*?file: !(\d+)")
FILE = re.compile(r'(?m)^!(\d+) = !DIFile\(filename: "([^"]*)"')


def unseen(case: Case, asked: frozenset[str]) -> list[Finding]:
    """Findings in what a candidate asks beyond the original.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    asked : frozenset of str
        Functions of libraries that it calls and the original does not.

    Returns
    -------
    list of Finding
        Empty where nothing is asked that no run shows.
    """
    found_at = [case.finding("calls", f"calls {name}: asks the time, the original does not")
                for name in sorted(asked) if CLOCKS.fullmatch(name)]  # fmt: skip
    words = WORDS | ({BY_DEVICE: FOR_DEVICE} if case.on_host else {})
    words |= {BY_TEAMS: TEAMS} if case.candidate.language == "target" else {}
    words |= {BY_PROCESSORS: PROCESSORS} if case.candidate.build else {}
    for message, pattern in words.items():
        if pattern.search(case.original.text):
            continue
        for name, text in case.candidate.files.items():
            if m := pattern.search(text):
                line = text.count("\n", 0, m.start()) + 1
                found_at.append(Finding("calls", name, line, f"{m[0]}: {message}"))
    return found_at or _addresses(case)


def _addresses(case: Case) -> list[Finding]:
    """Casts of pointers to numbers in the candidate's own files, where the original has none."""
    if case.candidate.language in ("cuda", "opencl") or compiler_absent(case.candidate, "clang"):
        return []
    places = casts_of_pointers(case, case.candidate)
    if not places or casts_of_pointers(case, case.original):
        return []
    file, line = min(places)
    return [Finding("calls", file, line, "takes an address for a number")]


def casts_of_pointers(case: Case, program: Program) -> Counter[tuple[str, int]]:
    """Files and lines of the program at which a pointer becomes a number; differences are none."""
    plain = replace(
        program, language="serial", flags=tuple(f for f in program.flags if "openmp" not in f)
    )
    places: Counter[tuple[str, int]] = Counter()
    for source in program.sources:
        alone = replace(plain, files={source: program.files[source], **_headers(program)})
        made = case.bench.build(alone, READ, output=("-S", "-emit-llvm", "-o", "-"))
        code = _in_registers(case, made) if made.ok else ""
        places.update(_casts(code, program))
    return places


def _in_registers(case: Case, made: Built) -> str:
    """LLVM's text with variables in registers: what a union or memcpy turns is then a cast."""
    code, opt = made.said.stdout, toolchain.llvm_tool("opt")
    if not opt:
        return code
    run = case.bench.sandbox.run([opt, "-passes=sroa", "-S", "-"], made.folder, stdin=code)
    return run.stdout if run.ok else code


def _headers(program: Program) -> dict[str, str]:
    return {n: t for n, t in program.files.items() if n not in program.sources}


def _casts(code: str, program: Program) -> list[tuple[str, int]]:
    """Places in LLVM's text.

    >>> code = '''  %1 = ptrtoint ptr %p to i64, !dbg !5
    ... !5 = !DILocation(line: 3, column: 2, scope: !6)
    ... !6 = distinct !DISubprogram(name: "f", file: !7)
    ... !7 = !DIFile(filename: "./a.c", directory: "")'''
    >>> _casts(code, Program({"a.c": ""}))
    [('a.c', 3)]
    """
    scopes, names = dict(SCOPE.findall(code)), dict(FILE.findall(code))
    lines = {number: (int(line), scope) for number, line, scope in LOCATION.findall(code)}
    subtracted = {value for pair in DIFFERENCE.findall(code) for value in pair}
    places = []
    for value, number in CAST.findall(code):
        line, scope = lines.get(number, (0, ""))
        file = names.get(scopes.get(scope, ""), "").removeprefix("./")
        if value not in subtracted and file in program.files:
            places.append((file, line))
    return places
