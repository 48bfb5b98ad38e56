"""Target regions made to show on the host, run as a device, what a GPU would show.

An `if` clause keeps small inputs on the host, where nothing has to be mapped.  And a region of the
x86_64 plugin can follow the host's pointers, which no GPU with memory of its own can.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.programs.program import PRAGMA, Program

RUNTIME = "host_memory.c"
DIRECTIVE = re.compile(PRAGMA + r"\s+target\b(?:[^\n\\]|\\[\s\S])*")
MOVES = re.compile(r"\btarget\s+(?:update|enter|exit)\b")
CLAUSE = re.compile(
    r"\bif\s*\((?:\s*(?P<of>[a-z][a-z\s]*?)\s*:(?!:))?"
    r"(?P<condition>(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)\)"
)
CONDITION = re.compile(r"(?s)^(if\s*\((?:[a-z\s]+:(?!:)\s*)?).*\)$")
FIXED = ("0", "false", "1", "true")
SHARED = re.compile(PRAGMA + r"\s+requires\b[^\n]*\bunified_(?:shared_memory|address)\b")


def always_on_device(program: Program) -> Program:
    r"""The program, its target regions on the device whatever their `if` clauses say.

    What is moved by a directive alone (`target update`, `enter data`, `exit data`) keeps its
    condition, unless a region has the same.

    Examples
    --------
    >>> text = "#pragma omp target map(p) if(target: n > 9)\n#pragma omp target update to(p) if(k)"
    >>> always_on_device(Program({"a.c": text})).text.split()[3:]
    ['map(p)', '#pragma', 'omp', 'target', 'update', 'to(p)', 'if(k)']
    """
    return _decided(program, lambda clause: re.sub(r"[^\n\\]", " ", clause))


def never_on_device(program: Program) -> Program:
    """The program, its target regions on the host wherever an `if` clause may leave them there.

    Examples
    --------
    >>> never_on_device(Program({"a.c": "#pragma omp target map(p) if(target: n > 9)"})).text
    '#pragma omp target map(p) if(target: 0)'
    """
    return _decided(program, lambda clause: CONDITION.sub(r"\g<1>0)", clause))


def _decided(program: Program, decided: Callable[[str], str]) -> Program:
    """The program with other conditions of regions; what is moved under one of them has it, too."""
    directives = [d[0] for text in program.files.values() for d in DIRECTIVE.finditer(text)]
    of_regions = {_condition(c) for d in directives if not MOVES.search(d)
                  for c in CLAUSE.finditer(d) if _is_targets(c)}  # fmt: skip

    def cleared(clause: re.Match[str]) -> str:
        is_met = _is_targets(clause) and _condition(clause) in of_regions - {*FIXED}
        return decided(clause[0]) if is_met else clause[0]

    files = {
        name: DIRECTIVE.sub(lambda d: CLAUSE.sub(cleared, d[0]), text)
        for name, text in program.files.items()
    }
    return replace(program, files=files)


def _is_targets(clause: re.Match[str]) -> bool:
    return (clause["of"] or "target").startswith("target")


def _condition(clause: re.Match[str]) -> str:
    return re.sub(r"[\s\\]+", "", clause["condition"])


def with_closed_memory(program: Program) -> Program:
    """The program with the file that closes the host's memory while a target region runs.

    As it is where it has a build of its own, or asks for memory that host and device share.

    Examples
    --------
    >>> sorted(with_closed_memory(Program({"a.c": "int a;"}, "target")).files)
    ['a.c', 'host_memory.c']
    """
    if program.build or SHARED.search(program.text):
        return program
    files = {**program.files, RUNTIME: bundled("runtimes", RUNTIME)}
    return replace(program, files=files, flags=("-rdynamic", *program.flags))
