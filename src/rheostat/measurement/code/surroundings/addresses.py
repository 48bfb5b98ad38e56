"""Addresses that become numbers: where a result may hang on where memory lies.

LLVM's text tells, whatever the source looks like: a cast, also by a union or ``memcpy``; bytes of a
pointer that is kept in memory; a difference or an order of pointers into two objects; an address
that is printed, whose digits can be read again.  A difference within one object is a number of
elements, and none of these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.source_places import Places
from rheostat.measurement.code.toolchain import TEXT, BuildKind, compiler_absent
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

READ = BuildKind(
    "read", "clang",
    ("-g", "-w", "-fopenmp-simd", "-D_OPENMP=201811", "-Xclang", "-disable-llvm-passes"), "-O1",
)  # fmt: skip
"""Of a program with threads: OpenMP's pragmas but for those of lanes, which its header needs, are
left out, as their own code turns addresses into numbers."""
FUNCTION = re.compile(r"(?ms)^define .*?^}")
STEP = re.compile(r"(?m)^\s*(?:(%\S+) = )?(\S.*?), (!dbg !\d+)\b")
VALUE = re.compile(r"(?m)^\s*(%\S+) = (.*)$")
CAST = re.compile(r"ptrtoint \S|.*\bptrtoint \(")
DIFFERENCE = re.compile(r"sub i\d+ (%[^\s,]+), (%[^\s,]+)")
CAST_OF = re.compile(r"ptrtoint ptr ([%@][^\s,]+) to")
ORDER = re.compile(r"icmp u[lg][te] ptr ([%@][^\s,]+), ([%@][^\s,]+)")
KEPT = re.compile(r"store ptr [^,]+, ptr ([%@][^\s,]+)")
READ_AS_NUMBER = re.compile(r"load i\d+, ptr ([%@][^\s,]+)")
WITHIN = re.compile(r"getelementptr .*?, ptr ([%@][^\s,]+)")
OBJECT = re.compile(r"alloca |.*\bcall .*@(?:malloc|calloc|realloc|aligned_alloc|_Zn[wa]\w*)\(")
PLAIN_SLOT = re.compile(r"alloca (?:\[\d+ x )?(?:ptr|i\d+)")
"""Memory without parts of several types."""
SHOWN = re.compile(r"call .*@(?:_ZNSolsEPKv|_ZNKSt4hashIP\w+)\(")
"""C++ prints an address, or takes its hash."""
BY_ADDRESS = re.compile(r"(?m)^define \S.*@_ZNKSt(?:4hash|4less|7greater)IP\w+\(")
"""Templates of C++ that put pointers in order, or in buckets, by their address."""
WORD = re.compile(r"load ptr, ptr (%\S+?)(?:,|$)")
WORDS_OF_MAIN = re.compile(r"define [^\n]*@main\(i32[^,]*, ptr [^,)]*?(%[-\w.]+)\)")
FORMAT = re.compile(r'(?m)^@\S+ = .*\bc"[^"\n]*(?<!%)%[-+ #0-9*]*p')
WORDS = "takes an address for a number"
ORDERED = "puts pointers in order, or in buckets, by their addresses"
PRINTED = "prints an address, whose digits can be read as a number"


def addresses(case: Case) -> list[Finding]:
    """Where the candidate's own files take addresses for numbers, and the original's do not.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        One at most.
    """
    if case.candidate.language in ("cuda", "opencl") or compiler_absent(case.candidate, "clang"):
        return []
    places = casts_of_pointers(case, case.candidate)
    if not places or casts_of_pointers(case, case.original):
        return []
    file, line = max(places, key=lambda place: place[1])
    return [Finding("calls", file, max(line, 0), {0: PRINTED, -1: ORDERED}.get(line, WORDS))]


def casts_of_pointers(case: Case, program: Program) -> Counter[tuple[str, int]]:
    """Files and lines at which a pointer becomes a number.

    0 where it is printed, -1 where a container of C++ goes by it.
    """
    plain = replace(
        program, language="serial", flags=tuple(f for f in program.flags if "openmp" not in f)
    )
    kind = TEXT if plain == program else READ
    places: Counter[tuple[str, int]] = Counter()
    for source in program.sources:
        made = case.bench.build(plain.alone(source), kind, output=("-S", "-emit-llvm", "-o", "-"))
        code = _in_registers(case, made) if made.ok else ""
        places.update(_casts(code, program))
        places.update([(source, 0)] if FORMAT.search(code) else [])
        places.update([(source, -1)] if BY_ADDRESS.search(code) else [])
    return places


def _in_registers(case: Case, made: Built) -> str:
    """LLVM's text with variables in registers: what a union or memcpy turns is then a cast."""
    code, opt = made.said.stdout, toolchain.llvm_tool("opt")
    if not opt:
        return code
    run = case.bench.tool([opt, "-passes=sroa", "-S", "-"], made, code)
    return run.stdout if run.ok else code


