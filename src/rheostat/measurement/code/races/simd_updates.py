"""Scalars that every lane of a simd loop updates and no clause names.

Which compiler turns such a loop into lanes is chance, so that its output may be right here; the
text alone shows that it need not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.parsing.blocks import statement_end
from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.declared_names import declares
from rheostat.measurement.code.verdict import Finding

SIMD = re.compile(PRAGMA + r"\b(?:(?!declare|ordered)[^\n\\]|\\\n)*?\bsimd\b(?:[^\n\\]|\\\n)*\n")
UPDATE = re.compile(
    r"(?<![\w.\])*>])(?P<name>[A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)=|\+\+|--|=\s*(?P=name)\b)"
    r"|(?:\+\+|--)\s*(?P<other>[A-Za-z_]\w*)(?!\s*(?:[\w\[.(]|->))"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
MESSAGE = "is updated in every lane of a simd loop, and no clause of the loop names it"


def lanes_update(program: Program) -> list[Finding]:
    r"""Each scalar that lanes update together, by the line of its loop's pragma.

    Examples
    --------
    >>> sums = "#pragma omp simd\nfor (int i = 0; i < n; i++) s += a[i];"
    >>> [f.words for f in lanes_update(Program({"a.c": sums}))]
    ['a.c:1: s is updated in every lane of a simd loop, and no clause of the loop names it']
    >>> lanes_update(Program({"a.c": sums.replace("simd", "simd reduction(+:s)")}))
    []
    """
    return [
        Finding("races", name, line, f"{scalar} {MESSAGE}")
        for name, text in program.files.items()
        for line, scalar in _updates(text)
    ]


def _updates(text: str) -> Iterator[tuple[int, str]]:
    plain = without_comments(text)
    for m in SIMD.finditer(plain):
        loop = plain[m.end() : statement_end(plain, m.end())]
        if "atomic" in loop:
            continue
        names = {u["name"] or u["other"] for u in UPDATE.finditer(loop)}
        for name in sorted(names):
            if not (re.search(rf"\b{name}\b", m[0]) or declares(loop, name)):
                yield plain.count("\n", 0, m.start()) + 1, name


def without_comments(text: str) -> str:
    r"""A text with blanks for its comments, each line in its place.

    >>> without_comments("a; /* b\n c */ d; // e")
    'a;     \n      d;     '
    """
    return COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
