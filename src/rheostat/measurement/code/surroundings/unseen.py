"""What a program may go by and no run here shows: the time, the processor, where memory lies.

A run that is right says nothing of the next one where the program asks such things.  What the
original asks, too, is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.device_heap import device_heap
from rheostat.measurement.code.device_kernels.kernel_choices import kernel_choices
from rheostat.measurement.code.device_kernels.narrow_kernels import narrow_counters
from rheostat.measurement.code.reached.bounded_exponents import unbounded_exponents
from rheostat.measurement.code.surroundings.addresses import addresses
from rheostat.measurement.code.surroundings.bare_waits import bare_waits
from rheostat.measurement.code.surroundings.conditional_waits import conditional_waits
from rheostat.measurement.code.surroundings.constructs import unseen_constructs
from rheostat.measurement.code.surroundings.header_macros import header_macros
from rheostat.measurement.code.surroundings.libc_functions import is_known
from rheostat.measurement.code.surroundings.library_room import library_room
from rheostat.measurement.code.surroundings.thread_rooms import thread_rooms
from rheostat.measurement.code.verdict import Finding

WHY = "what a program does may hang on it, and the runs here do not show that"
BY_DEVICE = "is read otherwise by the compiler for a device, which does not run here"
CLOCKS = re.compile(
    r"time|times|clock|clock_gettime|gettimeofday|ftime|timespec_get|omp_get_wt(?:ime|ick)|"
    r"std::chrono"
)
TIMED = re.compile(r"\bcudaEvent(?:ElapsedTime|Record)\b")
"""By what an original has its device note the time; a translation asks the host for it."""
UNKNOWN = "what it gives may hang on more than its arguments, and the original does not call it"
OF_OPENMP = re.compile(r"omp_(?!get_(?:num_devices|initial_device)|is_initial_device)")
OF_SYSTEM = (
    r"(?:(?:struct\s+)?(?:omp_\w+|FILE|DIR|(?:sig)?jmp_buf|va_list|f?pos_t|off_t|(?:pthread|time|clock)_\w*t|"
    r"sem_t|mtx_t|cnd_t|wchar_t|max_align_t|lconv|tm|timeval)|long\s+double|std::\w+(?:\s*<[^<>]*>)?)"
)
BYTES = (
    r"\s*(?:const\s+)?(?:(?:un)?signed\s+)?(?:char|u?int(?:8|16)_t|short|std::byte)\s*"
    r"(?:const\s*)?"
)
WORDS = {
    "code in assembler, which no checker reads": re.compile(
        r"\b(?:__)?asm(?:__)?\s*(?:(?:__)?(?:volatile|goto)(?:__)?\s*)*\("
    ),
    "asks which processor this is": re.compile(
        r"__builtin_cpu_\w+|__(?:get_)?cpuid\w*|_xgetbv|\btarget_clones\b|\bifunc\b"
    ),
    "asks which device this is": re.compile(
        r"\bCL_(?:DEVICE_(?!TYPE_|NOT_)\w+|DRIVER_VERSION|PLATFORM_(?:NAME|VENDOR|VERSION)|"
        r"KERNEL_(?:\w*WORK_GROUP\w*|\w*MEM_SIZE))\b"
    ),
    "asks how many devices there are, or whether it runs on one": re.compile(
        r"\bomp_(?:get_num_devices|is_initial_device)\b"
    ),
    "the number of a thread is cut, so that two threads may share what belongs to one": re.compile(
        r"\bomp_get_thread_num\s*\(\s*\)\s*[&%]"
    ),
    "hangs on when it is built": re.compile(r"\b__(?:DATE|TIME|TIMESTAMP)__(?!\w)"),
    "hangs on where it is built": re.compile(
        r"\b__(?:BASE_FILE|FILE_NAME|builtin_FILE)(?:__)?(?!\w)|\bsource_location\b|"
        r"(?<![(,\s])[^\S\n]*__FILE__|__FILE__(?!\s*[,)])|\b(?:sizeof|strn?len)\s*\(\s*__FILE__"
    ),
    "asks the time": re.compile(r"\b__(?:builtin_ia32_)?rdtscp?\b"),
    "takes an address for a number": re.compile(r"\bu?intptr_t\b"),
    "a condition inside a kernel's text is decided by the compiler of the device": re.compile(
        r'"(?:[^"\n\\]|\\.)*?#\s*(?:el)?if(?:n?def)?\b'
    ),
    "a device with memory of its own copies it only where it is mapped or read": re.compile(
        r"\bCL_MEM_USE_HOST_PTR\b(?![\s\S]*\bclEnqueue(?:Map|Read)Buffer\b)"
    ),
    "takes a number apart by bytes, whose order is the machine's": re.compile(
        rf"(?:\({BYTES}\*\s*\)|reinterpret_cast\s*<{BYTES}\*\s*(?:const\s*)?>\s*\()\s*&\s*\w|"
        rf"\bunion\b\s*\w*\s*\{{[^{{}}]*?\b(?:char|u?int(?:8|16)_t|short)\s+\w+\s*\[[^{{}}]*\}}"
    ),
    "reads what stands behind the arguments, the environment": re.compile(
        r"\bargv\s*[+\[]\s*argc\s*\+"
    ),
    "goes by the language that the environment names": re.compile(
        r"\b(?:std::)?locale\s*(?:\w+\s*)?[({]"
    ),
    "is chosen by the compiler for a machine that is not here": re.compile(
        r"#\s*pragma\s+omp\s+(?:begin\s+)?(?:declare\s+variant|metadirective)\b"
    ),
    "is read from a file of the machine when it is built": re.compile(r"#\s*include\s*[\"<]\s*/"),
    "asks how large a type is that compilers and libraries make differently": re.compile(
        rf"sizeof\s*\(\s*{OF_SYSTEM}\s*\)\s*(?:[!=]=|[-<>%&?/^|])|"
        rf"(?:[=!<>]=|[<>])\s*sizeof\s*\(\s*{OF_SYSTEM}"
    ),
    "is decided by how the compiler optimises": re.compile(
        r"\b(?:__builtin_(?:constant_p|is_constant_evaluated|(?:dynamic_)?object_size)|"
        r"(?:std::)?is_constant_evaluated)\b"
    ),
}
FOR_DEVICE = re.compile(
    r"__CUDA_ARCH\w*|\bNV_(?:IF|IS|PROVIDES)_\w+|"
    r"(?m:^[^\S\n]*#[^\S\n]*(?:el)?ifn?(?:def)?\b[^\n]*\b(?:__(?:NVCC|NVCOMPILER|GNUC|clang)\w*|_OPENMP)\b)"
)
"""What the compiler for a device reads otherwise than the one that takes its place."""
TEAMS = re.compile(r"\bomp_get_(?:num_teams|team_num|max_teams)\b")
BY_TEAMS = "goes by the number of teams, which is another one on a device"


def clocks(original: str, asked: Collection[str]) -> list[str]:
    """Which of these functions ask for the time, unless the original asks its device for it.

    >>> clocks("int a;", ["omp_get_wtime", "puts"])
    ['omp_get_wtime']
    >>> clocks("cudaEventElapsedTime(&ms, from, to);", ["omp_get_wtime", "puts"])
    []
    """
    return [] if TIMED.search(original) else sorted(filter(CLOCKS.fullmatch, asked))


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
                for name in clocks(case.original.text, asked)]  # fmt: skip
    of_libraries = {n for n in asked if n in case.bench.of_libc or OF_OPENMP.match(n)}
    found_at += [case.finding("calls", f"calls {name}: {UNKNOWN}") for name in sorted(of_libraries)
                 if not (is_known(name) or CLOCKS.fullmatch(name))]  # fmt: skip
    words = WORDS | ({BY_DEVICE: FOR_DEVICE} if case.on_host else {})
    words |= {BY_TEAMS: TEAMS} if case.candidate.language == "target" else {}
    for message, pattern in words.items():
        if pattern.search(case.original.text):
            continue
        for name, text in case.candidate.files.items():
            if m := pattern.search(text):
                line = text.count("\n", 0, m.start()) + 1
                found_at.append(Finding("calls", name, line, f"{m[0]}: {message}"))
    by_text = narrow_counters(case) + kernel_choices(case) + unbounded_exponents(case)
    by_text += unseen_constructs(case)
    for rule in (thread_rooms, conditional_waits, bare_waits, device_heap, library_room):
        by_text += [] if rule(case.original) else rule(case.candidate)
    return found_at or header_macros(case) or addresses(case) or by_text
