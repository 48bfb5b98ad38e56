"""Rungs that run nothing of the candidate: parse, compile, calls."""

from __future__ import annotations

import re

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.diagnostics import compiler_findings
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.marked_builds import compiler_texts
from rheostat.measurement.code.surroundings.same_text import compiled_differently
from rheostat.measurement.code.surroundings.unseen import WHY, unseen
from rheostat.measurement.code.toolchain import CLANG, GCC, NVCC, SANITIZED, BuildKind, absent
from rheostat.measurement.code.verdict import Evidence, Finding
from rheostat.measurement.code.workbench import SYSTEM_CALL, WITHOUT_FLAGS, Built

FENCE = re.compile(r"^\s*(```|~~~)", re.MULTILINE)
SYNTAX = re.compile(
    r"(?i)expected|extraneous|unterminated|missing|unmatched|stray|non-ASCII|"
    r"invalid (?:suffix|token|preprocessing)|source file is not|"
    r"function definition is not allowed|embedded|null char"
)
"""Messages about form; names that are not declared and types that do not fit come with compile."""
EVASIONS = re.compile(
    r"__SANITIZE_\w+__|no_sanitize\w*|disable_sanitizer_instrumentation|no_instrument_function|"
    r"no_profile_instrument_function|no_address_safety_analysis|\b\w+_sanitizer\b|"
    r"RUNNING_ON_VALGRIND|valgrind/\w+\.h|"
    r"__clang(?:_\w+)?__|__OPTIMIZE__|__tsan_\w+|__asan_\w+|__ubsan_\w+|AnnotateIgnore\w+|__msan_\w+|"
    r"rheostat_reached|omp_control_tool\w*|\bompt_\w+|\b__kmpc_\w+|\bkmp_\w+|\bGOMP_\w+|"
    r"\bweakref\b|__weak__|\(\s*weak\b|\bpragma\s+weak\b"
)
OWN_WAY = "its own build cannot be replayed, as the original's"
EMPTY = "int main() { return 0; }\n"
CALLS = {
    "starts processes": r"fork|vfork|clone3?|system|popen|exec[lv]p?e?|execve(?:at)?|fexecve|"
    r"posix_spawnp?|daemon|wait(?:pid|id|3|4)?",
    "uses the network": r"socket(?:pair)?|connect|bind|listen|accept4?|send(?:to|msg)?|"
    r"recv(?:from|msg)?|getaddrinfo|gethostby\w+",
    "sleeps": r"u?sleep|nanosleep|clock_nanosleep|thrd_sleep|pause|p?select|p?poll|epoll_\w+|"
    r"sigsuspend|alarm|setitimer|timer_\w+|sched_yield",
    "opens or changes files": r"f?open(?:at|dir)?(?:64)?|creat(?:64)?|freopen(?:64)?|fdopen|"
    r"unlink(?:at)?|remove|rename(?:at2?)?|mkdir(?:at)?|rmdir|(?:sym)?link(?:at)?|f?chmod(?:at)?|"
    r"f?chown|truncate(?:64)?|mkstemps?|tmpfile|readlink(?:at)?|f?statx?(?:at)?|mknod|"
    r"__open(?:at)?(?:64)?_2|access|glob|nftw|scandir|"
    r"std::basic_[io]?f(?:stream|ilebuf)|std::filesystem",
    "reads the environment": r"(?:secure_)?getenv|_{0,2}environ|getauxval",
    "looks for a checker": r"__(?:[atmlu]|ub|hwa)san_\w+|__sanitizer_\w+|malloc_usable_size",
    "reaches into processes": r"ptrace|process_vm_\w+|prctl|kill|tgkill|raise|signal|sigaction|"
    r"dlopen|dlsym|mprotect|syscall|personality|unshare|setns|mount|chroot|set[re]?[ug]id|"
    r"setrlimit|prlimit|sched_setaffinity|nice|setpriority|sigprocmask|atexit|on_exit|quick_exit",
    "draws numbers that nobody can repeat": r"getrandom|getentropy|arc4random\w*|"
    r"std::random_device",
    "asks where its output goes": r"isatty|ttyname(?:_r)?|lseek(?:64)?|ioctl|fcntl(?:64)?|"
    r"tc[gs]etattr",
    "asks what it may use": r"getrlimit(?:64)?|getrusage|(?:sched|pthread)_getaffinity(?:_np)?|"
    r"sched_getcpu|getcpu|omp_get_(?:num_places|place_\w+|partition_\w+)",
    "looks where code and memory lie": r"mmap(?:64)?|mremap|s?brk|mincore|dl_iterate_phdr|dladdr1?|"
    r"backtrace\w*|_r_debug|pthread_getattr_np",
    "asks what machine this is": r"gethost(?:name|id)|getdomainname|uname|sysinfo|"
    r"getp?pid|gettid|getsid|getpgrp|gete?[ug]id|getlogin(?:_r)?|gnu_get_libc_\w+|confstr",
}
"""Functions of the system by what a candidate would use them for."""


