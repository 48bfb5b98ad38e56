"""What headers and the compiler decide: macros that a candidate reads and the original does not.

A version, a limit, a size of the library is one number in every run here and another one elsewhere.
What the standards fix everywhere (INT_MAX, M_PI, PRIu64) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.surroundings.libc_functions import is_known
from rheostat.measurement.code.toolchain import CLANG, GCC, compiler_absent
from rheostat.measurement.code.verdict import Finding

FIXED = re.compile(
    r"NULL|EOF|EXIT_(?:SUCCESS|FAILURE)|(?:U?(?:CHAR|SHRT|INT|LONG|LLONG)|SCHAR)_M(?:IN|AX)|CHAR_BIT|"
    r"U?INT(?:_LEAST|_FAST)?\d+_(?:MIN|MAX|C)|U?INT(?:MAX|PTR)_(?:MIN|MAX|C)|S?SIZE_MAX|PTRDIFF_M\w+|"
    r"PRI\w+|SCN\w+|M_\w+|(?:FLT|DBL)_(?!ROUNDS|EVAL)\w+|HUGE_VALF?|INFINITY|NAN|FP_\w+|FE_\w+|"
    r"signbit|fpclassify|is(?:normal|(?:greater|less)\w*|unordered)|_?I|_?complex|_Complex_I|CMPLXF?|"
    r"bool|true|false|std(?:in|out|err)|errno|E[A-Z0-9]+|(?:static_)?assert|align(?:as|of)|offsetof|"
    r"noreturn|thread_local|va_\w+|SEEK_\w+|_IO[FLN]BF|CLOCK_\w+|PTHREAD_\w+|ATOMIC_\w+|atomic_\w+|"
    r"memory_order_\w+|__ATOMIC_(?:RELAXED|CONSUME|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)|"
    r"CL_\w+|cuda\w+|_mm\d*_\w+|_MM_\w+|MIN|MAX|_Atomic|_OPENMP|__cplusplus|"
    r"__(?:inline|restrict|const|volatile|signed|extension|func|always_inline|nonnull|wur|u?int\d+)\w*|"
    r"__(?:CHAR_BIT|(?:S?CHAR|SHRT|INT|LONG|LONG_LONG|SIZE|PTRDIFF|U?INT\d+)_MAX)__"
)
"""The same everywhere, or functions and words of the language."""
DEFINED = re.compile(r"(?m)^[^\S\n]*#[^\S\n]*define[^\S\n]+(\w+)")
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?m:^[^\S\n]*#[^\S\n]*(?:include|pragma|error)[^\n]*)',
    re.DOTALL,
)
CONDITION = re.compile(
    r"(?m)^[^\S\n]*#[^\S\n]*(?P<how>(?:el)?if(?:n?def)?)\b(?P<what>(?:\\\n|[^\n])*)"
)
ONLY_WHETHER = re.compile(
    r"\s*!?\s*(?:defined\s*\(?\s*)?(?:_OPENMP|__cplusplus)\b\s*\)?\s*(?://.*|/\*.*)?"
)
"""Whether the language is C++ and OpenMP is on, which every build here has alike."""
BY_BUILD = re.compile(r"_\w*|NDEBUG|linux|unix|WIN\d+|defined")
DECIDES = "is decided by headers or the compiler, elsewhere it may be another one"


def header_macros(case: Case) -> list[Finding]:
    """Macros of headers and compilers that only the candidate reads.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        One a macro; of CUDA and OpenCL only what conditions of the preprocessor ask.
    """
    candidate, known = case.candidate, _names(case.original.text)
    own = set(DEFINED.findall(candidate.text))
    there = _defined(case)
    made = []
    for file, whole in candidate.files.items():
        text = _without_comments(whole)
        asked = dict.fromkeys(_conditions(text), True)
        for m in NAME.finditer(text):
            name = m[0]
            if name in known or name in own or (name not in there and m.start() not in asked):
                continue
            if m.start() in asked or not (FIXED.fullmatch(name) or is_known(name)):
                known.add(name)
                line = text.count("\n", 0, m.start()) + 1
                made.append(Finding("calls", file, line, f"{name}: {DECIDES}"))
    return made


def _names(text: str) -> set[str]:
    return set(NAME.findall(_without_comments(text)))


def _without_comments(text: str) -> str:
    """The text with its lines, and without what is no code."""
    return NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _conditions(text: str) -> Iterator[int]:
    r"""Where conditions of the preprocessor name what the build decides.

    >>> [*_conditions("#ifdef _OPENMP\n#if _OPENMP > 202011 && N"), *_conditions("#ifdef DEBUG")]
    [19]
    """
    for m in CONDITION.finditer(text):
        if m["what"].strip() and not ONLY_WHETHER.fullmatch(m["what"]):
            yield from (m.start("what") + n.start() for n in NAME.finditer(m["what"])
                        if BY_BUILD.fullmatch(n[0]) and n[0] != "defined")  # fmt: skip


def _defined(case: Case) -> set[str]:
    """Macros that headers and the compiler define where the candidate is compiled."""
    candidate = case.candidate
    if candidate.language in ("cuda", "opencl"):
        return set()
    kind = GCC if compiler_absent(candidate, "clang") else CLANG
    return set(DEFINED.findall(case.bench.build(candidate, kind, ("-dM", "-E")).said.stdout))