def _casts(code: str, program: Program) -> list[tuple[str, int]]:
    """Places in LLVM's text.

    >>> code = '''define i64 @f(ptr %p) {
    ...   %1 = ptrtoint ptr %p to i64, !dbg !5
    ... }
    ... !5 = !DILocation(line: 3, column: 2, scope: !6)
    ... !6 = distinct !DISubprogram(name: "f", file: !7)
    ... !7 = !DIFile(filename: "./a.c", directory: "")'''
    >>> _casts(code, Program({"a.c": ""}))
    [('a.c', 3)]
    """
    places = Places(code, program.files)
    taken = (places.of(row) for f in FUNCTION.findall(code) for row in _Function(f).taken())
    return [at[:2] for at in taken if at]


@dataclass
class _Function:
    """A function in LLVM's text; its values have names of their own."""

    text: str
    values: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.values = dict(VALUE.findall(self.text))

    def taken(self) -> Iterator[str]:
        """Debug locations of what takes an address for a number."""
        counted = self._counted
        for value, step, place in STEP.findall(self.text):
            order, read = ORDER.match(step), READ_AS_NUMBER.match(step)
            if (
                (CAST.match(step) and value not in counted)
                or (order and self._apart(order[1], order[2]))
                or (read and self._object(read[1]) in self._hold_pointers)
                or SHOWN.match(step)
            ):
                yield place

    @cached_property
    def _counted(self) -> set[str]:
        """Casts that serve a difference of pointers, which may be into one object."""
        kept = set()
        for step in self.values.values():
            if m := DIFFERENCE.match(step):
                casts = [CAST_OF.match(self.values.get(v, "")) for v in m.groups()]
                if all(casts) and not self._apart(*(c[1] for c in casts if c)):
                    kept |= set(m.groups())
        return kept

    @cached_property
    def _hold_pointers(self) -> set[str]:
        """Objects of one plain type that a pointer is stored into."""
        stored = {self._object(m) for m in KEPT.findall(self.text)}
        return {v for v in stored if PLAIN_SLOT.match(self.values.get(v, ""))}

    @cached_property
    def _words(self) -> str:
        """The argument of main that holds the words of the command line."""
        m = WORDS_OF_MAIN.match(self.text)
        return m[1] if m else "none"

    def _apart(self, one: str, other: str) -> bool:
        """Whether two pointers are known to point into two objects."""
        objects = {self._object(one), self._object(other)}
        return len(objects) == 2 and "" not in objects

    def _object(self, pointer: str) -> str:
        """What a pointer points into; empty where that is not known."""
        while m := WITHIN.match(self.values.get(pointer, "")):
            pointer = m[1]
        made = self.values.get(pointer, "")
        if (m := WORD.match(made)) and self._object(m[1]) == self._words:
            return self.values.get(m[1], m[1])  # each word of a command line is an object
        known = pointer.startswith("@") or pointer == self._words or OBJECT.match(made)
        return pointer if known else ""