def parse(case: Case) -> Evidence:
    """Syntax, by the first compiler there is; text that is no code; code that looks for checks."""
    findings = _not_code(case) + _evasions(case) or compiled_differently(case)
    if findings:
        return case.failed("parse", findings)
    family = "nvcc" if case.candidate.language == "cuda" else "clang"
    if toolchain.compiler_absent(case.candidate, family):
        family = "gcc"
    case.need(toolchain.compiler_absent(case.candidate, family))
    case.need("nvcc has no check of syntax alone" if family == "nvcc" else "")
    if case.candidate.build:
        return case.skipped("parse", "the manifest's own build command comes next")
    kind = CLANG if family == "clang" else GCC
    by_both = toolchain.family_of(case.candidate.flags) in ("", family)
    if by_both and _compiled(case, kind).ok:  # which `compile` asks for next
        return case.passed("parse", family)
    made = case.bench.build(case.candidate, kind, output=("-fsyntax-only",))
    findings = [f for f in _said(case, "parse", made) if SYNTAX.match(f.message) and not made.ok]
    return case.failed("parse", findings) if findings else case.passed("parse", family)


def _not_code(case: Case) -> list[Finding]:
    found_at = []
    for name in case.candidate.sources:
        text = case.candidate.files[name]
        if not text.strip():
            found_at.append(Finding("parse", name, 0, "the file is empty"))
        elif m := FENCE.search(text):
            line = text.count("\n", 0, m.start(1)) + 1
            found_at.append(Finding("parse", name, line, "a fence of Markdown, not code"))
    return found_at


def _evasions(case: Case) -> list[Finding]:
    """Names by which a program can tell that it is being checked, and the original does not use."""
    known = set(EVASIONS.findall(case.original.text))
    return [
        Finding("parse", name, text.count("\n", 0, m.start()) + 1,
                f"{m[0]}: code that tells whether it is being checked")
        for name, text in case.candidate.files.items()
        for m in EVASIONS.finditer(text)
        if m[0] not in known
    ]  # fmt: skip


def _compiled(case: Case, kind: BuildKind) -> Built:
    """The candidate as a compiler builds it; by clang beside gcc its text, which is marked later.

    Only what is no such text, as for a processor's own instructions, is built to the end.
    """
    if kind == CLANG != case.kind and not case.candidate.build:
        texts = list(compiler_texts(case, case.candidate))
        if texts and all(made.ok for made in texts):
            return texts[0]
    return case.bench.build(case.candidate, kind)


def _said(case: Case, rung: str, made: Built) -> list[Finding]:
    text = made.said.stderr + made.said.stdout
    return list(compiler_findings(text, rung)) or [
        case.finding(rung, f"{made.kind.name}: {made.said.ending}: {text.strip()[-300:]}")
    ]


