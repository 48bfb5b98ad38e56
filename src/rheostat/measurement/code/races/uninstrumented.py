"""What ThreadSanitizer's build leaves out, by LLVM's own text of it.

A function that reads or writes memory and does not bear `sanitize_thread` is not looked at,
whatever took it out: an attribute, a pragma, a macro that spells either.  Intrinsics of a processor
that write memory (maskmovdqu, scatter) and assembler stay as they are: no access of theirs is seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import RACES
from rheostat.measurement.code.verdict import Finding

LLVM_TEXT = replace(RACES, name="races in LLVM's text", mark="")
ATTRIBUTES = re.compile(r"(?m)^attributes (#\d+) = \{(.*)\}")
FUNCTION = re.compile(
    r"(?ms)^define [^\n]*?@\"?(?P<name>[^\s\"(]+)\"?\((?P<head>[^\n]*)\{\n(?P<body>.*?)^\}"
)
DECLARED = re.compile(r"(?m)^declare [^\n]*?@(?P<name>llvm\.[\w.]+)\((?P<head>[^\n]*)")
GROUP = re.compile(r"#\d+")
ACCESS = re.compile(r"(?m)^\s+(?:%\S+ = )?(?:load|store|atomicrmw|cmpxchg|call [^\n]*@llvm\.mem)\b")
OF_PROCESSOR = re.compile(
    r"llvm\.(?:masked|vp|x86|aarch64|arm|ppc|riscv|loongarch|s390|amdgcn)\."
    r"(?!sse2?\.(?:ldmxcsr|stmxcsr|clflush)|clflushopt|clwb)\S*"
)
"""But for the modes of floating point, and what only empties a cache."""
WRITES_NONE = re.compile(r"\bmemory\((?:\w+: )?(?:none|read)\)|\bread(?:none|only)\b")
ASSEMBLER = re.compile(r"\basm (?:(?:sideeffect|alignstack|inteldialect|unwind) )*\"")
SUBPROGRAM = re.compile(r"!dbg (!\d+)\s*$")
LEFT_OUT = "is left out of the build that looks for races"
WRITES = "writes memory, which the build that looks for races does not see"


def uninstrumented(case: Case) -> list[Finding]:
    """What of the candidate no checker of races sees, and of the original every one does.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        One a function and one an intrinsic; empty where LLVM's text cannot be had.
    """
    found_at = _left_out(case, case.candidate)
    known = {f.message for f in _left_out(case, case.original)} if found_at else set()
    return [f for f in found_at if f.message not in known]


def _left_out(case: Case, program: Program) -> list[Finding]:
    texts = [made.said.stdout for made in case.bench.compiler_texts(program, LLVM_TEXT) if made.ok]
    return [f for text in texts for f in left_out_of(text, program.files)]


def left_out_of(text: str, files: Mapping[str, str]) -> list[Finding]:
    """What LLVM's text of a build for ThreadSanitizer leaves out, where it stands in the files."""
    groups = {m[1]: m[2] for m in ATTRIBUTES.finditer(text)}
    writes = [m["name"] for m in DECLARED.finditer(text) if _writes(m, groups)]
    of_functions = [
        Finding("races", *_place(text, m["head"], files), message)
        for m in FUNCTION.finditer(text)
        for message in _unseen(m, _said_of(m["head"], groups), writes)
    ]
    of_file = [Finding("races", next(iter(files)), 0, f"assembler {WRITES}")]
    return of_functions + (of_file if "\nmodule asm " in text else [])


def _writes(m: re.Match[str], groups: Mapping[str, str]) -> bool:
    """Whether an intrinsic that is declared here is a processor's and writes memory."""
    takes_place = OF_PROCESSOR.fullmatch(m["name"]) and "ptr" in m["head"]
    return bool(takes_place) and not WRITES_NONE.search(_said_of(m["head"], groups))


def _said_of(head: str, groups: Mapping[str, str]) -> str:
    return head + " ".join(groups.get(n, "") for n in GROUP.findall(head))


def _unseen(m: re.Match[str], attributes: str, writes: list[str]) -> Iterator[str]:
    if "sanitize_thread" not in attributes and ACCESS.search(m["body"]):
        yield f"{m['name']} {LEFT_OUT}"
    yield from (f"{name} {WRITES}" for name in writes if f"@{name}(" in m["body"])
    if ASSEMBLER.search(m["body"]):
        yield f"assembler {WRITES}"


def _place(text: str, head: str, files: Mapping[str, str]) -> tuple[str, int]:
    """The file and line of a function, as far as it is one of the program's own."""
    at = SUBPROGRAM.search(head)
    said = at and re.search(rf"(?m)^{at[1]} = [^\n]*\bfile: (!\d+), line: (\d+)", text)
    name = said and re.search(rf"(?m)^{said[1]} = !DIFile\(filename: \"(?:\./)?([^\"]*)\"", text)
    return (name[1], int(said[2])) if said and name and name[1] in files else (next(iter(files)), 0)
