"""Reductions of loops inside a parallel region that another access to the variable may overtake.

Threads put what each has into the variable as each ends its part.  Archer leaves these writes out,
so that ThreadSanitizer sees no race with a thread that sets the variable before a barrier, or reads
it after a `nowait`; the order of the texts shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.blocks import statement_end
from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.verdict import Finding

DIRECTIVE = re.compile(PRAGMA + r"\s+(?P<what>\w+)(?P<clauses>(?:[^\n\\]|\\\n)*)\n")
REDUCTION = re.compile(r"\breduction\s*\([^:()]*:([^()]*)\)")
NOWAIT = re.compile(r"\bnowait\b")
ONE_THREAD = ("single", "master", "masked")
SHARES = ("for", "sections")
SET = "is set by one thread while others may have put their parts of a reduction into it"
READ = "is read behind a reduction with nowait, before all threads have put their parts into it"


def unordered_sums(program: Program) -> list[Finding]:
    r"""Each variable of a reduction that one thread sets before it, or any reads behind it.

    Examples
    --------
    >>> loop = "#pragma omp for reduction(+ : s)\nfor (int i = 0; i < n; i++) s += a[i];\n"
    >>> early = "#pragma omp single nowait\ns = 0;\n" + loop
    >>> [f.line for f in unordered_sums(Program({"a.c": early}))]
    [1]
    >>> unordered_sums(Program({"a.c": early.replace("nowait", "")}))
    []
    """
    return [
        Finding("races", name, plain.count("\n", 0, at) + 1, said)
        for name, text in program.files.items()
        for plain in [without_comments(text)]
        for at, said in _unordered(plain)
    ]


def _unordered(text: str) -> Iterator[tuple[int, str]]:
    every = list(DIRECTIVE.finditer(text))
    for k, m in enumerate(every):
        end = statement_end(text, m.end())
        later = [x for x in every[k + 1 :] if x.start() >= end]
        if m["what"] in ONE_THREAD and (m["what"] != "single" or NOWAIT.search(m["clauses"])):
            body = text[m.end() : end]
            yield from ((m.start(), f"{v} {SET}") for v in _combined(later) if _sets(body, v))
        elif m["what"] in SHARES and NOWAIT.search(m["clauses"]):
            until = next((x.start() for x in later if _is_barrier(x)), len(text))
            behind = text[end : min(until, _region(text, end))]
            read = no_directives(behind)
            yield from ((m.start(), f"{v} {READ}") for v in reduced(m)
                        if re.search(rf"(?<![\w.])(?<!->){v}\b", read))  # fmt: skip


def _combined(later: list[re.Match[str]]) -> Iterator[str]:
    """Variables that the next loops reduce, up to a barrier."""
    for m in later:
        if m["what"] in ("parallel", "barrier"):
            return
        yield from reduced(m) if m["what"] in SHARES else ()
        if _is_barrier(m):
            return


def _is_barrier(m: re.Match[str]) -> bool:
    """Whether threads wait for each other at a directive, or at its end."""
    waits = m["what"] in (*SHARES, "single") and not NOWAIT.search(m["clauses"])
    return waits or m["what"] == "barrier"


def reduced(m: re.Match[str]) -> list[str]:
    """Variables that the clauses of a directive reduce."""
    names = ",".join(REDUCTION.findall(m["clauses"])).split(",")
    return [name for n in names if (name := n.partition("[")[0].strip()).isidentifier()]


def _sets(body: str, name: str) -> bool:
    return bool(re.search(rf"(?<![\w.])(?<!->){name}\s*(?:[-+*/]?=(?!=)|\+\+|--)", body))


def no_directives(text: str) -> str:
    """A text with blanks for its directives, whose clauses name variables."""
    return DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _region(text: str, at: int) -> int:
    """Where the block ends that is open here: threads may wait for each other there."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] == "{") - (text[k] == "}")
        if depth < 0:
            return k
    return len(text)