def compile_(case: Case) -> Evidence:
    """Every compiler that is here and builds the original, or its language, has to build it."""
    if case.candidate.language == "cuda":
        return _nvcc(case)
    only = toolchain.family_of(case.candidate.flags)
    kinds = [k for k in (GCC, CLANG) if only in ("", k.family)
             and not toolchain.compiler_absent(case.candidate, k.family)]  # fmt: skip
    case.need("" if kinds else toolchain.compiler_absent(case.candidate, only or "gcc"))
    warnings: list[Finding] = []
    for kind in kinds:
        made = _compiled(case, kind)
        if not made.ok and (kind == case.kind or _builds(case, kind)):
            return case.failed("compile", _said(case, "compile", made))
        warnings += [f for f in _said(case, "compile", made) if not made.ok]
    if case.not_replayed:
        return case.not_shown("compile", [case.finding("compile", case.not_replayed)], OWN_WAY)
    if CLANG in kinds and case.candidate.build and _drops_flags(case):
        return case.failed("compile", [case.finding("compile", f"{WITHOUT_FLAGS}; the original's "
                                                    "does")])  # fmt: skip
    built = ", ".join(k.name for k in kinds)
    lone = "" if only or len(kinds) > 1 else toolchain.compiler_absent(
        case.candidate, "clang" if kinds == [GCC] else "gcc")  # fmt: skip
    return case.passed("compile", f"{built}; {lone}" if lone else built)


def _drops_flags(case: Case) -> bool:
    """Whether the candidate's own way to build takes no flags of checkers, as the original's."""
    build = case.bench.build
    dropped = build(case.candidate, SANITIZED).said.stderr == WITHOUT_FLAGS
    return dropped and build(case.original, SANITIZED).ok


def _builds(case: Case, kind: BuildKind) -> bool:
    """Whether a compiler builds the original, so that the candidate should build, too."""
    return case.original.language != "cuda" and case.bench.build(case.original, kind).ok


def _nvcc(case: Case) -> Evidence:
    case.need(absent("nvcc"))
    made = case.bench.build(case.candidate, NVCC)
    if not made.ok:
        return case.failed("compile", _said(case, "compile", made))
    return case.passed("compile", "nvcc")


def calls(case: Case) -> Evidence:
    """Functions of the system that the candidate calls and the original does not."""
    case.need(absent("nm", "objdump"))
    theirs, ours = _imports(case, case.candidate), _imports(case, case.original)
    findings = []
    for name in sorted(theirs - ours):
        reason = next((w for w, p in CALLS.items() if re.fullmatch(p, name)), "")
        if reason:
            findings += [_called(case, name, f"calls {name}: {reason}, the original does not")]
    if SYSTEM_CALL in theirs - ours:
        findings.append(_called(case, "asm", "calls the kernel directly, the original does not"))
    if findings:
        return case.failed("calls", findings)
    if unsure := unseen(case, theirs - ours):
        return case.not_shown("calls", unsure, WHY)
    return case.passed("calls", f"{len(theirs)} functions of libraries")


def _called(case: Case, name: str, message: str) -> Finding:
    word = re.escape(name.rpartition("::")[2].removeprefix("basic_"))
    for file, text in case.candidate.files.items():
        m = re.search(rf"\b(?:__)?{word}(?:__)?\s*(?:\w+\s*)?[({{]", text)
        if m:
            return Finding("calls", file, text.count("\n", 0, m.start()) + 1, message)
    return case.finding("calls", message)


def _imports(case: Case, program: Program) -> frozenset[str]:
    cuda = program.language == "cuda" and not absent("nvcc")
    made = case.bench.build(program, NVCC if cuda else case.kind)
    if cuda and not made.ok:  # what nvcc refuses here may be built for the host
        made = case.bench.build(program, case.kind)
    names = case.bench.imports(made) if made.ok else frozenset[str]()
    case.need("" if names is not None else f"{made.binary} is no program with shared libraries")
    assert names is not None
    return frozenset("::".join(n.split("::")[:2]) for n in names)  # of C++ the class
