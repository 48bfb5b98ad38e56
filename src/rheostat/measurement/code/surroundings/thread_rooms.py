"""Memory in which each thread has a place by its number, of a fixed size or for the host's threads.

How many threads or teams a device has is not known to the host.  Arrays whose type says how long
they are show in LLVM's text; what `malloc` and the like give shows in the program's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rheostat.measurement.code.parsing.blocks import statement_end
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.races.unordered_sums import DIRECTIVE
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
OF_HOST = r"omp_get_(?:max_threads|num_procs|num_threads|num_teams)\s*\(\s*\)"
COUNTED = re.compile(rf"\b(?P<name>\w+)\s*=\s*[^;,]*?{OF_HOST}")
VARYING = re.compile(r"\b\w+\s+(?P<name>\w+)\s*\[(?P<size>[^\[\]]*[A-Za-z_][^\[\]]*)\]\s*[;,={]")
ON_DEVICE = re.compile(r"omp_get_(?:thread|team)_num\s*\(\s*\)")
OF_DATA = re.compile(r"\s*(?:data|enter|exit|update)\b")
SMALL = "{0} has room for the host's threads, and those of a device index it"
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
    return [f for name, text in program.files.items()
            for f in (*_rooms(name, text), *_of_host(name, without_comments(text)))]  # fmt: skip


def _of_host(file: str, text: str) -> Iterator[Finding]:
    """Memory for as many threads as the host has that a region of a device indexes by its own."""
    regions = [(m.end(), statement_end(text, m.end())) for m in DIRECTIVE.finditer(text)
               if m["what"] == "target" and not OF_DATA.match(m["clauses"])]  # fmt: skip
    named = "|".join([OF_HOST, *(rf"\b{m['name']}\b" for m in COUNTED.finditer(text)
                                 if not _within(m.start(), regions))])  # fmt: skip
    for m in (*ROOM.finditer(text), *VARYING.finditer(text)):
        words = m.groupdict()
        name = words["name"] or words["vector"]
        given = "".join(words.get(k) or "" for k in ("given", "many", "size"))
        asked = not _within(m.start(), regions) and re.search(named, given)
        if asked and any(_by_number(name, text[a:b]) for a, b in regions):
            line = text.count("\n", 0, m.start()) + 1
            yield Finding("calls", file, line, SMALL.format(name))


def _within(at: int, regions: Sequence[tuple[int, int]]) -> bool:
    return any(a <= at < b for a, b in regions)


def _by_number(name: str, region: str) -> bool:
    """Whether the number of a thread or team stands in an index of it.

    >>> _by_number("s", "int me = omp_get_thread_num(); s[2 * me + 1]++;")
    True
    """
    own = "|".join([ON_DEVICE.pattern, *(
        rf"\b{m[1]}\b" for m in re.finditer(rf"\b(\w+)\s*=[^;,=]*{ON_DEVICE.pattern}", region)
    )])  # fmt: skip
    return re.search(rf"\b{name}\s*\[[^\]]*(?:{own})", region) is not None


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
