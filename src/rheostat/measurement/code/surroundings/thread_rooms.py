"""Memory of a fixed size in which each thread has a place by its number.

Arrays whose type says how long they are show in LLVM's text; what `malloc` and the like give shows
in the program's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.reached.numbers import SETS_THREADS
from rheostat.measurement.code.verdict import Finding

ASKED = r"omp_get_thread_num\s*\(\s*\)"
NUMBER = re.compile(rf"\b(?P<name>\w+)\s*(?:=|\()\s*(?:\(\w+\)\s*)?{ASKED}")
ROOM = re.compile(
    r"\b(?P<name>\w+)\s*=\s*(?:\([^()]*\*\s*\)\s*|(?:static|reinterpret)_cast\s*<[^<>]*>\s*\(\s*)?"
    r"(?:(?:std::)?(?:[mc]alloc|aligned_alloc)\s*\((?P<given>(?:[^()]|\([^()]*\))*)\)"
    r"|new\s+[\w:<>\s*]+\[(?P<many>[^\]]*)\])"
    r"|\b(?:std::)?vector\s*<[^;=()]*>\s+(?P<vector>\w+)\s*\((?P<size>[^(),;]*)"
)
SIZE_OF = re.compile(r"\bsizeof\s*(?:\((?:[^()]|\([^()]*\))*\)|\*?\s*\w+(?:\[\w*\])?)")
CONSTANT = r"#\s*define\s+{0}\s+\(?\d|\b(?:const|constexpr|enum)\b[^;()]*\b{0}\s*=\s*\d"
SAID = "{0} has room for a number of threads that stands in the text, and there may be more"


def thread_rooms(program: Program) -> list[Finding]:
    r"""Each of them, by the line where the memory is asked for.

    Examples
    --------
    >>> text = "int *s = calloc({}, sizeof *s);\nint me = omp_get_thread_num();\ns[me]++;"
    >>> [f.words for f in thread_rooms(Program({"a.c": text.format(288)}))]
    ['a.c:1: s has room for a number of threads that stands in the text, and there may be more']
    >>> thread_rooms(Program({"a.c": text.format("omp_get_max_threads()")}))
    []
    """
    if SETS_THREADS.search(program.text):
        return []
    return [f for name, text in program.files.items() for f in _rooms(name, text)]


def _rooms(file: str, text: str) -> Iterator[Finding]:
    text = without_comments(text)
    numbers = "|".join([ASKED, *(re.escape(m["name"]) for m in NUMBER.finditer(text))])
    for m in ROOM.finditer(text):
        name = m["name"] or m["vector"]
        given = SIZE_OF.sub(
            "", next(g for g in (m["given"], m["many"], m["size"]) if g is not None)
        )
        words = re.findall(r"\b[A-Za-z_]\w*", re.sub(r"\b0[xX][\da-fA-F]+|\b\d\w*", "0", given))
        fixed = "0" in re.sub(r"\d+", "0", given) or words
        if not fixed or not all(re.search(CONSTANT.format(w), text) for w in words):
            continue
        if re.search(rf"\b{name}\s*\[\s*(?:{numbers})\s*[\]*]", text):
            yield Finding("calls", file, text.count("\n", 0, m.start()) + 1, SAID.format(name))
